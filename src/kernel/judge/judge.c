/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The judge's loop: receive a call, perform it or refuse it, answer. An answer is always given; an
 * internal error is a refusal. See judge.h for what it promises.
 */

#include "kernel/judge/ask.h"
#include "kernel/judge/creds.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/target.h"
#include "kernel/judge/thread-cache.h"

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

#include "kernel/plan/plan-int.h"

static handler_fn *const handlers[HANDLE_COUNT] = {
#define HANDLER(id, name) [HANDLE_##id] = handle_##name,
#include "kernel/plan/syscalls.def"
};

int judge_init(struct judge *w, const struct plan *plan, const struct graph *g, int listener,
               int events, int proc, bool pid_ns)
{
    struct stat st;
    w->graph = g;
    w->listener = listener;
    w->events = events;
    w->proc = proc;
    w->inner_proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    w->pid_ns = pid_ns;
    w->uid = w->caller_uid = getuid();
    w->caller_gid = getgid();
    w->who_matters = asks_who(g);
    git_heed(w);
    w->started = time(NULL);
    w->names_judged = !plan_set_is_free(plan, SET_CREATES);
    w->own_net = plan->net_ns;
    w->own_ipc = plan->ipc_ns;
    w->alone = plan->net_ns && !plan->gate;
    w->dials = plan->dials;
    w->makes_sockets = plan->makes_sockets;
    w->sockets_judged = plan->ops[OP_SYSTEM_SOCKET].tier == TIER_JUDGED;
    pthread_mutex_init(&w->kept.lock, NULL);
    w->umask = umask(022);
    umask(w->umask);
    w->cache = graph_cache_new(g);
    if (!w->cache || created_repos_init(&w->repositories) < 0 ||
        fstat(w->inner_proc >= 0 ? w->inner_proc : proc, &st) < 0)
        return -1;
    w->own_proc_dev = st.st_dev;
    w->proc_block = st.st_blksize;
    judged_handlers(w->handler);
    return 0;
}

int judge_update(struct judge *w, struct graph *g)
{
    struct graph_cache *cache = graph_cache_new(g);
    if (!cache) {
        graph_free(g);
        return -ENOMEM;
    }
    graph_cache_free(w->cache);
    graph_free(w->updated);
    w->cache = cache;
    w->graph = w->updated = g;
    w->who_matters = asks_who(g);
    git_heed(w);
    return 0;
}

int judge_take_umask(struct judge *w, const struct request *r)
{
    mode_t mask;
    int err = thread_cache_umask(w, r, &mask);
    if (err < 0)
        return err;
    if (mask != w->umask)
        umask(mask);
    w->umask = mask;
    return 0;
}

/* ---- waiting in somebody's stead ---- */

enum { LOOK_NS = 20000000 };

static void on_look(int sig)
{
    (void)sig;
}

int judge_look_up_often(const struct judge *w, timer_t *timer)
{
    struct sigaction act = {.sa_handler = on_look};
    struct sigevent tick = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN};
    struct itimerspec often = {{0, LOOK_NS}, {0, LOOK_NS}};
    sigset_t mask;
    if (unshare(CLONE_FS) < 0 || fchdir(w->proc) < 0)
        return -errno;
    tick._sigev_un._tid = (pid_t)syscall(SYS_gettid);
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
}

static void send_go_on(int listener, uint64_t id)
{
    struct seccomp_notif_resp resp = {.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
    while (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &resp) < 0 && errno == EINTR)
        ;
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
    close(fd);
}

void judge_try(struct judge *w, const struct request *r)
{
    bool known = r->nr >= 0 && r->nr <= KABI_LAST_SYSCALL;
    uint8_t h = known ? w->handler[r->nr] : HANDLE_NONE;
    if ((w->who_matters && ask_who(w, r) < 0) || (w->exec_judged && !exec_caller_is_known(w, r)))
        h = HANDLE_NONE;
    if (creds_take(w, r) < 0)
        h = HANDLE_NONE;
    if (w->git.nheld)
        git_sync(w);
    struct answer a = h < HANDLE_COUNT ? handlers[h](w, r) : answer_errno(EPERM);
    if (!a.sent && a.value == -UNREADABLE)
        a.value = ask_in_vain(w, r);
    if (!a.sent && a.value == -NOWHERE)
        a.value = ask_nowhere(w, r);
    if (a.go_on)
        send_go_on(w->listener, r->id);
    else if (!a.sent)
        judge_send(w->listener, r->id, a.value);
}

static void answer_call(struct judge *w, const struct seccomp_notif *n)
{
    struct request r = {.id = n->id, .tid = (pid_t)n->pid, .nr = n->data.nr};
    for (int i = 0; i < 6; i++)
        r.args[i] = n->data.args[i];
    if (w->nwatched)
        exec_look(w, r.tid);
    thread_cache_observe(w, &r);
    judge_try(w, &r);
}

void judge_answer(struct judge *w)
{
    struct seccomp_notif n;
    memset(&n, 0, sizeof(n));
    /* ENOENT: the caller died meanwhile */
    if (ioctl(w->listener, SECCOMP_IOCTL_NOTIF_RECV, &n) == 0)
        answer_call(w, &n);
}
