/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "system/inherited.h"

#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
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

/* ---- signals ---- */

enum { LIBRARY_FIRST = 32, LIBRARY_SIGNALS = 3, SIGNAL_BYTES = 8 };

/* Of the kernel, which begins with the handler wherever Buckle runs. */
struct action {
    uintptr_t handler;
    uintptr_t rest[7];
};

static sigset_t blocked;
static bool ignored[LIBRARY_SIGNALS];

/* sigaction() refuses these. */
static int library_action(int i, const struct action *set, struct action *was)
{
    return (int)syscall(SYS_rt_sigaction, LIBRARY_FIRST + i, set, was, (size_t)SIGNAL_BYTES);
}

void process_remember_signals(void)
{
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int i = 0; i < LIBRARY_SIGNALS; i++) {
        struct action was = {0};
        ignored[i] = library_action(i, NULL, &was) == 0 && was.handler == (uintptr_t)SIG_IGN;
    }
}

void process_restore_signals(void)
{
    const struct action ignore = {.handler = (uintptr_t)SIG_IGN};
    for (int i = 0; i < LIBRARY_SIGNALS; i++)
        if (ignored[i])
            library_action(i, &ignore, NULL);
    sigprocmask(SIG_SETMASK, &blocked, NULL);
}
