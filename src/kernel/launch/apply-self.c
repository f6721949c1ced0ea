/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The calling process sandboxes itself, and a judge that it forked before judges it:
 *
 *   the process   walls (Landlock) ──▶ forks ──▶ one layer more ──▶ filter ──▶ goes on
 *                                       │                             │
 *   the judge                          └─ is inside the walls,       └─ takes the listener out of
 *                                          outside the second layer      the process, and judges
 *
 * So the judge can read the process, and the process cannot read the judge. Between the filter and
 * the judge's confirmation the process makes no judged call, because nobody answers yet. Signal
 * handlers, which could make one, wait.
 *
 * The judge is not a child of the process, so the process never sees it in wait(). It exits when no
 * process is left behind the filter. If it dies, judged calls fail (ENOSYS), and no other judge can
 * be installed, because the filter refuses that.
 */

#include "kernel/launch/apply-self.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/waiting-calls.h"
#include "kernel/launch/walls.h"
#include "kernel/shared/roles.h"
#include "kernel/shared/setup.h"

void apply_host(struct host *h)
{
    h->user_ns = h->mount_ns = h->pid_ns = h->net_ns = h->ipc_ns = h->uts_ns = false;
    h->mount_proc = h->fuse = h->nftables = h->nft_tproxy = false;
    host_find_disks(h);
}

const char *apply_refuses(const struct plan *p)
{
    if (p->gate)
        return "filtering hosts by name needs a network namespace";
    if (p->host.landlock == 0)
        return "there is no Landlock to keep the process from reading its judge's memory";
    if (p->judge && (!p->host.seccomp_notify || p->host.listener_taken))
        return "calls must be judged, and another supervisor already judges this process";
    if (p->judge && (!p->host.read_memory || !p->host.pidfd_getfd))
        return "calls must be judged, and no other process may read this one";
    if (p->nsentries)
        return "denied files would need a mount over them";
    return NULL;
}

/* What both processes share before the fork. */
struct applying {
    const struct plan *plan;
    const struct graph *graph;
    int report;
    int proc, null;
    int walls, scope;
    int to_judge[2], to_process[2]; /* pipes */
    pid_t process;
    uint64_t probe; /* the judge reads it in the process's memory, to check that it can */
    struct sock_filter filter[FILTER_MAX];
    size_t nfilter;
};

/* ---- messages between them ---- */

struct word {
    int32_t kind, value;
};
enum { WORD_HERE, WORD_LOOK, WORD_SEEN, WORD_LISTENER, WORD_READY };

static int send_word(int to, int kind, int value)
{
    struct word w = {kind, value};
    ssize_t n;
    do
        n = write(to, &w, sizeof(w));
    while (n < 0 && errno == EINTR);
    return n == sizeof(w) ? 0 : -EPIPE;
}

/* Returns the value; -1 for another message or none. */
static int receive_word(int from, int kind)
{
    struct word w;
    ssize_t n;
    do
        n = read(from, &w, sizeof(w));
    while (n < 0 && errno == EINTR);
    return n == sizeof(w) && w.kind == kind ? w.value : -1;
}

/* ---- the judge ---- */

static struct reporting {
    int events, to;
    const struct graph *graph;
    bool started;
    pthread_t thread;
} reporting; /* one for the whole process */

/* Does not wait: the reader may be the process that waits for an answer. */
static void *report_events(void *arg)
{
    static struct event e;
    static char wire[sizeof(struct event)];
    const struct reporting *r = arg;
    struct pollfd room = {r->to, POLLOUT, 0};
    for (;;) {
        ssize_t n = recv(r->events, wire, sizeof(wire), 0);
        OWN(buf) struct buf line = {0};
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return NULL;
        if (event_from_wire(wire, (size_t)n, &e) < 0)
            continue;
        event_json(&e, r->graph, NULL, &line);
        buf_chr(&line, '\n');
        if (buf_ok(&line) && line.n <= PIPE_BUF && poll(&room, 1, 0) == 1 &&
            (room.revents & POLLOUT))
            (void)!write(r->to, line.s, line.n);
    }
}

/* Returns the judge's end of the event channel, or -1. */
static int start_reporting(const struct applying *a)
{
    struct reporting *r = &reporting;
    int ends[2];
    if (a->report < 0 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    *r = (struct reporting){.events = ends[0], .to = a->report, .graph = a->graph};
    r->started = pthread_create(&r->thread, NULL, report_events, r) == 0;
    return r->started ? ends[1] : -1;
}

static bool judge_needs(const struct applying *a, int fd)
{
    return fd == a->proc || fd == a->null || fd == a->report || fd == a->to_judge[0] ||
           fd == a->to_process[1];
}

/* The process's own file descriptors do not concern us. */
static void close_others(const struct applying *a)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fd != a->report)
            dup2(a->null, fd);
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    int last = 3;
    for (int fd = 3; fd < 4096 && fd < (int)limit.rlim_cur; fd++) {
        if (judge_needs(a, fd))
            last = fd + 1;
        else
            close(fd);
    }
    syscall(SYS_close_range, last > 4096 ? last : 4096, ~0u, 0);
}

/* Whether we can perform the process's calls for it. */
static bool can_look_in(const struct applying *a)
{
    uint64_t got = 0;
    struct iovec ours = {&got, sizeof(got)}, theirs = {(void *)(uintptr_t)&a->probe, sizeof(got)};
    return process_vm_readv(a->process, &ours, 1, &theirs, 1, 0) == sizeof(got) && got == ~a->probe;
}

static struct judge the_judge; /* large, and there is one in a process */
static struct guarded_paths no_guarded_paths;
static struct file_names file_names;

static int become_judge(const struct applying *a, int pidfd, int listener, int events)
{
    struct judge *j = &the_judge;
    struct stat exe;
    if (judge_init(
            j, a->plan, a->graph,
            &(struct judge_start){
                .listener = listener, .events = events, .proc = a->proc, .record = -1, .cwd = ""}) <
        0)
        return -1;
    int mounts = openat(a->proc, "self/mountinfo", O_RDONLY | O_CLOEXEC);
    if (mounts < 0)
        return -1;
    file_names_open(&file_names, mounts, a->plan->opt.mounts);
    j->names = &file_names;
    j->mounts_changed = true; /* its file descriptors may be on a mount that is gone */
    j->guarded = &no_guarded_paths;
    j->applied.pid = a->process;
    j->applied.fd = pidfd;
    j->scoped = a->plan->scoped & KABI_LL_SCOPE_SIGNAL;
    j->makes_user_ns = a->plan->opt.keep_userns;
    j->net.datagrams = true; /* it may already have one */
    j->joins_user_ns = a->walls >= 0;
    j->creds.vary = a->plan->host.root;
    bool exec_asked = false;
    for (size_t i = 0; i < a->plan->ncalls; i++)
        exec_asked |= a->plan->calls[i].passable;
    j->execs.judged = exec_asked && !a->plan->exec_by_caller && !a->plan->commands_only;
    commands_root(j, a->process);
    if (fstatat(a->proc, "self/exe", &exe, 0) == 0) /* inherited from the process by the fork */
        j->execs.own_program = (struct program){exe.st_dev, exe.st_ino};
    if (a->plan->host.notify_sync)
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, KABI_NOTIF_SYNC_WAKE_UP);
    return 0;
}

static void __attribute__((noreturn)) judge(void)
{
    struct pollfd fds[] = {
        {the_judge.listener, POLLIN, 0}, {-1, POLLIN, 0}, {file_names.mounts.fd, POLLPRI, 0}};
    for (;;) {
        fds[1].fd = wait_event_fd();
        int n = ppoll(fds, 3, wait_timeout(exec_timeout(&the_judge)), NULL);
        exec_check_watched(&the_judge, 0);
        wait_retry(&the_judge);
        if (n > 0 && (fds[2].revents & POLLPRI))
            file_names.mounts.current = false;
        if (n > 0 && fds[1].revents)
            wait_read_events(&the_judge);
        if (n > 0 && (fds[0].revents & POLLIN))
            judge_next(&the_judge);
        else if (n > 0 && (fds[0].revents & (POLLHUP | POLLNVAL)))
            break; /* no caller is left; POLLERR: interrupted by a signal */
    }
    if (reporting.started) { /* first pass on the last reports */
        close(the_judge.events);
        pthread_join(reporting.thread, NULL);
    }
    _exit(0);
}

static void __attribute__((noreturn)) judge_life(const struct applying *a)
{
    int from = a->to_judge[0], to = a->to_process[1];
    setsid(); /* no terminal signal kills us */
    role_take(ROLE_JUDGE);
    int pidfd = (int)syscall(SYS_pidfd_open, a->process, 0);
    if (pidfd < 0 || send_word(to, WORD_HERE, getpid()) < 0 || receive_word(from, WORD_LOOK) < 0 ||
        !can_look_in(a))
        _exit(1);
    close_others(a);
    pidfd = (int)syscall(SYS_pidfd_open, a->process, 0);
    uint64_t look_in = UINT64_C(1) << CAP_SYS_PTRACE;
    if (pidfd < 0 || fchdir(a->proc) < 0 || capabilities_drop(a->plan->caps | look_in) < 0 ||
        send_word(to, WORD_SEEN, 0) < 0)
        _exit(1);
    int number = receive_word(from, WORD_LISTENER);
    int listener = number < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, number, 0);
    if (listener < 0 || become_judge(a, pidfd, listener, start_reporting(a)) < 0 ||
        send_word(to, WORD_READY, 0) < 0)
        _exit(1);
    close(from);
    close(to);
    judge();
}

/* Forks twice. Returns 0 or a negative errno. */
static int start_judge(const struct applying *a)
{
    pid_t between = fork();
    if (between == 0) {
        pid_t pid = fork();
        if (pid != 0)
            _exit(pid < 0 ? 1 : 0);
        judge_life(a);
    }
    int status = -1;
    if (between < 0)
        return -errno;
    while (waitpid(between, &status, 0) < 0 && errno == EINTR)
        ;
    return status == 0 ? 0 : -EAGAIN;
}

/* ---- the process ---- */

/* Any domain keeps the process from reading the judge; this one denies nothing. */
static int plain_domain(const struct plan *p, int *fd)
{
    struct plan some = {.host = p->host, .handled_fs = KABI_LL_MAKE_BLOCK};
    struct wall_path all = {.path = "/", .rights = KABI_LL_MAKE_BLOCK, .folder = true};
    some.walls = &all;
    some.nwalls = 1;
    return landlock_walls(&some, NULL, NULL, -1, fd);
}

static int prepare(struct applying *a, struct bk_err *err)
{
    struct plan p = *a->plan;
    a->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    a->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (a->proc < 0 || a->null < 0)
        return err_sys(err, "/proc and /dev/null are needed");
    if (pipe2(a->to_judge, O_CLOEXEC) < 0 || pipe2(a->to_process, O_CLOEXEC) < 0)
        return err_sys(err, "pipe");
    if (bpf_assemble(&p, a->filter, FILTER_MAX, &a->nfilter, err) < 0)
        return -1;
    int made = landlock_walls(a->plan, NULL, NULL, a->proc, &a->walls);
    if (made == 0)
        made = landlock_scope(a->plan, &a->scope);
    if (made == 0 && a->scope < 0 && a->walls < 0)
        made = plain_domain(a->plan, &a->scope);
    errno = -made;
    return made < 0 ? err_sys(err, "Landlock's walls") : 0;
}

static int judge_cannot_read(struct bk_err *err)
{
    err_set(err, BK_E_SYSTEM, "the judge cannot read this process");
    err_hint(err, "Yama (kernel.yama.ptrace_scope above 1) and programs that are not to be dumped "
                  "keep it out");
    return -1;
}

/* From here on nothing can be undone. */
static int wall_in(struct applying *a, bool *half, struct bk_err *err)
{
    *half = true;
    int got = landlock_enter(a->walls);
    errno = -got;
    if (got < 0)
        return err_sys(err, "Landlock's walls");
    got = start_judge(a);
    errno = -got;
    if (got < 0)
        return err_sys(err, "cannot start the judge");
    /* the judge has its copy; ours identifies the judged process */
    a->probe = ~a->probe;
    close(steal_fd(&a->to_judge[0]));
    close(steal_fd(&a->to_process[1]));
    int judge = receive_word(a->to_process[0], WORD_HERE);
    prctl(PR_SET_PTRACER, (unsigned long)judge, 0, 0, 0); /* where there is no Yama it is unknown */
    if (judge < 0 || send_word(a->to_judge[1], WORD_LOOK, 0) < 0 ||
        receive_word(a->to_process[0], WORD_SEEN) < 0)
        return judge_cannot_read(err);
    return 0;
}

static int enter_filter(struct applying *a, struct bk_err *err)
{
    int listener = -1;
    capabilities_bound(a->plan->caps);
    int got = landlock_enter(a->scope >= 0 ? a->scope : a->walls);
    if (got == 0)
        got = capabilities_drop(a->plan->caps);
    if (got == 0)
        got = limit_core(a->plan);
    if (got == 0)
        got = filter_install(a->plan, a->filter, a->nfilter, &listener);
    errno = -got;
    if (got < 0)
        return err_sys(err, "the filter");
    if (listener < 0)
        return 0; /* nothing is judged; tell the judge that we are done, so that it exits */
    send_word(a->to_judge[1], WORD_LISTENER, listener);
    int ready = receive_word(a->to_process[0], WORD_READY);
    close(listener);
    return ready < 0 ? judge_cannot_read(err) : 0;
}

static void applying_free(struct applying **a)
{
    int fds[] = {(*a)->proc,        (*a)->null,        (*a)->walls,         (*a)->scope,
                 (*a)->to_judge[0], (*a)->to_judge[1], (*a)->to_process[0], (*a)->to_process[1]};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(*a);
}
#define OWN_applying applying_free

int apply_process(const struct plan *p, const struct graph *g, int report, bool *half,
                  struct bk_err *err)
{
    sigset_t all, before;
    struct applying *made = calloc(1, sizeof(*made));
    *half = false;
    if (!made)
        return err_nomem(err);
    OWN(applying) struct applying *a = made;
    *a = (struct applying){.plan = p,
                           .graph = g,
                           .report = report,
                           .proc = -1,
                           .null = -1,
                           .walls = -1,
                           .scope = -1,
                           .to_judge = {-1, -1},
                           .to_process = {-1, -1},
                           .process = getpid(),
                           .probe = 0x6275636b6c65};
    if (prepare(a, err) < 0)
        return -1;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    int result = wall_in(a, half, err);
    if (result == 0)
        result = enter_filter(a, err);
    sigprocmask(SIG_SETMASK, &before, NULL);
    *half = result < 0;
    return result;
}
