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
#include "kernel/judge/foreground.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/relation.h"
#include "kernel/judge/target.h"

enum { TAKEN_BACK = 3 }; /* times */

static bool is_ours(const struct judge *w, pid_t group)
{
    return foreground_is_ours(w->proc, group, getppid());
}

static struct answer refuse(struct judge *w, const struct request *r, pid_t because)
{
    char why[96];
    snprintf(why, sizeof(why),
             because ? "the terminal's foreground, which process %d outside shares"
                     : "the terminal's foreground, which somebody outside has",
             because);
    report_refused(w, r, OP_PSEUDO_TTY, why);
    return answer_errno(EPERM);
}

/* The terminal that a descriptor of the target's is; without the right to take it, the one that we
 * and the target share. */
static int open_terminal(const struct judge *w, const struct request *r)
{
    int fd = target_take_fd(w, r, (int)r->args[0]);
    if (fd == -EPERM || fd == -ENOSYS)
        fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    return fd;
}

struct answer handle_foreground(struct judge *w, const struct request *r)
{
    pid_t session = getsid(r->tid), job = getpgrp(), now, then;
    if (w->applied)
        return session == getsid(w->applied) ? refuse(w, r, 0) : answer_go_on();
    if (session != getsid(0))
        return answer_go_on();
    int err = target_read(r, r->args[2], &then, sizeof(then));
    OWN(fd) int fd = err < 0 ? err : open_terminal(w, r);
    if (fd < 0 || !request_is_valid(w, r))
        return answer_value(fd < 0 ? fd : -EPERM);
    if (then < 0)
        return answer_errno(EINVAL);
    if (ioctl(fd, TIOCGPGRP, &now) < 0)
        return answer_errno(errno);
    /* in a namespace of their own the number of our group is 0 to them */
    if (w->pid_ns ? then == 0 : then == job)
        then = job;
    else if (!w->pid_ns && !is_ours(w, then))
        return refuse(w, r, 0);
    pid_t other = now == job ? foreground_outsider(w->proc, job, getppid()) : 0;
    w->taken_back += other && w->away;
    bool shared = w->handed && w->taken_back < TAKEN_BACK;
    if ((other && !shared) || (now != job && !is_ours(w, now)))
        return refuse(w, r, other);
    w->away = then != job && (other || (now != job && w->away));
    /* there no number means anybody outside, whatever is exchanged by now */
    if (w->pid_ns && then != job)
        return answer_go_on();
    return answer_value(ioctl(fd, TIOCSPGRP, &then) < 0 ? -errno : 0);
}
