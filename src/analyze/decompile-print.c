/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Prints rules. Alternatives of one filter share parentheses: (literal "/a" "/b"). Long conditions
 * that occur more than once get a name. Tests without a word in the language become regular
 * expressions if those are equivalent.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/decompile-int.h"
#include "analyze/decompile-sexp.h"
#include "base/own.h"
#include "graph/build.h"
#include "graph/words.h"

enum {
    NAMED_SIZE = 24, /* conditions with this many tests get a name if they occur twice */
    DEFAULT_MAX_TEXT = 64 << 20,
};

struct printer {
    struct dc *c;
    const struct dc_rules *nested; /* by message filter - 1 */
    struct buf atom;
    struct buf *out;
    size_t max_text;
};

static struct arena *arena_of(const struct printer *p)
{
    return &p->c->arena;
}

static int exhausted(struct printer *p)
{
    return err_set(p->c->err, BK_E_LIMIT, "decompiling needs more than %zu MiB of memory",
                   p->c->arena.limit >> 20);
}

/* Turns p->atom into an atom. */
static bool take_atom(struct printer *p, struct sexp *list)
{
    bool ok = buf_ok(&p->atom) && sexp_atom(arena_of(p), list, p->atom.s ? p->atom.s : "");
    p->atom.n = 0;
    if (p->atom.s)
        p->atom.s[0] = '\0';
    return ok;
}

/* ---- tests ---- */

static int not_expressible(struct printer *p, const struct graph_test *t)
{
    OWN(buf) struct buf printed = {0}, safe = {0};
    graph_test_print(t, &printed);
    buf_safe(&safe, printed.s ? printed.s : "", printed.n < 120 ? printed.n : 120);
    return err_set(p->c->err, BK_E_INPUT, "SBPL cannot express the test %s", safe.s ? safe.s : "");
}

static const char *string_word(const struct graph_test *t, uint8_t how)
{
    static const uint8_t forms[] = {
        [GRAPH_LITERAL] = FORM_LITERAL,
        [GRAPH_PREFIX] = FORM_PREFIX,
        [GRAPH_SUBPATH] = FORM_SUBPATH,
        [GRAPH_REGEX] = FORM_REGEX,
    };
    const char *s = vocab_filter_spelling(t->filter, (enum vocab_form)forms[how]);
    return s || how != GRAPH_LITERAL ? s : vocab_filter_spelling(t->filter, FORM_PLAIN);
}

static bool takes_strings(const struct graph_test *t)
{
    uint8_t arg = vocab_filters[t->filter].arg;
    return arg == ARG_PATH || arg == ARG_STRING || arg == ARG_NAME;
}

/* (subpath "/a/") would lose its slash, and not every filter has every form. */
static bool needs_regex(const struct graph_test *t)
{
    bool slash = t->how == GRAPH_SUBPATH && t->len > 1 && t->str[t->len - 1] == '/';
    return t->how != GRAPH_REGEX && (slash || !string_word(t, t->how));
}

/* The filter's name as written for this test, NULL when it has none. */
static const char *word_of(const struct graph_test *t)
{
    uint8_t arg = vocab_filters[t->filter].arg;
    switch ((enum graph_how)t->how) {
    case GRAPH_LITERAL:
    case GRAPH_PREFIX:
    case GRAPH_SUBPATH:
    case GRAPH_REGEX:
        if (!takes_strings(t) || memchr(t->str, '\0', t->len))
            return NULL;
        return string_word(t, needs_regex(t) ? GRAPH_REGEX : t->how);
    case GRAPH_INT:
        return arg == ARG_INT ? vocab_filters[t->filter].name : NULL;
    case GRAPH_MODE:
        return arg == ARG_MODE ? vocab_filters[t->filter].name : NULL;
    case GRAPH_NET:
        return arg == ARG_NETWORK ? vocab_filters[t->filter].name : NULL;
    case GRAPH_DOMAIN:
        return arg == ARG_DOMAIN ? vocab_filters[t->filter].name : NULL;
    case GRAPH_FLAG:
        return arg == ARG_NONE || arg == ARG_BOOL ? vocab_filters[t->filter].name : NULL;
    }
    return NULL;
}

static void number_atom(const struct graph_test *t, struct buf *out)
{
    const char *name = vocab_filter_constant_name((enum vocab_filter)t->filter, t->num);
    if (name)
        buf_str(out, name);
    else if (t->how == GRAPH_MODE && t->num >= 0)
        buf_fmt(out, "#o%" PRIo64, (uint64_t)t->num);
    else
        buf_fmt(out, "%" PRId64, t->num);
}

static bool add_value(struct printer *p, struct sexp *list, const struct graph_test *t)
{
    if (t->how == GRAPH_FLAG)
        return true;
    if (t->how == GRAPH_NET) {
        net_endpoint_print(&t->net, &p->atom);
    } else if (t->how == GRAPH_INT || t->how == GRAPH_MODE) {
        number_atom(t, &p->atom);
    } else if (t->how == GRAPH_REGEX) {
        sexp_regex(t->str, t->len, &p->atom);
    } else if (takes_strings(t) && needs_regex(t)) {
        OWN(buf) struct buf regex = {0};
        graph_test_regex(t, &regex);
        sexp_regex(regex.s ? regex.s : "", regex.n, &p->atom);
    } else {
        sexp_string(t->str, t->len, &p->atom);
    }
    return take_atom(p, list);
}

/* Whether alternatives may share parentheses. Several addresses would be our own extension. */
static bool shares(const struct graph_test *t)
{
    return t->how != GRAPH_NET && t->how != GRAPH_FLAG &&
           t->filter != FILTER_ENTITLEMENT_IS_PRESENT && !graph_test_is_keyed(t);
}

/* ---- conditions ---- */

static int add_expr(struct printer *p, struct sexp *list, uint32_t expr);

static int begin(struct printer *p, struct sexp *list, const char *word, struct sexp **out)
{
    *out = sexp_list(arena_of(p));
    return sexp_atom(arena_of(p), *out, word) && sexp_add(list, *out) ? 0 : exhausted(p);
}

/* Adds the tests among kids from `first` on that share its word, and marks each as written. */
static int add_tests(struct printer *p, struct sexp *list, const uint32_t *kids, uint32_t first,
                     uint32_t n, bool *written)
{
    struct dc *c = p->c;
    const struct graph_test *t = c->tests[c->exprs[kids[first]].test];
    const char *word = word_of(t);
    struct sexp *group;
    if (graph_test_is_keyed(t) && !memchr(t->str, '\0', t->len)) {
        written[first] = true;
        graph_test_print(t, &p->atom);
        return take_atom(p, list) ? 0 : exhausted(p);
    }
    if (!word)
        return not_expressible(p, t);
    if (begin(p, list, word, &group) < 0)
        return -1;
    group->fills = t->how == GRAPH_INT || t->how == GRAPH_MODE;
    for (uint32_t i = first; i < n; i++) {
        const struct dc_expr *e = &c->exprs[kids[i]];
        const struct graph_test *other = e->kind == GRAPH_TEST ? c->tests[e->test] : NULL;
        if (i > first &&
            (!other || written[i] || !shares(t) || !shares(other) || other->filter != t->filter ||
             !word_of(other) || strcmp(word_of(other), word) != 0))
            continue;
        if (!add_value(p, group, other))
            return exhausted(p);
        written[i] = true;
        if (!shares(t))
            break;
    }
    return dc_spend(c, n - first);
}

static bool is_negation(const struct printer *p, uint32_t expr)
{
    return p->c->exprs[expr].kind == GRAPH_NOT && !p->c->exprs[expr].name;
}

static uint32_t negated(const struct printer *p, uint32_t expr)
{
    return p->c->kids[p->c->exprs[expr].kids];
}

/* All of (not a) (not b) is (require-not a b); any of them is (require-not (require-all a b)). */
static int add_negations(struct printer *p, struct sexp *list, enum graph_expr_kind kind,
                         const uint32_t *kids, uint32_t n)
{
    struct sexp * not, *into;
    uint32_t count = 0;
    for (uint32_t i = 0; i < n; i++)
        count += is_negation(p, kids[i]);
    if (count == 0)
        return 0;
    if (begin(p, list, "require-not", &not ) < 0)
        return -1;
    into = not ;
    if (kind == GRAPH_ANY && count > 1 && begin(p, not, "require-all", &into) < 0)
        return -1;
    OWN(mem) uint32_t *inner = calloc(count, sizeof(*inner));
    OWN(mem) bool *written = calloc(count, sizeof(*written));
    if (!inner || !written)
        return err_nomem(p->c->err);
    for (uint32_t i = 0, k = 0; i < n; i++)
        if (is_negation(p, kids[i]))
            inner[k++] = negated(p, kids[i]);
    for (uint32_t i = 0; i < count; i++) {
        bool test = p->c->exprs[inner[i]].kind == GRAPH_TEST && !p->c->exprs[inner[i]].name;
        uint32_t end = kind == GRAPH_ALL ? count : i + 1;
        if (written[i])
            continue;
        if ((test ? add_tests(p, into, inner, i, end, written) : add_expr(p, into, inner[i])) < 0)
            return -1;
    }
    return 0;
}

/* Operands of require-any (tests with the same word together) or require-all, negations last. */
static int add_operands(struct printer *p, struct sexp *list, enum graph_expr_kind kind,
                        const uint32_t *from, uint32_t n)
{
    struct dc *c = p->c;
    OWN(mem) bool *written = calloc(n + 1u, sizeof(*written));
    OWN(mem) uint32_t *kids = calloc(n + 1u, sizeof(*kids));
    if (!written || !kids)
        return err_nomem(c->err);
    memcpy(kids, from, n * sizeof(*kids));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t end = kind == GRAPH_ANY ? n : i + 1;
        if (written[i] || c->exprs[kids[i]].kind != GRAPH_TEST)
            continue;
        if (add_tests(p, list, kids, i, end, written) < 0)
            return -1;
    }
    for (uint32_t i = 0; i < n; i++)
        if (!written[i] && !is_negation(p, kids[i]) && add_expr(p, list, kids[i]) < 0)
            return -1;
    return add_negations(p, list, kind, kids, n);
}

static int add_expr(struct printer *p, struct sexp *list, uint32_t expr)
{
    struct dc *c = p->c;
    const struct dc_expr e = c->exprs[expr];
    struct sexp *inner = list;
    if (e.name) {
        buf_fmt(&p->atom, "condition-%u", e.name);
        return take_atom(p, list) ? 0 : exhausted(p);
    }
    if (e.kind == GRAPH_TEST || e.kind == GRAPH_NOT)
        return add_operands(p, list, GRAPH_ALL, &expr, 1);
    if (begin(p, list, e.kind == GRAPH_ANY ? "require-any" : "require-all", &inner) < 0)
        return -1;
    return add_operands(p, inner, (enum graph_expr_kind)e.kind, c->kids + e.kids, e.n);
}

/* Several filters in a rule are alternatives. */
static int add_condition(struct printer *p, struct sexp *rule, uint32_t when)
{
    const struct dc_expr e = p->c->exprs[when];
    if (e.kind == GRAPH_ANY && !e.name && e.n)
        return add_operands(p, rule, GRAPH_ANY, p->c->kids + e.kids, e.n);
    return add_expr(p, rule, when);
}

/* ---- modifiers ---- */

static int add_with(struct printer *p, struct sexp *rule, const char *name, struct sexp **out)
{
    if (begin(p, rule, "with", out) < 0)
        return -1;
    return sexp_atom(arena_of(p), *out, name) ? 0 : exhausted(p);
}

/* Flag bits by the name of the modifier that sets them. Modifiers with more bits come first, since
 * telemetry-backtrace includes telemetry. */
static int add_flags(struct printer *p, struct sexp *rule, const struct dc_leaf *leaf)
{
    struct sexp *with;
    uint32_t rest = leaf->flags & ~(uint32_t)VOCAB_FLAG_DENY;
    uint8_t action = leaf->allow ? 2 : 1;
    if (!leaf->allow && !(rest & VOCAB_FLAG_REPORT) &&
        add_with(p, rule, vocab_modifiers[MOD_NO_REPORT].name, &with) < 0)
        return -1;
    rest &= leaf->allow ? rest : ~(uint32_t)VOCAB_FLAG_REPORT;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t m = 0; m < MOD_COUNT; m++) {
            uint32_t flag = vocab_modifiers[m].flag;
            bool many = (flag & (flag - 1)) != 0;
            if (!flag || many != (pass == 0) || (rest & flag) != flag ||
                !(vocab_modifiers[m].actions & action))
                continue;
            if (add_with(p, rule, vocab_modifiers[m].name, &with) < 0)
                return -1;
            rest &= ~flag;
        }
    if (!rest)
        return 0;
    if (add_with(p, rule, vocab_modifiers[MOD_DECISION_FLAGS].name, &with) < 0)
        return -1;
    buf_fmt(&p->atom, "#x%" PRIx32, rest);
    return take_atom(p, with) ? 0 : exhausted(p);
}

static int add_modifiers(struct printer *p, struct sexp *rule, const struct dc_leaf *leaf)
{
    if (add_flags(p, rule, leaf) < 0)
        return -1;
    for (uint32_t i = 0; i < leaf->nmods; i++) {
        const struct graph_mod *m = &leaf->mods[i];
        const struct vocab_modifier_info *info = &vocab_modifiers[m->id];
        struct sexp *with;
        if (add_with(p, rule, info->name, &with) < 0)
            return -1;
        const char *name = vocab_modifier_constant_name((enum vocab_modifier)m->id, m->num);
        if (info->arg == 3 && !m->str) /* (with user-approval) alone */
            continue;
        if (m->str)
            sexp_string(m->str, strlen(m->str), &p->atom);
        else if (name)
            buf_str(&p->atom, name);
        else
            buf_fmt(&p->atom, "%" PRId64, m->num);
        if (!take_atom(p, with))
            return exhausted(p);
    }
    return 0;
}

/* ---- rules ---- */

/* The vocabulary's tables may be older than the system that the graph was made for. */
static void check_fit(struct dc *c, const struct dc_rule *r)
{
    const struct dc_leaf *leaf = dc_leaf_at(c, r->step.leaf);
    for (uint32_t k = 0; k < r->nops; k++) {
        enum vocab_op op = (enum vocab_op)r->ops[k];
        for (uint32_t f = 0; r->step.when != DC_NONE && f < FILTER_COUNT; f++)
            if (c->exprs[r->step.when].uses[f / 64] >> (f % 64) & 1 &&
                !vocab_op_takes_filter(op, (enum vocab_filter)f))
                c->unchecked = true;
        for (uint32_t i = 0; i < leaf->nmods; i++) {
            enum vocab_modifier m = (enum vocab_modifier)leaf->mods[i].id;
            if (!vocab_op_takes_modifier(op, m) ||
                !(vocab_modifiers[m].actions & (leaf->allow ? 2 : 1)))
                c->unchecked = true;
        }
        uint32_t flags = leaf->flags & ~(uint32_t)(VOCAB_FLAG_DENY | VOCAB_FLAG_REPORT);
        for (uint32_t m = 0; m < MOD_COUNT; m++)
            if (vocab_modifiers[m].flag & flags && !vocab_op_takes_modifier(op, m))
                c->unchecked = true;
        if (leaf->policy && !leaf->allow)
            c->unchecked = true;
    }
}

static int add_rule(struct printer *p, struct sexp *list, const struct dc_rule *r,
                    struct sexp **out);

static int add_message_filter(struct printer *p, struct sexp *rule, uint32_t policy)
{
    struct sexp *filter, *inner;
    const struct dc_rules *rules = &p->nested[policy - 1];
    if (begin(p, rule, "apply-message-filter", &filter) < 0)
        return -1;
    for (uint32_t i = 0; i < rules->n; i++)
        if (add_rule(p, filter, &rules->at[i], &inner) < 0)
            return -1;
    return 0;
}

/* list may be NULL. */
static int add_rule(struct printer *p, struct sexp *list, const struct dc_rule *r,
                    struct sexp **out)
{
    const struct dc_leaf *leaf = dc_leaf_at(p->c, r->step.leaf);
    struct sexp *rule = *out = sexp_list(arena_of(p));
    p->c->op = (enum vocab_op)r->ops[0];
    bool ok = sexp_atom(arena_of(p), rule, leaf->allow ? "allow" : "deny");
    if (ok)
        rule->fills = true;
    if (!ok || add_modifiers(p, rule, leaf) < 0)
        return ok ? -1 : exhausted(p);
    for (uint32_t i = 0; i < r->nops; i++)
        if (!sexp_atom(arena_of(p), rule, vocab_ops[r->ops[i]].name))
            return exhausted(p);
    if (r->step.when != DC_NONE && add_condition(p, rule, r->step.when) < 0)
        return -1;
    if (leaf->policy && add_message_filter(p, rule, leaf->policy) < 0)
        return -1;
    return !list || sexp_add(list, rule) ? 0 : exhausted(p);
}

static int emit(struct printer *p, struct sexp *s)
{
    sexp_print(s, p->out);
    if (!buf_ok(p->out))
        return err_nomem(p->c->err);
    if (p->out->n <= p->max_text)
        return 0;
    return err_set(p->c->err, BK_E_LIMIT, "the text would be longer than %zu bytes, at %s",
                   p->max_text, vocab_ops[p->c->op].name);
}

/* ---- names for conditions ---- */

/* Counts mentions of expr and, the first time, of its operands. Depth is bounded. */
static void mention(struct dc *c, uint32_t expr)
{
    const struct dc_expr e = c->exprs[expr];
    if (c->exprs[expr].used++)
        return;
    for (uint32_t i = 0; i < e.n; i++)
        mention(c, c->kids[e.kids + i]);
}

static int define_conditions(struct printer *p, const struct dc_rules *profile, uint32_t npolicies)
{
    struct dc *c = p->c;
    uint32_t names = 0;
    for (uint32_t k = 0; k <= npolicies; k++) {
        const struct dc_rules *rules = k ? &p->nested[k - 1] : profile;
        for (uint32_t i = 0; i < rules->n; i++)
            if (rules->at[i].step.when != DC_NONE)
                mention(c, rules->at[i].step.when);
    }
    for (uint32_t i = 0; i < c->nexprs; i++) { /* operands come before their operators */
        if (c->exprs[i].used < 2 || c->exprs[i].size < NAMED_SIZE)
            continue;
        struct sexp *define = sexp_list(arena_of(p));
        if (!sexp_atom(arena_of(p), define, "define"))
            return exhausted(p);
        define->fills = true;
        buf_fmt(&p->atom, "condition-%u", ++names);
        if (!take_atom(p, define))
            return exhausted(p);
        if (add_expr(p, define, i) < 0 || emit(p, define) < 0)
            return -1;
        c->exprs[i].name = names;
    }
    if (names)
        buf_chr(p->out, '\n');
    return 0;
}

/* ---- the whole ---- */

static const struct {
    uint16_t family;
    const char *words;
} headings[] = {
    {OP_FILE, "Files"},
    {OP_NETWORK, "Network"},
    {OP_PROCESS, "Processes"},
    {OP_MACH, "Mach"},
    {OP_IPC, "Shared memory and semaphores"},
    {OP_IOKIT, "I/O Kit"},
    {OP_SYSCTL, "System parameters"},
    {OP_SYSCALL, "System calls"},
    {OP_SYSTEM, "The system"},
    {OP_SIGNAL, "Signals"},
    {OP_USER_PREFERENCE, "Preferences"},
};

static const char *heading_of(uint16_t family)
{
    for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
        if (headings[i].family == family)
            return headings[i].words;
    return NULL;
}

static void print_head(struct printer *p, const struct decompile_options *opt)
{
    const char *debug = graph_note(p->c->g, "debug"), *trace = graph_note(p->c->g, "trace");
    if (opt->origin) {
        buf_str(p->out, "; Decompiled from ");
        buf_safe(p->out, opt->origin, strlen(opt->origin));
        buf_str(p->out, ".\n");
    }
    if (graph_options_of(p->c->g)->fold_case)
        buf_fmt(p->out, "; Its paths were compiled in lower case: %s.\n",
                remedy_words(REMEDY_FOLD_CASE));
    buf_fmt(p->out, "(version %d)\n", p->c->version);
    if (p->c->unchecked)
        buf_str(
            p->out,
            "(disable-rule-checks) ; some rules use filters that their operations do not take\n");
    if (p->c->no_inferred)
        buf_str(p->out, "(disable-rule-inference)\n");
    else if (p->c->no_inference)
        buf_str(p->out, "(disable-syscall-inference)\n");
    if (debug)
        buf_fmt(p->out, "(debug%s%s)\n", debug[0] ? " " : "", debug);
    if (trace) {
        buf_str(p->out, "(trace ");
        sexp_string(trace, strlen(trace), p->out);
        buf_str(p->out, ")\n");
    }
}

static int print_rules(struct printer *p, const struct dc_rules *rules)
{
    uint16_t family = OP_NONE;
    for (uint32_t i = 0; i < rules->n; i++) {
        const struct dc_rule *r = &rules->at[i];
        struct sexp *rule;
        const char *words = heading_of(r->family);
        bool few = family != OP_NONE && family != OP_DEFAULT && !words && !heading_of(family);
        if (r->family != family && family != OP_NONE && !few)
            buf_chr(p->out, '\n');
        if (r->family != family && words)
            buf_fmt(p->out, "; %s\n", words);
        family = r->family;
        if (add_rule(p, NULL, r, &rule) < 0 || emit(p, rule) < 0)
            return -1;
    }
    return 0;
}

int dc_print(struct dc *c, const struct dc_rules *profile, const struct dc_rules *nested,
             const struct decompile_options *opt, struct buf *out)
{
    struct printer p = {.c = c, .nested = nested, .out = out};
    uint32_t npolicies = graph_policy_count(c->g);
    p.max_text = opt->max_text ? opt->max_text : DEFAULT_MAX_TEXT;
    for (uint32_t k = 0; k <= npolicies; k++) {
        const struct dc_rules *rules = k ? &nested[k - 1] : profile;
        for (uint32_t i = 0; i < rules->n; i++)
            check_fit(c, &rules->at[i]);
    }
    print_head(&p, opt);
    int r = define_conditions(&p, profile, npolicies) < 0 ? -1 : print_rules(&p, profile);
    buf_free(&p.atom);
    return r;
}
