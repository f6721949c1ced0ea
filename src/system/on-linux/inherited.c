/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "system/inherited.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "base/proc-text.h"

/* The C libraries differ in which limits they know, and not all ask for a scheduler. */
static void put_limits(pid_t pid, struct buf *out)
{
    enum { LIMITS = 16 };
    uint64_t limit[2];
    for (int i = 0; i < LIMITS; i++)
        if (syscall(SYS_prlimit64, pid, i, NULL, limit) == 0)
            buf_add(out, (const char *)limit, sizeof(limit));
    buf_fmt(out, "%d %d ", getpriority(PRIO_PROCESS, (id_t)pid),
            (int)syscall(SYS_sched_getscheduler, pid));
}

/* Ids, umask, ignored signals, capabilities, processors: one file has them all. */
static bool put_status(const char *who, struct buf *out)
{
    static const char *const lines[] = {
        "\nUmask:",      "\nUid:",    "\nGid:",          "\nGroups:",      "\nSigIgn:",
        "\nCapInh:",     "\nCapPrm:", "\nCapEff:",       "\nCapBnd:",      "\nCapAmb:",
        "\nNoNewPrivs:", "\nSeccomp", "\nCpus_allowed:", "\nMems_allowed:"};
    char text[8192];
    if (proc_read(-1, text, sizeof(text), "/proc/%s/status", who) < 0)
        return false;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        const char *at = strstr(text, lines[i]);
        if (at)
            buf_add(out, at, strcspn(at + 1, "\n") + 1);
    }
    return true;
}

static bool put_all(const char *who, pid_t pid, struct buf *out)
{
    static const char *const places[] = {"ns/ipc", "ns/uts", "ns/cgroup", "ns/time", "root"};
    char path[64], text[4096];
    put_limits(pid, out);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, sizeof(path), "/proc/%s/%s", who, places[i]);
        ssize_t n = readlink(path, text, sizeof(text));
        if (n < 0 && errno == EACCES)
            return false;
        buf_add(out, text, n > 0 ? (size_t)n : 0);
    }
    if (proc_read(-1, text, sizeof(text), "/proc/%s/cgroup", who) < 0)
        return false;
    buf_str(out, text);
    if (proc_read(-1, text, sizeof(text), "/proc/%s/oom_score_adj", who) == 0)
        buf_str(out, text);
    return put_status(who, out) && buf_ok(out);
}

bool process_inherited(pid_t pid, char out[SHA256_HEX + 1])
{
    char who[16] = "self";
    OWN(buf) struct buf all = {0};
    if (pid)
        snprintf(who, sizeof(who), "%d", (int)pid);
    if (!put_all(who, pid, &all))
        return false;
    sha256_hex(all.s, all.n, out);
    return true;
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

void process_put_blocked(struct buf *out)
{
    buf_add(out, (const char *)&blocked, SIGNAL_BYTES); /* the rest is the library's */
}
