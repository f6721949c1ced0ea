/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * One line for each event. Text that a command chose reaches the terminal only escaped: a session's
 * `line` is, everything else goes through buf_safe().
 */

#include "cli/run/log-print.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/own.h"

#define OWN_json json_decrefp

/* ---- words ---- */

/* Local time; the day as well, unless it is today. */
static void add_time(const char *utc, struct buf *out)
{
    struct tm tm, today;
    time_t now = time(NULL), then = log_time(utc);
    char text[32];
    if (!then || !localtime_r(&then, &tm) || !localtime_r(&now, &today))
        return;
    bool same = tm.tm_yday == today.tm_yday && tm.tm_year == today.tm_year;
    strftime(text, sizeof(text), same ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &tm);
    buf_str(out, text);
}

/* The start of a command line. */
static void add_command(const char *command, struct buf *out)
{
    enum { SHOWN = 40 };
    size_t n = strcspn(command, "\n");
    bool cut = n > SHOWN || command[n];
    n = n > SHOWN ? SHOWN : n;
    while (n > 0 && ((unsigned char)command[n] & 0xc0) == 0x80)
        n--; /* not inside a character */
    buf_safe(out, command, n);
    buf_str(out, cut ? "…" : "");
}

static void add_safe(struct buf *out, const char *before, const char *s, const char *after)
{
    if (!*s)
        return;
    buf_str(out, before);
    buf_safe(out, s, strlen(s));
    buf_str(out, after);
}

const char *log_command(const struct log *l, const json_t *event)
{
    const char *own = json_string_value(json_object_get(event, "command"));
    const char *run = log_member(event, "run");
    if (own && *own)
        return own;
    if (l->commands && *run)
        return log_member(l->commands, run);
    return l->command.s ? l->command.s : "";
}

static const char *object_of(const json_t *event)
{
    const char *path = log_member(event, "path");
    return *path ? path : log_member(event, "target");
}

/* `node(42) deny(1) file-write-create /x`, as event_line() writes it. A session's events have it.
 */
static void add_line(const json_t *event, struct buf *out)
{
    const char *line = log_member(event, "line"), *exe = log_member(event, "exe");
    const char *slash = strrchr(exe, '/'), *name = slash ? slash + 1 : exe;
    if (*line) {
        buf_str(out, line);
        return;
    }
    buf_safe(out, *name ? name : "?", strlen(*name ? name : "?"));
    buf_fmt(out, "(%lld) %s", (long long)json_integer_value(json_object_get(event, "pid")),
            strcmp(log_member(event, "verdict"), "allow") == 0 ? "allow" : "deny(1)");
    add_safe(out, " ", log_member(event, "operation"), "");
    add_safe(out, " ", object_of(event), "");
}

static void add_rule(const json_t *event, struct buf *out)
{
    const char *place = log_member(json_object_get(event, "rule"), "place");
    const char *message = log_member(event, "message"), *detail = log_member(event, "detail");
    if (*place || *message)
        buf_str(out, "  ");
    add_safe(out, "", place, *message ? ": " : "");
    add_safe(out, "", message, "");
    add_safe(out, " (", detail, ")");
}

static long long number(const json_t *event, const char *key)
{
    return (long long)json_integer_value(json_object_get(event, key));
}

/* Everything else that a record has. Returns false for an ordinary event. */
static bool add_kind(const json_t *event, struct buf *out)
{
    const char *kind = log_member(event, "kind");
    if (strcmp(kind, "run") == 0) {
        add_safe(out, "started in ", log_member(event, "folder"), "");
        buf_fmt(out, ", policy %.12s", log_member(event, "policy"));
    } else if (strcmp(kind, "end") == 0) {
        const char *how = json_object_get(event, "signal") ? "signal" : "status";
        bool failed = json_is_true(json_object_get(event, "failed"));
        if (failed)
            buf_str(out, "could not be started");
        else
            buf_fmt(out, "ended with %s %lld", how, number(event, how));
        buf_fmt(out, ", %lld denied", number(event, "denied"));
    } else if (strcmp(kind, "answer") == 0) {
        add_safe(out, "answered ", log_member(event, "answer"), "");
        add_safe(out, " at the ", log_member(event, "by"), "");
        add_safe(out, ": ", object_of(event), "");
    } else if (strcmp(kind, "file") == 0) {
        add_safe(out, "wrote ", log_member(event, "path"), "");
        buf_fmt(out, ", %lld bytes, sha256 %.12s", number(event, "size"),
                log_member(event, "sha256"));
    } else if (strcmp(kind, "policy") == 0) {
        buf_fmt(out, "new policy %.12s", log_member(event, "policy"));
    } else if (strcmp(kind, "host") == 0) {
        add_safe(out, "reached ", log_member(event, "target"), "");
    } else {
        return false;
    }
    return true;
}

/* "09:12:33  npm ci  node(42) deny(1) file-write-create /x  user settings, line 3: denied there" */
static void describe(const struct log *l, const json_t *event, struct buf *out)
{
    add_time(log_member(event, "time"), out);
    buf_str(out, "  ");
    add_command(log_command(l, event), out);
    buf_str(out, "  ");
    if (add_kind(event, out))
        return;
    add_line(event, out);
    add_rule(event, out);
}

/* ---- groups ---- */

static void group_by(const struct log *l, const json_t *event, const char *by, struct buf *out)
{
    if (!by && !*log_member(event, "operation"))
        return;
    if (!by) {
        OWN(buf) struct buf line = {0};
        add_line(event, &line);
        const char *words = buf_ok(&line) && line.s ? strstr(line.s, ") ") : NULL;
        buf_str(out, words ? words + 2 : "");
    } else if (strcmp(by, "program") == 0) {
        add_safe(out, "", log_member(event, "exe"), "");
    } else if (strcmp(by, "command") == 0) {
        add_command(log_command(l, event), out);
    } else if (strcmp(by, "rule") == 0) {
        add_safe(out, "", log_member(json_object_get(event, "rule"), "place"), "");
    } else if (strcmp(by, "day") == 0) {
        add_safe(out, "", log_member(event, "time"), "");
        if (buf_ok(out) && out->n > 10)
            out->s[out->n = 10] = '\0';
    } else if (strcmp(by, "host") == 0) {
        buf_safe(out, log_member(event, "target"), strcspn(log_member(event, "target"), " "));
    } else {
        add_safe(out, "", log_member(event, by), "");
    }
}

static void add_group(struct log *l, const json_t *event)
{
    OWN(buf) struct buf what = {0};
    json_int_t count = json_integer_value(json_object_get(event, "count"));
    group_by(l, event, args_value(l->args, "by"), &what);
    if (!buf_ok(&what) || !what.n)
        return;
    json_t *times = json_object_get(l->groups, what.s);
    json_object_set_new(l->groups, what.s,
                        json_integer(json_integer_value(times) + (count ? count : 1)));
}

static void print_groups(struct log *l)
{
    const char *what;
    json_t *times;
    json_object_foreach(l->groups, what, times)
    {
        if (args_has(l->args, "json")) {
            buf_str(&l->out, "{\"what\": ");
            buf_json(&l->out, what, strlen(what));
            buf_fmt(&l->out, ", \"count\": %lld}\n", (long long)json_integer_value(times));
        } else {
            buf_fmt(&l->out, "%6lld× %s\n", (long long)json_integer_value(times), what);
        }
    }
}

/* ---- all ---- */

static bool is_word(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == n && memcmp(at, word, n) == 0)
            return true;
    return false;
}

int log_begin(struct log *l, const struct cli_args *args, struct bk_err *err)
{
    const char *by = args_value(args, "by");
    l->args = args;
    if (by && !is_word(LOG_GROUPS, by)) {
        err_set(err, BK_E_INPUT, "--by: there is no %.40s to group by", by);
        err_hint(err, "use one of: " LOG_GROUPS);
        return -1;
    }
    if (log_filter_read(&l->filter, args, err) < 0)
        return -1;
    l->groups = by || args_has(args, "group") ? json_object() : NULL;
    l->sarif = args_has(args, "sarif") ? json_object() : NULL;
    return 0;
}

void log_end(struct log *l)
{
    json_decref(l->groups);
    json_decref(l->sarif);
    json_decref(l->commands);
    buf_free(&l->out);
    buf_free(&l->command);
}

void log_show(struct log *l, const json_t *event)
{
    OWN(buf) struct buf text = {0};
    const char *wanted = args_value(l->args, "grep");
    if (!log_filter_wants(&l->filter, event))
        return;
    describe(l, event, &text);
    if (!buf_ok(&text) || (wanted && !strstr(text.s, wanted)))
        return;
    if (l->groups) {
        add_group(l, event);
    } else if (l->sarif) {
        log_sarif_add(l, event);
    } else if (args_has(l->args, "json")) {
        OWN(mem) char *dumped = json_dumps(event, JSON_COMPACT);
        buf_json_text(&l->out, dumped ? dumped : "", dumped ? strlen(dumped) : 0);
        buf_chr(&l->out, '\n');
    } else {
        buf_fmt(&l->out, "%s\n", text.s);
    }
}

void log_finish(struct log *l)
{
    if (l->groups)
        print_groups(l);
    else if (l->sarif)
        log_sarif_print(l);
}
