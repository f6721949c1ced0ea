/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Judging a container from outside. Its runtime has set up the namespaces and the filter; the judge
 * joins the namespaces that make paths, addresses and ids mean the same: mount, network, ipc, uts
 * and user, and the container's root. It stays out of the pid namespace, so nothing inside sees it.
 *
 * It also joins the cgroup that decides about devices. Otherwise a container could have the judge
 * open a device that its own cgroup keeps it from.
 *
 * Until the first execve() the process behind the filter is the runtime's own. Its calls pass: it
 * sets up what the container's program gets, and none of that program's code runs yet. The same
 * process has to be the one that the runtime named; calls of any other are refused.
 *
 * The runtime's filter knows less than the plan (node/spec.c), so the plan's tests of arguments are
 * applied here.
 *
 * The judge outlives the process that started it: whoever holds the other end of the socket for
 * events decides how long. If the judge itself dies, a successor answers
 * what it left (call-book.h). A successor does not know which commands run: rules about commands
 * then hold for all processes.
 */

#include "kernel/judge/judge-container.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <grp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/own.h"
#include "base/proc-text.h"
#include "kernel/host/kabi.h"
#include "kernel/judge/container-cgroup.h"
#include "kernel/judge/judge-limits.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/target.h"
#include "kernel/judge/waiting-calls.h"
#include "kernel/shared/fd-pass.h"
#include "kernel/shared/roles.h"

/* What the judge's process holds. */
struct inside {
    const struct container *c;
    int proc, null, pidfd, root, mounts, inner;
    bool pid_ns, ipc_ns; /* it has its own, or shares its pod's */
    unsigned depth;      /* levels of its pid namespace below ours */
};

static struct judge the_judge; /* large, and a process has only one */
static struct guarded_paths no_guarded_paths;
static struct file_names names;
static const struct container *judged;
static uint16_t rules[KABI_LAST_SYSCALL + 1]; /* index in the plan, plus one */

static void __attribute__((noreturn)) give_up(const struct container *c, const char *what, int err)
{
    char text[JUDGE_SAYS];
    int n = snprintf(text, sizeof(text), "%c%s: %s", JUDGE_FAILED, what, strerror(err));
    n = n < (int)sizeof(text) ? n : (int)sizeof(text) - 1;
    fd_pass_send(c->events, text, (size_t)n, -1);
    _exit(1);
}

static void check(const struct container *c, const char *what, bool good)
{
    if (!good)
        give_up(c, what, errno ? errno : EINVAL);
}

/* ---- entering ---- */

/* Whether two processes are in the same namespace of a kind. */
static bool shares(int proc, pid_t pid, const char *kind)
{
    char name[64], its[64], own[64];
    snprintf(name, sizeof(name), "%d/ns/%s", pid, kind);
    ssize_t n = readlinkat(proc, name, its, sizeof(its));
    snprintf(name, sizeof(name), "self/ns/%s", kind);
    ssize_t m = readlinkat(proc, name, own, sizeof(own));
    return n > 0 && n == m && memcmp(its, own, (size_t)n) == 0;
}

static int spaces_to_join(int proc, pid_t pid)
{
    static const struct {
        const char *kind;
        int flag;
    } kinds[] = {{"user", CLONE_NEWUSER}, {"mnt", CLONE_NEWNS},  {"net", CLONE_NEWNET},
                 {"ipc", CLONE_NEWIPC},   {"uts", CLONE_NEWUTS}, {"cgroup", CLONE_NEWCGROUP}};
    int flags = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        flags |= shares(proc, pid, kinds[i].kind) ? 0 : kinds[i].flag;
    return flags;
}

static int open_of(const struct inside *in, const char *name, int flags)
{
    char path[64];
    snprintf(path, sizeof(path), "%d/%s", in->c->pid, name);
    return openat(in->proc, path, flags | O_CLOEXEC);
}

/* How deep the container's pid namespace is below ours, and the process's number in it. */
static pid_t read_depth(struct inside *in)
{
    char text[128], *at = text, *end;
    long n = 0;
    if (proc_status_field(in->proc, in->c->pid, "\nNSpid:", text, sizeof(text)) < 0)
        return -1;
    for (in->depth = 0;; in->depth++, at = end) {
        long next = strtol(at, &end, 10);
        if (end == at)
            break;
        n = next;
    }
    in->depth = in->depth ? in->depth - 1 : 0;
    in->pid_ns = !shares(in->proc, in->c->pid, "pid");
    return (pid_t)n;
}

/* The container's /proc, if it shows the container's own processes. An image can have anything at
 * that path, and an engine can mount the host's there. Returns -1 if it is none. */
static int open_inner(const struct inside *in, pid_t self)
{
    char name[64], its[64], seen[64];
    struct statfs fs;
    OWN(fd) int fd = open("/proc", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstatfs(fd, &fs) < 0 || fs.f_type != PROC_SUPER_MAGIC)
        return -1;
    snprintf(name, sizeof(name), "%d/ns/pid", self);
    ssize_t n = readlinkat(fd, name, seen, sizeof(seen));
    snprintf(name, sizeof(name), "%d/ns/pid", in->c->pid);
    ssize_t m = readlinkat(in->proc, name, its, sizeof(its));
    return n > 0 && n == m && memcmp(seen, its, (size_t)n) == 0 ? steal_fd(&fd) : -1;
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

/* Closes what belongs to other containers. */
static void close_others(const struct inside *in)
{
    int keep[] = {2,        in->c->listener, in->c->events, in->proc,
                  in->null, in->pidfd,       in->root,      in->mounts};
    size_t n = sizeof(keep) / sizeof(keep[0]);
    for (int fd = 0; fd <= 2; fd++)
        dup2(in->null, fd);
    qsort(keep, n, sizeof(keep[0]), by_number);
    for (size_t i = 0; i < n; i++) {
        unsigned last = i + 1 < n ? (unsigned)keep[i + 1] - 1 : ~0u;
        if (keep[i] >= 2 && (unsigned)keep[i] + 1 <= last)
            syscall(SYS_close_range, (unsigned)keep[i] + 1, last, 0);
    }
}

static bool is_listening(const struct container *c)
{
    struct pollfd p = {c->listener, POLLIN, 0};
    return poll(&p, 1, 0) >= 0 && !(p.revents & (POLLHUP | POLLNVAL));
}

/* Its root and mounts cannot be read then, for reasons that name neither. */
static bool has_ended(int pidfd)
{
    struct pollfd p = {pidfd, POLLIN, 0};
    return poll(&p, 1, 0) != 0;
}

/* In its user namespace all capabilities are ours; outside of it none are left. */
static void become_root_inside(void)
{
    (void)!setgroups(0, NULL);
    (void)!setresgid(0, 0, 0);
    (void)!setresuid(0, 0, 0);
}

static void enter(struct inside *in)
{
    const struct container *c = in->c;
    in->null = open("/dev/null", O_RDWR | O_CLOEXEC);
    check(c, "/dev/null", in->null >= 0);
    in->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
    check(c, "the container's process", in->pidfd >= 0);
    in->root = open_of(in, "root", O_PATH | O_DIRECTORY);
    in->mounts = open_of(in, "mountinfo", O_RDONLY);
    if (has_ended(in->pidfd))
        give_up(c, "the container has ended", ESRCH);
    check(c, "the container's root", in->root >= 0 && in->mounts >= 0);
    pid_t self = read_depth(in);
    check(c, "the container's process", self > 0);
    int spaces = spaces_to_join(in->proc, c->pid);
    check(c, "the container's cgroup", container_cgroup_join(in->proc, c->pid) == 0);
    /* if it is gone, its number may mean another process */
    errno = ESRCH;
    check(c, "the container has ended", is_listening(c) && pidfd_process(in->pidfd) == c->pid);
    in->ipc_ns = spaces & CLONE_NEWIPC;
    close_others(in);
    check(c, "the container's namespaces", !spaces || setns(in->pidfd, spaces) == 0);
    check(c, "the container's root", fchdir(in->root) == 0 && chroot(".") == 0);
    if (spaces & CLONE_NEWUSER)
        become_root_inside();
    in->inner = open_inner(in, self);
    close(in->root);
    check(c, "/proc", fchdir(in->proc) == 0);
}

/* ---- calls ---- */

static struct sys_action action_of(const struct sys_rule *r, const uint64_t args[6])
{
    for (size_t i = 0; i < (size_t)r->ntests + r->nmore; i++) {
        const struct sys_test *t = sys_test_at(r, i);
        uint64_t arg = args[t->arg & ~SYS_HIGH];
        uint32_t half = (uint32_t)(t->arg & SYS_HIGH ? arg >> 32 : arg) & t->mask;
        if (t->how == SYS_EQUAL     ? half == t->value
            : t->how == SYS_DIFFERS ? half != t->value
                                    : half)
            return t->then;
    }
    return r->otherwise;
}

static bool is_exec(const struct request *r)
{
    return r->nr == SYS_execve || r->nr == SYS_execveat;
}

static struct sys_action action_for(const struct request *r)
{
    uint16_t at = r->nr >= 0 && r->nr <= KABI_LAST_SYSCALL ? rules[r->nr] : 0;
    return at ? action_of(&judged->plan->calls[at - 1], r->args)
              : (struct sys_action){is_exec(r) ? SYS_ALLOW : SYS_ERRNO, EPERM};
}

/* A process could remove the routes to the gate. By its first execve() its capabilities are final.
 */
static bool may_change_network(const struct judge *j, const struct request *r)
{
    char text[64];
    return proc_status_field(j->proc, r->tid, "\nCapBnd:", text, sizeof(text)) < 0 ||
           (strtoull(text, NULL, 16) >> CAP_NET_ADMIN & 1);
}

/* The first program is judged as any other. What starts it, the runtime, is not. A signal can
 * interrupt the call, which is made again then; so it has started when the stack is another. */
static void start(struct judge *j, const struct request *r)
{
    if (judged->plan->gate && may_change_network(j, r)) {
        static const char why[] = "Fits network leads to a gate, but it has CAP_NET_ADMIN";
        fd_pass_send(judged->events, why, sizeof(why) - 1, -1);
        judge_send(j->listener, r->id, -EPERM);
        return;
    }
    bool callers = j->execs.judged;
    uint64_t stack = exec_stack(j, judged->pid);
    atomic_store(&judged->book->stack, stack ? stack : 1); /* unreadable: the next call tells */
    j->execs.judged = false;
    if (action_for(r).verdict == SYS_NOTIFY)
        judge_call(j, r);
    else
        judge_send_continue(j->listener, r->id);
    j->execs.judged = callers;
}

static bool has_started(struct judge *j)
{
    struct call_book *b = judged->book;
    uint64_t before = atomic_load(&b->stack);
    if (!atomic_load(&b->started) && before && exec_stack(j, judged->pid) != before)
        atomic_store(&b->started, 1);
    return atomic_load(&b->started);
}

/* Answers a call of the runtime. */
static void before_start(struct judge *j, const struct request *r)
{
    if (target_process(j, r) != judged->pid || !request_is_valid(j, r))
        judge_send(j->listener, r->id, -EPERM);
    else if (is_exec(r))
        start(j, r);
    else
        judge_send_continue(j->listener, r->id);
}

static void note_changes(struct judge *j, const struct request *r)
{
    if (is_exec(r) || r->nr == SYS_unshare)
        creds_change(j, is_exec(r) && target_process(j, r) != r->tid);
}

static bool look(struct judge *j, const struct request *r)
{
    note_changes(j, r);
    if (!has_started(j)) {
        before_start(j, r);
        return true;
    }
    struct sys_action a = action_for(r);
    if (a.verdict == SYS_NOTIFY)
        return false;
    if (a.verdict == SYS_ALLOW)
        judge_send_continue(j->listener, r->id);
    else
        judge_send(j->listener, r->id, -(int64_t)a.err);
    return true;
}

/* ---- judging ---- */

static void prepare(const struct inside *in)
{
    const struct container *c = in->c;
    struct judge *j = &the_judge;
    struct judge_start from = {.listener = c->listener,
                               .events = c->events,
                               .proc = in->proc,
                               .inner = in->inner,
                               .pid_ns = in->pid_ns,
                               .record = -1,
                               .cwd = ""};
    errno = ENOMEM;
    check(c, "memory", judge_init(j, c->plan, c->graph, &from) == 0);
    file_names_open(&names, in->mounts, NULL);
    j->names = &names;
    j->mounts_changed = true; /* a descriptor may be on a mount of the outside */
    j->guarded = &no_guarded_paths;
    j->pid_depth = in->depth;
    j->foreign_init = true;
    j->first_look = look;
    j->audit = c->audit;
    if (!in->pid_ns)
        j->applied = (struct applied){.pid = c->pid, .fd = in->pidfd};
    j->sysv.own_ns = in->ipc_ns; /* which of its calls are judged, the plan decided without */
    j->net.datagrams = true;     /* it may have been given one */
    j->joins_user_ns = true;
    j->creds.vary = j->creds.alone = j->creds.may_ptrace = j->creds.reported = true;
    j->creds.as_of = 1;
    for (size_t i = 0; i < c->plan->ncalls; i++) {
        rules[c->plan->calls[i].nr] = (uint16_t)(i + 1);
        j->execs.judged |= c->plan->calls[i].passable;
    }
    j->execs.judged &= !c->plan->exec_by_caller && !c->plan->commands_only;
    if (c->plan->commands)
        commands_root(j, c->pid);
}

/* A judge can die after it received a call, before it noted it. The kernel numbers calls in the
 * order in which it delivers them, and calls that ended before leave gaps. An answer to a call that
 * was not delivered yet has no effect. */
static void answer_unnoted(const struct container *c)
{
    enum { GAP = 1024 };
    uint64_t last = atomic_load(&c->book->last);
    for (uint64_t i = 0; last && i < GAP; i++)
        judge_send(c->listener, last + i, -EPERM);
}

/* What a judge before us received and did not answer. */
static void answer_leftovers(const struct container *c)
{
    answer_unnoted(c);
    for (size_t i = 0; i < BOOK_CALLS; i++) {
        uint64_t id = atomic_load(&c->book->calls[i]);
        if (id)
            judge_send(c->listener, id, -EPERM);
    }
    if (atomic_load(&c->book->started))
        the_judge.commands.base = the_judge.commands.given = the_judge.commands.narrowing;
}

static void __attribute__((noreturn)) loop(void)
{
    struct pollfd fds[] = {{the_judge.listener, POLLIN, 0},
                           {-1, POLLIN, 0},
                           {names.mounts.fd, POLLPRI, 0},
                           {judged->events, 0, 0}};
    for (;;) {
        fds[1].fd = wait_event_fd();
        int n = ppoll(fds, 4, wait_timeout(exec_timeout(&the_judge)), NULL);
        if (n > 0 && fds[3].revents)
            _exit(1); /* nobody holds its other end: no agent came in time */
        judge_went_on();
        exec_check_watched(&the_judge, 0);
        wait_retry(&the_judge);
        if (n > 0 && (fds[2].revents & POLLPRI))
            names.mounts.current = false;
        if (n > 0 && fds[1].revents)
            wait_read_events(&the_judge);
        if (n > 0 && (fds[0].revents & POLLIN))
            judge_next(&the_judge);
        else if (n > 0 && (fds[0].revents & (POLLHUP | POLLNVAL)))
            _exit(0); /* no caller is left; POLLERR: interrupted by a signal */
    }
}

void container_judge(const struct container *c)
{
    static const char ready = JUDGE_READY;
    struct inside in = {.c = c};
    judged = c;
    signal(SIGPIPE, SIG_IGN);
    setsid();
    role_take(ROLE_JUDGE);
    in.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    check(c, "/proc", in.proc >= 0);
    if (!book_claim(c->book, in.proc))
        _exit(0); /* one that an earlier agent started came first */
    enter(&in);
    judge_limit(in.proc); /* not before other containers' descriptors are closed */
    prepare(&in);
    book_keep(c->book);
    answer_leftovers(c);
    ioctl(c->listener, SECCOMP_IOCTL_NOTIF_SET_FLAGS, KABI_NOTIF_SYNC_WAKE_UP); /* since 6.6 */
    atomic_store(&c->book->ready, 1);
    fd_pass_send(c->events, &ready, 1, -1);
    loop();
}
