/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Decompiling: natural output for small profiles; every test of every filter reads back; and random
 * graphs, such as a compiled profile may contain, decide alike after decompiling and compiling
 * again, for every combination of their tests.
 */

#include <stdlib.h>

#include "analyze/analyze.h"
#include "sbpl-maker.h"
#include "analyze/decompile.h"
#include "graph/command.h"
#include "graph/build.h"
#include "graph/eval.h"

/* The text without its comments and blank lines. */
static void decompiled(const struct graph *g, const bool *ops, struct buf *out)
{
    struct bk_err err;
    OWN(buf) struct buf text = {0};
    if (sbpl_decompile(g, &(struct decompile_options){.ops = ops}, &text, &err) < 0) {
        buf_fmt(out, "error: %s", err.msg);
        return;
    }
    for (const char *p = text.s, *end; p && *p; p = *end ? end + 1 : end) {
        end = p + strcspn(p, "\n");
        if (*p != ';' && end > p)
            buf_add(out, p, (size_t)(end - p) + 1);
    }
}

/* ---- what it looks like ---- */

#define HEAD "(version 1)\n(deny default)\n"

static const struct sbpl_row texts[] = {
    {HEAD, HEAD},
    {"(version 2)(allow default)", "(version 2)\n(allow default)\n"},
    {HEAD "(allow file-read* (subpath \"/usr\"))", HEAD "(allow file-read* (subpath \"/usr\"))\n"},
    /* alternatives of one filter share it; neighbours with one action become one rule */
    {HEAD "(allow file-read* (literal \"/a\"))(allow file-read* (literal \"/b\"))",
     HEAD "(allow file-read* (literal \"/b\" \"/a\"))\n"},
    {HEAD "(allow file-read* (literal \"/a\") (subpath \"/b\") (literal \"/c\"))",
     HEAD "(allow file-read* (literal \"/a\" \"/c\") (subpath \"/b\"))\n"},
    /* an exception stays after what it is taken from */
    {HEAD "(allow file-read* (subpath \"/a\"))(deny file-read* (subpath \"/a/b\"))",
     HEAD "(allow file-read* (subpath \"/a\"))\n(deny file-read* (subpath \"/a/b\"))\n"},
    /* operations that agree share a rule, and a parent represents its children */
    {HEAD "(allow file-read* file-write* (subpath \"/w\"))(allow file-read* (subpath \"/r\"))",
     HEAD "(allow file-read* (subpath \"/r\" \"/w\"))\n(allow file-write* (subpath \"/w\"))\n"},
    {HEAD "(allow file-read* file-write* (subpath \"/w\"))",
     HEAD "(allow file-read* file-write* (subpath \"/w\"))\n"},
    {HEAD "(allow file-read*)(deny file-read-data (literal \"/x\"))",
     HEAD "(allow file-read*)\n(deny file-read-data (literal \"/x\"))\n"},
    /* conditions */
    {HEAD "(allow file-read* (require-all (subpath \"/a\") (vnode-type DIRECTORY)))",
     HEAD "(allow file-read* (require-all (subpath \"/a\") (vnode-type DIRECTORY)))\n"},
    {HEAD "(allow file-read* (require-all (subpath \"/a\") (require-any (vnode-type DIRECTORY)"
          " (extension \"e\"))))",
     HEAD "(allow file-read* (require-all (subpath \"/a\") (require-any (vnode-type DIRECTORY) "
          "(extension \"e\"))))\n"},
    {HEAD "(allow file-read* (require-all (subpath \"/a\") (require-not (literal \"/a/x\")"
          " (literal \"/a/y\"))))(deny file-read* (literal \"/a/b\"))",
     HEAD "(allow file-read* (require-all (subpath \"/a\") (require-not (literal \"/a/x\" "
          "\"/a/y\"))))\n(deny file-read* (literal \"/a/b\"))\n"},
    /* modifiers */
    {"(version 1)(deny default (with no-report))(allow sysctl-read (with report))",
     "(version 1)\n(deny (with no-report) default)\n(allow (with report) sysctl-read)\n"},
    {HEAD "(deny file-write* (with message \"a\\\"b\") (with errno ENOENT) (subpath \"/x\"))",
     HEAD "(deny (with message \"a\\\"b\") (with errno ENOENT) file-write* (subpath \"/x\"))\n"},
    {HEAD "(deny signal (with send-signal SIGKILL) (target others))",
     HEAD "(deny (with send-signal SIGKILL) signal (target others))\n"},
    /* rules that the compiler adds are not written, unless they are overridden */
    {HEAD "(allow signal (target self))", HEAD},
    {HEAD "(deny signal (target self))", HEAD "(deny signal (target self))\n"},
    {HEAD "(allow network-outbound (remote tcp \"*:443\"))",
     HEAD "(allow network-outbound (remote tcp \"*:443\"))\n"},
    {HEAD "(disable-rule-inference)(allow network-outbound (remote tcp \"*:443\"))",
     "(version 1)\n(disable-rule-inference)\n(deny default)\n"
     "(allow network-outbound (remote tcp \"*:443\"))\n"},
    {"(version 2)(deny default)(allow file-write*)",
     "(version 2)\n(deny default)\n(allow file-write*)\n"},
    {"(version 2)(deny default)(disable-syscall-inference)(allow file-write*)",
     "(version 2)\n(disable-syscall-inference)\n(deny default)\n(allow file-write*)\n"},
    {HEAD "(deny file-test-existence)", HEAD "(deny file-test-existence)\n"},
    {HEAD "(allow iokit-open-user-client (apply-message-filter (deny iokit-external-method)))",
     HEAD "(allow iokit-open-user-client (apply-message-filter (deny iokit-external-method)))\n"},
    /* a regular expression keeps its backslashes, a quote does not end it */
    {HEAD "(allow file-read* (regex #\"^/a\\.b\\\"$\"))",
     HEAD "(allow file-read* (regex #\"^/a\\.b\\\"$\"))\n"},
};

static void test_texts(void)
{
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        OWN(program) struct program p;
        OWN(buf) struct buf out = {0};
        if (ok(program_load(&p, texts[i].text, &sbpl_any), "%s loads", texts[i].text))
            decompiled(p.graph, NULL, &out);
        is_str(out.s, texts[i].want, "%s", texts[i].text);
    }
}

/* ---- every word ---- */

static bool same_graphs(const struct graph *a, const struct graph *b);

static bool comes_back(const struct graph *g, const bool *ops, struct buf *text)
{
    OWN(program) struct program again;
    struct sbpl_options opt = sbpl_any;
    opt.fold_case = graph_options_of(g)->fold_case;
    decompiled(g, ops, text);
    return text->s && program_load(&again, text->s, &opt) && same_graphs(g, again.graph);
}

static void no_difference(void *arg, enum graph_equality how, const struct graph_difference *d)
{
    (void)arg;
    (void)how;
    (void)d;
}

static bool same_graphs(const struct graph *a, const struct graph *b)
{
    enum graph_equality how = GRAPH_UNDECIDED;
    struct bk_err err;
    return graph_diff(a, b, NULL, no_difference, NULL, &how, &err) == 0 && how == GRAPH_EQUAL;
}

static struct graph *graph_of(const struct graph_test *t)
{
    struct graph_options opt = {.version = 1, .no_implicit = true};
    struct bk_err err;
    struct graph_build *b = graph_build_new(&opt, &err);
    struct graph_expr when = {.kind = GRAPH_TEST, .test = *t};
    static const uint16_t ops[] = {OP_DEFAULT, OP_FILE_READ};
    struct graph_rule rule = {.ops = ops, .nops = 2, .allow = true, .when = &when};
    if (!b || graph_build_rule(b, &rule, &err) < 0) {
        graph_build_free(b);
        return NULL;
    }
    return graph_freeze(b, &err);
}

/* Any filter may follow any operation: that is what (disable-rule-checks) is for. */
static void test_every_filter(void)
{
    static const char *const strings[] = {"/a/b",        "x\"y\\z",  "sp ace", "\x01\x7f",
                                          "caf\xc3\xa9", "\xff\xfe", "/tail/"};
    struct bk_err ignored;
    for (uint16_t f = 0; f < FILTER_COUNT; f++) {
        uint8_t arg = vocab_filters[f].arg;
        bool string = arg == ARG_PATH || arg == ARG_STRING || arg == ARG_NAME;
        if (f == FILTER_ENTITLEMENT_STRING) /* needs a key */
            continue;
        size_t n = string ? sizeof(strings) / sizeof(strings[0]) : 1;
        for (size_t i = 0; i < n; i++)
            for (int how = 0; how <= (string && arg != ARG_NAME ? GRAPH_SUBPATH : 0); how++) {
                /* the number of a command's test says who wrote it (graph/command.h) */
                int64_t num = f == FILTER_PROCESS_COMMAND ? 0 : 3;
                struct graph_test t = {.filter = f, .how = (uint8_t)how, .num = num};
                struct buf text = {0};
                t.str = string ? strings[i] : NULL;
                if (arg == ARG_DOMAIN)
                    t.how = GRAPH_DOMAIN, t.str = "*.example.com:443";
                else if (arg == ARG_NETWORK)
                    t.how = GRAPH_NET,
                    t.net = (struct net_endpoint){.proto = NET_TCP, .port_lo = 443, .port_hi = 444};
                else if (!string)
                    t.how = arg == ARG_INT ? GRAPH_INT : arg == ARG_MODE ? GRAPH_MODE : GRAPH_FLAG;
                t.len = t.str ? (uint32_t)strlen(t.str) : 0;
                if (f == FILTER_PROCESS_COMMAND && graph_command_check(t.str, t.len, &ignored) < 0)
                    continue; /* no pattern: no profile can have it */
                struct graph *g = graph_of(&t);
                if (!g || !comes_back(g, NULL, &text)) {
                    ok(false, "filter %s, form %d, string %zu", vocab_filters[f].name, how, i);
                    printf("# %s\n", text.s ? text.s : "");
                }
                buf_free(&text);
                graph_free(g);
            }
    }
    ok(true, "every filter is read back");
}

static void test_every_flag(void)
{
    for (uint32_t bit = 2; bit <= 0x800000; bit <<= 1)
        for (int allow = 0; allow < 2; allow++) {
            struct graph_options opt = {.version = 1, .no_implicit = true};
            struct bk_err err;
            struct graph_build *b = graph_build_new(&opt, &err);
            static const uint16_t op = OP_SYSCTL_READ;
            struct graph_rule r = {.ops = &op, .nops = 1, .allow = allow, .flags = bit};
            struct buf text = {0};
            bool added = graph_build_rule(b, &r, &err) == 0;
            struct graph *g = added ? graph_freeze(b, &err) : NULL;
            if (!g || !comes_back(g, NULL, &text)) {
                ok(false, "%s with flag 0x%x", allow ? "allow" : "deny", bit);
                printf("# %s\n", text.s ? text.s : "");
            }
            buf_free(&text);
            graph_free(g);
        }
    ok(true, "every flag is read back");
}

/* ---- random graphs ---- */

enum { TESTS = 7, ASKED = 5 };

static const uint16_t asked[ASKED] = {OP_DEFAULT, OP_FILE_READ, OP_FILE_READ_DATA, OP_SIGNAL,
                                      OP_NETWORK_OUTBOUND};
static uint64_t seed = 88172645463325252u;

static uint32_t roll(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 32) % n;
}

/* A process may hold any combination of extensions, so every path of the graph is possible. Two of
 * the tests belong to implicit rules. */
static struct graph_test random_test(uint32_t i)
{
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    if (i == 5)
        return (struct graph_test){.filter = FILTER_TARGET, .how = GRAPH_INT, .num = 1};
    if (i == 6)
        return (struct graph_test){.filter = FILTER_CONTROL_NAME,
                                   .how = GRAPH_LITERAL,
                                   .str = "com.apple.flow-divert",
                                   .len = 21};
    return (struct graph_test){
        .filter = FILTER_EXTENSION, .how = GRAPH_LITERAL, .str = names[i], .len = 1};
}

static struct graph *random_graph(uint32_t nodes, uint32_t kinds)
{
    struct graph_options opt = {.version = 1, .no_implicit = true};
    static const char *const messages[] = {NULL, "m", "n"};
    struct bk_err err;
    struct graph_build *b = graph_build_new(&opt, &err);
    uint32_t at[256], n = 0, entries[OP_COUNT];
    for (uint32_t i = 0; i < kinds; i++) {
        struct graph_mod mod = {.id = MOD_MESSAGE, .str = messages[i % 3]};
        bool allow = i & 1;
        struct graph_rule r = {.allow = allow,
                               .flags = i & 4   ? 0
                                        : allow ? 0
                                                : VOCAB_FLAG_REPORT,
                               .mods = &mod,
                               .nmods = mod.str != NULL};
        graph_build_decision(b, &r, &at[n++], &err);
    }
    for (uint32_t i = 0; i < nodes; i++) {
        struct graph_test t = random_test(roll(TESTS));
        uint32_t near = n > 6 && roll(3) ? n - 6 : 0; /* chains rather than bushes */
        uint32_t to[2] = {at[near + roll(n - near)], at[near + roll(n - near)]};
        graph_build_filter(b, &t, to[0], to[1], &at[n], &err);
        n++;
    }
    for (uint32_t op = 0; op < OP_COUNT; op++)
        entries[op] = at[0];
    for (uint32_t i = 0; i < ASKED; i++)
        entries[asked[i]] = at[n - 1 - roll(n < 8 ? n : 8)];
    graph_build_entries(b, 0, entries, &err);
    return graph_freeze(b, &err);
}

static bool same_message(const struct graph *a, const struct graph_verdict *x,
                         const struct graph *b, const struct graph_verdict *y)
{
    const struct graph_node *m = graph_node_at(a, x->node), *n = graph_node_at(b, y->node);
    if (m->nmods != n->nmods)
        return false;
    return !m->nmods || strcmp(graph_mod_at(a, m->mods)->str, graph_mod_at(b, n->mods)->str) == 0;
}

static bool decide_alike(const struct graph *a, const struct graph *b)
{
    struct graph_cache *ca = graph_cache_new(a), *cb = graph_cache_new(b);
    bool alike = true;
    for (uint32_t set = 0; set < 1u << TESTS && alike; set++) {
        struct graph_fact facts[TESTS];
        size_t n = 0;
        for (uint32_t i = 0; i < TESTS; i++) {
            struct graph_test t = random_test(i);
            if (set >> i & 1)
                facts[n++] = (struct graph_fact){
                    .filter = t.filter, .str = t.str, .len = t.len, .num = t.num};
        }
        for (uint32_t i = 0; i < ASKED; i++) {
            struct graph_query q = {.op = asked[i], .facts = facts, .nfacts = n};
            struct graph_verdict x = graph_eval(a, ca, &q), y = graph_eval(b, cb, &q);
            bool same = x.allow == y.allow && x.flags == y.flags && same_message(a, &x, b, &y);
            if (!same && alike)
                printf("# %s, facts 0x%x: %d %d\n", vocab_ops[asked[i]].name, set, x.allow,
                       y.allow);
            alike = alike && same;
        }
    }
    graph_cache_free(ca);
    graph_cache_free(cb);
    return alike;
}

static void test_random(void)
{
    uint32_t failed = 0, refused = 0;
    for (int i = 0; i < 600; i++) {
        struct graph *g = random_graph(1 + roll(40), 2 + roll(6));
        struct buf text = {0};
        OWN(program) struct program again = {0};
        decompiled(g, NULL, &text);
        if (text.s && strncmp(text.s, "error: a condition of", 21) == 0)
            refused++;
        else if (!program_load(&again, text.s, &sbpl_any) || !decide_alike(g, again.graph))
            if (failed++ < 3)
                printf("# graph %d: %s\n%s\n", i, again.err.msg, text.s);
        buf_free(&text);
        graph_free(g);
    }
    is_int(failed, 0, "random graphs decide alike when they come back");
    ok(refused < 6, "few of them are refused (%u)", refused);
}

/* Whether an odd number of 40 tests holds: as a formula it would be astronomical. */
static void test_explosion(void)
{
    struct graph_options opt = {.version = 1, .no_implicit = true};
    struct bk_err err;
    struct graph_build *b = graph_build_new(&opt, &err);
    uint32_t even, odd, entries[OP_COUNT];
    struct graph_rule deny = {.flags = VOCAB_FLAG_REPORT}, allow = {.allow = true};
    graph_build_decision(b, &deny, &even, &err);
    graph_build_decision(b, &allow, &odd, &err);
    for (int i = 0; i < 40; i++) {
        char name[8];
        uint32_t next[2];
        snprintf(name, sizeof(name), "e%d", i);
        struct graph_test t = {
            .filter = FILTER_EXTENSION, .str = name, .len = (uint32_t)strlen(name)};
        graph_build_filter(b, &t, odd, even, &next[0], &err);
        graph_build_filter(b, &t, even, odd, &next[1], &err);
        even = next[0];
        odd = next[1];
    }
    for (uint32_t op = 0; op < OP_COUNT; op++)
        entries[op] = even;
    graph_build_entries(b, 0, entries, &err);
    struct graph *g = graph_freeze(b, &err);
    OWN(buf) struct buf text = {0};
    is_int(sbpl_decompile(g, NULL, &text, &err), -1, "a formula that would explode is refused");
    ok(err.code == BK_E_LIMIT && strstr(err.msg, "default"), "by name: %s", err.msg);
    is_int((intmax_t)text.n, 0, "and nothing is printed");
    graph_free(g);
}

int main(void)
{
    test_texts();
    test_every_filter();
    test_every_flag();
    test_random();
    test_explosion();
    return done_testing();
}
