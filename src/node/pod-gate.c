/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Two processes. The first joins the network namespace, sets up the routes and listeners, passes
 * them on and ends. The second is the gate: it stays in the node's network, dials what the policy
 * allows, and can do nothing else. Nothing of either is inside.
 *
 * Other interfaces of the namespace are set down, so an address of the pod cannot be reached from
 * outside any more.
 *
 * The container must not have CAP_NET_ADMIN there, or it could remove the routes. The judge sees to
 * that before the container's program starts (judge-container.c).
 */

#include "node/pod-gate.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/gate/gate-main.h"
#include "kernel/gate/netns-sockets.h"
#include "kernel/launch/walls.h"
#include "kernel/shared/event-send.h"
#include "kernel/shared/roles.h"
#include "net/gate.h"

enum { EVENTS = 3, HANDED = 4, SAYS = 5 };

uint64_t pod_gate_network(pid_t pid)
{
    char name[32];
    struct stat its, own;
    snprintf(name, sizeof(name), "/proc/%d/ns/net", pid);
    if (stat(name, &its) < 0 || stat("/proc/self/ns/net", &own) < 0 ||
        (its.st_ino == own.st_ino && its.st_dev == own.st_dev))
        return 0;
    return its.st_ino;
}

/* ---- reports ---- */

struct reporter {
    pid_t pid; /* the container's: which of its processes it was is not known here */
    int proc;
    struct event event;
};

static void on_denial(void *arg, const struct gate_denial *d)
{
    struct reporter *t = arg;
    char what[GATE_WHAT];
    gate_process_describe(d, what);
    struct graph_verdict v = d->verdict;
    v.flags |= VOCAB_FLAG_REPORT;
    struct event_facts facts = {.pid = t->pid,
                                .tid = t->pid,
                                .op = OP_NETWORK_OUTBOUND,
                                .verdict = &v,
                                .err = v.allow ? 0 : EPERM,
                                .detail = d->request,
                                .path = what,
                                .len = strlen(what)};
    event_send(&(struct event_sender){t->proc, EVENTS, &t->event}, &facts);
}

/* ---- the processes ---- */

/* A socket that is bound to another interface ignores the routes to the gate. */
static int leave_loopback_only(void)
{
    OWN(fd) int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct if_nameindex *all = if_nameindex();
    int err = sock < 0 || !all ? -errno : 0;
    for (struct if_nameindex *i = all; err == 0 && i->if_index; i++) {
        struct ifreq req = {0};
        snprintf(req.ifr_name, sizeof(req.ifr_name), "%s", i->if_name);
        if (strcmp(i->if_name, "lo") == 0 || ioctl(sock, SIOCGIFFLAGS, &req) < 0)
            continue;
        req.ifr_flags &= (short)~IFF_UP;
        err = ioctl(sock, SIOCSIFFLAGS, &req) < 0 ? -errno : 0;
    }
    if (all)
        if_freenameindex(all);
    return err;
}

static void __attribute__((noreturn)) set_up(pid_t pid, int to)
{
    const struct netns_wishes nothing_more = {0};
    struct netns_sockets net;
    OWN(fd) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    int err = pidfd < 0 || setns(pidfd, CLONE_NEWNET) < 0 ? -errno : loopback_up();
    err = err < 0 ? err : leave_loopback_only();
    err = err < 0 ? err : netns_network(&nothing_more, &net);
    _exit(err < 0 || netns_sockets_send(to, &net) < 0);
}

static void __attribute__((noreturn)) be_gate(const struct graph *g, pid_t pid)
{
    static struct reporter reporter;
    struct gate_options o = {.graph = g,
                             .packets = &gate_packets,
                             .announcements = -1,
                             .link = -1,
                             .no_tls = "not in a container",
                             .on_denial = on_denial,
                             .arg = &reporter,
                             .answers = -1,
                             .until = EVENTS};
    reporter = (struct reporter){.pid = pid};
    setsid();
    role_take(ROLE_GATE);
    signal(SIGPIPE, SIG_IGN);
    reporter.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (netns_sockets_receive(HANDED, &o.sockets) < 0 || !o.sockets.handed_over)
        _exit(1);
    close(HANDED);
    if (gate_process_confine(0, false) < 0)
        _exit(1);
    (void)!write(SAYS, "", 1); /* it serves */
    close(SAYS);
    _exit(gate_run(&o) < 0);
}

/* Leaves 0 to 2 and these three, at fixed numbers. */
static void keep_three(int events, int handed, int says)
{
    int high[] = {fcntl(events, F_DUPFD_CLOEXEC, 100), fcntl(handed, F_DUPFD_CLOEXEC, 100),
                  fcntl(says, F_DUPFD_CLOEXEC, 100)};
    for (int i = 0; i < 3; i++)
        if (high[i] < 0 || dup3(high[i], EVENTS + i, O_CLOEXEC) < 0)
            _exit(1);
    syscall(SYS_close_range, (unsigned)SAYS + 1, ~0u, 0);
}

static bool fork_both(const struct graph *g, pid_t pid, int events, const int ends[2], int says)
{
    pid_t first = fork();
    if (first == 0)
        set_up(pid, ends[1]);
    pid_t second = first < 0 ? -1 : fork();
    if (second == 0) {
        keep_three(events, ends[0], says);
        be_gate(g, pid);
    }
    return second > 0;
}

int pod_gate_start(const struct graph *g, pid_t pid, int events, struct bk_err *err)
{
    int ends[2], says[2];
    char byte;
    ssize_t n = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return err_sys(err, "the gate");
    if (pipe2(says, O_CLOEXEC) < 0) {
        close(ends[0]);
        close(ends[1]);
        return err_sys(err, "the gate");
    }
    bool good = fork_both(g, pid, events, ends, says[1]);
    close(ends[0]);
    close(ends[1]);
    close(says[1]);
    while (good && (n = read(says[0], &byte, 1)) < 0 && errno == EINTR)
        ;
    close(says[0]);
    return n == 1 ? 0
                  : err_set(err, BK_E_SYSTEM,
                            "its network cannot be led to a gate: another one has it, or the "
                            "kernel lacks packet rules");
}
