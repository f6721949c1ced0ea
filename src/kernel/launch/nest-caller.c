/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What a nested controller takes over from the process that asked for a sandbox inside its own. The
 * pidfd came from the judge, so it is the caller whatever the request says. Everything in the
 * request is hostile: lengths and numbers are checked before use, and a descriptor can only be one
 * that the asker holds.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "base/proc-text.h"
#include "kernel/launch/init.h"
#include "kernel/launch/nest.h"
#include "kernel/shared/event-send.h"
#include "kernel/shared/fd-pass.h"
#include "kernel/shared/policy-update.h"
#include "system/descriptors.h"

enum { REQUEST_MS = 10000, HIGHEST_FD = 4096 };
enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

/* ---- messages ---- */

int nest_send(int channel, enum nest_kind kind, int value)
{
    struct nest_message m = {(uint32_t)kind, value};
    return send(channel, &m, sizeof(m), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int nest_send_answer(int channel, const void *bytes, size_t n)
{
    struct nest_message m = {NEST_ANSWER, 0};
    OWN(fd) int memory = nest_memory_make(bytes, n);
    return memory < 0 ? memory : fd_pass_send(channel, &m, sizeof(m), memory);
}

/* An asker that does not listen misses events. */
int nest_send_event(int channel, const struct event *e)
{
    struct nest_message m = {NEST_EVENT, 0};
    struct iovec parts[] = {{&m, sizeof(m)}, {(void *)e, event_wire_size(e)}};
    struct msghdr h = {.msg_iov = parts, .msg_iovlen = 2};
    return sendmsg(channel, &h, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int nest_send_end(int channel, int result, const struct launch_end *end, const struct bk_err *err)
{
    struct nest_end m;
    memset(&m, 0, sizeof(m));
    m.head = (struct nest_message){NEST_END, result};
    m.end = *end;
    if (result < 0)
        m.err = *err;
    /* a second for an asker that is behind with events; one that is stopped gets end of file */
    struct timeval patience = {.tv_sec = 1};
    setsockopt(channel, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    return send(channel, &m, sizeof(m), MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* ---- memory ---- */

int nest_memory_make(const void *bytes, size_t n)
{
    return n > NEST_LONGEST ? -E2BIG : policy_update_make(bytes, n);
}

/* Only memory has seals, so reading it never waits for anybody. */
char *nest_memory_copy(int memory, size_t *n)
{
    struct stat st;
    int seals = fcntl(memory, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(memory, &st) < 0 || st.st_size <= 0 ||
        st.st_size > NEST_LONGEST)
        return NULL;
    size_t size = (size_t)st.st_size;
    OWN(mem) char *copy = malloc(size);
    for (size_t at = 0; copy && at < size;) {
        ssize_t got = pread(memory, copy + at, size - at, (off_t)at);
        if (got <= 0)
            return NULL;
        at += (size_t)got;
    }
    char *whole = copy;
    *n = size;
    copy = NULL;
    return whole;
}

/* ---- the request ---- */

static bool are_numbers(const struct nest_request *q)
{
    for (uint32_t i = 0; i < q->nfds; i++)
        if (q->fds[i] < (i ? q->fds[i - 1] + 1 : 0) || q->fds[i] >= HIGHEST_FD)
            return false;
    return true;
}

static int receive_request(struct nest_taken *t, int *fds, struct bk_err *err)
{
    struct pollfd waiting[] = {{t->channel, POLLIN, 0}, {t->asker, POLLIN, 0}};
    size_t came = 0;
    int ready = poll(waiting, 2, REQUEST_MS);
    ssize_t n = ready > 0 && waiting[0].revents & POLLIN
                    ? fd_pass_poll_many(t->channel, &t->q, sizeof(t->q), fds, 1 + NEST_FDS, &came)
                    : -ETIMEDOUT;
    if (n >= (ssize_t)offsetof(struct nest_request, nfds) &&
        (t->q.version != NEST_VERSION || t->q.size != sizeof(t->q)))
        return err_set(err, BK_E_INPUT, "the sandbox around this one is of another version");
    if (n != sizeof(t->q) || t->q.head.kind != NEST_REQUEST || t->q.nfds > NEST_FDS ||
        came != 1 + t->q.nfds || !are_numbers(&t->q))
        return err_set(err, BK_E_INPUT, "a request that cannot be read");
    return 0;
}

/* ---- descriptors ---- */

/* Our own go above the numbers that the asker's get. */
static int take_descriptors(struct nest_taken *t, int *fds, struct bk_err *err)
{
    int *const own[] = {&t->asker, &t->channel, &t->relay, &t->memory, &t->below, &t->layers};
    enum { OWN_FDS = sizeof(own) / sizeof(own[0]) };
    int keep[OWN_FDS + NEST_FDS], above = t->q.nfds ? t->q.fds[t->q.nfds - 1] + 1 : 0;
    size_t n = 0;
    struct rlimit most;
    if (getrlimit(RLIMIT_NOFILE, &most) == 0) {
        most.rlim_cur = most.rlim_max;
        setrlimit(RLIMIT_NOFILE, &most);
    }
    above = above > 3 ? above : 3;
    for (size_t i = 0; i < OWN_FDS; i++)
        if ((own[i] != &t->below && own[i] != &t->layers) || *own[i])
            keep[n++] = *own[i] = fcntl(*own[i], F_DUPFD_CLOEXEC, above);
    for (uint32_t i = 0; i < t->q.nfds; i++)
        keep[n++] = fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, above);
    for (size_t i = 0; i < n; i++)
        if (keep[i] < 0)
            return err_set(err, BK_E_LIMIT, "too many open files");
    fd_close_others(keep, n);
    for (uint32_t i = 0; i < t->q.nfds; i++) {
        if (dup2(fds[i], t->q.fds[i]) < 0)
            return err_sys(err, "dup2");
        close(fds[i]);
    }
    return 0;
}

/* ---- the asker ---- */

static bool same_status(int proc, pid_t pid, const char *key)
{
    char theirs[2048], ours[2048];
    return proc_status_field(proc, pid, key, theirs, sizeof(theirs)) == 0 &&
           proc_status_field(proc, getpid(), key, ours, sizeof(ours)) == 0 &&
           strcmp(theirs, ours) == 0;
}

/* A number of PROC/PID/status; `missing` on kernels without it. */
static long status_number(int proc, pid_t pid, const char *key, long missing)
{
    char text[64];
    return proc_status_field(proc, pid, key, text, sizeof(text)) < 0 ? missing
                                                                     : strtol(text, NULL, 10);
}

/* What an entry of PROC/PID leads to. */
static bool find(int proc, pid_t pid, const char *entry, struct stat *st)
{
    char name[64];
    snprintf(name, sizeof(name), "%d/%s", pid, entry);
    return fstatat(proc, name, st, 0) == 0;
}

static bool same_entry(int proc, pid_t a, pid_t b, const char *entry)
{
    struct stat x, y;
    return find(proc, a, entry, &x) && find(proc, b, entry, &y) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

/* Whether it is where the sandbox's command started. */
static bool is_at_home(int proc, pid_t pid, const struct init *init)
{
    if (!init || init->pid <= 0)
        return same_entry(proc, pid, getpid(), "ns/pid");
    return same_entry(proc, pid, init->pid, "ns/pid") &&
           same_entry(proc, pid, init->pid, "ns/user") &&
           same_entry(proc, pid, init->pid, "ns/mnt") && same_entry(proc, pid, init->pid, "root") &&
           (same_entry(proc, pid, init->pid, "ns/net") ||
            same_entry(proc, pid, getpid(), "ns/net"));
}

static int check_asker(struct nest_taken *t, pid_t pid, const struct init *init, struct bk_err *err)
{
    char caps[64];
    OWN(fd) int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!same_status(proc, pid, "\nUid:") || !same_status(proc, pid, "\nGid:") ||
        !same_status(proc, pid, "\nGroups:"))
        return err_set(err, BK_E_INPUT,
                       "only the user of the outer sandbox can start another inside it");
    if (!is_at_home(proc, pid, init))
        return err_set(err, BK_E_INPUT,
                       "a process with namespaces or a root of its own cannot start a sandbox");
    long filters = status_number(proc, getpid(), "\nSeccomp_filters:", -1);
    if (status_number(proc, pid, "\nSeccomp_filters:", filters + 1) != filters + 1)
        return err_set(err, BK_E_INPUT, "a process with filters of its own cannot start a sandbox");
    if (proc_status_field(proc, pid, "\nCapPrm:", caps, sizeof(caps)) < 0)
        return err_set(err, BK_E_SYSTEM, "cannot read the capabilities of process %d", pid);
    t->caps = strtoull(caps, NULL, 16);
    return 0;
}

/* Limits and priority are never better than ours or the asker's. */
static int take_limits(pid_t pid, struct bk_err *err)
{
    cpu_set_t cpus;
    for (int i = 0; i < RLIMIT_NLIMITS; i++) {
        struct rlimit theirs, ours;
        if (prlimit(0, i, NULL, &ours) < 0)
            continue;
        if (prlimit(pid, i, NULL, &theirs) < 0)
            return err_sys(err, "cannot read the limits of process %d", pid);
        ours.rlim_max = theirs.rlim_max < ours.rlim_max ? theirs.rlim_max : ours.rlim_max;
        ours.rlim_cur = theirs.rlim_cur < ours.rlim_max ? theirs.rlim_cur : ours.rlim_max;
        if (prlimit(0, i, &ours, NULL) < 0)
            return err_sys(err, "cannot take over the limits of process %d", pid);
    }
    errno = 0;
    int nice = getpriority(PRIO_PROCESS, (id_t)pid);
    if (errno == 0 && nice > getpriority(PRIO_PROCESS, 0))
        setpriority(PRIO_PROCESS, 0, nice);
    if (sched_getaffinity(pid, sizeof(cpus), &cpus) == 0)
        sched_setaffinity(0, sizeof(cpus), &cpus);
    return 0;
}

/* Ours were the outer controller's. */
static void take_signals(const struct nest_request *q)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    for (int sig = 1; sig < 64; sig++) {
        struct sigaction act = {.sa_handler = q->ignored >> (sig - 1) & 1 ? SIG_IGN : SIG_DFL};
        sigaction(sig, &act, NULL);
        if (q->blocked >> (sig - 1) & 1)
            sigaddset(&blocked, sig);
    }
    sigprocmask(SIG_SETMASK, &blocked, NULL);
}

/* In the asker's group, the terminal's signals and foreground are the command's as well. A group of
 * another session cannot be joined: the command then has a terminal only as a file. */
static bool join_group(pid_t pid)
{
    pid_t group = getpgid(pid);
    return group > 0 && getsid(pid) == getsid(0) && (group == getpgrp() || setpgid(0, group) == 0);
}

static bool has_ended(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    return poll(&p, 1, 0) != 0;
}

int nest_take(struct nest_taken *t, const struct init *init, struct bk_err *err)
{
    int fds[1 + NEST_FDS];
    if (receive_request(t, fds, err) < 0)
        return -1;
    t->memory = fds[0];
    if (take_descriptors(t, fds + 1, err) < 0)
        return -1;
    pid_t pid = pidfd_process(t->asker);
    if (pid <= 0 || check_asker(t, pid, init, err) < 0 || take_limits(pid, err) < 0)
        return pid <= 0 ? err_set(err, BK_E_SYSTEM, "the process that asked is gone") : -1;
    take_signals(&t->q);
    umask(t->q.umask & 0777);
    t->joined = join_group(pid);
    /* all of this was about that process, and not about a later one with its number */
    return has_ended(t->asker) ? err_set(err, BK_E_SYSTEM, "the process that asked is gone") : 0;
}
