/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* YAML as a tree, presets out of it, and what they come to. */

#include <string.h>

#include "policy/presets.h"
#include "settings/ytree.h"
#include "tap.h"

static struct arena arena;

static struct ynode *tree(const char *text, struct bk_err *err)
{
    struct ynode *root = NULL;
    return ytree_read(&arena, "t", text, strlen(text), &root, err) == 0 ? root : NULL;
}

static void test_tree(void)
{
    struct bk_err err;
    struct ynode *n = tree("a: &x [ one, 'two' ]\nb:\n  c: *x\n", &err);
    ok(n && n->kind == YNODE_MAP && n->n == 2, "a map of two");
    ok(n && n->at[1]->kind == YNODE_LIST && n->at[1]->n == 2, "a list of two");
    ok(n && n->at[1]->at[0]->plain && !n->at[1]->at[1]->plain, "quotes are seen");
    ok(n && n->at[3]->at[1] == n->at[1], "an alias is what its anchor names");
    is_int(n ? n->at[3]->line : 0, 3, "its line");
    is_int(n ? n->at[3]->col : 0, 3, "its column");
    ok(!tree("", &err) && !tree("# nothing\n", &err), "nothing");
    ok(!tree("a: 1\na: 2\n", &err) && err.line == 2 && strstr(err.msg, "twice"), "a name twice");
    ok(!tree("? [ a ]\n: b\n", &err) && err.line == 1, "a list for a name");
    ok(!tree("a: &a [ *a ]\n", &err) && strstr(err.msg, "contains it"),
       "an alias in what it names");
    ok(!tree("a: *b\n", &err), "an alias of nothing");
    ok(!tree("a: !!binary x\n", &err) && strstr(err.msg, "tag"), "a tag");
    ok(!tree("a\n---\nb\n", &err) && strstr(err.msg, "second"), "a second document");
}

static void test_kinds(void)
{
    static const struct {
        const char *text, *words;
    } rows[] = {{"x", "a text"},
                {"'12'", "a text"},
                {"12", "a number"},
                {"-1.5", "a number"},
                {"1e3", "a number"},
                {"12abc", "a text"},
                {"~", "nothing"},
                {"null", "nothing"},
                {"''", "a text"},
                {"true", "true or false"},
                {"False", "true or false"},
                {"yes", "a text"},
                {"[]", "a list"},
                {"{}", "a map"},
                {"./12", "a text"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct bk_err err;
        const struct ynode *n = tree(rows[i].text, &err);
        is_str(n ? ynode_words(n) : NULL, rows[i].words, "%s", rows[i].text);
    }
}

static int parse(const char *text, struct preset_config *c, struct bk_err *err)
{
    return presets_parse(&arena, "p.yaml", text, strlen(text), c, err);
}

static const char *home_only(void *arg, const char *name)
{
    (void)arg;
    return strcmp(name, "HOME") == 0 ? "/nonexistent/me" : NULL;
}

static const struct path_base base = {
    .cwd = "/nonexistent/me/work", .home = "/nonexistent/me", .getenv = home_only};

static bool has_place(const struct places *list, const char *path)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->at[i].path, path) == 0)
            return true;
    return false;
}

static void test_apply(void)
{
    struct preset_config c;
    struct preset sum = {0};
    struct access p = {0};
    struct words unset = {0};
    struct bk_err err;
    ok(parse("presets:\n"
             "  a: { extends: [ b ], allow: [ ., \"$NO/x\" ], read: [ /usr ] }\n"
             "  b: { deny: [ { path: $HOME, except: [ ~/doc ] } ], deny-write: [ ~/w ] }\n",
             &c, &err) == 0,
       "a file");
    ok(preset_add(&arena, &c, "a", &sum, &err) == 0, "adds up");
    ok(presets_apply(&arena, &sum, &base, &p, &unset, &err) == 0, "becomes a policy");
    ok(has_place(&p.allow_write, "/nonexistent/me/work"), "allow: writing");
    ok(has_place(&p.allow_read, "/nonexistent/me/work"), "allow: reading");
    ok(has_place(&p.deny_read, "/nonexistent/me") && has_place(&p.deny_write, "/nonexistent/me"),
       "deny: both");
    ok(p.deny_read.at[0].keeps_metadata && p.deny_write.at[0].yields,
       "deny: contents, and it yields");
    ok(has_place(&p.allow_read, "/nonexistent/me/doc"), "except: reading");
    ok(!has_place(&p.allow_write, "/nonexistent/me/doc"), "except: not writing");
    ok(has_place(&p.deny_write, "/nonexistent/me/w") &&
           !has_place(&p.deny_read, "/nonexistent/me/w"),
       "deny-write");
    ok(!has_place(&p.allow_read, "/usr") && !p.reads_nothing, "read says nothing unless strict");
    is_int((long long)unset.n, 1, "a path with an unset variable is reported");
    sum.flags[PRESET_STRICT] = true;
    p = (struct access){0};
    ok(presets_apply(&arena, &sum, &base, &p, NULL, &err) == 0 && p.reads_nothing &&
           has_place(&p.allow_read, "/usr"),
       "strict");
}

static void test_shipped(void)
{
    struct preset_config c;
    struct bk_err err;
    ok(parse("", &c, &err) == 0 && c.nshipped > 8, "an empty file, and what comes along");
    for (size_t i = 0; i < c.nshipped; i++) {
        struct preset sum = {0};
        struct access p = {0};
        bool fine = preset_add(&arena, &c, c.shipped[i].name, &sum, &err) == 0 &&
                    presets_apply(&arena, &sum, &base, &p, NULL, &err) == 0;
        ok(fine && c.shipped[i].about, "%s", c.shipped[i].name);
    }
    ok(!preset_find(&c, "npm", &err) && strstr(err.hint, "builtin:npm"), "a name without builtin:");
}

int main(void)
{
    arena_init(&arena, 64 << 20);
    test_tree();
    test_kinds();
    test_apply();
    test_shipped();
    arena_free(&arena);
    return done_testing();
}
