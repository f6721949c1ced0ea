/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The door for a sandbox inside this one (launch/nest.h). The judge only connects: it makes a pair
 * of sockets, gives one end to the caller and the other to the controller, with a pidfd of the
 * caller. It reads nothing of what the two say.
 */

#include <errno.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/judge/handle-userns.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/target.h"
#include "kernel/launch/nest.h"
#include "kernel/shared/fd-pass.h"

static struct answer connect_asker(const struct judge *j, const struct request *r, int asker)
{
    struct nest_asked asked = {NEST_MAGIC};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return answer_errno(errno);
    OWN(fd) int theirs = ends[0];
    OWN(fd) int ours = ends[1];
    const int fds[] = {asker, ours};
    /* a controller that is busy must not keep other calls waiting */
    int err = fd_pass_try_many(j->events, &asked, sizeof(asked), fds, 2);
    if (err < 0)
        return answer_value(err);
    judge_send_fd(j->listener, r->id, steal_fd(&theirs), true);
    return (struct answer){.sent = true};
}

struct answer handle_nest(struct judge *j, const struct request *r)
{
    if (r->args[0] == PR_SET_CHILD_SUBREAPER)
        return commands_adopter(j, r);
    if (!j->nests)
        return answer_errno(EINVAL);
    if (j->commands.now) /* a rule about its command would end at the new sandbox */
        return answer_errno(EPERM);
    if (j->makes_user_ns && userns_other_root(j, r))
        return answer_errno(EPERM);
    pid_t pid = target_process(j, r);
    OWN(fd) int asker = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
    if (asker < 0 || !request_is_valid(j, r))
        return answer_errno(EPERM);
    return connect_asker(j, r, asker);
}
