/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Not every C library has sigabbrev_np(). */

#include "kernel/shared/signal-name.h"

#include <signal.h>
#include <stddef.h>

#define SIGNAL(name) [name] = #name,
static const char names[][10] = {
    /* clang-format off */
    SIGNAL(SIGHUP) SIGNAL(SIGINT) SIGNAL(SIGQUIT) SIGNAL(SIGILL) SIGNAL(SIGTRAP) SIGNAL(SIGABRT)
    SIGNAL(SIGBUS) SIGNAL(SIGFPE) SIGNAL(SIGKILL) SIGNAL(SIGUSR1) SIGNAL(SIGSEGV) SIGNAL(SIGUSR2)
    SIGNAL(SIGPIPE) SIGNAL(SIGALRM) SIGNAL(SIGTERM) SIGNAL(SIGSTKFLT) SIGNAL(SIGCHLD)
    SIGNAL(SIGCONT) SIGNAL(SIGSTOP) SIGNAL(SIGTSTP) SIGNAL(SIGTTIN) SIGNAL(SIGTTOU) SIGNAL(SIGURG)
    SIGNAL(SIGXCPU) SIGNAL(SIGXFSZ) SIGNAL(SIGVTALRM) SIGNAL(SIGPROF) SIGNAL(SIGWINCH)
    SIGNAL(SIGIO) SIGNAL(SIGPWR) SIGNAL(SIGSYS)
    /* clang-format on */
};

const char *signal_name(int number)
{
    size_t n = sizeof(names) / sizeof(names[0]);
    return number > 0 && (size_t)number < n && names[number][0] ? names[number] : NULL;
}
