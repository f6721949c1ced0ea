/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A container chooses what its judge works on, so a mistake in the judge must not cost the node its
 * memory or a processor. The timer counts the process's own time, so a judge that waits is never
 * late. It runs for seconds without finishing a call only if it is stuck.
 */

#include "kernel/judge/judge-limits.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/proc-text.h"

enum { MORE_MEMORY = 64 << 20, FILES = 512, STUCK_SECONDS = 5 };

static volatile sig_atomic_t went_on, stuck;

static void on_second(int sig)
{
    (void)sig;
    stuck = went_on ? 0 : stuck + 1;
    went_on = 0;
    if (stuck >= STUCK_SECONDS)
        _exit(2);
}

void judge_went_on(void)
{
    went_on = 1;
}

static void limit(int what, rlim_t most)
{
    struct rlimit r;
    if (getrlimit(what, &r) < 0)
        return;
    r.rlim_max = r.rlim_max < most ? r.rlim_max : most; /* RLIM_INFINITY is the largest */
    r.rlim_cur = r.rlim_cur < r.rlim_max ? r.rlim_cur : r.rlim_max;
    setrlimit(what, &r);
}

/* Beyond what it has got from the agent. The sanitizers map terabytes. */
static void limit_memory(int proc)
{
    char text[4096];
    const char *at = proc_read(proc, text, sizeof(text), "self/status") < 0
                         ? NULL
                         : proc_field(text, "\nVmSize:");
    rlim_t size = at ? (rlim_t)strtoull(at, NULL, 10) * 1024 : 0;
    if (size && size < 1ull << 40)
        limit(RLIMIT_AS, size + MORE_MEMORY);
}

/* Threads that carry messages or wait for connections need little of the eight megabytes that each
 * would have, of which only few fit. */
static void limit_stacks(void)
{
    enum { STACK = 256 << 10 };
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK);
    pthread_setattr_default_np(&attr);
    pthread_attr_destroy(&attr);
}

void judge_limit(int proc)
{
    static const struct itimerval second = {{1, 0}, {1, 0}};
    struct sigaction act = {.sa_handler = on_second, .sa_flags = SA_RESTART};
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_NOFILE, FILES);
    limit_memory(proc);
    limit_stacks();
    sigaction(SIGPROF, &act, NULL);
    setitimer(ITIMER_PROF, &second, NULL);
}
