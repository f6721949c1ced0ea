/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* A plan as one JSON object, for programs: the same facts as the text, and every test of the
 * filter. */

#include <string.h>

#include "base/own.h"
#include "command/capabilities.h"
#include "kernel/plan/plan-words.h"

static void put_string(struct buf *out, const char *s)
{
    if (s)
        buf_json(out, s, strlen(s));
    else
        buf_str(out, "null");
}

/* "a, b" after a key. The caller has written what comes before. */
static void put_words(struct buf *out, const char *key, const char *const *words, size_t n)
{
    buf_fmt(out, "\"%s\": [", key);
    for (size_t i = 0; i < n; i++) {
        buf_str(out, i ? ", " : "");
        put_string(out, words[i]);
    }
    buf_chr(out, ']');
}

static void put_rule(struct buf *out, const struct graph *g, uint32_t rule)
{
    const struct graph_rule_info *r = rule < graph_rule_count(g) ? graph_rule_at(g, rule) : NULL;
    if (!r) {
        buf_str(out, "null");
        return;
    }
    buf_fmt(out, "{\"kind\": \"%s\"",
            r->is_default ? "default"
            : r->implicit ? "implicit"
                          : "written");
    if (r->origin.line) {
        buf_str(out, ", \"file\": ");
        put_string(out, r->origin.file ? r->origin.file : "");
        buf_fmt(out, ", \"line\": %u, \"column\": %u", r->origin.line, r->origin.col);
    }
    if (r->origin.text) {
        buf_str(out, ", \"text\": ");
        put_string(out, r->origin.text);
    }
    buf_chr(out, '}');
}

static void put_operations(const struct plan *p, const struct graph *g, struct buf *out)
{
    bool later = false;
    buf_str(out, "  \"operations\": [");
    for (size_t op = 0; op < OP_COUNT; op++) {
        const struct plan_op *o = &p->ops[op];
        bool unenforced = plan_is_unenforced(p, op);
        if (o->tier == TIER_ABSENT && !unenforced)
            continue;
        buf_str(out, later ? ",\n    {\"operation\": " : "\n    {\"operation\": ");
        put_string(out, vocab_ops[op].name);
        buf_str(out, ", \"tier\": ");
        put_string(out, unenforced ? "unenforced" : plan_tier_word(o->tier));
        buf_str(out, ", \"wall\": ");
        put_string(out, o->wall);
        buf_str(out, ", \"note\": ");
        OWN(buf) struct buf note = {0};
        plan_op_note(o, &note);
        put_string(out, note.s);
        buf_str(out, ", \"rule\": ");
        put_rule(out, g, o->tier == TIER_FREE ? GRAPH_NO_RULE : o->rule);
        buf_chr(out, '}');
        later = true;
    }
    buf_str(out, later ? "\n  ],\n" : "],\n");
}

static void put_sentries(const struct plan *p, const struct graph *g, struct buf *out)
{
    buf_fmt(out, "  \"masked\": %s,\n  \"guards\": [", p->masked ? "true" : "false");
    for (size_t i = 0; i < p->nsentries; i++) {
        const struct plan_sentry *one = &p->sentries[i];
        buf_str(out, i ? ",\n    {\"path\": " : "\n    {\"path\": ");
        put_string(out, one->path);
        buf_fmt(out, ", \"beneath\": %s, \"open\": %s, \"rule\": ", one->exact ? "false" : "true",
                one->open ? "true" : "false");
        put_rule(out, g, one->rule);
        buf_chr(out, '}');
    }
    buf_str(out, p->nsentries ? "\n  ],\n" : "],\n");
}

static void put_searches(const struct plan *p, const struct graph *g, struct buf *out)
{
    for (size_t i = 0; i < p->nsearches; i++) {
        buf_str(out, i ? ",\n    {\"path\": " : "  \"searched\": [\n    {\"path\": ");
        put_string(out, p->searches[i].path);
        buf_str(out, ", \"rule\": ");
        put_rule(out, g, p->searches[i].rule);
        buf_chr(out, '}');
    }
    if (p->nsearches)
        buf_str(out, "\n  ],\n");
}

static void put_layers(const struct plan *p, const struct graph *g, struct buf *out)
{
    buf_str(out, "  \"layers\": [");
    for (size_t i = 0; i < p->nlayers; i++) {
        const struct plan_layer *l = &p->layers[i];
        buf_str(out, i ? ",\n    {\"path\": " : "\n    {\"path\": ");
        put_string(out, l->path);
        buf_fmt(out, ", \"kept\": %s, \"real\": [", l->kind != LAYER_RUN ? "true" : "false");
        for (size_t k = 0; k < l->nreal; k++) {
            buf_str(out, k ? ", " : "");
            put_string(out, l->real[k]);
        }
        buf_str(out, "], \"rule\": ");
        put_rule(out, g, l->rule);
        buf_chr(out, '}');
    }
    buf_str(out, p->nlayers ? "\n  ],\n" : "],\n");
}

static void put_landlock(const struct plan *p, const struct graph *g, struct buf *out)
{
    const char *words[PLAN_RIGHTS];
    if (!p->handled_fs && !p->scoped) {
        buf_str(out, "  \"landlock\": null,\n");
        return;
    }
    buf_fmt(out, "  \"landlock\": {\n    \"abi\": %d,\n    ", p->host.landlock);
    put_words(out, "withheld", words, plan_right_words(p->handled_fs, words));
    buf_fmt(out, ",\n    \"scoped\": %s,\n    \"except\": [", p->scoped ? "true" : "false");
    for (size_t i = 0; i < p->nwalls; i++) {
        const struct wall_path *w = &p->walls[i];
        buf_str(out, i ? ",\n      {\"path\": " : "\n      {\"path\": ");
        put_string(out, w->path);
        buf_str(out, ", ");
        put_words(out, "rights", words, plan_right_words(w->rights & p->handled_fs, words));
        buf_str(out, ", \"rule\": ");
        put_rule(out, g, w->rule);
        buf_chr(out, '}');
    }
    buf_str(out, p->nwalls ? "\n    ]\n  },\n" : "]\n  },\n");
}

static void put_action(struct buf *out, struct sys_action a)
{
    static const char *const words[] = {
        [SYS_ALLOW] = "allow",
        [SYS_NOTIFY] = "judge",
        [SYS_ERRNO] = "errno",
    };
    buf_fmt(out, "\"action\": \"%s\"", words[a.verdict]);
    if (a.verdict == SYS_ERRNO)
        buf_fmt(out, ", \"errno\": %u", a.err);
}

static void put_tests(const struct sys_rule *r, bool judge, struct buf *out)
{
    static const char *const hows[] = {
        [SYS_EQUAL] = "equal",
        [SYS_DIFFERS] = "differs",
        [SYS_ANY] = "any",
    };
    buf_str(out, ", \"tests\": [");
    for (size_t i = 0; i < (size_t)r->ntests + r->nmore; i++) {
        const struct sys_test *t = sys_test_at(r, i);
        buf_fmt(out, "%s{\"argument\": %u, \"how\": \"%s\", \"mask\": %u, \"value\": %u, ",
                i ? ", " : "", t->arg & ~SYS_HIGH, hows[t->how], t->mask, t->value);
        if (t->arg & SYS_HIGH)
            buf_str(out, "\"half\": \"high\", ");
        put_action(out, i < r->ntests || judge ? t->then : plan_without_judge(t->then));
        buf_chr(out, '}');
    }
    buf_chr(out, ']');
}

static void put_calls(const struct plan *p, struct buf *out)
{
    buf_str(out, "  \"calls\": [");
    for (size_t i = 0; i < p->ncalls; i++) {
        const struct sys_rule *r = &p->calls[i];
        buf_str(out, i ? ",\n    {\"name\": " : "\n    {\"name\": ");
        put_string(out, r->name);
        buf_fmt(out, ", \"number\": %d, ", r->nr);
        put_action(out, r->otherwise);
        if (r->ntests + r->nmore)
            put_tests(r, p->judge, out);
        buf_chr(out, '}');
    }
    buf_str(out, p->ncalls ? "\n  ],\n" : "],\n");
}

static void put_caps(const struct plan *p, struct buf *out)
{
    const char *names[64];
    size_t n = 0;
    for (size_t i = 0; i < caps_count; i++)
        if (p->caps & cap_bit(&caps_table[i]))
            names[n++] = caps_table[i].name;
    put_words(out, "capabilities", names, n);
}

void plan_print_json(const struct plan *p, const struct graph *g, struct buf *out)
{
    const char *names[PLAN_NAMESPACES];
    buf_str(out, "{\n  \"architecture\": ");
    put_string(out, plan_arch_word(p->opt.arch));
    buf_str(out, ",\n  ");
    put_words(out, "namespaces", names, plan_namespace_names(p, names));
    buf_str(out, ",\n  ");
    put_caps(p, out);
    buf_fmt(out, ",\n  \"judge\": %s", p->judge ? "true" : "false");
    buf_fmt(out, ",\n  \"devices_closed\": %s,\n  ", p->device_wall ? "true" : "false");
    put_words(out, "devices", p->devices, p->device_scan ? 0 : p->ndevices);
    buf_fmt(out, ",\n  \"updatable\": %s,\n", p->opt.updatable ? "true" : "false");
    buf_fmt(out, "  \"grantable\": %s,\n", p->opt.grantable ? "true" : "false");
    put_operations(p, g, out);
    put_sentries(p, g, out);
    put_searches(p, g, out);
    put_layers(p, g, out);
    put_landlock(p, g, out);
    put_calls(p, out);
    buf_str(out, "  ");
    put_words(out, "notes", p->notes, p->nnotes);
    buf_str(out, "\n}\n");
}
