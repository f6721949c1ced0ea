/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A program's rules as plain SBPL for macOS: no imports, parameters or procedures, patterns as
 * regular expressions, and nothing that Apple's compiler does not know. It decides as the program
 * does wherever Apple's language can express it. Elsewhere it is stricter: a condition on an
 * address or a name is dropped from what is allowed, and covers every host in what is denied. If
 * even that is impossible, it is an error.
 */

#include <string.h>

#include "base/own.h"
#include "graph/build.h"
#include "graph/words.h"
#include "sbpl/machine.h"

enum { FLAT_DEPTH = 200 };

/* The result for a condition: written, or known to be constant. */
enum outcome { WRITTEN, NEVER, ALWAYS, FAILED };

struct flattener {
    const struct machine *m;
    const struct sbpl_flatten_options *o;
    const struct sbpl_rule *rule;
    struct buf *out;
    struct bk_err *err;
};

/* ---- conditions ---- */

/* Whether Apple's language has this endpoint: any host or this one, one port or all. */
static bool is_plain_endpoint(const struct net_endpoint *e)
{
    bool port = e->port_lo == e->port_hi || (e->port_lo == 0 && e->port_hi == UINT16_MAX);
    return e->proto == NET_UNIX || (e->host != NET_HOST_ADDRESS && port);
}

static enum outcome write_widened(const struct graph_test *t, struct buf *out)
{
    struct graph_test wide = *t;
    wide.filter = t->filter == FILTER_DOMAIN ? FILTER_REMOTE : t->filter;
    wide.how = GRAPH_NET;
    wide.net = (struct net_endpoint){.proto = t->how == GRAPH_NET ? t->net.proto : NET_IP,
                                     .host = NET_HOST_ANY,
                                     .port_hi = UINT16_MAX};
    graph_test_print(&wide, out);
    return WRITTEN;
}

/* least: the condition may be narrowed but not widened. */
static enum outcome write_test(struct flattener *f, const struct graph_test *t, bool least,
                               struct buf *out)
{
    bool net = t->how == GRAPH_NET, domain = t->filter == FILTER_DOMAIN;
    if (graph_test_in_classes(t, machine_lifted(f->m)))
        return ALWAYS;
    if ((net && !is_plain_endpoint(&t->net)) || domain)
        return least ? NEVER : write_widened(t, out);
    if (!vocab_filters[t->filter].extension || graph_test_is_keyed(t)) {
        graph_test_print(t, out);
        return WRITTEN;
    }
    if (least)
        return NEVER;
    if (graph_test_is_of_request(t)) /* the proxies check it */
        return ALWAYS;
    err_set(f->err, BK_E_INPUT, "macOS has no filter %s", vocab_filters[t->filter].name);
    return FAILED;
}

static enum outcome write_expr(struct flattener *f, const struct graph_expr *e, bool least,
                               int depth, struct buf *out);

/* ANY stops at a kid that always holds, ALL at one that never does; the opposite is skipped. */
static enum outcome write_list(struct flattener *f, const struct graph_expr *e, bool least,
                               int depth, struct buf *out)
{
    enum outcome ends = e->kind == GRAPH_ANY ? ALWAYS : NEVER;
    OWN(buf) struct buf all = {0};
    size_t n = 0;
    for (uint32_t i = 0; i < e->nkids; i++) {
        OWN(buf) struct buf one = {0};
        enum outcome s = write_expr(f, e->kids[i], least, depth + 1, &one);
        if (s == FAILED || s == ends)
            return s;
        if (s != WRITTEN)
            continue;
        n++;
        buf_chr(&all, ' ');
        buf_add(&all, one.s ? one.s : "", one.n);
        all.failed |= !buf_ok(&one);
    }
    if (n == 0)
        return ends == ALWAYS ? NEVER : ALWAYS;
    if (n == 1) {
        buf_add(out, all.s + 1, all.n - 1);
    } else {
        buf_str(out, e->kind == GRAPH_ANY ? "(require-any" : "(require-all");
        buf_add(out, all.s, all.n);
        buf_chr(out, ')');
    }
    out->failed |= !buf_ok(&all);
    return WRITTEN;
}

static enum outcome write_not(struct flattener *f, const struct graph_expr *e, bool least,
                              int depth, struct buf *out)
{
    OWN(buf) struct buf one = {0};
    enum outcome s = write_expr(f, e->kids[0], !least, depth + 1, &one);
    if (s == NEVER || s == ALWAYS)
        return s == NEVER ? ALWAYS : NEVER;
    if (s == WRITTEN) {
        buf_str(out, "(require-not ");
        buf_add(out, one.s ? one.s : "", one.n);
        buf_chr(out, ')');
        out->failed |= !buf_ok(&one);
    }
    return s;
}

static enum outcome write_expr(struct flattener *f, const struct graph_expr *e, bool least,
                               int depth, struct buf *out)
{
    if (depth > FLAT_DEPTH) {
        err_set(f->err, BK_E_LIMIT, "a condition is nested more than %d deep", FLAT_DEPTH);
        return FAILED;
    }
    switch (e->kind) {
    case GRAPH_TEST:
        return write_test(f, &e->test, least, out);
    case GRAPH_ANY:
    case GRAPH_ALL:
        return write_list(f, e, least, depth, out);
    case GRAPH_NOT:
        return write_not(f, e, least, depth, out);
    }
    return FAILED;
}

/* The alternatives of a rule, one per line. */
static enum outcome write_condition(struct flattener *f, const struct graph_expr *when,
                                    struct buf *out)
{
    const struct graph_expr *const one[] = {when};
    bool many = when->kind == GRAPH_ANY;
    const struct graph_expr *const *kids = many ? when->kids : one;
    enum outcome result = NEVER;
    for (uint32_t i = 0; i < (many ? when->nkids : 1); i++) {
        OWN(buf) struct buf filter = {0};
        enum outcome s = write_expr(f, kids[i], f->rule->allow, 0, &filter);
        if (s == FAILED || s == ALWAYS)
            return s;
        if (s != WRITTEN)
            continue;
        buf_str(out, "\n    ");
        buf_add(out, filter.s ? filter.s : "", filter.n);
        out->failed |= !buf_ok(&filter);
        result = WRITTEN;
    }
    return result;
}

/* ---- modifiers ---- */

static void write_flag(const struct flattener *f, uint32_t *rest,
                       const struct vocab_modifier_info *info, struct buf *out)
{
    if (!info->flag || (*rest & info->flag) != info->flag)
        return;
    (void)f;
    *rest &= ~info->flag;
    buf_fmt(out, "\n    (with %s)", info->name);
}

static void write_flags(const struct flattener *f, struct buf *out)
{
    const struct sbpl_rule *r = f->rule;
    uint32_t rest = r->flags;
    if (!r->allow && !(rest & VOCAB_FLAG_REPORT))
        buf_str(out, "\n    (with no-report)");
    if (!r->allow)
        rest &= ~(uint32_t)VOCAB_FLAG_REPORT;
    /* telemetry-backtrace includes telemetry's bits */
    write_flag(f, &rest, &vocab_modifiers[MOD_TELEMETRY_BACKTRACE], out);
    for (size_t i = 0; i < MOD_COUNT; i++)
        if (vocab_modifiers[i].arg == 1)
            write_flag(f, &rest, &vocab_modifiers[i], out);
}

static int write_policy(struct flattener *f, const struct sbpl_policy *p);

static int write_nested(struct flattener *f, int64_t number, struct buf *out)
{
    const struct sbpl_policy *p = f->m->policies;
    while (p && p->number != number)
        p = p->next;
    if (!p)
        return err_set(f->err, BK_E_BUG, "no message filter %d", (int)number);
    struct flattener inner = *f;
    inner.out = out;
    buf_str(out, "\n    (apply-message-filter\n");
    int result = write_policy(&inner, p);
    buf_chr(out, ')');
    return result;
}

static int write_modifiers(struct flattener *f, struct buf *out)
{
    const struct sbpl_rule *r = f->rule;
    const char *message = r->allow || !(r->flags & VOCAB_FLAG_REPORT) ? NULL : f->o->message;
    write_flags(f, out);
    for (size_t i = 0; i < r->nmods; i++) {
        const struct graph_mod *mod = &r->mods[i];
        const char *constant = mod->str ? NULL : vocab_modifier_constant_name(mod->id, mod->num);
        if (mod->id == MOD_MESSAGE && message)
            continue;
        if (mod->id == MOD_MESSAGE_FILTER) {
            if (write_nested(f, mod->num, out) < 0)
                return -1;
            continue;
        }
        buf_fmt(out, "\n    (with %s ", vocab_modifiers[mod->id].name);
        if (mod->str)
            buf_sbpl(out, mod->str, strlen(mod->str));
        else if (constant)
            buf_str(out, constant);
        else
            buf_fmt(out, "%lld", (long long)mod->num);
        buf_chr(out, ')');
    }
    if (message) {
        buf_str(out, "\n    (with message ");
        buf_sbpl(out, message, strlen(message));
        buf_chr(out, ')');
    }
    return 0;
}

/* ---- rules ---- */

static size_t write_operations(const struct sbpl_rule *r, struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < r->nops; i++)
        if (!vocab_ops[r->ops[i]].extension) {
            buf_fmt(out, " %s", vocab_ops[r->ops[i]].name);
            n++;
        }
    return n;
}

static int not_expressible(struct flattener *f)
{
    const struct sbpl_rule *r = f->rule;
    struct source_place p = source_find(&f->m->unit->map, r->pos ? r->pos : r->top);
    if (!f->err->msg[0])
        err_set(f->err, BK_E_INPUT, "macOS cannot express the condition of this rule");
    if (p.source)
        err_place(f->err, p.source->name, p.line, p.col);
    return -1;
}

static int write_rule(struct flattener *f, const struct sbpl_rule *r)
{
    OWN(buf) struct buf text = {0};
    f->rule = r;
    buf_str(&text, r->allow ? "(allow" : "(deny");
    if (write_operations(r, &text) == 0)
        return 0;
    enum outcome s = r->when ? write_condition(f, r->when, &text) : WRITTEN;
    if (s == NEVER)
        return 0;
    if (s != WRITTEN)
        return not_expressible(f);
    if (write_modifiers(f, &text) < 0)
        return -1;
    buf_str(&text, ")\n");
    buf_add(f->out, text.s ? text.s : "", text.n);
    f->out->failed |= !buf_ok(&text);
    return 0;
}

static int write_policy(struct flattener *f, const struct sbpl_policy *p)
{
    for (const struct sbpl_rule *r = p->first; r; r = r->next)
        if (write_rule(f, r) < 0)
            return -1;
    return 0;
}

int sbpl_flatten(struct sbpl_unit *u, const struct sbpl_flatten_options *o, struct buf *out,
                 struct bk_err *err)
{
    struct machine m;
    OWN(buf) struct buf text = {0};
    if (machine_init(&m, u) < 0)
        return err_set(err, BK_E_LIMIT, "the memory budget is too small to start");
    int result = machine_load(&m, err);
    if (result == 0 && m.commands)
        result = err_set(err, BK_E_INPUT, "macOS has no profiles for single commands");
    if (result == 0) {
        struct flattener f = {.m = &m, .o = o, .out = &text, .err = err};
        err->msg[0] = '\0';
        buf_fmt(&text, "(version %d)\n", m.version);
        result = write_policy(&f, &m.profile);
    }
    diags_sort(&u->diags);
    machine_free(&m);
    if (result == 0 && buf_ok(&text))
        buf_add(out, text.s, text.n);
    return result == 0 && (!buf_ok(&text) || !buf_ok(out)) ? err_nomem(err) : result;
}
