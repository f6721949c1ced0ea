/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Catalogs of random policies: written back as rules, one per clause, they allow exactly what the
 * policy allows, which graph_diff() proves; and for stacks of such policies, what all allow.
 */

#include "analyze/analyze.h"
#include "graph-maker.h"
#include "analyze/catalog.h"
#include "graph/build.h"
#include "tap.h"

static const struct graph_expr *join(enum graph_expr_kind kind, uint32_t n,
                                     const struct graph_expr *const *kids)
{
    return mk_list(kind, n, kids);
}

/* NULL: always. */
static const struct graph_expr *condition_of(const struct catalog_clause *c)
{
    const struct graph_expr *parts[3];
    size_t n = 0;
    if (c->nany)
        parts[n++] = join(GRAPH_ANY, c->nany, c->any);
    if (c->nall)
        parts[n++] = join(GRAPH_ALL, c->nall, c->all);
    if (c->nexcept)
        parts[n++] = not_(join(GRAPH_ANY, c->nexcept, c->except));
    return n ? mk_list(GRAPH_ALL, n, parts) : NULL;
}

static void add_rule(struct graph_build *b, const struct catalog_entry *e, bool allow,
                     const struct graph_expr *when)
{
    struct bk_err err;
    struct graph_rule r = {.ops = e->ops,
                           .nops = e->nops,
                           .allow = allow,
                           .flags = allow ? 0 : VOCAB_FLAG_REPORT,
                           .when = when,
                           .origin = {.file = "c.sb", .line = 1}};
    if (graph_build_rule(b, &r, &err) < 0) {
        printf("Bail out! %s\n", err.msg);
        exit(1);
    }
}

static struct graph *as_rules(const struct catalog *c)
{
    struct graph_build *b = start(1);
    for (uint32_t i = 0; i < c->n; i++) {
        add_rule(b, &c->entries[i], false, NULL);
        for (uint32_t k = 0; k < c->entries[i].nclauses; k++)
            add_rule(b, &c->entries[i], true, condition_of(&c->entries[i].clauses[k]));
    }
    return finish(b);
}

static struct graph *random_policy(unsigned rules)
{
    static const uint16_t ops[] = {OP_FILE_READ_DATA, OP_FILE_READ, OP_FILE, OP_DEFAULT};
    struct graph_build *b = start(1);
    for (unsigned i = 0; i < rules; i++)
        rule_at(b, i + 1, rnd(2), (enum vocab_op)ops[rnd(4)], rnd(8) ? random_expr(3) : NULL);
    return finish(b);
}

static void ignore(void *arg, enum graph_equality how, const struct graph_difference *d)
{
    (void)arg;
    (void)how;
    (void)d;
}

static bool allows_the_same(const struct graph *a, const struct graph *b)
{
    struct graph_diff_how how = {.verdicts = true};
    enum graph_equality out = GRAPH_UNDECIDED;
    struct bk_err err;
    return graph_diff(a, b, &how, ignore, NULL, &out, &err) == 0 && out == GRAPH_EQUAL;
}

static void check_exact(void)
{
    unsigned wrong = 0, clauses = 0, extensions = 0, dropped = 0, seen = 0;
    for (int round = 0; round < 300; round++) {
        struct arena arena = {.limit = 64 << 20};
        struct bk_err err;
        struct catalog c;
        struct graph *g = random_policy(10);
        const struct graph *layer = g;
        if (catalog_make(&layer, 1, NULL, &arena, &c, &err) < 0) {
            ok(false, "round %d: %s", round, err.msg);
            return;
        }
        struct graph *again = as_rules(&c);
        wrong += !allows_the_same(g, again);
        for (uint32_t i = 0; i < c.n; i++)
            for (uint32_t k = 0; k < c.entries[i].nclauses; k++) {
                clauses++;
                extensions += c.entries[i].clauses[k].extension;
            }
        graph_free(again);
        /* one clause fewer makes a difference, unless others cover it */
        for (uint32_t i = 0; i < c.n; i++)
            if (c.entries[i].nclauses == 1 && c.entries[i].clauses[0].nany) {
                ((struct catalog_entry *)c.entries)[i].nclauses = 0;
                again = as_rules(&c);
                dropped += !allows_the_same(g, again);
                seen++;
                graph_free(again);
                break;
            }
        graph_free(g);
        arena_free(&arena);
        arena_free(&maker_arena);
    }
    is_int(wrong, 0, "every catalog says what is allowed, no less and no more");
    ok(clauses > 1000 && extensions > 50, "in %u clauses, %u with an extension", clauses,
       extensions);
    ok(seen > 20 && dropped > seen / 2, "a clause that is left out is missed: %u of %u", dropped,
       seen);
}

static void check_layers(void)
{
    unsigned wrong = 0, allowed = 0;
    for (int round = 0; round < 100; round++) {
        struct arena arena = {.limit = 64 << 20};
        struct bk_err err;
        struct catalog c;
        struct graph *layers[2] = {random_policy(6), random_policy(6)};
        if (catalog_make((const struct graph *const *)layers, 2, NULL, &arena, &c, &err) < 0) {
            ok(false, "round %d: %s", round, err.msg);
            return;
        }
        struct graph *again = as_rules(&c);
        for (int k = 0; k < 60; k++) {
            const char *path = random_path(true);
            bool all = ask(layers[0], OP_FILE_READ_DATA, path).allow &&
                       ask(layers[1], OP_FILE_READ_DATA, path).allow;
            wrong += ask(again, OP_FILE_READ_DATA, path).allow != all;
            allowed += all;
        }
        graph_free(again);
        graph_free(layers[0]);
        graph_free(layers[1]);
        arena_free(&arena);
        arena_free(&maker_arena);
    }
    ok(allowed > 100, "layers agree often enough (%u times)", allowed);
    is_int(wrong, 0, "a stack's catalog says what all layers allow");
}

static void check_families(void)
{
    is_int(catalog_family_of(OP_FILE_READ_XATTR), CATALOG_READ, "below file-read*");
    is_int(catalog_family_of(OP_FILE_WRITE_UNLINK), CATALOG_WRITE, "below file-write*");
    is_int(catalog_family_of(OP_FILE_IOCTL), CATALOG_FILES, "other than these");
    is_int(catalog_family_of(OP_FILE_ISSUE_EXTENSION), CATALOG_ISSUE, "a row of its own");
    is_int(catalog_family_of(OP_NETWORK_OUTBOUND), CATALOG_REACH, "outwards");
    is_int(catalog_family_of(OP_NETWORK_BIND), CATALOG_LISTEN, "inwards");
    is_int(catalog_family_of(OP_PROCESS_EXEC_INTERPRETER), CATALOG_RUN, "below process-exec*");
    is_int(catalog_family_of(OP_QTN_USER), CATALOG_OTHER, "what no row reaches");
    is_int(catalog_family_of(OP_DEFAULT), CATALOG_OTHER, "the rest");
}

int main(void)
{
    check_families();
    check_exact();
    check_layers();
    return done_testing();
}
