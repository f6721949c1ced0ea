/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* A NUL at the end of the text shows that it is whole. */

#include "kernel/launch/host-mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/own.h"
#include "kernel/host/mounts.h"

char *host_mounts_send(int to)
{
    char *text = NULL;
    size_t n;
    OWN(fd) int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || mounts_read(fd, &text, &n) < 0)
        return NULL;
    text[n++] = '\0'; /* there is room: reading ended with an empty read */
    (void)fd_write_all(to, text, n);
    return text;
}

/* The fifth word of a line is the place of a mount. */
static const char *place_in(const char *line)
{
    for (int i = 0; i < 4 && line; i++) {
        line = strchr(line, ' ');
        line = line ? line + 1 : NULL;
    }
    return line;
}

bool host_mounts_are_below(const char *table, const char *folder)
{
    size_t n = strlen(folder);
    for (const char *at = place_in(table); at; at = place_in(at)) {
        if (strncmp(at, folder, n) == 0 && at[n] == '/')
            return true;
        at = strchr(at, '\n');
        if (!at)
            break;
    }
    return false;
}

int host_mounts_take(int from, char **text, size_t *n)
{
    size_t room = 4096, used = 0;
    OWN(mem) char *s = malloc(room);
    while (s) {
        ssize_t got = fd_read_all(from, s + used, room - used);
        if (got < 0)
            return -errno;
        used += (size_t)got;
        if (used < room)
            break;
        char *more = realloc(s, room *= 2);
        if (!more)
            return -ENOMEM;
        s = more;
    }
    if (!s || used == 0 || s[used - 1])
        return -EIO;
    *text = s;
    *n = used - 1;
    s = NULL;
    return 0;
}
