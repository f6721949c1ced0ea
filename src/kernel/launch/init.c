/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * PID 1 of the sandbox's namespaces. It maps ids, makes the sandbox's mounts, gives up everything
 * else, and from then on only reaps orphans. When it exits, the kernel kills every process of its
 * pid namespace.
 *
 * It should: mount, drop, wait. It must not: read anything the command controls, or be worth
 * attacking. So its own filter leaves it nothing but waiting.
 */

#include "kernel/launch/init.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "base/proc-text.h"
#include "kernel/gate/netns-sockets.h"
#include "kernel/launch/device-wall.h"
#include "kernel/launch/host-mounts.h"
#include "kernel/launch/kernel-files.h"
#include "kernel/launch/layers.h"
#include "kernel/launch/terminals.h"
#include "kernel/launch/walls.h"
#include "kernel/shared/event-send.h"
#include "kernel/shared/fd-pass.h"
#include "kernel/shared/forget-environ.h"
#include "kernel/shared/own-filter.h"
#include "kernel/shared/processor.h"
#include "kernel/shared/roles.h"

/* Announces that a part is done, or failed in this step. The network comes with its file
 * descriptor. */
struct announcement {
    int32_t step, err;
    bool layers[LAYERS_PREPARED];
};

/* With the devices that init found, if it looked for them. */
struct mounts_announcement {
    struct announcement outcome;
    struct devices_list devices;
};

static int announce(int to, enum launch_step step, int err, int fd)
{
    struct announcement announcement = {(int32_t)step, -err, {false}};
    return fd_pass_send(to, &announcement, sizeof(announcement), fd);
}

static int outcome_of(const struct announcement *announcement, ssize_t n, enum launch_step *step)
{
    *step = n == sizeof(*announcement) ? (enum launch_step)announcement->step : STEP_INIT;
    return n == sizeof(*announcement) ? -announcement->err : -EIO;
}

/* Uses only read(), which an installed filter allows. */
static int wait_for_part(int from, enum launch_step *step)
{
    struct announcement announcement;
    ssize_t n;
    while ((n = read(from, &announcement, sizeof(announcement))) < 0 && errno == EINTR)
        ;
    return outcome_of(&announcement, n, step);
}

static int receive_part(int from, enum launch_step *step)
{
    struct announcement announcement;
    int fd;
    ssize_t n = fd_pass_receive(from, &announcement, sizeof(announcement), &fd);
    int err = outcome_of(&announcement, n, step);
    return err < 0 ? err : fd < 0 ? -EBADF : fd;
}

/* What the judge wants of the network: netns_wishes in one piece. */
struct order {
    bool set_up, inside, loop, no_rules, no_hand_over;
    size_t nlocal, nports;
    struct local_port local[NETNS_LOCAL];
    uint16_t ports[NETNS_PORTS];
};

/* ---- the init process ---- */

static volatile sig_atomic_t leave_when_alone;

static void on_leave(int sig)
{
    (void)sig;
    leave_when_alone = 1;
}

static void on_child(int sig)
{
    (void)sig;
}

/* The controller wants every process to stop. It is outside, so the signal has no sender pid here;
 * a signal from inside has one and is ignored. */
static volatile sig_atomic_t stop_all;

static void on_stop_all(int sig, siginfo_t *from, void *context)
{
    (void)sig;
    (void)context;
    stop_all = stop_all || from->si_pid == 0;
}

static int only_wait(void)
{
    /* sanitizers ask where the stack is before a call that does not return */
    static const int calls[] = {SYS_wait4,      SYS_rt_sigsuspend,   SYS_rt_sigreturn,
                                SYS_exit_group, SYS_restart_syscall, SYS_sigaltstack};
    static const struct own_filter filter = {
        .lists = {{calls, sizeof(calls) / sizeof(calls[0])}},
        .listed = SECCOMP_RET_ALLOW,
        .others = SECCOMP_RET_KILL_PROCESS,
        .but = {{SYS_kill,
                 2,
                 {{0, OWN_EQUAL, UINT32_MAX}, {1, OWN_EQUAL, SIGSTOP}},
                 SECCOMP_RET_ALLOW,
                 SECCOMP_RET_KILL_PROCESS}},
        .nbut = 1,
    };
    return own_filter_install(&filter);
}

/* Processes that changed their credentials must stop as well. And init knows what root's command
 * must not know (the environment it was not given). The command could read that from a process with
 * no more capabilities than it has. So init keeps those that it set up the sandbox with, which the
 * command never has. */
static int retire(void)
{
    const uint64_t stops = UINT64_C(1) << CAP_KILL, mounts = UINT64_C(1) << CAP_SYS_ADMIN;
    int err = capabilities_rest(stops, mounts);
    return err < 0 ? err : only_wait();
}

static void __attribute__((noreturn)) collect(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (;;) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0 && errno == ECHILD && leave_when_alone)
            _exit(0);
        if (stop_all) {
            stop_all = 0;
            kill(-1, SIGSTOP); /* all at once, so that no new process is missed */
        }
        if (pid <= 0)
            sigsuspend(&none);
    }
}

/* The work of init. */
struct task {
    bool user_ns, net_ns, devices;
    const char *cwd;
    uid_t uid;
    gid_t gid;
    int controller; /* its pidfd */
    int mounts;     /* pipe for the host's, or -1 */
    char *table;    /* of these, or NULL; init needs no memory back */
    int spaces;     /* namespaces to make, except for the network */
    int sysctl;     /* /proc/sys, or -1 */
    struct id_maps maps;
    struct terminals terminals;
    const char *const *layers; /* to prepare */
    int trees[LAYERS_PREPARED];
};

/* A user namespace cannot show a folder without the mounts in it. The kernel would say so on the
 * console each time, which can take a millisecond. */
static bool may_prepare(const struct task *t)
{
    for (size_t i = 0; t->user_ns && t->table && i < LAYERS_PREPARED && t->layers[i]; i++)
        if (host_mounts_are_below(t->table, t->layers[i]))
            return false;
    return true;
}

static int make_mounts(struct task *t, enum launch_step *step, struct devices_list *devices)
{
    int err = 0;
    *step = STEP_MAP_IDS;
    if (t->user_ns && (err = id_maps_take(&t->maps, t->uid, t->gid)) < 0)
        return err;
    /* here and not in clone(), which would block the parent */
    *step = STEP_NAMESPACES;
    if (unshare(t->spaces) < 0)
        return -errno;
    *step = STEP_PRIVATE_MOUNTS;
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
        return -errno;
    *step = STEP_SHARED_MEMORY;
    if ((err = private_shared_memory(t->cwd)) < 0 ||
        (t->spaces & CLONE_NEWIPC && (err = private_queues()) < 0))
        return err;
    *step = STEP_TERMINALS;
    if ((err = terminals_mount(&t->terminals)) < 0)
        return err;
    *step = STEP_MOUNT_PROC;
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return -errno;
    /* Below the mount that is made next, and that the judge makes read-only. */
    t->sysctl = t->net_ns ? open("/proc/sys", O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    kernel_files_prepare();
    devices_prepare(t->devices ? devices : NULL);
    /* init needs no working directory of its own */
    if (t->layers[0] && may_prepare(t) && chdir("/proc") == 0)
        layers_prepare(t->layers, t->user_ns, t->trees);
    *step = STEP_NONE;
    return 0;
}

/* Which of the prepared layers there are, with their file descriptors. */
static int announce_mounts(int to, struct mounts_announcement *m, const int *trees)
{
    int fds[LAYERS_PREPARED];
    size_t n = 0;
    for (size_t i = 0; i < LAYERS_PREPARED; i++)
        if ((m->outcome.layers[i] = trees[i] >= 0))
            fds[n++] = trees[i];
    return fd_pass_send_many(
        to, m, offsetof(struct mounts_announcement, devices.text) + m->devices.n, fds, n);
}

/* Returns the network namespace's file descriptor. */
static int open_network(enum launch_step *step)
{
    *step = STEP_NAMESPACES;
    int fd = unshare(CLONE_NEWNET) < 0 ? -1 : open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    *step = STEP_NONE;
    return fd;
}

static int set_up_gate_network(int to)
{
    struct order order;
    struct netns_sockets net;
    ssize_t n;
    while ((n = recv(to, &order, sizeof(order), 0)) < 0 && errno == EINTR)
        ;
    if (n != sizeof(order))
        return -1; /* no process is left that could want it */
    if (!order.set_up)
        return 0;
    struct netns_wishes wishes = {.local = order.local,
                                  .nlocal = order.nlocal,
                                  .inside = order.inside,
                                  .loop = order.loop,
                                  .ports = order.ports,
                                  .nports = order.nports,
                                  .no_rules = order.no_rules,
                                  .no_hand_over = order.no_hand_over};
    int err = netns_network(&wishes, &net);
    if (announce(to, STEP_GATE, err, -1) < 0 || err < 0)
        return -1;
    err = netns_sockets_send(to, &net);
    netns_close(&net);
    return err;
}

/* Lets ping work among the sandbox's own addresses without a capability. */
static void allow_echo(int sysctl, gid_t gid)
{
    char range[32];
    OWN(fd) int fd = openat(sysctl, "net/ipv4/ping_group_range", O_WRONLY | O_CLOEXEC);
    int n = snprintf(range, sizeof(range), "%u %u", gid, gid);
    if (fd >= 0)
        (void)!write(fd, range, (size_t)n);
}

static int set_up(struct task *t, int to)
{
    enum launch_step step;
    struct mounts_announcement made;
    memset(&made, 0, offsetof(struct mounts_announcement, devices.text));
    int err = make_mounts(t, &step, &made.devices);
    OWN(fd) int sysctl = t->sysctl;
    made.outcome.step = (int32_t)step;
    made.outcome.err = -err;
    if (announce_mounts(to, &made, t->trees) < 0 || err < 0)
        return -1;
    if (!t->net_ns)
        return 0;
    int net = open_network(&step);
    if (net >= 0)
        allow_echo(sysctl, t->gid); /* before the command can start */
    if (announce(to, step, net < 0 ? net : 0, net) < 0 || net < 0)
        return -1;
    err = loopback_up();
    if (announce(to, STEP_LOOPBACK, err, -1) < 0 || err < 0)
        return -1;
    return set_up_gate_network(to);
}

/* An unread order would reset the connection and lose what was announced. If a sandbox around us
 * refuses shutdown(), we read until nobody is left to order anything, or we are killed. */
static void refuse_orders(int to)
{
    struct order order;
    int how = shutdown(to, SHUT_RD) == 0 ? MSG_DONTWAIT : 0;
    while (recv(to, &order, sizeof(order), how) > 0)
        ;
}

/* In our own pid namespace we have no parent: getppid() is useless. */
static bool has_ended(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    return poll(&p, 1, 0) != 0;
}

static void __attribute__((noreturn)) first_main(struct task *t, int to)
{
    struct sigaction leave = {.sa_handler = on_leave}, child = {.sa_handler = on_child};
    struct sigaction stopping = {.sa_sigaction = on_stop_all, .sa_flags = SA_SIGINFO};
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (has_ended(t->controller))
        _exit(1); /* it died before we were tied to it */
    role_take(ROLE_INIT);
    forget_environ(NULL);
    sigaction(SIGUSR1, &leave, NULL);
    sigaction(SIGCHLD, &child, NULL);
    sigaction(INIT_STOP_ALL, &stopping, NULL);
    if (t->mounts >= 0) {
        t->table = host_mounts_send(t->mounts);
        close(t->mounts);
    }
    if (set_up(t, to) < 0) {
        refuse_orders(to);
        _exit(1);
    }
    int terminal = terminals_settle(&t->terminals);
    bool kept = terminal >= 0 && dup2(terminal, 0) == 0;
    syscall(SYS_close_range, kept ? 1U : 0U, ~0U, 0);
    if (retire() < 0)
        _exit(1);
    collect();
}

/* ---- the controller's side ---- */

/*
 * clone() into a pid namespace below that of another init. A process that entered a namespace is
 * not in it, only its children are; only they can make one below; and an ordinary user enters it
 * through the user namespace that it belongs to. So there are two go-betweens, and all three are
 * our children:
 *
 *   enters the namespaces ──▶ is in them ──▶ the new init
 *
 * Numbers differ between the namespaces, so the second one passes a pidfd.
 */
struct sibling {
    int32_t err;
    pid_t pid; /* of the second go-between */
};

static void announce_sibling(int to, int err, pid_t pid, int pidfd)
{
    struct sibling s = {err, pid};
    fd_pass_send(to, &s, sizeof(s), pidfd);
}

/* Returns 0 in the new init, and does not return in the go-betweens. */
static pid_t enter_and_clone(int init, unsigned long flags, int to)
{
    int spaces = CLONE_NEWPID | (flags & CLONE_NEWUSER ? CLONE_NEWUSER : 0);
    pid_t pid = setns(init, spaces) < 0
                    ? -1
                    : (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (pid != 0) {
        announce_sibling(to, pid < 0 ? errno : 0, pid, -1);
        _exit(0);
    }
    pid = (pid_t)syscall(SYS_clone, flags | CLONE_PARENT, 0, 0, 0, 0);
    if (pid == 0) {
        /* entering a user namespace has hidden us, also from the judge */
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        return 0;
    }
    int err = pid < 0 ? errno : 0, pidfd = pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
    announce_sibling(to, err, 0, pidfd);
    _exit(0);
}

static void reap(pid_t pid)
{
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

static pid_t clone_below(int init, unsigned long flags)
{
    struct sibling first = {0, -1}, second = {EAGAIN, -1};
    int ends[2], nothing, pidfd = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    OWN(fd) int ours = ends[0];
    OWN(fd) int theirs = ends[1];
    pid_t between = fork();
    if (between == 0)
        return enter_and_clone(init, flags, theirs);
    close(steal_fd(&theirs));
    /* either can be faster; unless both are known, one of them would not be reaped */
    struct sibling s;
    while (between > 0 && fd_pass_receive(ours, &s, sizeof(s), &nothing) == sizeof(s)) {
        *(s.pid ? &first : &second) = s;
        pidfd = nothing >= 0 ? nothing : pidfd;
        if (first.err || (first.pid > 0 && second.pid == 0))
            break;
    }
    reap(between);
    reap(first.pid);
    OWN(fd) int made = pidfd;
    errno = first.err ? first.err : second.err;
    return made >= 0 ? pidfd_process(made) : -1;
}

void init_start(struct init *g, const struct host *h, const char *cwd, const char *const *layers)
{
    static const char *const none[LAYERS_PREPARED];
    int ends[2];
    int pipe[2] = {-1, -1};
    bool reads = g->reads, devices = g->devices;
    *g =
        (struct init){.pidfd = -1, .ready = -1, .mounts = -1, .below = g->below, .depth = g->depth};
    struct host_spaces spaces = host_spaces(h);
    struct task t = {
        .user_ns = spaces.user, .net_ns = spaces.net, .uid = geteuid(), .gid = getegid()};
    OWN(fd) int controller = spaces.pid ? (int)syscall(SYS_pidfd_open, getpid(), 0) : -1;
    t.controller = controller;
    if (controller < 0 || id_maps_open(&t.maps, t.user_ns) < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return;
    t.spaces = CLONE_NEWNS | (spaces.ipc ? CLONE_NEWIPC : 0) | (spaces.uts ? CLONE_NEWUTS : 0);
    t.cwd = cwd;
    t.devices = devices;
    t.sysctl = -1;
    t.mounts = reads && pipe2(pipe, O_CLOEXEC) == 0 ? pipe[1] : -1;
    t.layers = layers ? layers : none;
    for (size_t i = 0; i < LAYERS_PREPARED; i++)
        t.trees[i] = -1;
    unsigned long flags = SIGCHLD | CLONE_NEWPID | (t.user_ns ? CLONE_NEWUSER : 0);
    pid_t pid =
        g->below ? clone_below(g->below, flags) : (pid_t)syscall(SYS_clone, flags, 0, 0, 0, 0);
    if (pid == 0) {
        close(ends[0]);
        first_main(&t, ends[1]);
    }
    int err = pid < 0 ? -errno : 0;
    g->mounts = pipe[0];
    if (pipe[1] >= 0)
        close(pipe[1]);
    processor_send_off(pid, false);
    id_maps_give(&t.maps, pid); /* when that fails, init reports it */
    if (pid < 0)
        announce(ends[1], STEP_NAMESPACES, err, -1);
    close(ends[1]);
    g->ready = ends[0];
    g->pid = pid > 0 ? pid : 0;
    g->net_ns = t.net_ns;
    g->pidfd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
}

int init_send(const struct init *g, int to)
{
    const int fds[] = {g->ready, g->pidfd};
    return fd_pass_send_many(to, g, sizeof(*g), fds, (g->ready >= 0) + (g->pidfd >= 0));
}

int init_receive(struct init *g, int from)
{
    struct init received;
    int fds[] = {-1, -1};
    size_t came;
    ssize_t n = fd_pass_receive_many(from, &received, sizeof(received), fds, 2, &came);
    if (n != sizeof(received))
        return n < 0 ? (int)n : -EIO;
    if (came != (size_t)(received.ready >= 0) + (received.pidfd >= 0))
        return -EMFILE;
    received.ready = fds[0];
    received.pidfd = fds[1];
    *g = received;
    return 0;
}

void init_order(const struct init *g, const struct netns_wishes *wishes)
{
    struct order order;
    memset(&order, 0, sizeof(order));
    if (wishes) {
        order.set_up = true;
        order.inside = wishes->inside;
        order.loop = wishes->loop;
        order.nlocal = wishes->nlocal < NETNS_LOCAL ? wishes->nlocal : NETNS_LOCAL;
        memcpy(order.local, wishes->local, order.nlocal * sizeof(order.local[0]));
        order.nports = wishes->nports < NETNS_PORTS ? wishes->nports : NETNS_PORTS;
        memcpy(order.ports, wishes->ports, order.nports * sizeof(order.ports[0]));
        order.no_rules = wishes->no_rules;
        order.no_hand_over = wishes->no_hand_over;
    }
    /* an init that exited has announced why */
    fd_pass_send(g->ready, &order, sizeof(order), -1);
}

/* Whether the devices came whole, each with its NUL. */
static bool has_devices(const struct mounts_announcement *m, ssize_t n)
{
    const struct devices_list *d = &m->devices;
    return d->whole && d->n > 0 && d->n <= sizeof(d->text) &&
           (size_t)n == offsetof(struct mounts_announcement, devices.text) + d->n &&
           !d->text[d->n - 1];
}

int init_wait_mounts(const struct init *g, enum launch_step *step, int trees[LAYERS_PREPARED],
                     struct devices_list *devices)
{
    struct mounts_announcement m;
    int fds[LAYERS_PREPARED];
    size_t came = 0, used = 0;
    const size_t least = offsetof(struct mounts_announcement, devices.text);
    ssize_t n = fd_pass_receive_many(g->ready, &m, sizeof(m), fds, LAYERS_PREPARED, &came);
    /* an init that could not start was announced without mounts */
    bool full = n >= (ssize_t)least;
    int err = outcome_of(&m.outcome, full ? (ssize_t)sizeof(m.outcome) : n, step);
    for (size_t i = 0; i < LAYERS_PREPARED; i++)
        trees[i] = err >= 0 && m.outcome.layers[i] && used < came ? fds[used++] : -1;
    devices->whole = full && has_devices(&m, n);
    devices->n = devices->whole ? m.devices.n : 0;
    memcpy(devices->text, m.devices.text, devices->n);
    if (err >= 0 && g->pidfd < 0) {
        *step = STEP_INIT;
        return -ENOSYS;
    }
    return err;
}

int init_take_network(const struct init *g, enum launch_step *step)
{
    return receive_part(g->ready, step);
}

int init_wait_loopback(const struct init *g, enum launch_step *step)
{
    return wait_for_part(g->ready, step);
}

int init_take_gate_sockets(const struct init *g, struct netns_sockets *out, enum launch_step *step)
{
    int err = wait_for_part(g->ready, step);
    return err < 0 ? err : netns_sockets_receive(g->ready, out);
}

int init_enter(int pidfd, pid_t init, int proc, int flags)
{
    char name[32];
    if (setns(pidfd, flags) < 0)
        return -errno;
    /* We may have been in a chroot, which entering the mount namespace leaves; init is still in it.
     * Its root can be the same folder on another mount, so comparing the two says nothing. */
    snprintf(name, sizeof(name), "%d/root", init);
    OWN(fd) int root = openat(proc, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return root < 0 || fchdir(root) < 0 || chroot(".") < 0 ? -errno : 0;
}

void init_end(struct init *g)
{
    if (g->pid > 0) {
        kill(g->pid, SIGKILL);
        while (waitpid(g->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (g->pidfd >= 0)
        close(g->pidfd);
    if (g->ready >= 0)
        close(g->ready);
    if (g->mounts >= 0)
        close(g->mounts);
    *g =
        (struct init){.pidfd = -1, .ready = -1, .mounts = -1, .below = g->below, .depth = g->depth};
}
