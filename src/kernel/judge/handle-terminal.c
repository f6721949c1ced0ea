/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Moving a terminal's foreground. Shells inside do so for their jobs. But the kernel stops those
 * who are not in the foreground and read from the terminal, with everybody of the same process
 * group. So the foreground of the person's terminal moves only while it is the sandbox's: held by
 * one of its groups, or by the job that Buckle is.
 *
 * There may be others in that job: a script that waits for us, the rest of a pipeline. If the
 * command was handed the terminal, it may have it all the same, since a shell that may not would
 * stop. When one of the others is stopped for that, the controller takes the terminal back
 * (launch.c), and after a few times it is not given again.
 *
 * Terminals that are made inside belong to other sessions than ours, and concern nobody outside.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/foreground.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/relation.h"
#include "kernel/judge/target.h"

enum { TAKEN_BACK = 3 }; /* times */

static bool is_own_group(const struct judge *j, pid_t group)
{
    return foreground_is_ours(j->proc, group, getppid());
}

static struct answer refuse_foreground(struct judge *j, const struct request *r, pid_t because)
{
    char why[96];
    snprintf(why, sizeof(why),
             because ? "the terminal's foreground, which process %d outside shares"
                     : "the terminal's foreground, which somebody outside has",
             because);
    report_refused(j, r, OP_PSEUDO_TTY, why);
    return answer_errno(EPERM);
}

/* The terminal that a descriptor of the target's is; without the right to take it, the one that we
 * and the target share. */
static int open_terminal(const struct judge *j, const struct request *r)
{
    int fd = target_take_fd(j, r, (int)r->args[0]);
    if (fd == -EPERM || fd == -ENOSYS)
        fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    return fd;
}

struct answer handle_foreground(struct judge *j, const struct request *r)
{
    pid_t session = getsid(r->tid), job = getpgrp(), now, then;
    if (j->applied.pid)
        return session == getsid(j->applied.pid) ? refuse_foreground(j, r, 0) : answer_continue();
    if (session != getsid(0))
        return answer_continue();
    int err = target_read(r, r->args[2], &then, sizeof(then));
    OWN(fd) int fd = err < 0 ? err : open_terminal(j, r);
    if (fd < 0 || !request_is_valid(j, r))
        return answer_value(fd < 0 ? fd : -EPERM);
    if (then < 0)
        return answer_errno(EINVAL);
    if (ioctl(fd, TIOCGPGRP, &now) < 0)
        return answer_errno(errno);
    /* in a namespace of their own the number of our group is 0 to them */
    if (j->pid_ns ? then == 0 : then == job)
        then = job;
    else if (!j->pid_ns && !is_own_group(j, then))
        return refuse_foreground(j, r, 0);
    pid_t other = now == job ? foreground_outsider(j->proc, job, getppid()) : 0;
    j->terminal.taken_back += other && j->terminal.away;
    bool shared = j->terminal.handed && j->terminal.taken_back < TAKEN_BACK;
    if ((other && !shared) || (now != job && !is_own_group(j, now)))
        return refuse_foreground(j, r, other);
    j->terminal.away = then != job && (other || (now != job && j->terminal.away));
    /* there no number means anybody outside, whatever is exchanged by now */
    if (j->pid_ns && then != job)
        return answer_continue();
    return answer_value(ioctl(fd, TIOCSPGRP, &then) < 0 ? -errno : 0);
}
