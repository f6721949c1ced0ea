/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "cli/run/end-folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "system/descriptors.h"

int end_folder_begin(struct end_folder *f, const char **words, size_t n)
{
    int ends[2];
    size_t len = n == 3 ? sizeof(END_FOLDER_TRAP) + strlen(words[2]) : 0;
    if (n != 3 || strcmp(words[1], "-c") != 0 || fd_pipe(ends) < 0)
        return -1;
    OWN(fd) int from = fcntl(ends[0], F_DUPFD_CLOEXEC, END_FOLDER_FD + 1);
    OWN(fd) int to = fcntl(ends[1], F_DUPFD_CLOEXEC, END_FOLDER_FD + 1);
    close(ends[0]);
    close(ends[1]);
    f->line = malloc(len);
    if (!f->line || from < 0 || to < 0 || fcntl(from, F_SETFL, O_NONBLOCK) < 0 ||
        dup2(to, END_FOLDER_FD) < 0)
        return -1;
    snprintf(f->line, len, END_FOLDER_TRAP "%s", words[2]);
    words[2] = f->line;
    f->from = steal_fd(&from);
    return 0;
}

bool end_folder_read(struct end_folder *f, char out[PATH_MAX])
{
    char text[PATH_MAX + 1];
    if (f->from <= 0)
        return false;
    ssize_t n = read(f->from, text, sizeof(text));
    close(steal_fd(&f->from));
    f->from = 0;
    if (n <= 1 || n > PATH_MAX || text[0] != '/' || text[n - 1] != '\n' ||
        memchr(text, '\0', (size_t)n) || memchr(text, '\n', (size_t)n - 1))
        return false;
    memcpy(out, text, (size_t)n - 1);
    out[n - 1] = '\0';
    return true;
}
