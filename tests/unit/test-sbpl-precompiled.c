/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Precompiled texts: a program that imports them gives the same graph, rule for rule and position
 * for position, as evaluating everything; and they are used exactly when they should be. */

#include "analyze/analyze.h"
#include "sbpl-maker.h"
#include "sbpl/precompiled.h"

/* The parameters of a run: as an ordinary user, as root, and values that no build can know. */
static const struct sbpl_param ordinary[] = {
    {"CWD", "/home/me/work"}, {"TMPDIR", "/tmp/buckle-1"}, {"ORDINARY", "1"}, {"HOME", "/home/me"}};
static const struct sbpl_param root[] = {
    {"CWD", "/srv"}, {"TMPDIR", "/tmp/buckle-1"}, {"HOME", "/root"}, {"MORE", "x"}};
static const struct sbpl_param homeless[] = {{"CWD", "/srv"}, {"TMPDIR", "/tmp/buckle-1"}};
static const struct sbpl_param everywhere[] = {{"CWD", "/"}, {"TMPDIR", "/"}, {"HOME", "/"}};

static const struct {
    const char *name;
    const struct sbpl_param *at;
    size_t n;
} settings[] = {
    {"an ordinary user", ordinary, 4},  {"root", root, 4},          {"nobody's home", homeless, 2},
    {"the root folder", everywhere, 3}, {"no parameters", NULL, 0},
};

static void show_graph(const struct graph *g, struct buf *out)
{
    graph_print_json(g, OP_NONE, out);
    for (uint32_t i = 0; i < graph_rule_count(g); i++) {
        const struct graph_origin *o = &graph_rule_at(g, i)->origin;
        buf_fmt(out, "%s:%u:%u %u %s\n", o->file ? o->file : "", o->line, o->col, o->via_line,
                o->text ? o->text : "");
    }
}

/* Prints everything visible about a compiled program, including findings. */
static void show(const char *text, const char *shipped, struct sbpl_options opt, struct buf *out)
{
    OWN(sbpl_unit) struct sbpl_unit u;
    struct graph *g = NULL;
    struct bk_err err;
    sbpl_unit_init(&u, &opt);
    int added = shipped ? sbpl_add_builtin(&u, shipped, &err)
                        : sbpl_add_text(&u, "t.sb", text, strlen(text), &err);
    if (added == 0 && sbpl_compile(&u, &g, &err) == 0)
        show_graph(g, out);
    show_findings(&u, DIAG_ERROR, out);
    show_findings(&u, DIAG_WARNING, out);
    graph_free(g);
}

/* Checks that both ways give the same result, with each set of parameters. */
static void is_same(const char *text, const char *shipped)
{
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        OWN(buf) struct buf quick = {0};
        OWN(buf) struct buf evaluated = {0};
        struct sbpl_options opt = {
            .os = VOCAB_OS_ANY, .params = settings[i].at, .nparams = settings[i].n};
        show(text, shipped, opt, &quick);
        opt.evaluate_all = true;
        show(text, shipped, opt, &evaluated);
        ok(quick.n > 2 && quick.n == evaluated.n && memcmp(quick.s, evaluated.s, quick.n) == 0,
           "%s: the same for %s", shipped ? shipped : text, settings[i].name);
    }
}

static void test_shipped(void)
{
    for (const struct sbpl_builtin *b = sbpl_builtins; b->name; b++)
        is_same(NULL, b->name);
}

#define HEAD "(version 1)(deny default)"
#define BOTH "(import \"common.sb\")(import \"protected.sb\")"

static void test_programs(void)
{
    /* definitions of a precompiled text, used afterwards: procedures, lists and computed values */
    is_same(HEAD BOTH "(work-in \"/w\")(allow-write \"/a/.vscode\")(allow-write \"/\")", NULL);
    is_same(HEAD BOTH "(allow file-write* (apply regex protected-names))", NULL);
    is_same(HEAD BOTH "(deny file-write* created)(deny file-read* (regex agent-folder))", NULL);
    is_same(HEAD BOTH "(if (defined? 'work-in) (allow file-read* (literal \"/x\")))", NULL);
    is_same(HEAD BOTH "(set! created (literal \"/c\"))(allow-write \"/w\")", NULL);
    is_same(HEAD BOTH "(define (anywhere x) (literal \"/n\"))(allow-write-matching (prefix \"/\"))",
            NULL);
    is_same(HEAD "(import \"common.sb\")(import \"common.sb\")", NULL);
    is_same(HEAD BOTH "(work-in)", NULL);
    is_same(HEAD BOTH "(allow file-read* protected-names)", NULL);
    is_same(HEAD BOTH "(nothing-of-the-kind)", NULL);
    /* what changes a text's meaning since it was built */
    is_same(HEAD "(define (subpath . x) (literal \"/mine\"))" BOTH, NULL);
    is_same(HEAD "(define deny allow)" BOTH, NULL);
    is_same(HEAD "(let ((x 1)) (set! allow deny))" BOTH, NULL);
    is_same(HEAD "(with-filter (uid 7) (import \"common.sb\"))", NULL);
    is_same("(import \"common.sb\")", NULL);
    is_same("(version 2)(deny default)" BOTH, NULL);
    is_same(HEAD "(let ((subpath literal)) (import \"common.sb\"))", NULL);
}

/* Whether a program with this text would import system.sb without evaluating it. */
static bool would_use(const char *text, struct sbpl_options opt)
{
    OWN(sbpl_unit) struct sbpl_unit u;
    const struct precompiled_text *t;
    struct machine m;
    struct bk_err err;
    sbpl_unit_init(&u, &opt);
    bool uses = sbpl_add_text(&u, "t.sb", text, strlen(text), &err) == 0 &&
                machine_init(&m, &u) == 0 && machine_load(&m, &err) == 0 &&
                precompiled_find(&m, "system.sb", &t);
    machine_free(&m);
    return uses;
}

static void test_use(void)
{
    struct sbpl_options opt = {.os = VOCAB_OS_ANY, .params = ordinary, .nparams = 4};
    if (!precompiled_texts[0].name) {
        skip("the build cannot run what it compiles");
        return;
    }
    ok(would_use(HEAD, opt), "used by a program that defines nothing");
    ok(would_use(HEAD BOTH, opt), "and after others");
    ok(!would_use(HEAD "(define x 1)", opt), "not after a definition");
    ok(!would_use(HEAD BOTH "(set! created 1)", opt), "nor a change");
    ok(!would_use("(version 2)", opt), "nor in another version of the language");
    opt.os = VOCAB_MACOS_14_4_1;
    ok(!would_use(HEAD, opt), "nor for a certain system");
    opt = (struct sbpl_options){.os = VOCAB_OS_ANY, .params = everywhere, .nparams = 3};
    ok(!would_use(HEAD, opt), "nor where a folder is all there is");
    opt = (struct sbpl_options){.os = VOCAB_OS_ANY, .params = homeless, .nparams = 2};
    ok(!would_use(HEAD, opt), "nor without a home");
}

int main(void)
{
    test_shipped();
    test_programs();
    test_use();
    return done_testing();
}
