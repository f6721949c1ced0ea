/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "system/inherited.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/proc-text.h"

static void put_limits(struct buf *out)
{
    struct rlimit r;
    for (int i = 0; i < RLIM_NLIMITS; i++)
        if (getrlimit(i, &r) == 0)
            buf_add(out, (const char *)&r, sizeof(r));
    buf_fmt(out, "%d %d ", getpriority(PRIO_PROCESS, 0), sched_getscheduler(0));
}

/* Ids, umask, signals, capabilities, processors: one file has them all. */
static bool put_status(struct buf *out)
{
    static const char *const lines[] = {
        "\nUmask:",  "\nUid:",        "\nGid:",    "\nGroups:",       "\nSigBlk:",
        "\nSigIgn:", "\nCapInh:",     "\nCapPrm:", "\nCapEff:",       "\nCapBnd:",
        "\nCapAmb:", "\nNoNewPrivs:", "\nSeccomp", "\nCpus_allowed:", "\nMems_allowed:"};
    char text[8192];
    if (proc_read(-1, text, sizeof(text), "/proc/self/status") < 0)
        return false;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        const char *at = strstr(text, lines[i]);
        if (at)
            buf_add(out, at, strcspn(at + 1, "\n") + 1);
    }
    return true;
}

bool process_put_inherited(struct buf *out)
{
    static const char *const places[] = {"ns/user", "ns/mnt",    "ns/pid",  "ns/net", "ns/ipc",
                                         "ns/uts",  "ns/cgroup", "ns/time", "root"};
    char path[64], text[4096];
    put_limits(out);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, sizeof(path), "/proc/self/%s", places[i]);
        ssize_t n = readlink(path, text, sizeof(text));
        buf_add(out, text, n > 0 ? (size_t)n : 0);
    }
    if (proc_read(-1, text, sizeof(text), "/proc/self/cgroup") < 0)
        return false;
    buf_str(out, text);
    if (proc_read(-1, text, sizeof(text), "/proc/self/oom_score_adj") == 0)
        buf_str(out, text);
    return put_status(out) && buf_ok(out);
}
