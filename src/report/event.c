/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * One event: its wire format between judge and controller, and as text and JSON. The wire format is
 * the struct itself, cut off after the path. Both ends are the same program, but the receiver
 * checks every field, because the sender handles data of the sandboxed command.
 *
 * The command chooses paths and program names. Text output escapes them with buf_safe(), JSON with
 * buf_json().
 */

#include "report/event.h"

#include <string.h>
#include <time.h>

#include "base/errno-name.h"
#include "base/own.h"
#include "report/report-int.h"

/* ---- wire format ---- */

enum { WIRE_HEAD = offsetof(struct event, path) };

size_t event_wire_size(const struct event *e)
{
    size_t len = e->path_len < EVENT_PATH ? e->path_len : EVENT_PATH - 1;
    return WIRE_HEAD + len + 1;
}

#define WIRE_FIELD(bytes, field, into)                                                             \
    memcpy((into), (const char *)(bytes) + offsetof(struct event, field), sizeof(*(into)))

int event_from_wire(const void *bytes, size_t n, struct event *e)
{
    const char *b = bytes;
    uint32_t path_len, count;
    uint16_t op;
    uint8_t allow; /* reading any other value as a bool is undefined */
    if (n < WIRE_HEAD + 1 || n > sizeof(*e))
        return -1;
    WIRE_FIELD(b, path_len, &path_len);
    WIRE_FIELD(b, count, &count);
    WIRE_FIELD(b, op, &op);
    WIRE_FIELD(b, allow, &allow);
    if (path_len >= EVENT_PATH || path_len != n - WIRE_HEAD - 1 || b[n - 1] != '\0')
        return -1;
    if (op >= OP_COUNT || allow > 1 || count == 0)
        return -1;
    if (!memchr(b + offsetof(struct event, exe), '\0', EVENT_EXE) ||
        !memchr(b + offsetof(struct event, detail), '\0', EVENT_DETAIL))
        return -1;
    memcpy(e, b, n);
    return 0;
}

/* ---- text ---- */

bool event_is_failure(const struct event *e)
{
    return e->rule == GRAPH_NO_RULE && vocab_op_subject(e->op) == FILTER_PATH && e->path[0] != '/';
}

/* The program's name without its folder. */
static const char *program_name(const struct event *e)
{
    const char *slash = strrchr(e->exe, '/');
    const char *name = slash ? slash + 1 : e->exe;
    return *name ? name : "?";
}

void event_line(const struct event *e, struct buf *out)
{
    const char *name = program_name(e);
    buf_safe(out, name, strlen(name));
    buf_fmt(out, "(%d) %s %s", (int)e->pid, e->allow ? "allow" : "deny(1)", vocab_ops[e->op].name);
    if (e->path_len) {
        buf_chr(out, ' ');
        buf_safe(out, e->path, e->path_len);
    }
}

/* ---- JSON ---- */

static void json_text(struct buf *out, const char *key, const char *s, size_t n)
{
    buf_fmt(out, ", \"%s\": ", key);
    buf_json(out, s, n);
}

/* RFC 3339, UTC, milliseconds. */
static void json_time(struct buf *out, uint64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000u);
    struct tm tm;
    char text[32] = "1970-01-01T00:00:00";
    if (gmtime_r(&seconds, &tm))
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    buf_fmt(out, "\"time\": \"%s.%03uZ\"", text, (unsigned)(ns / 1000000u % 1000u));
}

static void json_rule(struct buf *out, const struct graph *g, const struct event *e, bool text)
{
    const struct graph_rule_info *info = rule_info(g, e->rule);
    OWN(buf) struct buf place = {0};
    if (e->rule == EVENT_OUTER_RULE)
        buf_str(out, ", \"rule\": {\"kind\": \"outer\"}");
    if (!info)
        return;
    const char *kind = info->is_default ? "default" : info->implicit ? "implicit" : "written";
    const struct graph_origin *o = &info->origin;
    buf_fmt(out, ", \"rule\": {\"kind\": \"%s\"", kind);
    if (o->line) {
        const char *file = o->file ? o->file : "";
        json_text(out, "file", file, strlen(file));
        buf_fmt(out, ", \"line\": %u", o->line);
    }
    if (o->text && text)
        json_text(out, "text", o->text, strlen(o->text));
    rule_place(g, e->rule, e->path, e->path_len, &place);
    json_text(out, "place", place.s ? place.s : "", place.n);
    buf_chr(out, '}');
}

/* The operation's argument, under the key that fits. */
static void json_argument(struct buf *out, const struct event *e)
{
    bool path = vocab_op_subject(e->op) == FILTER_PATH;
    if (e->path_len && !event_is_failure(e))
        json_text(out, path ? "path" : "target", e->path, e->path_len);
}

static void json_message(struct buf *out, const struct event *e, const char *message)
{
    enum protected_class class = protected_class_of_message(message);
    if (message)
        json_text(out, "message", message, strlen(message));
    else if (event_is_failure(e))
        json_text(out, "message", e->path, e->path_len);
    if (class != PROTECTED_NO_CLASS)
        buf_fmt(out, ", \"class\": \"%s\"", protected_classes[class].name);
}

/* Looking for a rule's message takes longer than the rest. */
static const char *find_message(const struct graph *g, uint32_t rule, struct event_cache *cache)
{
    if (!cache)
        return rule_message(g, rule);
    if (!cache->graph || cache->graph != g || cache->rule != rule)
        *cache = (struct event_cache){g, rule, rule_message(g, rule)};
    return cache->message;
}

void event_members(const struct event *e, const struct graph *g, struct event_cache *cache,
                   struct buf *out)
{
    const char *name = errno_name(e->err);
    json_time(out, e->time_ns);
    buf_fmt(out, ", \"pid\": %d", (int)e->pid);
    json_text(out, "exe", e->exe, strlen(e->exe));
    buf_fmt(out, ", \"operation\": \"%s\"", vocab_ops[e->op].name);
    json_argument(out, e);
    buf_fmt(out, ", \"verdict\": \"%s\"", e->allow ? "allow" : "deny");
    if (!e->allow && name && e->err)
        buf_fmt(out, ", \"errno\": \"%s\"", name);
    json_rule(out, g, e, !cache);
    json_message(out, e, find_message(g, e->rule, cache));
    if (e->detail[0])
        json_text(out, "detail", e->detail, strlen(e->detail));
    if (e->count > 1)
        buf_fmt(out, ", \"count\": %u", e->count);
}

bool event_is_reached(const struct event *e)
{
    return e->allow && e->op == OP_NETWORK_OUTBOUND && strcmp(e->detail, EVENT_REACHED) == 0;
}

void event_json(const struct event *e, const struct graph *g, const char *tag, struct buf *out)
{
    OWN(buf) struct buf line = {0};
    buf_chr(out, '{');
    event_members(e, g, NULL, out);
    if (tag)
        json_text(out, "tag", tag, strlen(tag));
    event_line(e, &line);
    json_text(out, "line", line.s ? line.s : "", line.n);
    buf_chr(out, '}');
    out->failed |= !buf_ok(&line);
}
