/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Filters: from (subpath "/usr" "/opt") to a condition. A filter with several values holds when any
 * of them does. Every condition records its filters and its size, so that a rule is checked against
 * its operations without walking it, and a profile that doubles a condition forty times is rejected
 * before anything walks it.
 */

#include "sbpl/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "graph/build.h"
#include "graph/command.h"
#include "graph/regex/regex.h"
#include "sbpl/prim.h"

enum { CONDITION_MAX = 1 << 20 }; /* tests in one condition, expanded to a tree */

static struct val *condition_value(struct machine *m, struct condition *k)
{
    struct val *v = arena_new(m->arena, struct val);
    if (!v)
        return machine_no_memory(m);
    v->type = V_FILTER;
    v->expr = &k->expr;
    return v;
}

struct val *filter_from_test(struct machine *m, const struct graph_test *test)
{
    struct condition *k = arena_new(m->arena, struct condition);
    if (!k)
        return machine_no_memory(m);
    k->expr.kind = GRAPH_TEST;
    k->expr.test = *test;
    k->uses[test->filter / 64] |= UINT64_C(1) << (test->filter % 64);
    k->size = 1;
    return condition_value(m, k);
}

struct val *filter_wrap(struct machine *m, enum graph_expr_kind kind, struct val *const *kids,
                        size_t n)
{
    struct condition *k = arena_new(m->arena, struct condition);
    const struct graph_expr **exprs = arena_array(m->arena, n, sizeof(*exprs));
    if (!k || !exprs)
        return machine_no_memory(m);
    k->size = 1;
    for (size_t i = 0; i < n; i++) {
        const struct condition *kid = (const struct condition *)kids[i]->expr;
        exprs[i] = &kid->expr;
        k->size += kid->size;
        for (size_t w = 0; w < sizeof(k->uses) / sizeof(k->uses[0]); w++)
            k->uses[w] |= kid->uses[w];
    }
    if (k->size > CONDITION_MAX) {
        m->fatal = true;
        return machine_error(m, m->pos, "condition-budget",
                             "this condition expands to more than %d parts", CONDITION_MAX);
    }
    k->expr.kind = kind;
    k->expr.nkids = (uint32_t)n;
    k->expr.kids = exprs;
    return condition_value(m, k);
}

/* Collects arguments into an array; each must be a filter. */
static struct val **filter_args(struct machine *m, const struct call *c, size_t *n)
{
    *n = (size_t)val_length(c->args);
    struct val **kids = arena_array(m->arena, *n, sizeof(*kids));
    if (!kids)
        return machine_no_memory(m);
    struct call at = *c;
    for (size_t i = 0; i < *n; i++, at = call_rest(&at))
        if (!(kids[i] = want(m, &at, 0, V_FILTER)))
            return NULL;
    return kids;
}

struct val *filter_combine(struct machine *m, enum graph_expr_kind kind, const struct call *c)
{
    size_t n;
    struct val **kids = filter_args(m, c, &n);
    if (!kids)
        return NULL;
    if (n == 1 && kind != GRAPH_NOT)
        return kids[0];
    if (kind != GRAPH_NOT || n == 1)
        return filter_wrap(m, kind, kids, n);
    struct val *any = filter_wrap(m, GRAPH_ANY, kids, n);
    return any ? filter_wrap(m, GRAPH_NOT, &any, 1) : NULL;
}

/* ---- values ---- */

/* Paths never end in '/', so such a pattern matches nothing. Real profiles contain them, Apple's
 * own too, and mean the folder. */
static void trim_slash(struct machine *m, const struct call *c, int i, struct graph_test *t)
{
    uint32_t n = t->len;
    while (n > 1 && t->str[n - 1] == '/')
        n--;
    if (n == t->len)
        return;
    struct diag *g = diag_add(m->diags, DIAG_WARNING, "trailing-slash", call_arg_pos(c, i),
                              "the slash at the end of this subpath is ignored");
    diag_hint(m->diags, g, "write \"%.*s\"", (int)n, t->str);
    t->str = arena_strndup(m->arena, t->str, n);
    t->len = n;
}

/* If the pattern is a literal in the profile, the regex's column becomes a position in the
 * profile. */
static void *bad_regex(struct machine *m, const struct call *c, int i, const struct val *pattern,
                       const struct bk_err *err)
{
    src_pos pos = call_arg_pos(c, i);
    struct source_place p = source_find(&m->unit->map, pos);
    const char *at = p.source ? p.source->text + (pos - p.source->base) : "";
    size_t skip = at[0] == '#' ? 2 : 1;
    bool literal = p.source && (at[0] == '#' || at[0] == '"') &&
                   strncmp(at + skip, pattern->s, pattern->n) == 0;
    if (literal && err->col)
        pos += (src_pos)(skip + err->col - 1);
    machine_error(m, pos, "bad-regex", "%s", err->msg);
    if (literal && m->diags->last)
        m->diags->last->width = 1;
    if (!literal)
        machine_hint(m, "the pattern is %.120s", pattern->s);
    else if (err->hint[0])
        machine_hint(m, "%s", err->hint);
    return NULL;
}

static bool check_regex(struct machine *m, const struct call *c, int i, const struct val *v,
                        const char *regex, size_t n)
{
    struct bk_err err;
    /* a test checks the shipped profiles' patterns (test-sbpl-load) */
    if (machine_in_shipped(m) || regex_check(regex, n, &err) == 0)
        return true;
    bad_regex(m, c, i, v, &err);
    return false;
}

static bool check_command(struct machine *m, const struct call *c, int i, const struct val *v)
{
    struct bk_err err;
    if (graph_command_check(v->s, v->n, &err) == 0)
        return true;
    machine_error(m, call_arg_pos(c, i), "bad-command", "%s", err.msg);
    return false;
}

static bool string_test(struct machine *m, const struct call *c, int i, enum vocab_form form,
                        struct graph_test *t)
{
    struct val *v = want(m, c, i, V_STRING);
    if (!v)
        return false;
    if (memchr(v->s, '\0', v->n) || v->n > UINT32_MAX / 2) {
        machine_error(m, call_arg_pos(c, i), "bad-string", "a filter's text must not contain NUL");
        return false;
    }
    t->str = v->s;
    t->len = (uint32_t)v->n;
    if (form == FORM_GLOB) {
        t->str = glob_to_regex(m->arena, v->s, v->n);
        if (!t->str)
            return machine_no_memory(m), false;
        t->len = (uint32_t)strlen(t->str);
    }
    static const uint8_t how[] = {[FORM_PLAIN] = GRAPH_LITERAL, [FORM_LITERAL] = GRAPH_LITERAL,
                                  [FORM_PREFIX] = GRAPH_PREFIX, [FORM_SUBPATH] = GRAPH_SUBPATH,
                                  [FORM_REGEX] = GRAPH_REGEX,   [FORM_GLOB] = GRAPH_REGEX};
    t->how = how[form];
    if (t->filter == FILTER_PROCESS_COMMAND && !check_command(m, c, i, v))
        return false;
    if (t->how == GRAPH_REGEX && !check_regex(m, c, i, v, t->str, t->len))
        return false;
    if (vocab_filters[t->filter].arg == ARG_PATH && !path_is_given(m, call_arg_pos(c, i), v, t))
        return false;
    if (t->how == GRAPH_SUBPATH)
        trim_slash(m, c, i, t);
    return t->str || (machine_no_memory(m), false);
}

static bool int_test(struct machine *m, const struct call *c, int i, struct graph_test *t)
{
    struct val *v = arg(c, i);
    if (v->type != V_INT) {
        wrong_type(m, c, i, "a number or one of its names");
        const char *some = vocab_filter_constant_name(t->filter, 1);
        if (some)
            machine_hint(m, "for example (%s %s); `buckle vocab %s` lists them",
                         vocab_filters[t->filter].name, some, vocab_filters[t->filter].name);
        return false;
    }
    t->how = vocab_filters[t->filter].arg == ARG_MODE ? GRAPH_MODE : GRAPH_INT;
    t->num = v->num;
    return true;
}

static bool domain_test(struct machine *m, const struct call *c, int i, struct graph_test *t)
{
    struct val *v = want(m, c, i, V_STRING);
    struct bk_err err;
    if (!v)
        return false;
    if (net_domain_check(v->s, v->n, &err) < 0) {
        machine_error(m, call_arg_pos(c, i), "bad-domain", "%s", err.msg);
        if (err.hint[0])
            machine_hint(m, "%s", err.hint);
        return false;
    }
    t->how = GRAPH_DOMAIN;
    t->str = v->s;
    t->len = (uint32_t)v->n;
    return true;
}

static bool value_test(struct machine *m, const struct val *maker, const struct call *c, int i,
                       struct graph_test *t)
{
    switch (vocab_filters[maker->id].arg) {
    case ARG_PATH:
    case ARG_STRING:
    case ARG_NAME:
        return string_test(m, c, i, (enum vocab_form)maker->form, t);
    case ARG_DOMAIN:
        return domain_test(m, c, i, t);
    default:
        return int_test(m, c, i, t);
    }
}

/* (filter), (filter #t), (filter #f) */
static struct val *flag_filter(struct machine *m, const struct val *maker, const struct call *c)
{
    struct graph_test t = {.filter = maker->id, .how = GRAPH_FLAG, .num = 1};
    bool sense = true;
    if (c->args->type == V_PAIR) {
        struct val *v = want(m, c, 0, V_BOOL);
        if (!v)
            return NULL;
        sense = val_truth(v);
    }
    struct val *f = filter_from_test(m, &t);
    return sense || !f ? f : filter_wrap(m, GRAPH_NOT, &f, 1);
}

/* ---- network ---- */

/* What may replace a protocol: a word (ip, tcp*, unix-socket, port) or its number. */
static bool network_word(const struct val *v, const char *word)
{
    return v->type == V_SYMBOL && strcmp(v->s, word) == 0;
}

static bool proto_number(int64_t n, uint16_t *proto)
{
    const char *name = n >= 0 && n <= UINT16_MAX ? net_proto_name((uint16_t)n) : "";
    return net_proto_find(name, strlen(name), proto) && *proto == n;
}

static bool ports_arg(struct machine *m, const struct call *c, int i, struct net_endpoint *net)
{
    struct val *v = arg(c, i);
    char text[32];
    const char *s = v->s;
    size_t n = v->n;
    struct bk_err err;
    if (v->type == V_INT) {
        n = (size_t)snprintf(text, sizeof(text), "%" PRId64, v->num);
        s = text;
    } else if (v->type != V_STRING && v->type != V_SYMBOL) {
        return wrong_type(m, c, i, "a port or a range of ports"), false;
    }
    if (net_ports_parse(s, n, &net->port_lo, &net->port_hi, &err) == 0)
        return true;
    machine_error(m, call_arg_pos(c, i), "bad-port", "%s", err.msg);
    machine_hint(m, "write 80, 1024-65535 or \"*\"");
    return false;
}

/* (remote unix-socket [path-filter …]) is the old spelling of a path filter on a network operation.
 */
static struct val *unix_filter(struct machine *m, const struct graph_test *t, const struct call *c)
{
    struct val *socket = filter_from_test(m, t);
    if (!socket || c->args->cdr->type == V_NIL)
        return socket;
    struct call rest = call_rest(c);
    struct val *path = filter_combine(m, GRAPH_ANY, &rest);
    struct val *both[] = {socket, path};
    return path ? filter_wrap(m, GRAPH_ALL, both, 2) : NULL;
}

static bool endpoint_arg(struct machine *m, const struct call *c, int i, struct net_endpoint *net)
{
    struct val *v = want(m, c, i, V_STRING);
    struct bk_err err;
    bool extension = false;
    if (!v)
        return false;
    if (net_endpoint_parse(v->s, v->n, net, &extension, &err) == 0)
        return true;
    machine_error(m, call_arg_pos(c, i), "bad-address", "%s", err.msg);
    machine_hint(m, "%s",
                 err.hint[0] ? err.hint
                             : "write \"host:port\", for example \"*:443\", "
                               "\"localhost:8080\" or \"10.0.0.0/8:*\"");
    return false;
}

static struct val *network_filter(struct machine *m, const struct val *maker, const struct call *c)
{
    struct graph_test t = {.filter = maker->id, .how = GRAPH_NET};
    t.net.proto = NET_IP;
    t.net.port_hi = 65535;
    int64_t n = val_length(c->args);
    if (n < 1)
        return machine_error(m, c->pos, "argument-count",
                             "%s needs a protocol, as in (%s ip \"*:*\")",
                             vocab_filters[maker->id].name, vocab_filters[maker->id].name);
    struct val *what = arg(c, 0);
    if (network_word(what, "port"))
        return n == 2 && ports_arg(m, c, 1, &t.net) ? filter_from_test(m, &t)
               : n == 2                             ? NULL
                        : machine_error(m, c->pos, "argument-count", "port takes one argument");
    bool known = what->type == V_SYMBOL
                     ? net_proto_find(what->s, what->n, &t.net.proto)
                     : what->type == V_INT && proto_number(what->num, &t.net.proto);
    if (!known) {
        wrong_type(m, c, 0, "a protocol");
        machine_hint(m, "ip, ip4, ip6, tcp, tcp4, tcp6, udp, udp4, udp6, unix-socket or port");
        return NULL;
    }
    if (t.net.proto == NET_UNIX)
        return unix_filter(m, &t, c);
    struct val *list[64], *l = c->args->cdr;
    size_t made_so_far = 0;
    if (l->type == V_NIL)
        return filter_from_test(m, &t);
    for (int i = 1; l->type == V_PAIR; l = l->cdr, i++) {
        if (made_so_far == sizeof(list) / sizeof(list[0]))
            return machine_error(m, c->pos, "argument-count",
                                 "more than 64 addresses in one filter");
        if (!endpoint_arg(m, c, i, &t.net) || !(list[made_so_far++] = filter_from_test(m, &t)))
            return NULL;
    }
    return made_so_far == 1 ? list[0] : filter_wrap(m, GRAPH_ANY, list, made_so_far);
}

/* ---- making ---- */

/* (target pid 1234): an extension of the specification, with a separate filter in the graph. */
static struct val *target_pid(struct machine *m, const struct call *c)
{
    struct val *pid = want(m, c, 1, V_INT);
    struct graph_test t = {.filter = FILTER_TARGET_PID, .how = GRAPH_INT};
    if (!pid)
        return NULL;
    t.num = pid->num;
    return filter_from_test(m, &t);
}

struct val *filter_make(struct machine *m, struct val *maker, const struct call *c)
{
    const struct vocab_filter_info *info = &vocab_filters[maker->id];
    int64_t n = val_length(c->args);
    if (info->arg == ARG_NETWORK)
        return network_filter(m, maker, c);
    if ((info->arg == ARG_NONE || info->arg == ARG_BOOL) && n <= (info->arg == ARG_BOOL))
        return flag_filter(m, maker, c);
    if (maker->id == FILTER_TARGET && n == 2 && network_word(arg(c, 0), "pid"))
        return target_pid(m, c);
    if (n < 1 || info->arg == ARG_NONE || info->arg == ARG_BOOL)
        return machine_error(m, c->pos, "argument-count", "the filter %s takes %s", info->name,
                             n < 1 ? "at least one value" : "no value");
    struct val **kids = arena_array(m->arena, (size_t)n, sizeof(*kids));
    if (!kids)
        return machine_no_memory(m);
    struct call at = *c;
    for (int64_t i = 0; i < n; i++, at = call_rest(&at)) {
        struct graph_test t = {.filter = maker->id};
        if (!value_test(m, maker, &at, 0, &t) || !(kids[i] = filter_from_test(m, &t)))
            return NULL;
    }
    return n == 1 ? kids[0] : filter_wrap(m, GRAPH_ANY, kids, (size_t)n);
}

struct val *filter_literal_path(struct machine *m, const char *s, size_t n)
{
    const char *copy = arena_strndup(m->arena, s, n);
    if (!copy)
        return machine_no_memory(m);
    struct graph_test t = {
        .filter = FILTER_PATH, .how = GRAPH_LITERAL, .str = copy, .len = (uint32_t)n};
    return filter_from_test(m, &t);
}
