/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A container and its judge. The agent keeps the listener and the judge's book: if the judge dies,
 * another one takes over, and the calls of the container wait for it. A judge that dies again and
 * again is not replaced. Then the listener is closed, and judged calls fail.
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
        c->denied++;
        a->denied++;
    }
    event_members(e, c->profile->graph, &c->cache, &members);
    if (a->o->audit)
        buf_str(&members, ",\"audit\":true");
    if (buf_ok(&members))
        agent_print(a, e->allow ? "report" : "violation", &c->state, members.s);
}

/* Returns false at the end. */
static bool take_event(struct agent *a, struct node_container *c)
{
    static struct event e;
    static char wire[sizeof(struct event)];
    ssize_t n = recv(c->events.fd, wire, sizeof(wire), MSG_DONTWAIT);
    if (n > 0 && event_from_wire(wire, (size_t)n, &e) == 0)
        print_event(a, c, &e);
    return n > 0;
}

static void on_event(struct agent *a, struct source *s)
{
    /* the judge's end is closed only after its exit, which says more */
    if (!take_event(a, s->owner) && errno != EAGAIN)
        agent_forget(a, s);
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
    agent_forget(a, &c->events);
    agent_forget(a, &c->says);
    agent_forget(a, &c->exit);
    if (c->book) {
        count(a, c->book);
        munmap(c->book, sizeof(*c->book));
    }
    if (c->memory >= 0)
        close(c->memory);
    if (c->listener >= 0)
        close(c->listener);
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

static void __attribute__((noreturn))
be_judge(struct node_container *c, bool audit, int events, int says)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    container_judge(&(struct container){.plan = &c->profile->plan,
                                        .graph = c->profile->graph,
                                        .listener = c->listener,
                                        .events = events,
                                        .says = says,
                                        .pid = c->state.pid,
                                        .book = c->book,
                                        .audit = audit});
}

static void on_exit_of_judge(struct agent *a, struct source *s);
static void on_words(struct agent *a, struct source *s);

static bool start_judge(struct agent *a, struct node_container *c)
{
    int ends[2] = {-1, -1}, says[2] = {-1, -1};
    bool good = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 &&
                pipe2(says, O_CLOEXEC | O_NONBLOCK) == 0;
    c->judge = good ? fork() : -1;
    if (c->judge == 0)
        be_judge(c, a->o->audit, ends[1], says[1]);
    if (ends[1] >= 0)
        close(ends[1]);
    if (says[1] >= 0)
        close(says[1]);
    c->events = (struct source){ends[0], on_event, c};
    c->says = (struct source){says[0], on_words, c};
    int pidfd = c->judge > 0 ? (int)syscall(SYS_pidfd_open, c->judge, 0) : -1;
    c->exit = (struct source){pidfd, on_exit_of_judge, c};
    c->nsaid = 0;
    return pidfd >= 0 && agent_watch(a, &c->events) == 0 && agent_watch(a, &c->says) == 0 &&
           agent_watch(a, &c->exit) == 0;
}

/* Its first words: nothing but a NUL if it judges, or why it cannot. */
static void on_words(struct agent *a, struct source *s)
{
    struct node_container *c = s->owner;
    ssize_t n = read(s->fd, c->said + c->nsaid, sizeof(c->said) - 1 - c->nsaid);
    if (n < 0)
        return;
    c->nsaid += (size_t)n;
    if (n > 0 && c->nsaid < sizeof(c->said) - 1)
        return;
    c->said[c->nsaid] = '\0';
    agent_forget(a, s);
    if (c->nsaid != 1 || c->said[0])
        return; /* it exits */
    agent_print(a, c->judging ? "resumed" : "started", &c->state, "");
    a->started += !c->judging;
    c->judging = true;
}

static bool has_callers(const struct node_container *c)
{
    struct pollfd p = {c->listener, POLLIN, 0};
    return poll(&p, 1, 0) >= 0 && !(p.revents & (POLLHUP | POLLNVAL));
}

static void print_end(struct agent *a, const struct node_container *c)
{
    char members[96];
    snprintf(members, sizeof(members), "\"judged\":%llu,\"denied\":%llu",
             (unsigned long long)atomic_load(&c->book->judged), (unsigned long long)c->denied);
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

static void on_exit_of_judge(struct agent *a, struct source *s)
{
    struct node_container *c = s->owner;
    waitpid(c->judge, NULL, WNOHANG);
    while (c->events.fd >= 0 && take_event(a, c))
        ;
    if (c->says.fd >= 0)
        on_words(a, &c->says);
    bool ended = !has_callers(c), judging = c->judging;
    agent_forget(a, &c->events);
    agent_forget(a, &c->says);
    agent_forget(a, &c->exit);
    if (ended && judging) {
        print_end(a, c);
        forget(a, c);
    } else if (!judging) {
        c->said[c->nsaid] = '\0';
        end_refused(a, c, c->nsaid ? c->said : "its judge died");
    } else if (!may_restart(a, c)) {
        end_refused(a, c, "its judge died too often: judged calls fail from now on");
    } else if (!start_judge(a, c)) {
        end_refused(a, c, "no judge can be started: judged calls fail from now on");
    }
}

/* ---- the start ---- */

static bool make_book(struct node_container *c)
{
    c->memory = memfd_create("buckle-calls", MFD_CLOEXEC);
    if (c->memory < 0 || ftruncate(c->memory, sizeof(*c->book)) < 0)
        return false;
    void *at = mmap(NULL, sizeof(*c->book), PROT_READ | PROT_WRITE, MAP_SHARED, c->memory, 0);
    c->book = at == MAP_FAILED ? NULL : at;
    return c->book != NULL;
}

void container_begin(struct agent *a, const struct state *s, int listener)
{
    struct bk_err err;
    OWN(fd) int taken = listener;
    struct node_profile *profile;
    OWN(buf) struct buf why = {0};
    if (profiles_get(&a->profiles, s->profile, &profile, &err) < 0) {
        err_line(&err, &why);
        container_refuse(a, s, buf_ok(&why) && why.s ? why.s : err.msg);
        return;
    }
    if (s->section[0] && strcmp(s->section, profile->section) != 0) {
        profile_release(profile);
        container_refuse(a, s, "its filter was made for another version of the profile");
        return;
    }
    struct node_container *c = calloc(1, sizeof(*c));
    if (!c) {
        profile_release(profile);
        container_refuse(a, s, "out of memory");
        return;
    }
    *c = (struct node_container){.next = a->first,
                                 .state = *s,
                                 .profile = profile,
                                 .listener = steal_fd(&taken),
                                 .memory = -1,
                                 .events.fd = -1,
                                 .says.fd = -1,
                                 .exit.fd = -1};
    a->first = c;
    a->running++;
    if (!make_book(c) || !start_judge(a, c))
        end_refused(a, c, "no judge can be started");
}
