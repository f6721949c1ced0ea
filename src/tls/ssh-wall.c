/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The agent inside reads what the command sends, so it gets a wall of its own: it talks to clients
 * and to the agent outside, and opens no file, no other kind of socket and no process. A refusal is
 * an event of the run. The client's number is the one outside, because this process is outside.
 */

#include "tls/ssh-wall.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "kernel/launch/walls.h"
#include "kernel/shared/own-filter.h"
#include "report/event.h"

static const int needed[] = {
    SYS_read,          SYS_close,        SYS_sendto,         SYS_recvfrom,        SYS_accept4,
    SYS_connect,       SYS_getsockopt,   SYS_setsockopt,     SYS_ppoll,
#ifdef SYS_poll
    SYS_poll,
#endif
    SYS_clock_gettime, SYS_brk,          SYS_mmap,           SYS_munmap,          SYS_mremap,
    SYS_mprotect,      SYS_madvise,      SYS_futex,          SYS_getrandom,       SYS_getpid,
    SYS_gettid,        SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_restart_syscall, SYS_exit_group,
    SYS_exit,
};

static int confine(void)
{
    const struct own_filter filter = {
        .lists = {{needed, sizeof(needed) / sizeof(needed[0])}},
        .listed = SECCOMP_RET_ALLOW,
        .others = SECCOMP_RET_ERRNO | EPERM,
        .but = {{SYS_socket,
                 1,
                 {{0, OWN_EQUAL, AF_UNIX}},
                 SECCOMP_RET_ALLOW,
                 SECCOMP_RET_ERRNO | EPERM}},
        .nbut = 1,
    };
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    int err = capabilities_drop(0);
    return err < 0 ? err : own_filter_install(&filter);
}

/* The judge's way to send events needs the whole vocabulary, which this program does not have. */
static void refused(pid_t client, const char *why)
{
    static const char object[] = "ssh-agent";
    static struct event e;
    size_t size = offsetof(struct event, path) + sizeof(object);
    e = (struct event){.time_ns = date_ns(),
                       .pid = client,
                       .tid = client,
                       .rule = GRAPH_NO_RULE,
                       .op = OP_NETWORK_OUTBOUND,
                       .count = 1,
                       .path_len = sizeof(object) - 1};
    snprintf(e.detail, sizeof(e.detail), "%s", why);
    memcpy(e.path, object, sizeof(object));
    send(SSH_EVENTS_FD, &e, size, MSG_NOSIGNAL);
}

const struct ssh_hooks ssh_hooks = {.confine = confine, .refused = refused};
