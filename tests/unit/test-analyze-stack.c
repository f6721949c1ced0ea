/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Policy stacks: a deny in any layer wins, whatever the other layers decide and in any order. An
 * extension applies to what it was issued for, and only filters that test for it see it.
 */

#include "graph-maker.h"
#include "analyze/stack.h"
#include "graph/build.h"
#include "graph/eval.h"
#include "tap.h"

static struct graph_stack_verdict ask_stack(const struct graph_stack *s, enum vocab_op op,
                                            const char *path)
{
    struct graph_fact f = {
        .filter = FILTER_PATH, .str = path, .len = path ? (uint32_t)strlen(path) : 0};
    struct graph_query q = {.op = (uint16_t)op, .facts = &f, .nfacts = path ? 1 : 0};
    struct graph_fact facts[16];
    struct graph_query asked = graph_stack_query(s, &q, facts);
    return graph_stack_eval(s, &asked);
}

static struct graph_layer layer(const char *role, struct graph *g)
{
    return (struct graph_layer){
        .role = role, .name = role, .graph = g, .cache = graph_cache_new(g)};
}

static void drop(struct graph_layer *l)
{
    graph_cache_free(l->cache);
    graph_free((struct graph *)l->graph);
}

static const struct graph_expr *ext(const char *kind)
{
    return mk_str(FILTER_EXTENSION, GRAPH_LITERAL, kind);
}

/* The platform allows everything except /System; the profile allows /home with an extension. */
static void make_layers(struct graph_layer layers[2], bool fold)
{
    struct graph_options opt = {.version = 1, .no_implicit = true, .fold_case = fold};
    struct graph_build *b = start(1);
    rule_at(b, 1, true, OP_DEFAULT, NULL);
    rule_at(b, 2, false, OP_FILE_WRITE, sub("/System"));
    layers[0] = layer("platform", finish(b));
    b = graph_build_new(&opt, NULL);
    rule_at(b, 1, false, OP_DEFAULT, NULL);
    rule_at(b, 2, true, OP_FILE_READ, sub("/usr"));
    rule_at(b, 3, true, OP_FILE_WRITE, ext("rw"));
    rule_at(b, 4, false, OP_FILE_WRITE, ext("locked"));
    layers[1] = layer("profile", finish(b));
}

static void check_rows(void)
{
    static const struct {
        struct graph_extension held[2];
        uint16_t op;
        const char *path;
        bool allow;
        size_t layer;
    } rows[] = {
        {{{0}}, OP_FILE_READ_DATA, "/usr/x", true, 1},
        {{{0}}, OP_FILE_READ_DATA, "/etc/x", false, 1},
        {{{0}}, OP_FILE_WRITE_DATA, "/System/x", false, 0},
        {{{0}}, OP_PROCESS_FORK, NULL, false, 1},
        {{{"rw", "/home"}}, OP_FILE_WRITE_DATA, "/home", true, 1},
        {{{"rw", "/home/"}}, OP_FILE_WRITE_DATA, "/home/x", true, 1},
        {{{"rw", "/home"}}, OP_FILE_WRITE_DATA, "/homer", false, 1},
        {{{"rw", "/home"}}, OP_FILE_WRITE_DATA, "/Home/x", false, 1},
        {{{"rw", "/"}}, OP_FILE_WRITE_DATA, "/anything", true, 1},
        {{{"rw", "/"}}, OP_FILE_WRITE_DATA, "/System/x", false, 0},
        {{{"rw", NULL}}, OP_FILE_WRITE_DATA, "/x", true, 1},
        {{{"rw", "/home"}}, OP_FILE_READ_DATA, "/home/x", false, 1}, /* no filter tests for it */
        {{{"ro", "/home"}}, OP_FILE_WRITE_DATA, "/home/x", false, 1},
        {{{"rw", "/home"}, {"locked", "/home/x"}}, OP_FILE_WRITE_DATA, "/home/x", false, 1},
        {{{"rw", "/home"}, {"locked", "/home/x"}}, OP_FILE_WRITE_DATA, "/home/y", true, 1},
        {{{"rw", "/home"}}, OP_FILE_WRITE_DATA, NULL, false, 1}, /* of a fact that is not given */
    };
    struct graph_layer layers[2];
    make_layers(layers, false);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct graph_stack s = {.layers = layers, .nlayers = 2, .extensions = rows[i].held};
        while (s.nextensions < 2 && rows[i].held[s.nextensions].kind)
            s.nextensions++;
        struct graph_stack_verdict v = ask_stack(&s, (enum vocab_op)rows[i].op, rows[i].path);
        is_int(v.verdict.allow, rows[i].allow, "row %zu: %s", i, rows[i].path);
        is_int((long)v.layer, (long)rows[i].layer, "row %zu: the layer that decides", i);
    }
    drop(&layers[0]);
    drop(&layers[1]);
}

static void check_case(void)
{
    struct graph_extension held = {"rw", "/Home"};
    struct graph_layer layers[2];
    make_layers(layers, true);
    struct graph_stack s = {.layers = layers, .nlayers = 2, .extensions = &held, .nextensions = 1};
    ok(ask_stack(&s, OP_FILE_WRITE_DATA, "/home/X").verdict.allow,
       "where case does not count, it does not for extensions");
    drop(&layers[0]);
    drop(&layers[1]);
    s = (struct graph_stack){0};
    ok(!ask_stack(&s, OP_FILE_READ_DATA, "/x").verdict.allow, "without layers all is denied");
}

/* Stacks of random policies: the verdict is the conjunction of theirs. */
static void check_random(void)
{
    static const uint16_t ops[] = {OP_FILE_READ_DATA, OP_FILE_READ, OP_FILE, OP_DEFAULT};
    unsigned wrong = 0, mixed = 0;
    for (int round = 0; round < 200; round++) {
        struct graph_layer layers[3];
        for (int l = 0; l < 3; l++) {
            struct graph_build *b = start(1);
            for (unsigned i = 0; i < 8; i++)
                rule_at(b, i + 1, rnd(3) > 0, (enum vocab_op)ops[rnd(4)],
                        rnd(4) ? random_expr(2) : NULL);
            layers[l] = layer("layer", finish(b));
        }
        struct graph_stack s = {.layers = layers, .nlayers = 3};
        for (int k = 0; k < 50; k++) {
            const char *path = random_path(true);
            unsigned allowing = 0, first = 3;
            for (unsigned l = 0; l < 3; l++) {
                bool allow = ask(layers[l].graph, OP_FILE_READ_DATA, path).allow;
                allowing += allow;
                first = !allow && first == 3 ? l : first;
            }
            struct graph_stack_verdict v = ask_stack(&s, OP_FILE_READ_DATA, path);
            mixed += allowing > 0 && allowing < 3;
            wrong += v.verdict.allow != (allowing == 3) || (first < 3 && v.layer != first);
        }
        for (int l = 0; l < 3; l++)
            drop(&layers[l]);
        arena_free(&maker_arena);
    }
    ok(mixed > 500, "layers disagree often enough (%u times)", mixed);
    is_int(wrong, 0, "a deny anywhere wins, and the first that denies is named");
}

int main(void)
{
    check_rows();
    check_case();
    check_random();
    return done_testing();
}
