/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A container and its judge. The agent keeps the listener and the judge's book: if the judge dies,
 * another one takes over, and the calls of the container wait for it. A judge that dies again and
 * again is not replaced. Then the listener is closed, and judged calls fail.
 *
 * The agent itself may die at any instruction. So the container's descriptors are stored before its
 * judge starts, and everything a successor has to know is in memory that is stored with them.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "node/agent-int.h"
#include "node/pod-gate.h"

/* ---- reports ---- */

static void put_reason(struct buf *out, const char *why)
{
    buf_str(out, "\"reason\":");
    buf_json(out, why, strlen(why));
}

void container_refuse(struct agent *a, const struct state *s, const char *why)
{
    OWN(buf) struct buf members = {0};
    a->refused++;
    put_reason(&members, why);
    if (buf_ok(&members))
        agent_print(a, "refused", s, members.s);
}

static void print_event(struct agent *a, struct node_container *c, const struct event *e)
{
    OWN(buf) struct buf members = {0};
    if (!e->allow) {
        c->fds.record->denied = ++c->denied;
        a->denied++;
    }
    if (!sampling_take(&c->sampling, a->o->sample, now_ms())) {
        a->skipped++;
        a->owes = true;
        return;
    }
    event_members(e, c->profile->graph, &c->cache, &members);
    buf_chr(&members, ',');
    sampling_members(&c->sampling, c->denied, &members);
    if (c->fds.record->audit)
        buf_str(&members, ",\"audit\":true");
    if (buf_ok(&members))
        agent_print(a, e->allow ? "report" : "violation", &c->state, members.s);
}

/* One look at all containers is enough for many events. */
int containers_expire(struct agent *a)
{
    enum { LOOK_MS = 250 };
    uint64_t now = now_ms();
    if (!a->owes || now - a->sampled < LOOK_MS)
        return a->owes ? (int)(LOOK_MS - (now - a->sampled)) : -1;
    a->owes = false;
    a->sampled = now;
    for (struct node_container *c = a->first; c; c = c->next) {
        OWN(buf) struct buf members = {0};
        int due = sampling_due(&c->sampling, now);
        a->owes |= due > 0;
        if (due != 0)
            continue;
        sampling_members(&c->sampling, c->denied, &members);
        if (buf_ok(&members))
            agent_print(a, "skipped", &c->state, members.s);
    }
    return a->owes ? LOOK_MS : -1;
}

/* Its first words, which may be a predecessor's: it judges, or why it cannot. */
static void take_words(struct agent *a, struct node_container *c, const char *words, size_t n)
{
    char members[32];
    if (words[0] == JUDGE_FAILED)
        snprintf(c->said, sizeof(c->said), "%.*s", (int)n - 1, words + 1);
    if (words[0] == JUDGE_FAILED && atomic_load(&c->fds.book->ready))
        container_refuse(a, &c->state, c->said); /* it judges, and lets nothing start */
    if (words[0] != JUDGE_READY)
        return;
    snprintf(members, sizeof(members), "\"judge\":%d", c->judge);
    agent_print(a, c->fds.record->told ? "resumed" : "started", &c->state, members);
    a->started += !c->fds.record->told;
    c->fds.record->told = 1;
}

/* An event stays in the socket until it is printed: if this agent dies, its successor prints it.
 * Returns false if there is none. */
static bool take_event(struct agent *a, struct node_container *c)
{
    static struct event e;
    static char wire[sizeof(struct event)];
    ssize_t n = recv(c->events.fd, wire, sizeof(wire), MSG_PEEK | MSG_DONTWAIT);
    if (n > 0 && n <= JUDGE_SAYS)
        take_words(a, c, wire, (size_t)n);
    else if (n > 0 && event_from_wire(wire, (size_t)n, &e) == 0)
        print_event(a, c, &e);
    return n > 0 && recv(c->events.fd, wire, 1, MSG_DONTWAIT | MSG_TRUNC) > 0;
}

static void on_event(struct agent *a, struct source *s)
{
    take_event(a, s->owner);
}

/* ---- the end ---- */

static void count(struct agent *a, const struct call_book *b)
{
    a->judged += atomic_load(&b->judged);
    a->spent_ns += atomic_load(&b->spent_ns);
    for (size_t i = 0; i < BOOK_BUCKETS; i++)
        a->took[i] += atomic_load(&b->took[i]);
}

static void forget(struct agent *a, struct node_container *c)
{
    for (struct node_container **at = &a->first; *at; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            break;
        }
    char name[KEEP_NAME];
    agent_set_name('c', c->number, name);
    keep_drop(&a->keep, name);
    agent_forget(a, &c->events);
    c->fds.events = -1;
    agent_forget(a, &c->exit);
    count(a, c->fds.book);
    container_fds_close(&c->fds);
    profile_release(c->profile);
    a->running--;
    free(c);
}

static void end_refused(struct agent *a, struct node_container *c, const char *why)
{
    container_refuse(a, &c->state, why);
    forget(a, c);
}

/* ---- the judge's process ---- */

/* The first judge of the first container in a network starts its gate. */
static void start_gate(const struct node_container *c)
{
    struct bk_err err;
    char text[JUDGE_SAYS];
    if (!c->starts_gate || atomic_load(&c->fds.book->ready) ||
        pod_gate_start(c->profile->graph, c->state.pid, c->fds.judge_end, &err) == 0)
        return;
    int n = snprintf(text, sizeof(text), "%c%.200s", JUDGE_FAILED, err.msg);
    send(c->fds.judge_end, text, (size_t)n, MSG_NOSIGNAL);
    _exit(1);
}

static void __attribute__((noreturn)) be_judge(struct node_container *c)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    start_gate(c);
    container_judge(&(struct container){.plan = &c->profile->plan,
                                        .graph = c->profile->graph,
                                        .listener = c->fds.listener,
                                        .events = c->fds.judge_end,
                                        .pid = c->state.pid,
                                        .book = c->fds.book,
                                        .audit = c->fds.record->audit});
}

static void on_exit_of_judge(struct agent *a, struct source *s);

static bool watch_judge(struct agent *a, struct node_container *c, pid_t pid, int pidfd)
{
    c->judge = pid;
    c->exit = (struct source){pidfd, on_exit_of_judge, c};
    return pidfd >= 0 && agent_watch(a, &c->exit) == 0;
}

static bool start_judge(struct agent *a, struct node_container *c)
{
    atomic_store(&c->fds.book->judge, 0);
    pid_t pid = fork();
    if (pid == 0)
        be_judge(c);
    return pid > 0 && watch_judge(a, c, pid, (int)syscall(SYS_pidfd_open, pid, 0));
}

static bool has_callers(const struct node_container *c)
{
    struct pollfd p = {c->fds.listener, POLLIN, 0};
    return poll(&p, 1, 0) >= 0 && !(p.revents & (POLLHUP | POLLNVAL));
}

static void print_end(struct agent *a, const struct node_container *c)
{
    char members[96];
    snprintf(members, sizeof(members), "\"judged\":%llu,\"denied\":%llu",
             (unsigned long long)atomic_load(&c->fds.book->judged), (unsigned long long)c->denied);
    a->ended++;
    agent_print(a, "ended", &c->state, members);
}

static bool may_restart(struct agent *a, struct node_container *c)
{
    uint64_t now = now_ms();
    if (now - c->since > RESTART_MS) {
        c->since = now;
        c->restarts = 0;
    }
    a->restarts++;
    return c->restarts++ < RESTARTS;
}

/* No judge runs. */
static void replace_judge(struct agent *a, struct node_container *c)
{
    bool ended = !has_callers(c), judging = atomic_load(&c->fds.book->ready);
    while (take_event(a, c))
        ;
    if (ended && judging) {
        print_end(a, c);
        forget(a, c);
    } else if (!judging) {
        end_refused(a, c, c->said[0] ? c->said : "its judge died");
    } else if (!may_restart(a, c)) {
        end_refused(a, c, "its judge died too often: judged calls fail from now on");
    } else if (!start_judge(a, c)) {
        end_refused(a, c, "no judge can be started: judged calls fail from now on");
    }
}

static void on_exit_of_judge(struct agent *a, struct source *s)
{
    struct node_container *c = s->owner;
    pid_t pid;
    waitpid(c->judge, NULL, WNOHANG);
    agent_forget(a, &c->exit);
    /* an earlier agent may have started one that came first */
    int pidfd = book_judge(c->fds.book, a->proc, &pid);
    if (pidfd < 0 || !watch_judge(a, c, pid, pidfd))
        replace_judge(a, c);
}

/* ---- the start ---- */

void container_store(struct agent *a, const struct node_container *c)
{
    char name[KEEP_NAME];
    agent_set_name('c', c->number, name);
    container_fds_store(&c->fds, &a->keep, name);
}

/* Adds a container to the agent's. Takes the profile and descriptors over, unless it fails. */
static struct node_container *add(struct agent *a, struct node_profile *profile, uint64_t number,
                                  const struct container_fds *f)
{
    struct node_container *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    *c = (struct node_container){.next = a->first,
                                 .state = f->record->state,
                                 .profile = profile,
                                 .number = number,
                                 .fds = *f,
                                 .denied = f->record->denied,
                                 .events = {f->events, on_event, c},
                                 .exit.fd = -1};
    a->first = c;
    a->running++;
    a->denied += c->denied; /* the agent before this one counted them */
    return c;
}

/* Compiles the profile, and makes what a container needs. */
static const char *prepare(struct agent *a, const struct state *s, struct node_profile **profile,
                           struct container_fds *f)
{
    static char why[512];
    struct bk_err err;
    OWN(buf) struct buf line = {0};
    if (profiles_get(&a->profiles, s->profile, profile, &err) < 0) {
        err_line(&err, &line);
        snprintf(why, sizeof(why), "%s", buf_ok(&line) && line.s ? line.s : err.msg);
        return why;
    }
    bool good = !s->section[0] || strcmp(s->section, (*profile)->section) == 0;
    if (good && container_fds_make(f, s) == 0)
        return NULL;
    profile_release(*profile);
    return good ? "out of memory" : "its filter was made for another version of the profile";
}

/* Containers of one pod share a network and its gate, so they need the same profile. */
static const char *find_gate(const struct agent *a, const struct state *s,
                             const struct node_profile *profile, struct record *r, bool *starts)
{
    r->network = pod_gate_network(s->pid);
    if (!r->network)
        return "its profile names hosts, but it shares the network of the node";
    for (const struct node_container *c = a->first; c; c = c->next)
        if (c->fds.record->network == r->network)
            return c->fds.record->profile == profile->number
                       ? NULL
                       : "the gate of its network has another profile";
    *starts = true;
    return NULL;
}

void container_begin(struct agent *a, const struct state *s, int listener)
{
    OWN(fd) int taken = listener;
    struct node_profile *profile;
    struct container_fds f = {.listener = listener};
    const char *why = prepare(a, s, &profile, &f);
    if (why) {
        container_refuse(a, s, why);
        return;
    }
    bool starts = false;
    why = profile->plan.gate ? find_gate(a, s, profile, f.record, &starts) : NULL;
    if (why) {
        f.listener = -1;
        container_fds_close(&f);
        profile_release(profile);
        container_refuse(a, s, why);
        return;
    }
    f.record->profile = profile->number;
    f.record->audit = a->o->audit;
    steal_fd(&taken);
    struct node_container *c = add(a, profile, ++a->numbers, &f);
    if (!c) {
        container_fds_close(&f);
        profile_release(profile);
        container_refuse(a, s, "out of memory");
        return;
    }
    c->starts_gate = starts;
    container_store(a, c);
    if (agent_watch(a, &c->events) < 0 || !start_judge(a, c))
        end_refused(a, c, "no judge can be started");
}

/* ---- after another agent ---- */

/* Its judge may still judge; if not, it gets another one. */
static void go_on(struct agent *a, struct node_container *c)
{
    pid_t pid;
    char members[32];
    int pidfd = book_judge(c->fds.book, a->proc, &pid);
    if (agent_watch(a, &c->events) < 0) {
        end_refused(a, c, "out of memory: judged calls fail from now on");
        return;
    }
    if (pidfd >= 0 && watch_judge(a, c, pid, pidfd)) {
        snprintf(members, sizeof(members), "\"judge\":%d", pid);
        agent_print(a, "kept", &c->state, members);
    } else if (!c->fds.record->told && !atomic_load(&c->fds.book->judge)) {
        if (!start_judge(a, c)) /* the agent died before it could */
            end_refused(a, c, "no judge can be started");
    } else {
        replace_judge(a, c);
    }
}

/* A judge whose container cannot be taken over must not judge without anybody who reads. */
static void refuse_kept(struct agent *a, struct container_fds *f, const char *why)
{
    pid_t pid;
    OWN(fd) int judge = book_judge(f->book, a->proc, &pid);
    if (judge >= 0)
        syscall(SYS_pidfd_send_signal, judge, SIGKILL, NULL, 0);
    container_refuse(a, &f->record->state, why);
    container_fds_close(f);
}

static void restore(struct agent *a, struct kept *set, uint64_t number)
{
    struct container_fds f;
    struct bk_err err;
    struct node_profile *profile = NULL;
    if (container_fds_take(&f, set) < 0) {
        container_refuse(a, NULL, "what another version of the agent kept cannot be read");
        keep_drop(&a->keep, set->name);
        return;
    }
    if (profiles_restore(&a->profiles, &a->keep, f.record->profile, f.record->state.profile,
                         &profile, &err) < 0) {
        keep_drop(&a->keep, set->name);
        refuse_kept(a, &f, err.msg);
        return;
    }
    struct node_container *c = add(a, profile, number, &f);
    if (!c) {
        profile_release(profile);
        refuse_kept(a, &f, "out of memory");
        return;
    }
    go_on(a, c);
}

void containers_restore(struct agent *a)
{
    for (size_t i = 0; i < a->keep.nsets; i++) {
        uint64_t number = strtoull(a->keep.sets[i].name + 1, NULL, 10);
        a->numbers = number > a->numbers ? number : a->numbers;
    }
    for (size_t i = 0; i < a->keep.nsets; i++)
        if (a->keep.sets[i].name[0] == 'c')
            restore(a, &a->keep.sets[i], strtoull(a->keep.sets[i].name + 1, NULL, 10));
    for (size_t i = 0; i < a->keep.nsets; i++) /* texts that no container uses */
        if (a->keep.sets[i].name[0] == 'p' && a->keep.sets[i].n && a->keep.sets[i].fds[0] >= 0)
            keep_drop(&a->keep, a->keep.sets[i].name);
    profiles_restored(&a->profiles);
}
