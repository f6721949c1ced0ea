/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle session`: the owner of what happens in several runs. It keeps their events in its memory,
 * and what the person granted to all of them, and ends with the process that it was started for.
 * Nothing is written to disk.
 *
 *   {"join": COMMAND, "pid": N}  → {"ok": true, "number": N, "grants": [{"grant": …, "what": …}]}
 *   {"event": {…}, "number": N}  no answer
 *   and as a run: log, about, grant (told to runs under way as well); {"clear": true}
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/desk.h"
#include "args.h"
#include "base/own.h"
#include "reach.h"
#include "report/store.h"

static const struct cli_option options[] = {
    {"for", 0, "PID", "end with this process (the one that started us)", NULL},
    {"foreground", 0, NULL, "stay in the foreground", NULL},
    {0},
};

enum { JOINED = 256 };

struct keeper {
    struct hearing hearing;
    struct desk desk;
    struct store *store;
    json_t *grants;
    pid_t owner;
    uint64_t last; /* number of a command */
    struct {
        uint64_t number;
        pid_t pid;
        char *command;
    } joined[JOINED]; /* the newest */
};

static void say_error(struct buf *out, const char *what)
{
    buf_str(out, "{\"ok\": false, \"error\": ");
    buf_json(out, what, strlen(what));
    buf_chr(out, '}');
}

static void say(struct buf *out, json_t *answer)
{
    OWN(json) json_t *a = answer;
    OWN(mem) char *text = a ? json_dumps(a, JSON_COMPACT) : NULL;
    if (text)
        buf_str(out, text);
    else
        say_error(out, "out of memory");
}

static void do_join(struct keeper *k, const json_t *m, struct buf *out)
{
    const char *command = json_text(m, "join");
    size_t at = ++k->last % JOINED;
    if (!command)
        return say_error(out, "which command?");
    free(k->joined[at].command);
    k->joined[at].number = k->last;
    k->joined[at].pid = (pid_t)json_integer_value(json_object_get(m, "pid"));
    k->joined[at].command = strdup(command);
    say(out,
        json_pack("{s:b, s:I, s:O}", "ok", 1, "number", (json_int_t)k->last, "grants", k->grants));
}

static void do_event(struct keeper *k, const json_t *m)
{
    uint64_t number = (uint64_t)json_integer_value(json_object_get(m, "number"));
    const json_t *event = json_object_get(m, "event");
    const char *line = json_text(event, "line"), *verdict = json_text(event, "verdict");
    const char *command = "";
    if (number && k->joined[number % JOINED].number == number)
        command = k->joined[number % JOINED].command;
    OWN(mem) char *json = json_dumps(event, JSON_COMPACT);
    if (line && json && verdict && strcmp(verdict, "deny") == 0)
        store_add(k->store, &(struct violation){.command_id = number,
                                                .command = command ? command : "",
                                                .line = line,
                                                .json = json});
}

static void do_log(struct keeper *k, const json_t *m, struct buf *out)
{
    enum { ROOM = DOOR_MESSAGE - 20000 };
    uint64_t after = (uint64_t)json_integer_value(json_object_get(m, "after"));
    struct violations *v = store_get(k->store, &(struct store_wanted){.after = after});
    uint64_t total = store_total(k->store);
    buf_fmt(out, "{\"ok\": true, \"total\": %llu, \"events\": [", (unsigned long long)total);
    size_t i = 0;
    for (; v && i < v->n && out->n < ROOM; i++) {
        buf_str(out, i ? ", " : "");
        buf_add(out, v->at[i].json, strlen(v->at[i].json) - 1); /* all but the brace */
        buf_str(out, ", \"command\": ");
        buf_json(out, v->at[i].command, strlen(v->at[i].command));
        buf_chr(out, '}');
    }
    uint64_t last = v && i ? v->at[i - 1].number : total;
    buf_fmt(out, "], \"last\": %llu}", (unsigned long long)last);
    free(v);
}

/* For commands to come, and for those under way as far as their walls let it. */
static void do_grant(struct keeper *k, const json_t *m, struct buf *out)
{
    OWN(buf) struct buf waits = {0};
    const char *option = json_text(m, "grant"), *what = json_text(m, "what");
    if (!option || !what || !json_is_string(json_object_get(m, "grant")))
        return say_error(out, "what is to be granted?");
    for (size_t i = 0; i < JOINED; i++) {
        struct bk_err err;
        if (k->joined[i].pid <= 0)
            continue;
        OWN(fd) int run = door_knock("run", k->joined[i].pid, &err);
        OWN(json) json_t *answer = run >= 0 ? reach_ask(run, m, &err) : NULL;
        const char *later = json_text(answer, "waits");
        if (run < 0)
            k->joined[i].pid = 0; /* it is over */
        if (later)
            buf_str(&waits, later);
    }
    json_array_append_new(k->grants, json_pack("{s:s, s:s}", "grant", option, "what", what));
    say(out, json_pack("{s:b, s:s}", "ok", 1, "waits", waits.s ? waits.s : ""));
}

static void answer(void *arg, const char *message, size_t n, struct buf *out)
{
    struct keeper *k = arg;
    OWN(json) json_t *m = json_loadb(message, n, JSON_REJECT_DUPLICATES, NULL);
    if (json_object_get(m, "event")) {
        do_event(k, m);
    } else if (json_object_get(m, "join")) {
        do_join(k, m, out);
    } else if (json_object_get(m, "log")) {
        do_log(k, m, out);
    } else if (json_object_get(m, "grant")) {
        do_grant(k, m, out);
    } else if (json_object_get(m, "clear")) {
        store_clear(k->store);
        say(out, json_pack("{s:b}", "ok", 1));
    } else if (json_object_get(m, "about")) {
        char text[64];
        snprintf(text, sizeof(text), "session of process %d", (int)k->owner);
        say(out, json_pack("{s:b, s:i, s:[s]}", "ok", 1, "pid", (int)getpid(), "command", text));
    } else {
        say_error(out, "nothing that a session knows how to answer");
    }
}

/* Until the owner ends. */
static int keep(struct keeper *k)
{
    OWN(fd) int owner = (int)syscall(SYS_pidfd_open, k->owner, 0);
    while (owner >= 0) {
        struct pollfd fds[] = {{owner, POLLIN, 0}, {k->hearing.fd, POLLIN, 0}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        if (fds[0].revents)
            return CLI_OK;
        if (fds[1].revents)
            hear_all(&k->hearing);
    }
    return CLI_ERROR;
}

/* Away from whoever started us: his terminal, his pipes, his folder. */
static void go_away(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        dup2(null, fd);
    if (chdir("/") < 0)
        _exit(1);
}

static int run(struct cli_args *args)
{
    static struct keeper k;
    struct bk_err err;
    const char *owner = args_value(args, "for");
    bool foreground = args_has(args, "foreground");
    if (args->npos)
        return cli_usage(args, "session takes options only");
    k.owner = owner ? (pid_t)strtol(owner, NULL, 10) : getppid();
    if (k.owner <= 1 || kill(k.owner, 0) < 0)
        return cli_usage(args, "--for: there is no such process");
    int ready[2];
    if (pipe2(ready, O_CLOEXEC) < 0)
        return CLI_ERROR;
    pid_t child = foreground ? 0 : fork();
    if (child > 0) { /* until there is somebody to knock at, who then says his number */
        char line[32] = "";
        close(ready[1]);
        ssize_t n = read(ready[0], line, sizeof(line) - 1);
        return n > 0 && fputs(line, stdout) >= 0 ? CLI_OK : CLI_ERROR;
    }
    hear_init(&k.hearing);
    k.store = store_new(0);
    k.grants = json_array();
    if (!k.store || !k.grants || child < 0 ||
        desk_open(&k.desk, "session", k.owner, &k.hearing, answer, &k, &err) < 0)
        return CLI_ERROR;
    dprintf(foreground ? STDOUT_FILENO : ready[1], "%d\n", (int)getpid());
    close(ready[0]);
    close(ready[1]);
    if (!foreground)
        go_away();
    prctl(PR_SET_NAME, "buckle-session", 0, 0, 0);
    return keep(&k);
}

const struct cli_command cmd_session = {
    .name = "session",
    .usage = "[--for PID]",
    .brief = "keep what several runs deny, as long as another process lives",
    .about =
        "Starts a process that hears of what runs deny which join it (`buckle run --session "
        "PID`),\n"
        "and prints its number. `buckle log` reads from it and `buckle grant` speaks to all runs\n"
        "of it. Events live in its memory; it ends, and they with it, when the process that it "
        "was\n"
        "started for ends. `buckle hook` starts one by itself.",
    .options = options,
    .run = run,
};
