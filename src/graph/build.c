/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Collects rules. The builder copies everything: strings into the graph's arena, conditions as
 * flattened item lists whose tests are interned. Precedence depends on all rules (a parent's list
 * may still grow), so nodes are made only when the graph is frozen.
 *
 * Growing arrays are outside the arena, so that growing leaves no dead copies behind; they count
 * towards the same budget.
 */

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "graph/build-int.h"
#include "graph/graph-int.h"
#include "graph/words.h"
#include "vocab/implied.h"
#include "vocab/protected-classes.h"

enum { DEFAULT_MAX_BYTES = 256 << 20, FIRST_CAP = 256 };

int build_exhausted(struct graph_build *b, struct bk_err *err)
{
    err_set(err, BK_E_LIMIT, "the policy needs more than %zu MiB of memory",
            b->g->opt.max_bytes >> 20);
    err_hint(err, "it has too many rules, or conditions that multiply");
    return -1;
}

int build_room(struct graph_build *b, void *array, uint32_t *cap, uint32_t count, size_t size,
               struct bk_err *err)
{
    if (count < *cap)
        return 0;
    uint32_t want = *cap ? *cap * 2 : FIRST_CAP;
    size_t more = (size_t)(want - *cap) * size;
    if (want > ITEM_VALUE || more > b->g->opt.max_bytes - b->bytes)
        return build_exhausted(b, err);
    void **p = array;
    void *q = realloc(*p, (size_t)want * size);
    if (!q)
        return err_nomem(err);
    b->bytes += more;
    *cap = want;
    *p = q;
    return 0;
}

static int add_unwritten(struct graph_build *b, uint16_t op, const struct graph_test *test,
                         struct bk_err *err)
{
    struct graph_expr when = {.kind = GRAPH_TEST, .test = *test};
    OWN(buf) struct buf text = {0};
    buf_fmt(&text, "(allow %s ", vocab_ops[op].name);
    graph_test_print(test, &text);
    buf_chr(&text, ')');
    struct graph_rule rule = {
        .ops = &op, .nops = 1, .allow = true, .when = &when, .origin = {.text = text.s}};
    if (graph_build_rule(b, &rule, err) < 0)
        return -1;
    b->g->rules[b->g->nrules - 1].implicit = true;
    return 0;
}

static uint8_t version_bit(const struct graph_build *b)
{
    return (uint8_t)(1 << (b->g->opt.version - 1));
}

/* Implicit rules come before all written ones. */
static int add_implicit(struct graph_build *b, struct bk_err *err)
{
    for (const struct vocab_implicit *i = vocab_implicit_rules; i->op != OP_NONE; i++) {
        struct graph_test test = {.filter = i->filter, .how = GRAPH_INT, .num = i->value};
        if ((i->versions & version_bit(b)) && add_unwritten(b, i->op, &test, err) < 0)
            return -1;
    }
    return 0;
}

struct graph_test graph_test_inferred(const struct vocab_inferred *rule)
{
    return (struct graph_test){.filter = rule->filter,
                               .how = rule->text ? GRAPH_LITERAL : GRAPH_INT,
                               .str = rule->text,
                               .len = rule->text ? (uint32_t)strlen(rule->text) : 0,
                               .num = rule->value};
}

/* The operations that written rules allow, and those that have rules with a condition. */
struct causes {
    bool allowed[OP_COUNT], filtered[OP_COUNT];
};

static void find_causes(const struct graph *g, struct causes *out)
{
    for (uint32_t i = 0; i < g->nrules; i++) {
        const struct graph_rule_info *r = &g->rules[i];
        for (uint32_t k = 0; !r->implicit && !r->policy && k < r->nops; k++) {
            out->allowed[r->ops[k]] |= r->allow;
            out->filtered[r->ops[k]] |= r->filtered;
        }
    }
}

/* Inferred rules are known only once all rules are there; the compiler puts them with the implicit
 * ones. */
int build_infer(struct graph_build *b, struct bk_err *err)
{
    struct causes causes = {{0}, {0}};
    if (b->g->opt.no_implicit || b->g->opt.no_inferred)
        return 0;
    find_causes(b->g, &causes);
    for (const struct vocab_inferred *i = vocab_inferred_rules; i->op != OP_NONE; i++) {
        struct graph_test test = graph_test_inferred(i);
        bool call = i->op == OP_SYSCALL_UNIX || i->op == OP_SYSCALL_MACH;
        if (!(i->versions & version_bit(b)) || (call && b->g->opt.no_inference) ||
            !(i->filtered ? causes.filtered : causes.allowed)[i->cause])
            continue;
        if (add_unwritten(b, i->op, &test, err) < 0)
            return -1;
        b->g->rules[b->g->nrules - 1].inferred = i->cause == i->op;
    }
    return 0;
}

struct graph_build *graph_build_new(const struct graph_options *opt, struct bk_err *err)
{
    if (opt->version < 1 || opt->version > VOCAB_PROFILE_VERSIONS) {
        err_set(err, BK_E_INPUT, "unknown profile version %d", opt->version);
        err_hint(err, "write (version 1), (version 2) or (version 3)");
        return NULL;
    }
    struct graph_build *b = calloc(1, sizeof(*b));
    struct graph *g = b ? calloc(1, sizeof(*g)) : NULL;
    if (!g) {
        free(b);
        err_nomem(err);
        return NULL;
    }
    g->opt = *opt;
    pthread_mutex_init(&g->lock, NULL);
    if (g->opt.max_bytes == 0)
        g->opt.max_bytes = DEFAULT_MAX_BYTES;
    arena_init(&g->arena, g->opt.max_bytes);
    arena_reserve(&g->arena, opt->reserve);
    b->g = g;
    b->seed = (uintptr_t)b ^ (uintptr_t)g << 32;
    if (!opt->no_implicit && add_implicit(b, err) < 0) {
        graph_build_free(b);
        return NULL;
    }
    return b;
}

void graph_build_free(struct graph_build *b)
{
    if (!b)
        return;
    intern_free(b);
    free(b->given);
    graph_free(b->g);
    free(b);
}

/* ---- conditions ---- */

static int add_item(struct graph_build *b, enum graph_expr_kind kind, uint32_t value,
                    struct bk_err *err)
{
    struct graph *g = b->g;
    if (build_room(b, &g->items, &b->cap_items, g->nitems, sizeof(*g->items), err) < 0)
        return -1;
    g->items[g->nitems++] = (uint32_t)kind << ITEM_KIND_SHIFT | value;
    return 0;
}

struct frame {
    const struct graph_expr *expr;
    uint32_t next; /* operand to visit next */
};

struct frames {
    struct frame *at;
    uint32_t n, cap;
};

static int push(struct graph_build *b, struct frames *f, const struct graph_expr *expr,
                struct bk_err *err)
{
    uint32_t wanted = expr->kind == GRAPH_TEST ? 0 : expr->nkids;
    if (expr->kind > GRAPH_NOT || (expr->kind == GRAPH_NOT && wanted != 1) || wanted > ITEM_VALUE)
        return err_set(err, BK_E_BUG, "malformed condition");
    if (build_room(b, &f->at, &f->cap, f->n, sizeof(*f->at), err) < 0)
        return -1;
    f->at[f->n++] = (struct frame){.expr = expr};
    return 0;
}

bool graph_test_in_classes(const struct graph_test *t, unsigned classes)
{
    enum protected_class class = t->filter == FILTER_EXTENSION && t->how == GRAPH_LITERAL
                                     ? protected_class_of_extension(t->str, t->len)
                                     : PROTECTED_NO_CLASS;
    return class != PROTECTED_NO_CLASS && (classes >> class & 1);
}

/* Whether a test is for the user's consent to one of these commands. */
static bool is_agreed(const struct graph_options *opt, const struct graph_test *t)
{
    size_t head = strlen(command_extension);
    if (t->filter != FILTER_EXTENSION || t->how != GRAPH_LITERAL || t->len <= head ||
        memcmp(t->str, command_extension, head) != 0)
        return false;
    for (size_t i = 0; i < opt->nagreed; i++)
        if (strlen(opt->agreed[i]) == t->len - head &&
            memcmp(opt->agreed[i], t->str + head, t->len - head) == 0)
            return true;
    return false;
}

/* What becomes of a test: one that always holds is a (require-all) of nothing, one that never holds
 * a (require-any) of nothing. */
static enum graph_expr_kind kind_of_test(const struct graph_build *b, const struct graph_test *t)
{
    const struct graph_options *opt = &b->g->opt;
    if (opt->lifted && graph_test_in_classes(t, opt->lifted))
        return GRAPH_ALL;
    if (opt->nagreed && is_agreed(opt, t))
        return GRAPH_ALL;
    return opt->kept && graph_test_in_classes(t, opt->kept) ? GRAPH_ANY : GRAPH_TEST;
}

/* Operands first, each operator after its last operand. */
static int flatten_frames(struct graph_build *b, struct frames *f, struct bk_err *err)
{
    while (f->n) {
        struct frame *top = &f->at[f->n - 1];
        const struct graph_expr *e = top->expr;
        if (e->kind != GRAPH_TEST && top->next < e->nkids) {
            if (push(b, f, e->kids[top->next++], err) < 0)
                return -1;
            continue;
        }
        bool test = e->kind == GRAPH_TEST;
        enum graph_expr_kind kind = test ? kind_of_test(b, &e->test) : e->kind;
        uint32_t value = test ? 0 : e->nkids;
        if (kind == GRAPH_TEST && intern_test(b, &e->test, &value, err) < 0)
            return -1;
        if (add_item(b, kind, value, err) < 0)
            return -1;
        f->n--;
    }
    return 0;
}

static int flatten(struct graph_build *b, const struct graph_expr *when, struct bk_err *err)
{
    struct frames f = {0};
    int r = push(b, &f, when, err);
    if (r == 0)
        r = flatten_frames(b, &f, err);
    b->bytes -= (size_t)f.cap * sizeof(*f.at);
    free(f.at);
    return r;
}

/* ---- rules ---- */

static int copy_string(struct graph_build *b, const char *s, const char **out, struct bk_err *err)
{
    *out = NULL;
    if (!s)
        return 0;
    *out = arena_strndup(&b->g->arena, s, strlen(s));
    return *out ? 0 : build_exhausted(b, err);
}

static int copy_origin(struct graph_build *b, const struct graph_origin *from,
                       struct graph_origin *to, struct bk_err *err)
{
    *to = *from;
    if (from->file && b->last_file && strcmp(from->file, b->last_file) == 0)
        to->file = b->last_file;
    else if (copy_string(b, from->file, &to->file, err) < 0)
        return -1;
    if (to->file)
        b->last_file = to->file;
    return copy_string(b, from->text, &to->text, err) < 0
               ? -1
               : copy_string(b, from->raw, &to->raw, err);
}

static int copy_mods(struct graph_build *b, const struct graph_rule *rule, struct bk_err *err)
{
    struct graph *g = b->g;
    for (size_t i = 0; i < rule->nmods; i++) {
        struct graph_mod m = rule->mods[i];
        if (m.id >= MOD_COUNT)
            return err_set(err, BK_E_BUG, "modifier %u does not exist", m.id);
        if (m.id == MOD_MESSAGE_FILTER && (m.num < 1 || m.num > g->npolicies))
            return err_set(err, BK_E_BUG, "nested policy %lld does not exist", (long long)m.num);
        if (copy_string(b, rule->mods[i].str, &m.str, err) < 0 ||
            build_room(b, &g->mods, &b->cap_mods, g->nmods, sizeof(*g->mods), err) < 0)
            return -1;
        g->mods[g->nmods++] = m;
    }
    return 0;
}

static int copy_ops(struct graph_build *b, const struct graph_rule *rule,
                    struct graph_rule_info *info, struct bk_err *err)
{
    if (rule->nops == 0)
        return err_set(err, BK_E_BUG, "the rule names no operation");
    size_t most = rule->nops < OP_COUNT ? rule->nops : OP_COUNT;
    uint16_t *ops = arena_array(&b->g->arena, most, sizeof(*ops));
    if (!ops)
        return build_exhausted(b, err);
    uint64_t seen[(OP_COUNT + 63) / 64] = {0};
    for (size_t i = 0; i < rule->nops; i++) {
        uint16_t op = rule->ops[i];
        if (op >= OP_COUNT)
            return err_set(err, BK_E_BUG, "operation %u does not exist", op);
        if (!(seen[op / 64] >> (op % 64) & 1))
            ops[info->nops++] = op;
        seen[op / 64] |= (uint64_t)1 << (op % 64);
    }
    info->ops = ops;
    return 0;
}

int build_rule_add(struct graph_build *b, const struct graph_rule *rule, struct bk_err *err)
{
    struct graph *g = b->g;
    struct graph_rule_info info = {
        .allow = rule->allow, .filtered = rule->when != NULL, .policy = b->policy};
    struct rule_body body = {.item = g->nitems,
                             .mod = g->nmods,
                             .flags = (rule->flags & ~(uint32_t)VOCAB_FLAG_DENY) |
                                      (rule->allow ? 0 : VOCAB_FLAG_DENY),
                             .decision = GRAPH_NONE,
                             .list = GRAPH_NONE};
    if (copy_ops(b, rule, &info, err) < 0 || copy_origin(b, &rule->origin, &info.origin, err) < 0 ||
        copy_mods(b, rule, err) < 0 || (rule->when && flatten(b, rule->when, err) < 0))
        return -1;
    body.nitems = g->nitems - body.item;
    body.nmods = g->nmods - body.mod;
    if (build_room(b, &g->rules, &b->cap_rules, g->nrules, sizeof(*g->rules), err) < 0 ||
        build_room(b, &g->bodies, &b->cap_bodies, g->nrules, sizeof(*g->bodies), err) < 0)
        return -1;
    g->rules[g->nrules] = info;
    g->bodies[g->nrules] = body;
    g->nrules++;
    return 0;
}

int graph_build_rule(struct graph_build *b, const struct graph_rule *rule, struct bk_err *err)
{
    /* On failure, drop what this rule has already added, or it would become part of the next
     * one. */
    uint32_t nitems = b->g->nitems, nmods = b->g->nmods;
    if (build_rule_add(b, rule, err) == 0)
        return 0;
    b->g->nitems = nitems;
    b->g->nmods = nmods;
    return -1;
}

int graph_build_policy_begin(struct graph_build *b, struct bk_err *err)
{
    if (b->policy)
        return err_set(err, BK_E_INPUT, "a message filter inside a message filter");
    if (b->g->npolicies >= UINT16_MAX)
        return err_set(err, BK_E_LIMIT, "more than %d message filters", UINT16_MAX);
    b->policy = ++b->g->npolicies;
    return 0;
}

int graph_build_policy_end(struct graph_build *b, int64_t *policy, struct bk_err *err)
{
    if (!b->policy)
        return err_set(err, BK_E_BUG, "no message filter to end");
    *policy = b->policy;
    b->policy = 0;
    return 0;
}

int graph_build_note(struct graph_build *b, const char *key, const char *value, struct bk_err *err)
{
    struct note *n = arena_new(&b->g->arena, struct note);
    if (!n)
        return build_exhausted(b, err);
    if (copy_string(b, key, &n->key, err) < 0 || copy_string(b, value, &n->value, err) < 0)
        return -1;
    n->next = b->g->notes;
    b->g->notes = n;
    return 0;
}
