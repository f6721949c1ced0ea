/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Moving a terminal's foreground. Shells inside do this for their jobs. But the kernel stops
 * processes that read from the terminal outside its foreground, with their whole process group. So
 * the foreground of the user's terminal moves only while it belongs to the sandbox: to one of its
 * groups, or to the job that Buckle is in.
 *
 * That job may have other processes: a script that waits for Buckle, the rest of a pipeline. If the
 * command's standard input is the terminal, it may still take the foreground, because a shell that
 * may not would stop. If that stops one of the others, the controller takes the terminal back
 * (launch.c); after a few times the command does not get it again.
 *
 * Terminals that are created inside belong to other sessions and affect no process outside.
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

/* The ancestor of all processes of the launch. */
static pid_t topmost(const struct judge *j)
{
    return j->terminal.caller ? j->terminal.caller : getppid();
}

static bool is_own_group(const struct judge *j, pid_t group)
{
    return foreground_is_ours(j->proc, group, topmost(j));
}

static struct answer refuse_foreground(struct judge *j, const struct request *r, pid_t because)
{
    char why[96];
    snprintf(why, sizeof(why),
             because ? "the terminal's foreground, which process %d outside shares"
                     : "the terminal's foreground, which a process outside has",
             because);
    report_refused(j, r, OP_PSEUDO_TTY, why);
    return answer_errno(EPERM);
}

/* Opens the terminal behind a descriptor of the target. If that may not be copied, opens the
 * terminal that the judge shares with the target. */
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
    /* in their pid namespace, our group's number is 0 */
    if (j->pid_ns ? then == 0 : then == job)
        then = job;
    else if (!j->pid_ns && !is_own_group(j, then))
        return refuse_foreground(j, r, 0);
    pid_t other = now == job ? foreground_outsider(j->proc, job, topmost(j)) : 0;
    j->terminal.taken_back += other && j->terminal.away;
    bool shared = j->terminal.handed && j->terminal.taken_back < TAKEN_BACK;
    if ((other && !shared) || (now != job && !is_own_group(j, now)))
        return refuse_foreground(j, r, other);
    j->terminal.away = then != job && (other || (now != job && j->terminal.away));
    /* there, no pid can mean a process outside, whatever changes */
    if (j->pid_ns && then != job)
        return answer_continue();
    return answer_value(ioctl(fd, TIOCSPGRP, &then) < 0 ? -errno : 0);
}
