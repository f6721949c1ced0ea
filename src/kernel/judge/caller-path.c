/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Some paths mean the caller itself: /proc/self, /proc/thread-self, /dev/fd, /dev/stdin and the
 * like. The judge rewrites them to the target's own entries before the walk; otherwise it would
 * find itself there, or nothing.
 */

#include "kernel/judge/caller-path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kernel/judge/judge.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/target.h"

static const struct {
    const char *prefix, *below; /* means /proc/PROCESS/below */
    bool thread;                /* or /proc/PROCESS/task/THREAD */
} magic[] = {
    {"/proc/self", "", false},       {"/proc/thread-self", "", true},
    {"/dev/fd", "/fd", false},       {"/dev/stdin", "/fd/0", false},
    {"/dev/stdout", "/fd/1", false}, {"/dev/stderr", "/fd/2", false},
};

int caller_path_rewrite(struct judge *j, const struct request *r, char *path, unsigned flags)
{
    for (size_t i = 0; i < sizeof(magic) / sizeof(magic[0]); i++) {
        size_t n = strlen(magic[i].prefix), rest = strlen(path);
        if (strncmp(path, magic[i].prefix, n) != 0 || (path[n] && path[n] != '/'))
            continue;
        if ((flags & PIN_NOFOLLOW) && path[n] == '\0')
            return 0;
        char head[64];
        pid_t pid = target_inner_process(j, r), tid = target_inner_thread(j, r);
        if (pid < 0 || tid < 0)
            return -EPERM;
        size_t m = magic[i].thread
                       ? (size_t)snprintf(head, sizeof(head), "/proc/%d/task/%d", pid, tid)
                       : (size_t)snprintf(head, sizeof(head), "/proc/%d%s", pid, magic[i].below);
        rest -= n;
        if (m + rest > PATH_BYTES - 1)
            return -ENAMETOOLONG;
        memmove(path + m, path + n, rest + 1);
        memcpy(path, head, m);
        return 0;
    }
    return 0;
}
