/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Ending like the command that was run. */

#include "cli/run/exit-status.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "system/process.h"

int exit_as(const struct launch_end *end)
{
    if (end->timed_out)
        return 124;
    if (WIFEXITED(end->status))
        return WEXITSTATUS(end->status);
    int sig = WTERMSIG(end->status);
    sigset_t one;
    process_no_core(); /* no second one: ours would hold what the command must not have */
    signal(sig, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, sig);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(sig);
    return 128 + sig;
}

void exit_write(int fd, struct buf *b)
{
    if (buf_ok(b))
        (void)fd_write_all(fd, b->s, b->n);
    buf_free(b);
}
