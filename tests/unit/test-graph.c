/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Building: precedence one rule at a time, sharing, and what a graph rejects. */

#include "graph-maker.h"
#include "graph/build.h"
#include "graph/eval.h"
#include "tap.h"

/* ---- precedence ---- */

static void last_filtered_rule_wins(void)
{
    struct graph_build *b = start(1);
    rule_at(b, 1, false, OP_DEFAULT, NULL);
    rule_at(b, 2, true, OP_FILE_READ_DATA, sub("/a"));
    rule_at(b, 3, false, OP_FILE_READ_DATA, sub("/a/b"));
    rule_at(b, 4, true, OP_FILE_READ_DATA, lit("/a/b/c"));
    struct graph *g = finish(b);
    is_int(who(g, OP_FILE_READ_DATA, "/a/x"), 2, "only the first rule matches");
    is_int(who(g, OP_FILE_READ_DATA, "/a/b/x"), -3, "a later deny is inside an allow");
    is_int(who(g, OP_FILE_READ_DATA, "/a/b/c"), 4, "a still later allow is inside the deny");
    is_int(who(g, OP_FILE_READ_DATA, "/z"), -1, "nothing matches: default");
    graph_free(g);

    b = start(1);
    rule_at(b, 1, true, OP_FILE_READ_DATA, lit("/a/b/c"));
    rule_at(b, 2, false, OP_FILE_READ_DATA, sub("/a"));
    g = finish(b);
    is_int(who(g, OP_FILE_READ_DATA, "/a/b/c"), -2, "the wider rule wins when it comes later");
    graph_free(g);
}

static void unfiltered_replaces_the_tail_only(void)
{
    struct graph_build *b = start(1);
    rule_at(b, 1, true, OP_SYSTEM_FCNTL, num(FILTER_FCNTL_COMMAND, 0));
    rule_at(b, 2, true, OP_SYSTEM_FCNTL, num(FILTER_FCNTL_COMMAND, 1024));
    rule_at(b, 3, false, OP_SYSTEM_FCNTL, NULL);
    struct graph *g = finish(b);
    struct graph_cache *c = graph_cache_new(g);
    const struct {
        int64_t command;
        int line;
    } rows[] = {{0, 1}, {1024, 2}, {1, -3}, {-1, -3}};
    for (size_t i = 0; i < 4; i++) {
        struct graph_fact f = {.filter = FILTER_FCNTL_COMMAND, .num = rows[i].command};
        struct graph_query q = {.op = OP_SYSTEM_FCNTL, .facts = &f, .nfacts = 1};
        struct graph_verdict v = graph_eval(g, c, &q);
        int line = (int)graph_rule_at(g, v.rule)->origin.line;
        is_int(v.allow ? line : -line, rows[i].line, "fcntl %d after an unfiltered deny",
               (int)rows[i].command);
    }
    graph_cache_free(c);
    graph_free(g);

    b = start(1);
    rule_at(b, 1, true, OP_FILE_READ_DATA, NULL);
    rule_at(b, 2, false, OP_FILE_READ_DATA, NULL);
    rule_at(b, 3, true, OP_FILE_READ_METADATA, NULL);
    g = finish(b);
    is_int(who(g, OP_FILE_READ_DATA, "/x"), -2, "the last unfiltered rule is the tail");
    is_int(who(g, OP_FILE_READ_METADATA, "/x"), 3, "an operation has a tail of its own");
    graph_free(g);
}

static void children_come_before_parents(void)
{
    struct graph_build *b = start(1);
    rule_at(b, 1, true, OP_FILE_READ_DATA, sub("/a"));
    rule_at(b, 2, false, OP_FILE_READ, sub("/a"));
    rule_at(b, 3, true, OP_FILE, sub("/b"));
    rule_at(b, 4, false, OP_DEFAULT, NULL);
    struct graph *g = finish(b);
    is_int(who(g, OP_FILE_READ_DATA, "/a"), 1, "the child's rule, though the parent's is later");
    is_int(who(g, OP_FILE_READ_METADATA, "/a"), -2, "a child without rules uses the parent's");
    is_int(who(g, OP_FILE_READ_DATA, "/b"), 3, "through two levels");
    is_int(who(g, OP_FILE_WRITE_DATA, "/b/c"), 3, "file* covers writing");
    is_int(who(g, OP_FILE_READ_DATA, "/c"), -4, "through to default");
    graph_free(g);

    b = start(1);
    rule_at(b, 1, false, OP_FILE_READ_DATA, NULL);
    rule_at(b, 2, true, OP_FILE_READ, sub("/a"));
    g = finish(b);
    is_int(who(g, OP_FILE_READ_DATA, "/a"), -1, "a tail of its own cuts the parent off");
    is_int(who(g, OP_FILE_READ_METADATA, "/a"), 2, "but not for its siblings");
    graph_free(g);

    b = start(1);
    rule_at(b, 1, true, OP_DEFAULT, sub("/a"));
    g = finish(b);
    is_int(who(g, OP_FILE_READ_DATA, "/a"), 1, "a filtered default rule works like any other");
    graph_free(g);
}

/* Without a rule for default; versions differ in what they leave allowed. */
static void built_in_tails(void)
{
    struct graph *g = finish(start(1));
    struct graph_verdict v = ask(g, OP_FILE_READ_DATA, "/x");
    ok(!v.allow && v.flags == (VOCAB_FLAG_DENY | VOCAB_FLAG_REPORT), "no default: deny, reported");
    ok(graph_rule_at(g, v.rule)->is_default, "by a rule that nobody wrote");
    v = ask(g, OP_FILE_MAP_EXECUTABLE, "/x");
    ok(v.allow && graph_rule_at(g, v.rule)->is_default, "version 1 allows file-map-executable");
    graph_free(g);

    g = finish(start(2));
    ok(!ask(g, OP_FILE_MAP_EXECUTABLE, "/x").allow, "version 2 does not");
    graph_free(g);

    struct graph_build *b = start(1);
    rule_at(b, 1, false, OP_DEFAULT, NULL);
    g = finish(b);
    ok(ask(g, OP_FILE_MAP_EXECUTABLE, "/x").allow, "(deny default) does not reach it");
    graph_free(g);

    b = start(1);
    rule_at(b, 1, true, OP_DEFAULT, NULL);
    g = finish(b);
    ok(ask(g, OP_FILE_READ_DATA, "/x").allow, "(allow default) reaches most");
    ok(!ask(g, OP_FILE_WRITE_SETUGID, "/x").allow, "but not file-write-setugid");
    graph_free(g);

    b = start(1);
    rule_at(b, 1, false, OP_FILE_MAP_EXECUTABLE, NULL);
    rule_at(b, 2, true, OP_FILE_MAP_EXECUTABLE, sub("/usr"));
    g = finish(b);
    is_int(who(g, OP_FILE_MAP_EXECUTABLE, "/x"), -1, "an unfiltered rule replaces a built-in tail");
    is_int(who(g, OP_FILE_MAP_EXECUTABLE, "/usr/lib"), 2, "and filtered ones stand before it");
    graph_free(g);
}

static struct graph_verdict signal_to(const struct graph *g, int64_t target)
{
    struct graph_cache *c = graph_cache_new(g);
    struct graph_fact f = {.filter = FILTER_TARGET, .num = target};
    struct graph_query q = {.op = OP_SIGNAL, .facts = &f, .nfacts = 1};
    struct graph_verdict v = graph_eval(g, c, &q);
    graph_cache_free(c);
    return v;
}

static void implicit_rules(void)
{
    struct graph_options opt = {.version = 1};
    struct graph *g = finish(graph_build_new(&opt, NULL));
    struct graph_verdict v = signal_to(g, 1);
    ok(v.allow && graph_rule_at(g, v.rule)->implicit, "signal to self needs no rule");
    ok(!signal_to(g, 3).allow, "signal to others does");
    graph_free(g);

    struct graph_build *b = graph_build_new(&opt, NULL);
    rule_at(b, 1, false, OP_SIGNAL, num(FILTER_TARGET, 1));
    g = finish(b);
    ok(!signal_to(g, 1).allow, "any written rule comes before an implicit one");
    graph_free(g);

    opt.no_implicit = true;
    g = finish(graph_build_new(&opt, NULL));
    ok(!signal_to(g, 1).allow, "NO_IMPLICIT_RULES turns them off");
    is_int(graph_rule_count(g) > 0 && !graph_rule_at(g, 0)->implicit, 1, "and leaves none");
    graph_free(g);
}

/* ---- conditions ---- */

static bool holds(const struct graph_expr *when, const char *path)
{
    struct graph_build *b = start(1);
    rule_at(b, 1, true, OP_FILE_READ_DATA, when);
    struct graph *g = finish(b);
    bool allow = ask(g, OP_FILE_READ_DATA, path).allow;
    graph_free(g);
    return allow;
}

static void conditions(void)
{
    const struct graph_expr *a = sub("/a"), *b = sub("/a/b"), *c = lit("/c");
    ok(holds(any(a, c), "/c") && holds(any(a, c), "/a/x") && !holds(any(a, c), "/d"), "any");
    ok(holds(all(a, b), "/a/b") && !holds(all(a, b), "/a/c") && !holds(all(a, b), "/d"), "all");
    ok(!holds(not_(a), "/a") && holds(not_(a), "/d"), "not");
    ok(holds(all(a, not_(b)), "/a/c") && !holds(all(a, not_(b)), "/a/b/c"), "all with not");
    ok(holds(not_(any(b, c)), "/a") && !holds(not_(any(b, c)), "/c"), "not of any");
    ok(holds(not_(all(a, b)), "/a/c") && !holds(not_(all(a, b)), "/a/b"), "not of all");
    ok(!holds(nothing(), "/a"), "any of nothing never holds");
    ok(holds(always(), "/a"), "all of nothing always holds");
    ok(holds(not_(nothing()), "/a") && !holds(not_(always()), "/a"), "and their negations");
    ok(holds(any(all(c, a), all(a, not_(not_(b)))), "/a/b/z"), "nested");
    ok(holds(all(any(c, a), any(b, c)), "/c") && !holds(all(any(c, a), any(b, c)), "/a"),
       "alternatives within a conjunction");
}

static void deep_nesting(void)
{
    enum { DEPTH = 100001 };
    const struct graph_expr *e = sub("/a");
    for (int i = 0; i < DEPTH; i++)
        e = not_(e);
    ok(!holds(e, "/a") && holds(e, "/b"), "an odd number of nested require-not is one");
    const struct graph_expr *f = sub("/a");
    for (int i = 0; i < DEPTH; i++)
        f = i % 2 ? any(f) : all(f);
    ok(holds(f, "/a") && !holds(f, "/b"), "nested require-any and require-all of one");
    const struct graph_expr *h = sub("/a");
    for (int i = 0; i < 50000; i++)
        h = i % 2 ? any(lit("/n"), h) : all(pre("/"), h);
    ok(holds(h, "/a/x") && holds(h, "/n") && !holds(h, "/b"), "50,000 levels of two operands");
}

/* ---- sharing ---- */

static void hash_consing(void)
{
    /* Two decisions (allow by rule 1, the missing default), the built-in allow and deny of other
     * operations, and one test node. */
    struct graph_build *b = start(1);
    rule_at(b, 1, true, OP_FILE_READ_DATA, sub("/a"));
    struct graph *g = finish(b);
    uint32_t base = graph_node_count(g);
    is_int(base, 5, "one rule: a node, its decision and three built-in ones");
    is_int(graph_test_count(g), 1, "one test");
    graph_free(g);

    b = start(1);
    rule_at(b, 1, true, OP_FILE_READ_DATA, any(sub("/a"), sub("/a"), sub("/a")));
    g = finish(b);
    is_int(graph_test_count(g), 1, "the same test written three times is one");
    graph_free(g);

    uint16_t ops[] = {OP_FILE_READ_DATA, OP_FILE_READ_METADATA, OP_FILE_READ_DATA};
    const struct graph_expr *when = all(sub("/a"), num(FILTER_VNODE_TYPE, 1));
    struct graph_rule r = {.ops = ops, .nops = 3, .allow = true, .when = when};
    b = start(1);
    ok(graph_build_rule(b, &r, NULL) == 0, "a rule for two operations");
    g = finish(b);
    is_int(graph_node_count(g), base + 1, "shares its nodes between them");
    is_int(graph_entry(g, OP_FILE_READ_DATA), graph_entry(g, OP_FILE_READ_METADATA),
           "and both have one entry");
    is_int(graph_rule_at(g, 0)->nops, 2, "an operation named twice counts once");
    graph_free(g);

    b = start(1);
    rule_at(b, 1, true, OP_FILE_READ_DATA, any(sub("/a"), always()));
    g = finish(b);
    is_int(graph_node_count(g), base - 1, "a test whose outcome is the same either way is no node");
    graph_free(g);
}

static void edges_lead_down(void)
{
    struct graph_build *b = start(1);
    for (unsigned i = 1; i <= 40; i++) {
        char *path = arena_alloc(&maker_arena, 16);
        snprintf(path, 16, "/p%u", i * 7919 % 100);
        enum vocab_op op = i % 3 == 0 ? OP_FILE_READ : i % 3 == 1 ? OP_FILE : OP_FILE_READ_DATA;
        rule_at(b, i, i % 2, op, i % 5 ? sub(path) : all(sub(path), not_(lit(path))));
    }
    struct graph *g = finish(b);
    bool down = true;
    for (uint32_t i = 0; i < graph_node_count(g); i++) {
        const struct graph_node *n = graph_node_at(g, i);
        if (n->kind == GRAPH_NODE_FILTER)
            down = down && n->match < i && n->unmatch < i;
    }
    ok(down, "every edge leads to a smaller index");
    ok(graph_node_at(g, graph_node_count(g)) == NULL, "an index out of range has no node");
    graph_free(g);
}

static void uniform(void)
{
    struct graph_build *b = start(1);
    rule_at(b, 1, true, OP_FILE_READ_DATA, sub("/a"));
    rule_at(b, 2, true, OP_FILE_READ_DATA, NULL);
    rule_at(b, 3, false, OP_FILE_READ_METADATA, sub("/a"));
    rule_at(b, 4, true, OP_FILE_READ_METADATA, NULL);
    rule_at(b, 5, true, OP_FILE_WRITE_DATA, NULL);
    struct graph *g = finish(b);
    uint32_t node = 0;
    ok(graph_uniform(g, OP_FILE_READ_DATA, &node) && graph_node_at(g, node)->allow,
       "allowed for every argument");
    ok(!graph_uniform(g, OP_FILE_READ_METADATA, &node), "not when one rule denies");
    ok(graph_uniform(g, OP_FILE_WRITE_DATA, &node) && graph_node_at(g, node)->rule < 5,
       "an unfiltered rule");
    ok(!graph_uniform(g, OP_COUNT, &node), "an operation out of range is not uniform");
    graph_free(g);

    struct graph_mod m1 = {.id = MOD_ERRNO, .num = 1}, m2 = {.id = MOD_ERRNO, .num = 2};
    uint16_t op = OP_FILE_READ_DATA;
    struct graph_rule r1 = {.ops = &op, .nops = 1, .mods = &m1, .nmods = 1};
    struct graph_rule r2 = {.ops = &op, .nops = 1, .mods = &m2, .nmods = 1, .when = sub("/a")};
    b = start(1);
    ok(graph_build_rule(b, &r1, NULL) == 0 && graph_build_rule(b, &r2, NULL) == 0, "with errno");
    g = finish(b);
    ok(!graph_uniform(g, OP_FILE_READ_DATA, &node), "modifiers that differ are not uniform");
    struct graph_verdict v = ask(g, OP_FILE_READ_DATA, "/a");
    is_int(graph_mod_at(g, graph_node_at(g, v.node)->mods)->num, 2,
           "the decision has its modifier");
    graph_free(g);
}

/* ---- the rest ---- */

static void policies_and_notes(void)
{
    struct graph_build *b = start(1);
    int64_t policy = 0;
    rule_at(b, 1, true, OP_MACH_LOOKUP, NULL);
    ok(graph_build_policy_begin(b, NULL) == 0, "a nested policy begins");
    ok(graph_build_policy_begin(b, NULL) < 0, "but not inside another");
    rule_at(b, 2, true, OP_MACH_MESSAGE_SEND, num(FILTER_MESSAGE_NUMBER, 7));
    ok(graph_build_policy_end(b, &policy, NULL) == 0 && policy == 1, "it is number 1");
    ok(graph_build_policy_end(b, &policy, NULL) < 0, "it ends once");
    ok(graph_build_note(b, "debug", "deny", NULL) == 0, "a note");
    struct graph *g = finish(b);
    is_int(graph_policy_count(g), 1, "one nested policy");
    is_str(graph_note(g, "debug"), "deny", "the note is there");
    ok(graph_note(g, "trace") == NULL, "another is not");
    struct graph_cache *c = graph_cache_new(g);
    struct graph_fact f = {.filter = FILTER_MESSAGE_NUMBER, .num = 7};
    struct graph_query q = {.op = OP_MACH_MESSAGE_SEND, .facts = &f, .nfacts = 1, .policy = 1};
    ok(graph_eval(g, c, &q).allow, "its rule applies inside it");
    q.policy = 0;
    is_int(graph_rule_at(g, graph_eval(g, c, &q).rule)->is_default, 1, "and not outside");
    q.policy = 2;
    ok(!graph_eval(g, c, &q).allow, "a policy that does not exist denies");
    q = (struct graph_query){.op = OP_COUNT};
    ok(!graph_eval(g, c, &q).allow, "an operation that does not exist is denied");
    graph_cache_free(c);
    graph_free(g);

    b = start(1);
    ok(graph_build_policy_begin(b, NULL) == 0, "a policy that is not ended");
    struct bk_err err;
    ok(graph_freeze(b, &err) == NULL && err.code == BK_E_BUG, "cannot be frozen");
}

static void refusals(void)
{
    struct bk_err err;
    struct graph_options opt = {.version = 4};
    ok(graph_build_new(&opt, &err) == NULL && err.code == BK_E_INPUT, "version 4 does not exist");

    struct graph_build *b = start(1);
    uint16_t op = OP_COUNT;
    struct graph_rule r = {.ops = &op, .nops = 1, .allow = true};
    ok(graph_build_rule(b, &r, &err) < 0, "nor does an operation past the last");
    r.nops = 0;
    ok(graph_build_rule(b, &r, &err) < 0, "a rule names an operation");
    struct graph_expr bad = {.kind = GRAPH_NOT};
    op = OP_FILE_READ_DATA;
    r = (struct graph_rule){.ops = &op, .nops = 1, .when = &bad};
    ok(graph_build_rule(b, &r, &err) < 0, "NOT has one operand");
    rule_at(b, 1, true, OP_FILE_READ_DATA, sub("/a"));
    struct graph *g = finish(b);
    is_int(who(g, OP_FILE_READ_DATA, "/a"), 1, "refused rules leave nothing behind");
    graph_free(g);

    b = start(1);
    rule_at(b, 12, true, OP_FILE_READ_DATA, rex("^/a("));
    memset(&err, 0, sizeof(err));
    ok(graph_freeze(b, &err) == NULL && err.code == BK_E_INPUT, "a broken regex is an error");
    is_str(err.file, "t.sb", "in the file of its rule");
    is_int(err.line, 12, "at its line");
}

static void budgets(void)
{
    struct bk_err err = {0};
    struct graph_options opt = {.version = 1, .max_bytes = 1 << 20};
    struct graph_build *b = graph_build_new(&opt, &err);
    /* Forty levels of two references to the same operand represent 2^40 operands. */
    const struct graph_expr *e = sub("/a");
    for (int i = 0; i < 40; i++)
        e = any(e, e);
    uint16_t op = OP_FILE_READ_DATA;
    struct graph_rule r = {.ops = &op, .nops = 1, .allow = true, .when = e};
    ok(graph_build_rule(b, &r, &err) < 0 && err.code == BK_E_LIMIT, "shared operands multiply");
    graph_build_free(b);

    b = graph_build_new(&opt, &err);
    int refused = 0;
    for (unsigned i = 0; i < 100000 && !refused; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/p/%u", i);
        struct graph_expr t = {.kind = GRAPH_TEST,
                               .test = {.filter = FILTER_PATH,
                                        .how = GRAPH_LITERAL,
                                        .str = path,
                                        .len = (uint32_t)strlen(path)}};
        r.when = &t;
        refused = graph_build_rule(b, &r, &err) < 0;
    }
    ok(refused && err.code == BK_E_LIMIT, "a budget of 1 MiB ends 100,000 rules");
    graph_build_free(b);
    graph_build_free(NULL);
    graph_free(NULL);
}

int main(void)
{
    last_filtered_rule_wins();
    unfiltered_replaces_the_tail_only();
    children_come_before_parents();
    built_in_tails();
    implicit_rules();
    conditions();
    deep_nesting();
    hash_consing();
    edges_lead_down();
    uniform();
    policies_and_notes();
    refusals();
    budgets();
    arena_free(&maker_arena);
    return done_testing();
}
