/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Everything is waited for with one poll(2); signal handlers write to a pipe. The command owns the
 * terminal and gets its signals directly. Other signals to this process are passed on.
 */

#include "macos/macos-run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "macos/child.h"
#include "macos/macos-proxies.h"
#include "macos/monitor.h"
#include "macos/sandbox-exec.h"

enum {
    READY_MS = 1000,  /* for the monitor's first output */
    QUIET_MS = 250,   /* the log lags: after this much silence it is complete */
    LINGER_MS = 1500, /* upper limit for waiting for the log */
    KILL_MS = 2000,   /* from SIGTERM to SIGKILL */
};

struct running {
    const struct seatbelt *s;
    struct arena arena;
    char session[TAG_SESSION];
    struct buf command, tag, profile;
    struct monitor_options monitor_options;
    struct monitor monitor;
    bool monitored;
    struct proxies proxies;
    struct macos_ports ports;
    pid_t pid;
    bool ended;
    int status;
    bool cancelled, at_once; /* by macos_cancel() */
};

static struct running *running_now; /* for macos_signal() and macos_cancel() */

static void debug(void *arg, const char *line)
{
    const struct running *r = arg;
    if (r->s->debug)
        r->s->debug(r->s->arg, line);
}

/* ---- events ---- */

static void on_event(void *arg, const struct event *e)
{
    const struct running *r = arg;
    if (r->s->on_event)
        r->s->on_event(r->s->arg, e);
}

/* Evaluates our own policy to find the rule: the log doesn't name it. */
static uint32_t find_rule(const struct running *r, uint16_t op, const char *argument)
{
    struct graph_fact facts[2];
    struct graph_query q = {.op = op, .facts = facts};
    uint32_t rule = GRAPH_NO_RULE;
    struct graph_cache *cache = r->s->graph ? graph_cache_new(r->s->graph) : NULL;
    if (cache && graph_facts_parse(op, &argument, *argument ? 1 : 0, facts, &q.nfacts, NULL) == 0) {
        struct graph_verdict v = graph_eval(r->s->graph, cache, &q);
        rule = v.allow ? GRAPH_NO_RULE : v.rule;
    }
    if (cache)
        graph_cache_free(cache);
    return rule;
}

static void on_denial(void *arg, const struct log_denial *d, const char *command)
{
    const struct running *r = arg;
    struct event e = {.pid = d->pid, .tid = d->pid, .count = d->count, .err = EPERM};
    struct vocab_word w = vocab_find(d->operation, d->operation_len, WORD_OP);
    (void)command;
    e.time_ns = date_ns();
    /* report an operation that our tables don't know by its name */
    bool known = w.kind == WORD_OP;
    const char *what = known ? d->argument : d->operation;
    e.op = known ? w.id : OP_DEFAULT;
    e.rule = find_rule(r, e.op, known ? d->argument : "");
    snprintf(e.exe, sizeof(e.exe), "%.*s", (int)(d->process_len < 200 ? d->process_len : 200),
             d->process);
    int n = snprintf(e.path, sizeof(e.path), "%s", what);
    e.path_len = n < (int)sizeof(e.path) ? (uint32_t)n : (uint32_t)sizeof(e.path) - 1;
    on_event(arg, &e);
}

/* ---- signals ---- */

static int signals_to = -1;

static void on_signal(int number)
{
    int saved = errno;
    unsigned char byte = (unsigned char)number;
    ssize_t ignored = write(signals_to, &byte, 1);
    (void)ignored;
    errno = saved;
}

static const int handled[] = {SIGCHLD, SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};
enum { HANDLED = sizeof(handled) / sizeof(handled[0]) };

struct signals {
    int from;
    struct sigaction before[HANDLED];
};

static int signals_start(struct signals *s, struct bk_err *err)
{
    int ends[2];
    struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    if (child_pipe(ends, err) < 0)
        return -1;
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    s->from = ends[0];
    signals_to = ends[1];
    sigemptyset(&a.sa_mask);
    for (size_t i = 0; i < HANDLED; i++)
        sigaction(handled[i], &a, &s->before[i]);
    return 0;
}

static void signals_stop(struct signals *s)
{
    for (size_t i = 0; i < HANDLED; i++)
        sigaction(handled[i], &s->before[i], NULL);
    close(s->from);
    close(signals_to);
    signals_to = -1;
}

/* Whether the terminal already sent this signal to the command. */
static bool from_keyboard(int number)
{
    return (number == SIGINT || number == SIGQUIT) && tcgetpgrp(0) == getpgrp();
}

static void handle_signals(struct running *r, int from)
{
    unsigned char numbers[64];
    ssize_t n;
    while ((n = read(from, numbers, sizeof(numbers))) > 0)
        for (ssize_t i = 0; i < n; i++)
            if (numbers[i] != SIGCHLD && !r->ended && !from_keyboard(numbers[i]))
                kill(r->pid, numbers[i]);
    if (!r->ended && waitpid(r->pid, &r->status, WNOHANG) == r->pid)
        r->ended = true;
}

/* ---- preparation ---- */

static void write_command(struct running *r)
{
    if (r->s->command) {
        buf_str(&r->command, r->s->command);
        return;
    }
    for (char *const *word = r->s->argv; *word; word++) {
        buf_str(&r->command, word == r->s->argv ? "" : " ");
        shell_word(&r->command, *word);
    }
}

static void start_monitor(struct running *r)
{
    struct bk_err err;
    r->monitor_options = (struct monitor_options){.session = r->session,
                                                  .command = r->command.s,
                                                  .ignore = r->s->ignore,
                                                  .found = on_denial,
                                                  .debug = debug,
                                                  .arg = r};
    /* without a monitor, the run is still confined */
    r->monitored = monitor_start(&r->monitor, &r->monitor_options, &err) == 0;
}

static int prepare(struct running *r, struct bk_err *err)
{
    const struct seatbelt *s = r->s;
    if (tag_session(r->session, err) < 0)
        return -1;
    write_command(r);
    tag_encode(r->command.s ? r->command.s : "", r->command.n, r->session, &r->tag);
    r->ports = s->others;
    if (s->proxied && !r->ports.http && !r->ports.socks) {
        if (proxies_start(&r->proxies, s->graph, s->parents, err) < 0)
            return -1;
        r->ports = (struct macos_ports){r->proxies.http_port, r->proxies.socks_port};
    }
    if (!buf_ok(&r->command) || !buf_ok(&r->tag))
        return err_nomem(err);
    return s->profile(s->arg, &r->ports, r->tag.s, &r->profile, err);
}

/* The caller's environment; our variables replace the caller's. */
static char **make_env(struct running *r)
{
    struct proxy_vars to = {.http = r->ports.http,
                            .socks = r->ports.socks,
                            .token = r->proxies.pid > 0 ? r->proxies.token : NULL,
                            .connector = r->s->connector};
    const char **ours = wrap_environ(&r->arena, &to, NULL);
    size_t n = 0, mine = 0;
    while (r->s->env[n])
        n++;
    while (ours && ours[mine])
        mine++;
    const char **all = arena_array(&r->arena, n + mine + 1, sizeof(*all));
    size_t kept = 0;
    for (size_t i = 0; all && ours && i < n; i++) {
        /* on Linux, sandbox-exec is our own program and would run this again */
        bool replaced = strncmp(r->s->env[i], "BUCKLE_BACKEND=", 15) == 0;
        for (size_t k = 0; k < mine; k++)
            replaced |= strncmp(r->s->env[i], ours[k], strcspn(ours[k], "=") + 1) == 0;
        if (!replaced)
            all[kept++] = r->s->env[i];
    }
    for (size_t k = 0; all && k < mine; k++)
        all[kept++] = ours[k];
    return ours ? (char **)all : NULL;
}

static int start_command(struct running *r, struct bk_err *err)
{
    size_t n = 0;
    while (r->s->argv[n])
        n++;
    const char **argv = arena_array(&r->arena, n + 4, sizeof(*argv));
    char **env = make_env(r);
    if (!argv || !env)
        return err_nomem(err);
    static const char *const around[] = {"sandbox-exec", "-p"};
    size_t at = 0;
    if (!r->s->enter) {
        memcpy(argv, around, sizeof(around));
        argv[2] = r->profile.s;
        at = 3;
    }
    memcpy(argv + at, r->s->argv, n * sizeof(*argv));
    struct child c = {.argv = (char *const *)argv,
                      .env = env,
                      .cwd = r->s->cwd,
                      .in = -1,
                      .out = -1,
                      .err = -1,
                      .keep = r->s->keep_fds,
                      .nkeep = r->s->nkeep_fds,
                      .enter = r->s->enter,
                      .profile = r->profile.s};
    return child_start(&c, &r->pid, err);
}

/* ---- waiting ---- */

/* Handles what is ready; false on timeout. */
static bool wait_some(struct running *r, const struct signals *signals, int timeout_ms)
{
    struct pollfd fds[] = {{.fd = signals->from, .events = POLLIN},
                           {.fd = r->monitored ? r->monitor.out : -1, .events = POLLIN},
                           {.fd = r->monitored ? r->monitor.err : -1, .events = POLLIN},
                           {.fd = r->proxies.events, .events = POLLIN},
                           {.fd = r->s->on_input ? r->s->input_fd : -1, .events = POLLIN}};
    int n = poll(fds, 5, timeout_ms);
    if (n < 0 || fds[0].revents)
        handle_signals(r, signals->from);
    for (int i = 1; i <= 2 && n > 0; i++)
        if (fds[i].revents)
            monitor_read(&r->monitor, fds[i].fd);
    if (n > 0 && fds[3].revents && !proxies_read(&r->proxies, on_event, r)) {
        own_close_fd(&r->proxies.events);
        r->proxies.events = -1;
        debug(r, "proxies: ended");
    }
    if (n > 0 && fds[4].revents && r->s->on_input)
        r->s->on_input(r->s->arg);
    return n > 0 && (fds[1].revents || fds[2].revents || fds[3].revents);
}

int macos_signal(int sig)
{
    const struct running *r = running_now;
    return r && r->pid > 0 && !r->ended && kill(r->pid, sig) == 0 ? 0 : -ESRCH;
}

void macos_cancel(bool at_once)
{
    struct running *r = running_now;
    if (!r)
        return;
    r->cancelled = true;
    r->at_once |= at_once;
}

static void wait_command(struct running *r, const struct signals *signals, bool *timed_out)
{
    uint64_t deadline = r->s->timeout_ms ? now_ms() + r->s->timeout_ms : 0;
    while (!r->ended) {
        uint64_t now = now_ms();
        if (r->cancelled) {
            r->cancelled = false;
            deadline = now;
            *timed_out |= r->at_once;
        }
        if (deadline && now >= deadline) {
            kill(r->pid, *timed_out ? SIGKILL : SIGTERM);
            deadline = *timed_out ? 0 : now + KILL_MS;
            *timed_out = true;
            continue;
        }
        wait_some(r, signals, deadline ? (int)(deadline - now < 1000 ? deadline - now : 1000) : -1);
    }
}

/* The log reports denials with a delay. */
static void wait_for_log(struct running *r, const struct signals *signals)
{
    uint64_t until = now_ms() + LINGER_MS;
    while (r->monitored && r->monitor.out >= 0 && now_ms() < until)
        if (!wait_some(r, signals, QUIET_MS))
            break;
}

static int run_confined(struct running *r, struct macos_end *end, struct bk_err *err)
{
    struct signals signals;
    /* first, so that a signal while waiting for the log still cleans up */
    if (signals_start(&signals, err) < 0)
        return -1;
    int result = prepare(r, err);
    if (result == 0) {
        start_monitor(r);
        if (r->monitored)
            monitor_await(&r->monitor, READY_MS);
        result = start_command(r, err);
    }
    end->started = result == 0;
    if (result == 0) {
        wait_command(r, &signals, &end->timed_out);
        wait_for_log(r, &signals);
        end->status = r->status;
    }
    signals_stop(&signals);
    return result;
}

int macos_run(const struct seatbelt *s, struct macos_end *end, struct bk_err *err)
{
    struct running *r = calloc(1, sizeof(*r));
    if (!r)
        return err_nomem(err);
    r->s = s;
    r->proxies = (struct proxies){.pid = -1, .stop = -1, .events = -1};
    arena_init(&r->arena, 64 << 20);
    *end = (struct macos_end){0};
    running_now = r;
    int result = run_confined(r, end, err);
    running_now = NULL;
    if (r->monitored)
        monitor_stop(&r->monitor);
    if (r->proxies.pid > 0)
        proxies_stop(&r->proxies);
    buf_free(&r->command);
    buf_free(&r->tag);
    buf_free(&r->profile);
    arena_free(&r->arena);
    free(r);
    return result;
}
