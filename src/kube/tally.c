/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Lines about violations have the number of denials so far, so a row's count is exact although
 * lines are missing: it is the largest that was seen. Of refused containers and judges that died
 * each line counts as one.
 *
 * Paths and programs in messages are the container's choice, and `kubectl describe` prints them to
 * a terminal. So they go through buf_safe(), which leaves no control characters.
 */

#include "kube/tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/own.h"

static const struct {
    const char *line; /* the agent's event */
    uint8_t reason;
} lines[] = {
    {"violation", TALLY_VIOLATION}, {"skipped", TALLY_VIOLATION}, {"ended", TALLY_VIOLATION},
    {"refused", TALLY_REFUSED},     {"resumed", TALLY_RESTARTED},
};

static const char *const reasons[TALLY_REASONS] = {"SandboxViolation", "SandboxRefused",
                                                   "SandboxJudgeRestarted"};

/* ---- reading lines ---- */

static const char *string_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));
    return s ? s : "";
}

static void copy(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
}

/* A time of the agent, without fractions of seconds: metav1.Time has none. */
static void copy_time(char to[32], const char *from)
{
    size_t n = strcspn(from, ".Z");
    if (n == 19)
        snprintf(to, 32, "%.19sZ", from);
}

/* Cuts it where a character starts. */
static void set_message(struct tally *r, const struct buf *text)
{
    size_t n = text->n < TALLY_MESSAGE ? text->n : TALLY_MESSAGE;
    if (!buf_ok(text) || !text->s)
        return;
    while (n < text->n && n > 0 && ((unsigned char)text->s[n] & 0xc0) == 0x80)
        n--;
    memcpy(r->message, text->s, n);
    r->message[n] = '\0';
}

static void safe(struct buf *out, const json_t *line, const char *key)
{
    const char *s = string_of(line, key);
    size_t n = strlen(s), skip = n > 300 ? n - 300 : 0;
    while (skip && skip < n && ((unsigned char)s[skip] & 0xc0) == 0x80)
        skip++;
    buf_str(out, skip ? "…" : "");
    buf_safe(out, s + skip, n - skip);
}

static void word(struct tally *r, const json_t *line, const char *event)
{
    OWN(buf) struct buf text = {0};
    buf_str(&text, "profile ");
    safe(&text, line, "profile");
    if (strcmp(event, "violation") == 0) {
        buf_str(&text, json_is_true(json_object_get(line, "audit")) ? " would deny " : " denied ");
        safe(&text, line, "operation");
        buf_chr(&text, ' ');
        safe(&text, line, json_object_get(line, "path") ? "path" : "target");
        buf_str(&text, " to ");
        safe(&text, line, "exe");
    } else if (r->reason == TALLY_REFUSED) {
        buf_str(&text, ": no judge: ");
        safe(&text, line, "reason");
    } else if (r->reason == TALLY_RESTARTED) {
        buf_str(&text, ": a judge died, and another one has taken over");
    } else if (!r->message[0]) {
        buf_str(&text, " denied operations");
    } else {
        return; /* the newest violation says more */
    }
    set_message(r, &text);
}

/* ---- rows ---- */

static bool is_row(const struct tally *r, uint8_t reason, const char *id, int64_t pid)
{
    return r->used && r->reason == reason && r->pid == pid && strcmp(r->id, id) == 0;
}

/* A row that has nothing left to post, if no row is free; the oldest. */
static struct tally *place(struct tallies *t)
{
    struct tally *idle = NULL;
    for (size_t i = 0; i < TALLIES; i++) {
        struct tally *r = &t->rows[i];
        if (!r->used)
            return r;
        if (r->count == r->posted && (!idle || strcmp(r->last, idle->last) < 0))
            idle = r;
    }
    return idle;
}

static struct tally *row_of(struct tallies *t, const json_t *line, uint8_t reason)
{
    const json_t *pod = json_object_get(line, "pod");
    const char *id = string_of(line, "container");
    int64_t pid = json_integer_value(json_object_get(line, "container_pid"));
    for (size_t i = 0; i < TALLIES; i++)
        if (is_row(&t->rows[i], reason, id, pid))
            return &t->rows[i];
    struct tally *r = place(t);
    if (!r)
        return NULL;
    *r = (struct tally){.used = true, .reason = reason, .pid = pid};
    copy(r->id, sizeof(r->id), id);
    copy(r->pod, sizeof(r->pod), string_of(pod, "name"));
    copy(r->namespace, sizeof(r->namespace), string_of(pod, "namespace"));
    copy(r->uid, sizeof(r->uid), string_of(pod, "uid"));
    copy(r->container, sizeof(r->container), string_of(pod, "container"));
    return r;
}

static void note(struct tallies *t, const json_t *line, const char *event, uint8_t reason)
{
    json_int_t denied = json_integer_value(json_object_get(line, "denied"));
    bool ends = strcmp(event, "ended") == 0;
    if (reason == TALLY_VIOLATION && denied <= 0)
        return; /* nothing was denied */
    struct tally *r = row_of(t, line, reason);
    if (!r) {
        t->overflow++;
        return;
    }
    if (reason != TALLY_VIOLATION)
        r->count++;
    else if ((uint64_t)denied > r->count)
        r->count = (uint64_t)denied;
    r->ended |= ends || reason == TALLY_REFUSED;
    copy_time(r->last, string_of(line, "time"));
    if (!r->first[0])
        memcpy(r->first, r->last, sizeof(r->first));
    word(r, line, event);
    if (r->ended && r->count == r->posted)
        r->used = false;
}

void tally_note(struct tallies *t, const char *line, size_t n)
{
    json_t *root = json_loadb(line, n, JSON_REJECT_DUPLICATES, NULL);
    const char *event = string_of(root, "event");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        if (strcmp(event, lines[i].line) == 0)
            note(t, root, event, lines[i].reason);
    json_decref(root);
}

struct tally *tally_next(struct tallies *t, uint64_t now, int *wait)
{
    struct tally *first = NULL;
    for (size_t i = 0; i < TALLIES; i++) {
        struct tally *r = &t->rows[i];
        if (r->used && r->count != r->posted && (!first || r->due < first->due))
            first = r;
    }
    *wait = !first ? -1 : first->due <= now ? 0 : (int)(first->due - now);
    return first && first->due <= now ? first : NULL;
}

void tally_posted(struct tally *r, uint64_t count, uint64_t next)
{
    r->posted = count;
    r->due = next;
    if (r->ended && r->count == r->posted)
        r->used = false;
}

/* ---- objects ---- */

const char *tally_namespace(const struct tally *r)
{
    return r->pod[0] ? r->namespace : "default"; /* as the kubelet does for nodes */
}

static json_int_t count_of(const struct tally *r)
{
    return r->count > INT32_MAX ? INT32_MAX : (json_int_t)r->count; /* int32 in the schema */
}

static json_t *about(const struct tally *r, const char *node)
{
    char field[TALLY_LABEL + 32];
    if (!r->pod[0])
        return json_pack("{s:s, s:s, s:s, s:s}", "apiVersion", "v1", "kind", "Node", "name", node,
                         "uid", node);
    json_t *o = json_pack("{s:s, s:s, s:s, s:s}", "apiVersion", "v1", "kind", "Pod", "namespace",
                          r->namespace, "name", r->pod);
    if (r->uid[0])
        json_object_set_new(o, "uid", json_string(r->uid));
    snprintf(field, sizeof(field), "spec.containers{%s}", r->container);
    if (r->container[0])
        json_object_set_new(o, "fieldPath", json_string(field));
    return o;
}

static void put(json_t *root, struct buf *out)
{
    char *text = root ? json_dumps(root, JSON_COMPACT) : NULL;
    if (text)
        buf_str(out, text);
    out->failed |= !text;
    free(text);
    json_decref(root);
}

void tally_object(const struct tally *r, const char *node, struct buf *out)
{
    put(json_pack("{s:s, s:s, s:{s:s, s:s}, s:o, s:s, s:s, s:s, s:I, s:s, s:s, s:{s:s, s:s}, s:s, "
                  "s:s}",
                  "apiVersion", "v1", "kind", "Event", "metadata", "namespace", tally_namespace(r),
                  "name", r->event, "involvedObject", about(r, node), "reason", reasons[r->reason],
                  "message", r->message, "type", "Warning", "count", count_of(r), "firstTimestamp",
                  r->first, "lastTimestamp", r->last, "source", "component", "buckle-node", "host",
                  node, "reportingComponent", "buckle-node", "reportingInstance", node),
        out);
}

void tally_patch(const struct tally *r, struct buf *out)
{
    put(json_pack("{s:I, s:s, s:s}", "count", count_of(r), "lastTimestamp", r->last, "message",
                  r->message),
        out);
}
