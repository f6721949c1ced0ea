/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The agent's loop. Everything it does is short; what could take long, judging, is in other
 * processes. */

#include "node/agent.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
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

/* One write for each line: whoever reads it never sees half of one, unless the pipe is full. */
static void write_line(const struct buf *line)
{
    for (size_t done = 0; done < line->n;) {
        ssize_t n = write(STDOUT_FILENO, line->s + done, line->n - done);
        if (n < 0 && errno != EINTR)
            return; /* nobody reads */
        done += n > 0 ? (size_t)n : 0;
    }
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
    write_line(&line);
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

static struct agent the_agent; /* a process has only one */

int node_serve(const struct node_options *o, struct bk_err *err)
{
    struct agent *a = &the_agent;
    a->o = o;
    raise_limit();
    a->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (a->epoll < 0)
        return err_sys(err, "epoll");
    if (profiles_open(&a->profiles, o->profiles, err) < 0 || watch_signals(a, err) < 0 ||
        connections_listen(a, err) < 0 || event_readers_listen(a, err) < 0 ||
        status_listen(a, err) < 0)
        return -1;
    agent_print(a, "ready", NULL, "");
    loop(a);
    unlink(o->socket);
    agent_print(a, "stopped", NULL, "");
    event_readers_close(a);
    return 0;
}
