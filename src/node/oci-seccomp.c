/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * An engine gives its own filter, and a runtime takes one filter only. The new one allows what both
 * allow. Calls that the engine's filter never allows are refused; calls that it allows under
 * conditions keep the conditions, and those that fulfil them go where our filter sends them. What
 * has no such form (a list of forbidden calls with conditions) is refused: better no container than
 * one with holes.
 */

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "node/oci-config.h"

enum { ERRNOS = 134, NO_ERRNO = -1 };

/* How the engine's filter decides about a call. */
enum theirs { FREE, SOMETIMES, NEVER, UNCLEAR };

struct merge {
    const struct json *theirs; /* its rules, or NULL */
    bool allows;               /* its default */
    int err;                   /* its default's errno */
    const char *socket;        /* a listener that its rules may notify, or NULL */
    struct buf *out, *conditions;
    struct buf refused[ERRNOS];
    struct bk_err *problem;
};

static bool is_text(const struct json *j, const char *text)
{
    return j && j->kind == JT_STRING && strlen(text) == j->n && memcmp(j->s, text, j->n) == 0;
}

static bool is_among(const struct json *j, const char *const *words)
{
    for (; *words; words++)
        if (is_text(j, *words))
            return true;
    return false;
}

static int wrong(struct bk_err *err, const char *what)
{
    return err_set(err, BK_E_INPUT, "config.json: linux.seccomp: %s", what);
}

/* runc reads names of members whatever their case, so one that is not exactly ours could be a
 * second of its kind. */
static int check_members(const struct json *j, const char *const *known, struct bk_err *err)
{
    if (!j || j->kind != JT_OBJECT)
        return wrong(err, "an object is missing");
    for (const struct json *m = j->first; m; m = m->next) {
        const struct json key = {.kind = JT_STRING, .s = m->key, .n = m->nkey};
        if (!is_among(&key, known))
            return wrong(err, "it has a member that is not known");
    }
    return 0;
}

static bool lets_pass(const struct json *action, const char *socket)
{
    static const char *const words[] = {"SCMP_ACT_ALLOW", "SCMP_ACT_LOG", NULL};
    return is_among(action, words) || (socket && is_text(action, "SCMP_ACT_NOTIFY"));
}

static bool refuses(const struct json *action)
{
    static const char *const words[] = {"SCMP_ACT_ERRNO",       "SCMP_ACT_KILL",
                                        "SCMP_ACT_KILL_THREAD", "SCMP_ACT_KILL_PROCESS",
                                        "SCMP_ACT_TRAP",        NULL};
    return is_among(action, words);
}

static bool is_errno(const struct json *j)
{
    return j->kind == JT_NUMBER && j->integral && j->number >= 0 && j->number < ERRNOS;
}

static int check_args(const struct json *args, struct bk_err *err)
{
    static const char *const known[] = {"index", "value", "valueTwo", "op", NULL};
    if (!args || args->kind == JT_NULL)
        return 0;
    if (args->kind != JT_ARRAY)
        return wrong(err, "args must be a list");
    for (const struct json *a = args->first; a; a = a->next) {
        if (check_members(a, known, err) < 0)
            return -1;
        for (const struct json *m = a->first; m; m = m->next)
            if (m->kind != JT_NUMBER && m->kind != JT_STRING)
                return wrong(err, "args have numbers and words only");
    }
    return 0;
}

static int check_rule(const struct merge *m, const struct json *rule)
{
    static const char *const known[] = {"names", "action", "errnoRet", "args", NULL};
    const struct json *names, *action, *code;
    if (check_members(rule, known, m->problem) < 0 ||
        check_args(jt_get(rule, "args"), m->problem) < 0)
        return -1;
    names = jt_get(rule, "names");
    action = jt_get(rule, "action");
    code = jt_get(rule, "errnoRet");
    if (!names || names->kind != JT_ARRAY)
        return wrong(m->problem, "a rule has no list of names");
    for (const struct json *n = names->first; n; n = n->next)
        if (n->kind != JT_STRING)
            return wrong(m->problem, "the name of a call must be a string");
    if (!lets_pass(action, m->socket) && !refuses(action))
        return wrong(m->problem, "a rule has an action that cannot be merged");
    return code && !is_errno(code) ? wrong(m->problem, "errnoRet must be an errno") : 0;
}

static bool names(const struct json *rule, const char *call)
{
    const struct json *list = jt_get(rule, "names");
    for (const struct json *n = list->first; n; n = n->next)
        if (is_text(n, call))
            return true;
    return false;
}

static bool has_args(const struct json *rule)
{
    const struct json *args = jt_get(rule, "args");
    return args && args->count;
}

static int errno_of(const struct merge *m, const struct json *rule)
{
    const struct json *code = jt_get(rule, "errnoRet");
    return code ? (int)code->number : m->err;
}

static enum theirs decide(const struct merge *m, const char *call, int *err)
{
    bool freely = false, refused = false, some = false, some_not = false;
    *err = m->err;
    for (const struct json *r = m->theirs ? m->theirs->first : NULL; r; r = r->next) {
        bool pass = lets_pass(jt_get(r, "action"), m->socket), args = has_args(r);
        if (!names(r, call))
            continue;
        freely |= pass && !args;
        some |= pass && args;
        refused |= !pass && !args;
        some_not |= !pass && args;
        if (!pass && !args)
            *err = errno_of(m, r);
    }
    if (refused)
        return NEVER;
    if (some_not && (freely || m->allows))
        return UNCLEAR;
    return freely || m->allows ? FREE : some ? SOMETIMES : NEVER;
}

static void put_name(struct buf *out, const char *call)
{
    if (out->n)
        buf_str(out, ", ");
    buf_json(out, call, strlen(call));
}

/* The engine's rules about a call. Calls that pass get our action. */
static void put_conditions(struct merge *m, const char *call, const char *action)
{
    for (const struct json *r = m->theirs->first; r; r = r->next) {
        bool pass = lets_pass(jt_get(r, "action"), m->socket);
        if (!names(r, call) || !has_args(r))
            continue;
        buf_str(m->conditions, ",\n      {\"names\": [");
        buf_json(m->conditions, call, strlen(call));
        buf_fmt(m->conditions, "], \"action\": \"%s\", ", pass ? action : "SCMP_ACT_ERRNO");
        if (!pass)
            buf_fmt(m->conditions, "\"errnoRet\": %d, ", errno_of(m, r));
        buf_str(m->conditions, "\"args\": ");
        jt_print(jt_get(r, "args"), m->conditions);
        buf_chr(m->conditions, '}');
    }
}

static int put_rule_of(struct merge *m, const struct json *rule, const struct buf *kept)
{
    const struct json *code = jt_get(rule, "errnoRet"), *action = jt_get(rule, "action");
    if (!kept->n)
        return 0;
    buf_fmt(m->out, "%s{\"names\": [%s], \"action\": \"%.*s\"",
            m->out->s[m->out->n - 1] == '[' ? "\n      " : ",\n      ", kept->s, (int)action->n,
            action->s);
    if (code)
        buf_fmt(m->out, ", \"errnoRet\": %d", (int)code->number);
    if (has_args(rule)) {
        buf_str(m->out, ", \"args\": ");
        jt_print(jt_get(rule, "args"), m->out);
    }
    buf_chr(m->out, '}');
    return 0;
}

/* Our rules with arguments come several for a call, one after another. */
static bool is_repeated(const struct json *rule, const struct json *before)
{
    const struct json *name = jt_get(rule, "names")->first;
    return before && has_args(rule) && has_args(before) && name && names(before, name->s);
}

static int merge_rule(struct merge *m, const struct json *rule, const struct json *before)
{
    OWN(buf) struct buf kept = {0};
    bool ours_passes = !is_text(jt_get(rule, "action"), "SCMP_ACT_ERRNO");
    const char *action = has_args(rule) || is_text(jt_get(rule, "action"), "SCMP_ACT_NOTIFY")
                             ? "SCMP_ACT_NOTIFY"
                             : "SCMP_ACT_ALLOW";
    for (const struct json *n = jt_get(rule, "names")->first; n; n = n->next) {
        int err;
        enum theirs how = ours_passes ? decide(m, n->s, &err) : FREE;
        if (how == UNCLEAR)
            return err_set(m->problem, BK_E_INPUT,
                           "config.json: linux.seccomp allows %.60s and forbids it by arguments: "
                           "that cannot be merged with a profile",
                           n->s);
        if (how == FREE)
            put_name(&kept, n->s);
        else if (is_repeated(rule, before))
            continue;
        else if (how == SOMETIMES)
            put_conditions(m, n->s, action);
        else
            put_name(&m->refused[err], n->s);
    }
    return buf_ok(&kept) ? put_rule_of(m, rule, &kept) : err_nomem(m->problem);
}

static int read_theirs(struct merge *m, const struct json *s, const struct json *ours)
{
    static const char *const known[] = {
        "defaultAction", "defaultErrnoRet",  "architectures", "flags",
        "listenerPath",  "listenerMetadata", "syscalls",      NULL};
    m->err = 1; /* EPERM */
    m->allows = true;
    if (!s || s->kind == JT_NULL)
        return 0;
    if (check_members(s, known, m->problem) < 0)
        return -1;
    const struct json *action = jt_get(s, "defaultAction"), *path = jt_get(s, "listenerPath");
    const struct json *code = jt_get(s, "defaultErrnoRet"), *rules = jt_get(s, "syscalls");
    const struct json *mine = jt_get(ours, "listenerPath");
    if (path && path->n && !is_text(path, mine->s))
        return wrong(m->problem, "another listener has the container");
    m->socket = path && path->n ? mine->s : NULL;
    if (!lets_pass(action, NULL) && !refuses(action))
        return wrong(m->problem, "defaultAction cannot be merged");
    if (code && !is_errno(code))
        return wrong(m->problem, "defaultErrnoRet must be an errno");
    if (rules && rules->kind != JT_ARRAY && rules->kind != JT_NULL)
        return wrong(m->problem, "syscalls must be a list");
    m->allows = lets_pass(action, NULL);
    m->err = code ? (int)code->number : m->err;
    m->theirs = rules && rules->count ? rules : NULL;
    for (const struct json *r = m->theirs ? m->theirs->first : NULL; r; r = r->next)
        if (check_rule(m, r) < 0)
            return -1;
    return 0;
}

/* What stays as it is: ours, and the engine's flags. */
static void put_head(const struct merge *m, const struct json *ours, const struct json *theirs)
{
    static const char *const members[] = {"defaultAction", "defaultErrnoRet", "architectures",
                                          "listenerPath", "listenerMetadata"};
    const struct json *flags = theirs && theirs->kind == JT_OBJECT ? jt_get(theirs, "flags") : NULL;
    buf_str(m->out, "{\n");
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        buf_fmt(m->out, "    \"%s\": ", members[i]);
        jt_print(jt_get(ours, members[i]), m->out);
        buf_str(m->out, ",\n");
    }
    if (flags && flags->kind == JT_ARRAY && flags->count) {
        buf_str(m->out, "    \"flags\": ");
        jt_print(flags, m->out);
        buf_str(m->out, ",\n");
    }
    buf_str(m->out, "    \"syscalls\": [");
}

static int put_merged(struct merge *m, const struct json *ours)
{
    const struct json *before = NULL;
    for (const struct json *r = jt_get(ours, "syscalls")->first; r; before = r, r = r->next)
        if (merge_rule(m, r, before) < 0)
            return -1;
    for (int err = 0; err < ERRNOS; err++)
        if (buf_ok(&m->refused[err]) && m->refused[err].n)
            buf_fmt(m->out,
                    ",\n      {\"names\": [%s], \"action\": \"SCMP_ACT_ERRNO\", "
                    "\"errnoRet\": %d}",
                    m->refused[err].s, err);
    if (m->conditions->n)
        buf_add(m->out, m->conditions->s, m->conditions->n);
    buf_str(m->out, "\n    ]\n  }");
    return buf_ok(m->out) && buf_ok(m->conditions) ? 0 : err_nomem(m->problem);
}

int oci_seccomp_merge(const struct json *ours, const struct json *theirs, struct buf *out,
                      struct bk_err *err)
{
    OWN(buf) struct buf conditions = {0};
    OWN(mem) struct merge *m = calloc(1, sizeof(*m));
    if (!m)
        return err_nomem(err);
    m->out = out;
    m->conditions = &conditions;
    m->problem = err;
    int done = read_theirs(m, theirs, ours);
    if (done == 0) {
        put_head(m, ours, theirs);
        done = put_merged(m, ours);
    }
    for (int e = 0; e < ERRNOS; e++)
        buf_free(&m->refused[e]);
    return done;
}
