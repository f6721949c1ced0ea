/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The agent's loop. Everything it does is short; what could take long, judging, is in other
 * processes. */

#include "node/agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "kernel/judge/container-cgroup.h"
#include "node/agent-int.h"
#include "node/event-readers.h"
#include "node/status-port.h"

int agent_watch(struct agent *a, struct source *s)
{
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = s};
    return epoll_ctl(a->epoll, EPOLL_CTL_ADD, s->fd, &e);
}

void agent_forget(struct agent *a, struct source *s)
{
    if (s->fd < 0)
        return;
    epoll_ctl(a->epoll, EPOLL_CTL_DEL, s->fd, NULL);
    close(s->fd);
    s->fd = -1;
}

static void put_time(struct buf *out)
{
    struct timespec now;
    struct tm tm;
    char text[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &tm);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    buf_fmt(out, "\"time\":\"%s.%06ldZ\"", text, now.tv_nsec / 1000);
}

/* Waits for a reader that is slow, but not for one that has stopped: containers wait meanwhile. */
static bool can_write(void)
{
    enum { PATIENCE_MS = 2000 };
    static bool stopped;
    struct pollfd p = {STDOUT_FILENO, POLLOUT, 0};
    stopped = poll(&p, 1, stopped ? 0 : PATIENCE_MS) == 0;
    return !stopped;
}

/* One write for each line: whoever reads it never sees half of one, unless the pipe is full or the
 * disk. Returns whether the line is out. */
static bool write_line(const struct buf *line)
{
    static bool half;
    enum { PART = 4096 }; /* what fits into a pipe that can be written to */
    if (half && can_write())
        half = write(STDOUT_FILENO, "\n", 1) != 1;
    for (size_t done = 0; done < line->n && !half;) {
        size_t part = line->n - done < PART ? line->n - done : PART;
        ssize_t n = can_write() ? write(STDOUT_FILENO, line->s + done, part) : -1;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            half = done > 0;
            return false;
        }
        done += (size_t)n;
    }
    return !half;
}

/* Events that could not be written are counted, and the number is written as soon as it can be. */
static void write_or_count(struct agent *a, const struct buf *line)
{
    OWN(buf) struct buf lost = {0};
    if (a->unwritten) {
        buf_chr(&lost, '{');
        put_time(&lost);
        buf_fmt(&lost, ",\"event\":\"lost\",\"count\":%llu}\n", (unsigned long long)a->unwritten);
        if (buf_ok(&lost) && write_line(&lost))
            a->unwritten = 0;
    }
    if (!write_line(line))
        a->unwritten++;
}

void agent_print(struct agent *a, const char *event, const struct state *s, const char *members)
{
    OWN(buf) struct buf line = {0};
    /* an operation's event begins with the time of the operation */
    bool timed = strncmp(members, "\"time\"", 6) != 0;
    buf_chr(&line, '{');
    if (timed)
        put_time(&line);
    buf_fmt(&line, "%s\"event\":\"%s\"", timed ? "," : "", event);
    if (s && s->id[0]) {
        buf_str(&line, ",\"container\":");
        buf_json(&line, s->id, strlen(s->id));
        buf_fmt(&line, ",\"container_pid\":%d,\"profile\":", s->pid);
        buf_json(&line, s->profile, strlen(s->profile));
        state_pod_json(&s->pod, &line);
    }
    if (members[0])
        buf_fmt(&line, ",%s", members);
    buf_str(&line, "}\n");
    if (!buf_ok(&line))
        return;
    write_or_count(a, &line);
    event_readers_send(a, line.s, line.n);
}

static void on_signal(struct agent *a, struct source *s)
{
    struct signalfd_siginfo info;
    if (read(s->fd, &info, sizeof(info)) == sizeof(info))
        a->stop = true;
}

static int watch_signals(struct agent *a, struct bk_err *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    a->signals = (struct source){signalfd(-1, &set, SFD_CLOEXEC), on_signal, NULL};
    return a->signals.fd < 0 || agent_watch(a, &a->signals) < 0 ? err_sys(err, "signals") : 0;
}

/* Four descriptors for each container. */
static void raise_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Milliseconds until something is due, or -1. */
static int expire(struct agent *a)
{
    int due[] = {connections_expire(a), status_expire(a), containers_expire(a)}, first = -1;
    for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
        if (due[i] >= 0 && (first < 0 || due[i] < first))
            first = due[i];
    return first;
}

static void loop(struct agent *a)
{
    struct epoll_event ready[1];
    while (!a->stop) {
        /* one at a time: what one handler closes, another event may be about */
        int n = epoll_wait(a->epoll, ready, 1, expire(a));
        struct source *s = n == 1 ? ready[0].data.ptr : NULL;
        if (s)
            s->ready(a, s);
    }
}

/* ---- what outlives the agent ---- */

void agent_set_name(char kind, uint64_t number, char out[KEEP_NAME])
{
    snprintf(out, KEEP_NAME, "%c%llu", kind, (unsigned long long)number);
}

void agent_store_all(struct agent *a)
{
    keep_store(&a->keep, "socket", &a->listener.fd, 1);
    for (const struct node_container *c = a->first; c; c = c->next) {
        profile_store(c->profile);
        container_store(a, c);
    }
}

/* The holder never says anything later, so it has ended. */
static void on_holder(struct agent *a, struct source *s)
{
    struct bk_err err;
    agent_forget(a, s);
    a->keep.sock = -1;
    struct keep again;
    if (keep_open(&again, KEEP_HOLDER, a->o->socket, a->o->wait, &err) < 0)
        return; /* all goes on, but without a second chance */
    keep_close_rest(&again);
    a->keep = again;
    a->holder = (struct source){a->keep.sock, on_holder, NULL};
    (void)agent_watch(a, &a->holder);
    agent_store_all(a);
}

static int open_keep(struct agent *a, struct bk_err *err)
{
    if (keep_open(&a->keep, a->o->keep, a->o->socket, a->o->wait, err) < 0)
        return -1;
    a->profiles.keep = &a->keep;
    a->profiles.numbers = &a->numbers;
    a->holder = (struct source){-1, on_holder, NULL};
    if (a->keep.systemd || a->keep.sock < 0)
        return 0;
    a->holder.fd = a->keep.sock;
    return agent_watch(a, &a->holder) < 0 ? err_sys(err, "the holder") : 0;
}

/* With containers that go on, the socket stays: runtimes wait for the next agent. */
static void stop(struct agent *a)
{
    keep_notify("STOPPING=1");
    if (!a->running || a->keep.sock < 0) {
        keep_drop(&a->keep, "socket");
        unlink(a->o->socket);
    }
    if (!a->running)
        profiles_close(&a->profiles);
    agent_print(a, "stopped", NULL, "");
}

static struct agent the_agent; /* a process has only one */

int node_serve(const struct node_options *o, struct bk_err *err)
{
    struct agent *a = &the_agent;
    a->o = o;
    raise_limit();
    a->epoll = epoll_create1(EPOLL_CLOEXEC);
    a->proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (a->epoll < 0 || a->proc < 0)
        return err_sys(err, "epoll and /proc");
    container_cgroup_from_host(a->proc);
    a->profiles.gate = o->gate;
    if (profiles_open(&a->profiles, o->profiles, err) < 0 || watch_signals(a, err) < 0 ||
        open_keep(a, err) < 0 || event_readers_listen(a, err) < 0 || status_listen(a, err) < 0)
        return -1;
    containers_restore(a);
    if (connections_listen(a, err) < 0)
        return -1;
    keep_close_rest(&a->keep);
    profiles_watch(a);
    keep_notify("READY=1");
    agent_print(a, "ready", NULL, "");
    loop(a);
    stop(a);
    event_readers_close(a);
    return 0;
}
