/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Flattened programs: only rules are left, and both decide alike as far as macOS can express it. */

#include "analyze/analyze.h"
#include "sbpl-maker.h"

static const struct sbpl_param params[] = {
    {"CWD", "/home/me/p"}, {"HOME", "/home/me"}, {"TMPDIR", "/run/t"}};
static const struct sbpl_options options = {.params = params, .nparams = 3, .os = VOCAB_OS_ANY};

static void flatten(struct program *p, const char *message, struct buf *out)
{
    struct sbpl_flatten_options o = {.message = message};
    if (!ok(sbpl_flatten(&p->unit, &o, out, &p->err) == 0, "flattened"))
        printf("#   %s\n", p->err.msg);
}

static void on_difference(void *arg, enum graph_equality how, const struct graph_difference *d)
{
    (void)arg;
    printf("#   %s: %s, %s\n", vocab_ops[d->op].name,
           how == GRAPH_UNDECIDED ? "nobody knows" : "differs",
           d->nfacts && d->facts[0].str ? d->facts[0].str : "");
}

static void compare(const struct graph *a, const struct graph *b, const char *name)
{
    enum graph_equality how = GRAPH_DIFFERENT;
    struct bk_err err = {0};
    int result = graph_diff(a, b, NULL, on_difference, NULL, &how, &err);
    ok(result == 0 && how != GRAPH_DIFFERENT, "%s decides as it did", name);
}

static bool has(const struct buf *text, const char *what)
{
    return text->s && strstr(text->s, what);
}

static void test_shipped(void)
{
    static const char *const names[] = {"default.sb", "strict.sb", "readonly.sb", "open.sb"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        OWN(program) struct program p = {0};
        OWN(program) struct program again = {0};
        OWN(buf) struct buf text = {0};
        sbpl_unit_init(&p.unit, &options);
        ok(sbpl_add_builtin(&p.unit, names[i], &p.err) == 0 && program_compile(&p), "%s", names[i]);
        flatten(&p, NULL, &text);
        ok(!has(&text, "(import") && !has(&text, "(param") && !has(&text, "(define"),
           "… is a program no more");
        ok(program_load(&again, text.s, &sbpl_any), "… loads");
        compare(p.graph, again.graph, names[i]);
    }
}

struct row {
    const char *text, *want; /* what follows the version line */
};

static void check_flat(const struct row *row, const char *message)
{
    OWN(program) struct program p = {0};
    OWN(buf) struct buf out = {0};
    OWN(buf) struct buf want = {0};
    sbpl_unit_init(&p.unit, &options);
    struct sbpl_flatten_options o = {.message = message};
    if (sbpl_add_text(&p.unit, "t.sb", row->text, strlen(row->text), &p.err) == 0 &&
        sbpl_flatten(&p.unit, &o, &out, &p.err) < 0)
        buf_fmt(&out, "error: %s", p.err.msg);
    buf_str(&want, strncmp(row->want, "error", 5) == 0 ? "" : "(version 1)\n");
    buf_str(&want, row->want);
    is_str(out.s, want.s, "%s", row->text);
}

static void test_words(void)
{
    static const struct row rows[] = {
        {"(version 1)(define (f x) (allow file-read* (subpath x)))(for-each f '(\"/a\" \"/b\"))",
         "(allow file-read*\n    (subpath \"/a\"))\n(allow file-read*\n    (subpath \"/b\"))\n"},
        {"(version 1)(deny file-read* (glob \"/a/*.c\"))",
         "(deny file-read*\n    (regex #\"^/a/[^/]*\\.c$\"))\n"},
        {"(version 1)(deny default (with no-report))", "(deny default\n    (with no-report))\n"},
        {"(version 1)(allow file-read* (literal \"/a\") (with report))",
         "(allow file-read*\n    (literal \"/a\")\n    (with report))\n"},
        {"(version 1)(deny signal (with errno EACCES) (with message \"m\"))",
         "(deny signal\n    (with errno EACCES)\n    (with message \"m\"))\n"},
        {"(version 1)(with-filter (uid 5) (allow file-read* (literal \"/a\" \"/b\")))",
         "(allow file-read*\n    (require-all (require-any (literal \"/a\") (literal \"/b\")) (uid "
         "5)))\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_flat(&rows[i], NULL);
}

/* Where macOS cannot express a condition, less is allowed and more denied. */
static void test_wordless(void)
{
    static const struct row rows[] = {
        {"(version 1)(allow network-outbound (domain \"a.b\"))", ""},
        {"(version 1)(allow network-outbound (domain \"a.b\") (literal \"/s\"))",
         "(allow network-outbound\n    (literal \"/s\"))\n"},
        {"(version 1)(deny network-outbound (domain \"a.b\"))",
         "(deny network-outbound\n    (remote ip \"*:*\"))\n"},
        {"(version 1)(allow network-outbound (remote ip \"10.0.0.0/8\"))", ""},
        {"(version 1)(deny network-outbound (remote tcp \"10.0.0.0/8:80\"))",
         "(deny network-outbound\n    (remote tcp \"*:*\"))\n"},
        {"(version 1)(allow network-outbound (remote tcp \"*:443\"))",
         "(allow network-outbound\n    (remote tcp \"*:443\"))\n"},
        {"(version 1)(allow network-outbound (require-not (domain \"a.b\")))",
         "(allow network-outbound\n    (require-not (remote ip \"*:*\")))\n"},
        {"(version 1)(deny network-outbound (require-all (remote ip \"*:*\") (require-not (domain "
         "\"a\"))))",
         "(deny network-outbound\n    (remote ip \"*:*\"))\n"},
        {"(version 1)(allow file-read* (gid 5))", ""},
        {"(version 1)(deny file-read* (gid 5))", "error: macOS has no filter gid"},
        {"(version 1)(deny network-outbound (require-not (domain \"a\")))",
         "error: macOS cannot express the condition of this rule"},
        {"(version 1)(allow process-suspend)", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_flat(&rows[i], NULL);
}

static void test_messages(void)
{
    static const struct row rows[] = {
        {"(version 1)(deny default)", "(deny default\n    (with message \"T\"))\n"},
        {"(version 1)(deny default (with message \"m\"))",
         "(deny default\n    (with message \"T\"))\n"},
        {"(version 1)(deny default (with no-report))", "(deny default\n    (with no-report))\n"},
        {"(version 1)(allow default)", "(allow default)\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        check_flat(&rows[i], "T");
}

static void test_hostile(void)
{
    OWN(buf) struct buf deep = {0};
    buf_str(&deep, "(version 1)(allow file-read* ");
    for (int i = 0; i < 5000; i++)
        buf_str(&deep, "(require-not ");
    buf_str(&deep, "(literal \"/a\")");
    for (int i = 0; i < 5001; i++)
        buf_chr(&deep, ')');
    OWN(program) struct program p = {0};
    OWN(buf) struct buf out = {0};
    sbpl_unit_init(&p.unit, &options);
    ok(sbpl_add_text(&p.unit, "t.sb", deep.s, deep.n, &p.err) == 0, "a condition of 5,000 levels");
    ok(sbpl_flatten(&p.unit, &(struct sbpl_flatten_options){0}, &out, &p.err) < 0 &&
           p.err.code == BK_E_LIMIT && out.n == 0,
       "… is refused: %s", p.err.msg);
}

int main(void)
{
    test_shipped();
    test_words();
    test_wordless();
    test_messages();
    test_hostile();
    return done_testing();
}
