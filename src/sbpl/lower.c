/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Passes evaluated rules to the graph's builder, with the position and text of each. */

#include "sbpl/machine.h"

#include <string.h>

#include "graph/build.h"
#include "sbpl/read.h"

enum {
    RULE_TEXT = 200,  /* bytes of a rule's text kept for reports */
    RULE_LOOK = 4096, /* bytes examined for that */
};

/* The rule as written, on one line: comments dropped, runs of blanks folded, shortened at the end.
 */
static void rule_text(const struct source *s, src_pos pos, char out[RULE_TEXT + 4])
{
    const char *p = s->text + (pos - s->base);
    size_t left = s->len - (pos - s->base), n = 0;
    const char *end = p + read_extent(p, left < RULE_LOOK ? left : RULE_LOOK);
    bool quoted = false, blank = false;
    for (; p < end && n + 1 < RULE_TEXT; p++) {
        if (!quoted && *p == ';') {
            while (p < end && *p != '\n')
                p++;
            blank = true;
            continue;
        }
        if (!quoted && (*p == ' ' || (*p >= '\t' && *p <= '\r'))) {
            blank = true;
            continue;
        }
        if (blank && n && *p != ')' && out[n - 1] != '(')
            out[n++] = ' ';
        blank = false;
        if (*p == '\\' && quoted && p + 1 < end && n + 1 < RULE_TEXT)
            out[n++] = *p++;
        else if (*p == '"')
            quoted = !quoted;
        out[n++] = *p;
    }
    if (p < end) {
        while (n > 0 && ((unsigned char)out[n - 1] & 0xc0) == 0x80)
            n--; /* never cut a character in half: its tail, then its head */
        n -= n > 0 && (unsigned char)out[n - 1] >= 0xc0;
        memcpy(out + n, "…", 3);
        n += 3;
    }
    out[n] = '\0';
}

/* Whether the position, in s, is inside the rule's top-level form. Many rules share one form, so
 * its extent is cached. */
static bool in_top_form(struct machine *m, const struct source *s, const struct sbpl_rule *r,
                        src_pos pos)
{
    if (r->top == pos)
        return true;
    if (r->top < s->base || r->top > pos)
        return false;
    if (m->extent_of != r->top) {
        size_t at = r->top - s->base;
        m->extent_of = r->top;
        m->extent = (src_pos)read_extent(s->text + at, s->len - at);
    }
    return pos < r->top + m->extent;
}

void rule_origin(struct machine *m, const struct sbpl_rule *r, struct graph_origin *o)
{
    src_pos pos = r->pos ? r->pos : r->top;
    if (r->text) {
        *o = (struct graph_origin){r->text->name, r->line, r->col,
                                   r->via_line,   NULL,    (enum rule_source)r->text->from,
                                   NULL};
        return;
    }
    struct source_place p = source_find(&m->unit->map, pos);
    if (!p.source)
        return;
    o->file = p.source->name;
    o->line = p.line;
    o->col = p.col;
    o->source = (enum rule_source)p.source->from;
    /* a top-level form that just contains the rule, such as (if …), needs no mention */
    if (in_top_form(m, p.source, r, pos))
        return;
    struct source_place top = source_find(&m->unit->map, r->top);
    o->via_line = top.source == p.source ? top.line : 0;
    /* a procedure of a shipped profile, called by a flag */
    if (top.source && top.source->from == SOURCE_FLAG)
        o->source = SOURCE_FLAG;
}

/* Texts that settings and presets became. */
static bool is_generated(enum rule_source s)
{
    return s == SOURCE_SETTINGS || s == SOURCE_PRESET || s == SOURCE_MACHINE;
}

static int add_raw(struct graph *g, uint32_t rule, const struct source *s, src_pos pos)
{
    enum { RAW = 64 << 10 };
    size_t at = pos - s->base, left = s->len - at;
    size_t n = read_extent(s->text + at, left < RAW ? left : RAW);
    return graph_rule_set_raw(g, rule, s->text + at, n);
}

static void set_origin(struct machine *m, const struct sbpl_rule *r, struct graph_origin *o,
                       char text[RULE_TEXT + 4])
{
    src_pos pos = r->pos ? r->pos : r->top;
    rule_origin(m, r, o);
    if (!o->line || m->unit->opt.terse)
        return;
    rule_text(source_find(&m->unit->map, pos).source, pos, text);
    o->text = text;
}

int sbpl_add_rule_texts(struct sbpl_unit *u, struct graph *g, struct bk_err *err)
{
    char text[RULE_TEXT + 4];
    for (uint32_t i = 0; i < graph_rule_count(g); i++) {
        const struct graph_origin *o = &graph_rule_at(g, i)->origin;
        bool raw = is_generated(o->source) && !o->raw;
        src_pos pos = o->line && (!o->text || raw)
                          ? source_position(&u->map, o->file, SIZE_MAX, o->line, o->col)
                          : 0;
        struct source_place p = source_find(&u->map, pos);
        if (!p.source)
            continue;
        rule_text(p.source, pos, text);
        if (graph_rule_set_text(g, i, text) < 0 || (raw && add_raw(g, i, p.source, pos) < 0))
            return err_nomem(err);
    }
    return 0;
}

static int lower_rule(struct machine *m, struct graph_build *b, const struct sbpl_rule *r,
                      struct bk_err *err)
{
    char text[RULE_TEXT + 4];
    struct graph_rule rule = {.ops = r->ops,
                              .nops = r->nops,
                              .allow = r->allow,
                              .flags = r->flags,
                              .mods = r->mods,
                              .nmods = r->nmods,
                              .when = r->when};
    set_origin(m, r, &rule.origin, text);
    if (graph_build_rule(b, &rule, err) == 0)
        return 0;
    src_pos pos = r->pos ? r->pos : r->top;
    machine_error(m, pos, err->code == BK_E_LIMIT ? "graph-budget" : "bad-rule", "%s", err->msg);
    return -1;
}

static int lower_policy(struct machine *m, struct graph_build *b, const struct sbpl_policy *p,
                        struct bk_err *err)
{
    for (const struct sbpl_rule *r = p->first; r; r = r->next)
        if (lower_rule(m, b, r, err) < 0)
            return -1;
    return 0;
}

/* Nested policies come first, in the order of their numbers, so that the builder gives them the
 * numbers that the rules already use. */
static int lower_nested(struct machine *m, struct graph_build *b, struct bk_err *err)
{
    struct sbpl_policy *oldest = NULL;
    for (struct sbpl_policy *p = m->policies, *next; p; p = next) {
        next = p->next;
        p->next = oldest;
        oldest = p;
    }
    m->policies = NULL;
    for (const struct sbpl_policy *p = oldest; p; p = p->next) {
        int64_t want = p->number, got;
        if (graph_build_policy_begin(b, err) < 0 || lower_policy(m, b, p, err) < 0 ||
            graph_build_policy_end(b, &got, err) < 0)
            return -1;
        if (got != want)
            return err_set(err, BK_E_BUG, "message filter %d became %d", (int)want, (int)got);
    }
    return 0;
}

static bool has_param(const struct sbpl_options *opt, const char *key)
{
    for (size_t i = 0; i < opt->nparams; i++)
        if (strcmp(opt->params[i].key, key) == 0)
            return true;
    return false;
}

int sbpl_lower(struct machine *m, struct graph **out, struct bk_err *err)
{
    const struct sbpl_options *opt = &m->unit->opt;
    struct graph_options gopt = {.version = m->version,
                                 .fold_case = opt->fold_case,
                                 .no_implicit = has_param(opt, "NO_IMPLICIT_RULES"),
                                 .no_inference = m->no_inference,
                                 .no_inferred = m->no_inferred || opt->no_inferred ||
                                                opt->os < VOCAB_MACOS_14_4_1,
                                 .checked = true,
                                 .lifted = machine_lifted(m),
                                 .kept = m->kept,
                                 .agreed = m->agreed,
                                 .nagreed = m->nagreed,
                                 .reserve = opt->reserve / 2};
    struct graph_build *b = graph_build_new(&gopt, err);
    if (!b)
        return -1;
    if (lower_nested(m, b, err) < 0 || lower_policy(m, b, &m->profile, err) < 0 ||
        (m->debug && graph_build_note(b, "debug", m->debug, err) < 0) ||
        (m->trace && graph_build_note(b, "trace", m->trace, err) < 0)) {
        graph_build_free(b);
        return -1;
    }
    struct graph *g = graph_freeze(b, err);
    if (!g)
        return -1;
    m->unit->traces =
        m->trace && source_find(&m->unit->map, m->trace_pos).source == sbpl_text_at(m->unit, 0);
    *out = g;
    return 0;
}
