/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Receives a call, performs or refuses it, and answers. It always answers; an internal error is a
 * refusal. judge.h has its contract.
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/call-book.h"
#include "kernel/judge/path-set.h"
#include "kernel/judge/creds.h"
#include "kernel/judge/git-judge.h"
#include "kernel/judge/handle-exec.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/target.h"
#include "kernel/judge/thread-cache.h"
#include "kernel/judge/waiting-calls.h"
#include "kernel/plan/plan-int.h"

static handler_fn *const handlers[HANDLE_COUNT] = {
#define HANDLER(id, name) [HANDLE_##id] = handle_##name,
#include "kernel/plan/syscalls.def"
};

int judge_init(struct judge *j, const struct plan *plan, const struct graph *g,
               const struct judge_start *from)
{
    struct stat st;
    j->graph = g;
    j->listener = from->listener;
    j->events = from->events;
    j->proc = from->proc;
    j->procfs.inner = from->inner ? from->inner : open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    j->pid_ns = from->pid_ns;
    j->uid = j->caller.uid = getuid();
    j->caller.gid = getgid();
    j->caller.matters = policy_asks_caller(g);
    j->unjudged = plan->unjudged ? plan->opt.tmpdir : NULL;
    git_read_policy(j);
    j->own_folders.wanted = !j->unjudged && policy_asks_own(g);
    j->git.started = time(NULL);
    j->questions.channel = -1;
    j->names_judged = !plan_set_is_free(plan, SET_CREATES);
    j->net.own_ns = plan->net_ns;
    j->sysv.own_ns = plan->ipc_ns;
    j->net.isolated = plan->isolated;
    j->net.dials = plan->dials;
    j->net.local_all = plan->local_all;
    j->net.notes_servers = plan->publish_all || plan->session;
    j->net.makes_sockets = plan->makes_sockets;
    j->net.judged = plan->ops[OP_SYSTEM_SOCKET].tier == TIER_JUDGED;
    pthread_mutex_init(&j->net.kept.lock, NULL);
    j->umask = umask(022);
    umask(j->umask);
    j->cache = graph_cache_new(g);
    if ((plan->commands && commands_begin(j, g, plan->commands_net) < 0) || !j->cache ||
        path_set_init(&j->git.created) < 0 ||
        own_folders_init(&j->own_folders, from->record, from->cwd) < 0 ||
        fstat(j->procfs.inner >= 0 ? j->procfs.inner : from->proc, &st) < 0)
        return -1;
    j->procfs.dev = st.st_dev;
    j->procfs.block = st.st_blksize;
    if (plan_reports_folders(plan))
        caller_folders_begin(j, from->cwd);
    judged_handlers(j->handler);
    return 0;
}

int judge_update(struct judge *j, struct graph *g)
{
    struct graph_cache *cache = graph_cache_new(g);
    if (!cache || commands_begin(j, g, j->commands.net) < 0) {
        graph_cache_free(cache);
        graph_free(g);
        return -ENOMEM;
    }
    graph_cache_free(j->cache);
    graph_free(j->updated);
    j->cache = cache;
    j->graph = j->updated = g;
    j->caller.matters = policy_asks_caller(g);
    git_read_policy(j);
    wait_policy_changed();
    j->own_folders.wanted = !j->unjudged && policy_asks_own(g);
    return 0;
}

int judge_take_umask(struct judge *j, const struct request *r)
{
    mode_t mask;
    int err = thread_cache_umask(j, r, &mask);
    if (err < 0)
        return err;
    if (mask != j->umask)
        umask(mask);
    j->umask = mask;
    return 0;
}

/* ---- waiting on a caller's behalf ---- */

enum { LOOK_NS = 20000000 };

static void on_look(int sig)
{
    (void)sig;
}

#ifndef sigev_notify_thread_id /* glibc before 2.38 */
#define sigev_notify_thread_id _sigev_un._tid
#endif

int judge_interrupt_waits(const struct judge *j, timer_t *timer)
{
    struct sigaction act = {.sa_handler = on_look};
    struct sigevent tick = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
    struct itimerspec often = {{0, LOOK_NS}, {0, LOOK_NS}};
    sigset_t mask;
    if (unshare(CLONE_FS) < 0 || fchdir(j->proc) < 0)
        return -errno;
    tick.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    sigemptyset(&mask);
    sigaddset(&mask, SIGRTMIN);
    if (sigaction(SIGRTMIN, &act, NULL) < 0 || timer_create(CLOCK_MONOTONIC, &tick, timer) < 0)
        return -errno;
    timer_settime(*timer, 0, &often, NULL);
    pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
    return 0;
}

/* ---- answering ---- */

void judge_send(int listener, uint64_t id, int64_t value)
{
    struct seccomp_notif_resp resp = {.id = id};
    if (value < 0)
        resp.error = (int32_t)value;
    else
        resp.val = value;
    /* a target that is gone needs no answer */
    while (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0 && errno == EINTR)
        ;
    book_answered(id);
}

void judge_send_continue(int listener, uint64_t id)
{
    struct seccomp_notif_resp resp = {.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    while (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0 && errno == EINTR)
        ;
    book_answered(id);
}

void judge_send_fd(int listener, uint64_t id, int fd, bool cloexec)
{
    struct seccomp_notif_addfd add = {.id = id,
                                      .flags = SECCOMP_ADDFD_FLAG_SEND,
                                      .srcfd = (uint32_t)fd,
                                      .newfd_flags = cloexec ? O_CLOEXEC : 0};
    int got;
    do
        got = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        judge_send(listener, id, errno == ENOENT ? -EPERM : -errno);
    else
        book_answered(id);
    close(fd);
}

void judge_call(struct judge *j, const struct request *r)
{
    bool known = r->nr >= 0 && r->nr <= KABI_LAST_SYSCALL;
    uint8_t h = known ? j->handler[r->nr] : HANDLE_NONE;
    if ((j->caller.matters && read_caller(j, r) < 0) ||
        (j->execs.judged && !exec_caller_is_known(j, r)))
        h = HANDLE_NONE;
    if (j->commands.on && commands_caller(j, r) < 0)
        h = HANDLE_NONE;
    if (creds_take(j, r) < 0)
        h = HANDLE_NONE;
    if (j->git.nheld)
        git_sync(j);
    j->absent = false;
    struct answer a = h < HANDLE_COUNT ? handlers[h](j, r) : answer_errno(EPERM);
    if (!a.sent && a.value == -ASKED)
        a = wait_question(j, r);
    if (!a.sent && a.value == -UNREADABLE)
        a.value = refuse_unreadable(j, r);
    if (!a.sent && a.value == -UNMOUNTED)
        a.value = refuse_unmounted(j, r);
    /* what a pid namespace would say; until here it must not look like a path that is free */
    if (!a.sent && a.value == -EACCES && j->absent)
        a.value = -ENOENT;
    /* a layer has to copy what belongs to a user that its namespace does not have */
    if (!a.sent && a.value == -EOVERFLOW && j->layers)
        a.value = -EACCES;
    if (a.proceed)
        judge_send_continue(j->listener, r->id);
    else if (!a.sent)
        judge_send(j->listener, r->id, a.value);
}

static void answer_call(struct judge *j, const struct seccomp_notif *n)
{
    struct request r = {.id = n->id, .tid = (pid_t)n->pid, .nr = n->data.nr};
    for (int i = 0; i < 6; i++)
        r.args[i] = n->data.args[i];
    if (j->execs.nwatched && j->commands.on)
        exec_check_watched(j, 0); /* a child of a new program may call before it */
    if (j->execs.nwatched)
        exec_check_watched(j, r.tid);
    thread_cache_observe(j, &r);
    caller_folder_observe(j, &r);
    if (!j->first_look || !j->first_look(j, &r))
        judge_call(j, &r);
}

void judge_next(struct judge *j)
{
    struct seccomp_notif n;
    memset(&n, 0, sizeof(n));
    /* ENOENT: the caller died meanwhile */
    if (ioctl(j->listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
        return;
    uint64_t since = j->first_look ? now_ns() : 0;
    book_received(n.id);
    answer_call(j, &n);
    if (j->first_look)
        book_took(now_ns() - since);
}
