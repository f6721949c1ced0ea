/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Prints tests as SBPL that reads back, and as English that states whether they hold. */

#include <string.h>

#include "base/own.h"
#include "graph/graph-int.h"
#include "graph/words.h"

/* ---- as SBPL ---- */

static const uint8_t form_of[] = {
    [GRAPH_LITERAL] = FORM_LITERAL,
    [GRAPH_PREFIX] = FORM_PREFIX,
    [GRAPH_SUBPATH] = FORM_SUBPATH,
    [GRAPH_REGEX] = FORM_REGEX,
};

static const char *spelling(const struct graph_test *t)
{
    const char *s = NULL;
    if (graph_how_is_string(t->how))
        s = vocab_filter_spelling(t->filter, (enum vocab_form)form_of[t->how]);
    if (!s)
        s = vocab_filter_spelling(t->filter, FORM_PLAIN);
    return s ? s : vocab_filters[t->filter].name;
}

/* #"…" takes every byte literally, except the quote that would end it. */
static void print_regex(const struct graph_test *t, struct buf *out)
{
    buf_str(out, "#\"");
    for (uint32_t i = 0; i < t->len; i++) {
        if (t->str[i] == '"')
            buf_chr(out, '\\');
        buf_chr(out, t->str[i]);
    }
    buf_chr(out, '"');
}

static void print_number(const struct graph_test *t, struct buf *out)
{
    const char *name = vocab_filter_constant_name(t->filter, t->num);
    if (name)
        buf_str(out, name);
    else if (t->how == GRAPH_MODE && t->num >= 0)
        buf_fmt(out, "#o%llo", (unsigned long long)t->num);
    else
        buf_fmt(out, "%lld", (long long)t->num);
}

/* The key of a test for KEY=VALUE ends at the first =: keys that contain one are refused. */
static uint32_t key_length(const struct graph_test *t)
{
    bool has_value = t->filter == FILTER_ENTITLEMENT_STRING;
    const char *equals = has_value ? memchr(t->str, '=', t->len) : NULL;
    return equals ? (uint32_t)(equals - t->str) : t->len;
}

/* A regex begins with ^ and has its key quoted. */
void graph_entitlement_split(const struct graph_test *t, struct buf *key, struct buf *value)
{
    bool regex = t->how == GRAPH_REGEX;
    uint32_t end = key_length(t), from = end < t->len ? end + 1 : end;
    for (uint32_t i = regex; i < end; i++)
        if (!regex || t->str[i] != '\\' || (i + 1 < end && t->str[i + 1] == '\\' && i++))
            buf_chr(key, t->str[i]);
    if (regex)
        buf_chr(value, '^');
    buf_add(value, t->str + from, t->len - from);
}

/* (require-entitlement "key" (entitlement-value …)) */
static void print_entitlement(const struct graph_test *t, struct buf *out)
{
    static const char *const words[] = {[GRAPH_LITERAL] = "entitlement-value",
                                        [GRAPH_PREFIX] = "entitlement-value-prefix",
                                        [GRAPH_REGEX] = "entitlement-value-regex"};
    OWN(buf) struct buf key = {0}, value = {0};
    buf_str(out, "(require-entitlement ");
    if (t->filter == FILTER_ENTITLEMENT_IS_BOOL_TRUE) {
        buf_sbpl(out, t->str, t->len);
        buf_chr(out, ')');
        return;
    }
    graph_entitlement_split(t, &key, &value);
    buf_sbpl(out, key.s ? key.s : "", key.n);
    if (t->filter == FILTER_ENTITLEMENT_IS_BOOL_FALSE) {
        buf_str(out, " (entitlement-value #f))");
        return;
    }
    struct graph_test rest = {.filter = t->filter, .how = t->how};
    rest.str = value.s ? value.s : "";
    rest.len = (uint32_t)value.n;
    buf_fmt(out, " (%s ", words[t->how]);
    if (t->how == GRAPH_REGEX)
        print_regex(&rest, out);
    else
        buf_sbpl(out, rest.str, rest.len);
    buf_str(out, "))");
}

bool graph_test_is_keyed_value(const struct graph_test *t)
{
    if (t->filter == FILTER_ENTITLEMENT_IS_BOOL_FALSE)
        return true;
    return t->filter == FILTER_ENTITLEMENT_STRING && graph_how_is_string(t->how) &&
           t->how != GRAPH_SUBPATH && memchr(t->str, '=', t->len);
}

bool graph_test_is_keyed(const struct graph_test *t)
{
    return t->filter == FILTER_ENTITLEMENT_IS_BOOL_TRUE || graph_test_is_keyed_value(t);
}

void graph_test_print(const struct graph_test *t, struct buf *out)
{
    if (graph_test_is_keyed(t)) {
        print_entitlement(t, out);
        return;
    }
    buf_fmt(out, "(%s", spelling(t));
    if (t->how != GRAPH_FLAG)
        buf_chr(out, ' ');
    switch ((enum graph_how)t->how) {
    case GRAPH_LITERAL:
    case GRAPH_PREFIX:
    case GRAPH_SUBPATH:
    case GRAPH_DOMAIN:
        buf_sbpl(out, t->str, t->len);
        break;
    case GRAPH_REGEX:
        print_regex(t, out);
        break;
    case GRAPH_INT:
    case GRAPH_MODE:
        print_number(t, out);
        break;
    case GRAPH_NET:
        net_endpoint_print(&t->net, out);
        break;
    case GRAPH_FLAG:
        break;
    }
    buf_chr(out, ')');
}

/* ---- as a regex ---- */

void graph_test_regex(const struct graph_test *t, struct buf *out)
{
    bool root = t->len == 1 && t->str[0] == '/';
    if (t->how == GRAPH_REGEX) {
        buf_add(out, t->str, t->len);
        return;
    }
    buf_chr(out, '^');
    regex_quote(t->str, t->len, out);
    if (t->how == GRAPH_LITERAL)
        buf_chr(out, '$');
    else if (t->how == GRAPH_SUBPATH && !root)
        buf_str(out, "(/|$)");
}

/* ---- as English ---- */

static const struct {
    uint16_t filter;
    const char *noun;
} nouns[] = {
    {FILTER_PATH, "path"},
    {FILTER_PROCESS_PATH, "program's path"},
    {FILTER_PROCESS_COMMAND, "command"},
    {FILTER_MOUNT_RELATIVE_PATH, "path below its mount point"},
    {FILTER_XATTR, "extended attribute"},
    {FILTER_FILE_MODE, "file's mode"},
    {FILTER_VNODE_TYPE, "kind of file"},
    {FILTER_GLOBAL_NAME, "service name"},
    {FILTER_LOCAL_NAME, "local service name"},
    {FILTER_IPC_POSIX_NAME, "IPC name"},
    {FILTER_LOCAL, "local endpoint"},
    {FILTER_REMOTE, "remote endpoint"},
    {FILTER_DOMAIN, "host"},
    {FILTER_HTTP_METHOD, "request's method"},
    {FILTER_HTTP_PATH, "request's path"},
    {FILTER_HTTP_QUERY, "request's query"},
    {FILTER_UID, "user id"},
    {FILTER_GID, "group id"},
    {FILTER_SYSCTL_NAME, "sysctl"},
    {FILTER_SYSCALL_NUMBER, "system call"},
    {FILTER_SIGNAL_NUMBER, "signal"},
    {FILTER_TARGET, "target process"},
    {FILTER_TARGET_PID, "target's process id"},
};

const char *graph_filter_noun(uint16_t filter)
{
    for (size_t i = 0; i < sizeof(nouns) / sizeof(nouns[0]); i++)
        if (nouns[i].filter == filter)
            return nouns[i].noun;
    return vocab_filters[filter].name;
}

static const struct {
    const char *yes, *no;
} verbs[] = {
    [GRAPH_LITERAL] = {"is", "is not"},
    [GRAPH_PREFIX] = {"starts with", "does not start with"},
    [GRAPH_SUBPATH] = {"is at or below", "is not at or below"},
    [GRAPH_REGEX] = {"matches", "does not match"},
    [GRAPH_INT] = {"is", "is not"},
    [GRAPH_MODE] = {"has a bit of", "has no bit of"},
    [GRAPH_NET] = {"is in", "is not in"},
    [GRAPH_DOMAIN] = {"is", "is not"},
    [GRAPH_FLAG] = {"is set", "is not set"},
};

static void print_value(const struct graph_test *t, struct buf *out)
{
    if (t->how == GRAPH_NET)
        net_endpoint_print(&t->net, out);
    else if (t->how == GRAPH_INT || t->how == GRAPH_MODE)
        print_number(t, out);
    else if (t->how != GRAPH_FLAG)
        buf_safe(out, t->str, t->len);
}

void graph_test_describe(const struct graph_test *t, bool holds, struct buf *out)
{
    buf_fmt(out, "the %s ", graph_filter_noun(t->filter));
    if (t->how == GRAPH_NET && t->net.proto == NET_UNIX) {
        buf_str(out, holds ? "is a unix socket" : "is not a unix socket");
        return;
    }
    buf_str(out, holds ? verbs[t->how].yes : verbs[t->how].no);
    if (t->how == GRAPH_FLAG)
        return;
    buf_chr(out, ' ');
    print_value(t, out);
}

void graph_test_briefly(const struct graph_test *t, struct buf *out)
{
    static const struct {
        const char *before, *after;
    } around[] = {
        [GRAPH_LITERAL] = {"", ""},
        [GRAPH_PREFIX] = {"what starts with ", ""},
        [GRAPH_SUBPATH] = {"", " and below"},
        [GRAPH_REGEX] = {"what matches ", ""},
        [GRAPH_INT] = {"", ""},
        [GRAPH_MODE] = {"any bit of ", ""},
        [GRAPH_NET] = {"", ""},
        [GRAPH_DOMAIN] = {"", ""},
        [GRAPH_FLAG] = {"", ""},
    };
    buf_str(out, around[t->how].before);
    print_value(t, out);
    buf_str(out, around[t->how].after);
}
