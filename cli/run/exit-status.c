/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Ending like the command that was run. */

#include "cli/run/exit-status.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

int exit_as(const struct launch_end *end)
{
    if (end->timed_out)
        return 124;
    if (WIFEXITED(end->status))
        return WEXITSTATUS(end->status);
    int sig = WTERMSIG(end->status);
    sigset_t one;
    /* no second core: ours would hold what the command must not have; a limit does not stop a core
     * handler */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
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
