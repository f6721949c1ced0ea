/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The next spare of a session, which a run or a used spare starts when it ends. */

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/run/spare-words.h"
#include "system/descriptors.h"
#include "system/inherited.h"

static void __attribute__((noreturn)) exec_next(struct buf *words, const struct spare_call *c)
{
    char *argv[256], dash[] = "-c", end[] = "--", nothing[] = "";
    size_t n = 0;
    bool named = strcmp(c->name, "run") != 0; /* its command is an option */
    char *at = words->s, *last = words->s + words->n - strlen(c->argv[0]) - 1;
    for (; at < last && n < 250; at += strlen(at) + 1)
        argv[n++] = at;
    if (!named) {
        argv[n++] = end;
        argv[n++] = last;
    }
    argv[n++] = dash;
    argv[n++] = nothing;
    argv[n] = NULL;
    OWN(fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    process_restore_signals();
    setsid();
    for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
        dup2(null, fd);
    fd_close_range(STDERR_FILENO + 1, -1);
    execv(argv[0], argv);
    _exit(127);
}

bool spare_can_wait(const struct assembly *now, const char *record)
{
    return !record && !(now && now->result.policy.ncommands);
}

void spare_start_next(const struct spare_call *c)
{
    OWN(buf) struct buf words = {0};
    if (!spare_words(c, &words))
        return;
    if (fork() == 0)
        exec_next(&words, c);
}
