/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The reader of git's settings, row by row; e2e-git-config.py compares it with git itself. */

#include "tap.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/own.h"
#include "git/config.h"

/* key=value, one per line; a name without a value has no =. */
static void shown(const struct git_config *c, struct buf *out)
{
    buf_str(out, "");
    for (size_t i = 0; i < c->n; i++) {
        buf_str(out, c->entries[i].key);
        if (c->entries[i].value)
            buf_fmt(out, "=%s", c->entries[i].value);
        buf_str(out, "\n");
    }
}

static void reads_as(const char *text, const char *want, const char *what)
{
    OWN(arena) struct arena a;
    OWN(buf) struct buf got = {0};
    struct git_config c = {0};
    struct bk_err err = {0};
    arena_init(&a, 64 << 20);
    if (git_config_read(&a, text, strlen(text), &c, &err) < 0)
        buf_fmt(&got, "line %u", err.line);
    else
        shown(&c, &got);
    is_str(got.n ? got.s : "", want, "%s", what);
}

static const struct {
    const char *what, *text, *want;
} rows[] = {
    {"nothing", "", ""},
    {"a section alone", "[core]", ""},
    {"names are lower case", "[Core]\nBare = True\n", "core.bare=True\n"},
    {"subsections are not", "[Remote \"OriGin\"]\nURL=x\n", "remote.OriGin.url=x\n"},
    {"dotted ones are", "[Remote.OriGin]\nurl=x\n", "remote.origin.url=x\n"},
    {"dotted and quoted", "[a.B \"C.d\"]\nx=1\n", "a.b.C.d.x=1\n"},
    {"a setting beside its header", "[a]x=1\n[b]y=2", "a.x=1\nb.y=2\n"},
    {"a header's escapes", "[a \"b\\\"c\\\\d\\e\"]x=1", "a.b\"c\\de.x=1\n"},
    {"brackets in a subsection", "[a \"b]c\"]x=1", "a.b]c.x=1\n"},
    {"an empty subsection", "[a \"\"]x=1", "a..x=1\n"},
    {"an empty section", "[]x=1", "line 1"},
    {"a subsection of nothing", "[ \"b\"]x=1", ".b.x=1\n"},
    {"no section", "x=1", "x=1\n"},
    {"a name alone", "[a]\nx\ny = \n", "a.x\na.y=\n"},
    {"a name alone at the end", "[a]\nx", "a.x\n"},
    {"a comment after a name alone", "[a]\nx ; y\n", "line 2"},
    {"comments", "# a\n; b\n[a] # c\n x = 1 # d\n y = 2;e\n", "a.x=1\na.y=2\n"},
    {"a comment is not continued", "[a]\n# x \\\ny=1\nz=2 # \\\nw=3", "a.y=1\na.z=2\na.w=3\n"},
    {"comments in quotes", "[a]\nx = \"1 # ; 2\" # 3\n", "a.x=1 # ; 2\n"},
    {"white space around", "[a]\n \t x \t= \t 1 \t \n", "a.x=1\n"},
    {"white space inside", "[a]\nx = 1 \t 2\n", "a.x=1 \t 2\n"},
    {"white space in quotes", "[a]\nx = \" 1 \" \n", "a.x= 1 \n"},
    {"quotes in the middle", "[a]\nx = a\" b \"c\n", "a.x=a b c\n"},
    {"escapes", "[a]\nx = \\\"\\\\\\t\\b\\n.\n", "a.x=\"\\\t\b\n.\n"},
    {"an unknown escape", "[a]\nx = \\r\n", "line 2"},
    {"an escape at the end", "[a]\nx = 1\\", "a.x=1\n"},
    {"a continuation", "[a]\nx = 1 \\\n  2\ny = 3\n", "a.x=1   2\na.y=3\n"},
    {"a continuation in quotes", "[a]\nx = \"1 \\\n  2\"\n", "a.x=1   2\n"},
    {"a continuation before the end", "[a]\nx = 1  \\\n\ny=2", "a.x=1  \na.y=2\n"},
    {"a continuation with CRLF", "[a]\r\nx = 1\\\r\n2\r\n", "a.x=12\n"},
    {"CRLF", "[a]\r\nx = 1\r\ny\r\n", "a.x=1\na.y\n"},
    {"a CR inside", "[a]\nx = 1\r2\r\n", "a.x=1\r2\n"},
    {"a CR after a name", "[a]\nx\r=1\n", "line 2"},
    {"a byte order mark", "\xef\xbb\xbf[a]\nx=1\n", "a.x=1\n"},
    {"half of one", "\xef\xbb[a]\nx=1\n", "line 1"},
    {"two of them", "\xef\xbb\xbf\xef\xbb\xbf[a]\nx=1\n", "line 1"},
    {"quotes that do not end", "[a]\nx = \"1\ny=2\n", "line 2"},
    {"quotes that do not end at the end", "[a]\nx = \"1", "line 2"},
    {"a header that does not end", "[a\nx=1\n", "line 1"},
    {"a header at the end", "[a", "line 1"},
    {"a subsection that does not end", "\n[a \"b\nx=1\n", "line 2"},
    {"a subsection without quotes", "[a b]\nx=1\n", "line 1"},
    {"something after a subsection", "[a \"b\" ]\nx=1\n", "line 1"},
    {"a line end in a subsection", "[a \"b\\\nc\"]x=1", "line 1"},
    {"a line end before a subsection", "[a \n\"b\"]x=1", "line 1"},
    {"an underscore in a section", "[a_b]x=1", "line 1"},
    {"an underscore in a name", "[a]x_y=1", "line 1"},
    {"a digit first", "[a]\n1x=1", "line 2"},
    {"a colon for =", "[a]\nx: 1", "line 2"},
    {"a line number after a continuation", "[a]\nx=1\\\n2\n!", "line 4"},
    {"letters that are not ASCII", "[\xc3\xa4]x=1", "line 1"},
    {"values that are not ASCII", "[a]x=\xc3\xa4\xff", "a.x=\xc3\xa4\xff\n"},
    {"VT and FF are no white space", "[a]x=1\v\f", "a.x=1\v\f\n"},
    {"order and repetition", "[b]y=1\n[a]x=1\n[B]Y=2\n", "b.y=1\na.x=1\nb.y=2\n"},
    {"includes are not followed", "[includeIf \"gitdir:/\"]path=x\n[include]path=/etc/passwd",
     "includeif.gitdir:/.path=x\ninclude.path=/etc/passwd\n"},
};

static void test_spaced(void)
{
    OWN(arena) struct arena a;
    struct git_config c = {0};
    arena_init(&a, 1 << 20);
    const char *text = "[a]x=1 \t2\r3\ny=\"4\t\"\t5";
    is_int(git_config_read_spaced(&a, text, strlen(text), &c, NULL), 0, "read as before 2.45");
    is_str(c.entries[0].value, "1  2 3", "white space becomes spaces");
    is_str(c.entries[1].value, "4\t 5", "not in quotes");
}

static int read_n(const char *text, size_t n, struct bk_err *err)
{
    OWN(arena) struct arena a;
    struct git_config c = {0};
    arena_init(&a, 64 << 20);
    return git_config_read(&a, text, n, &c, err);
}

static void test_limits(void)
{
    struct bk_err err = {0};
    is_int(read_n("[a]x=1\0y", 8, &err), -1, "a NUL byte is refused");
    is_int(read_n(NULL, 0, &err), 0, "no text at all");

    OWN(buf) struct buf many = {0};
    buf_str(&many, "[a]\n");
    for (unsigned i = 0; i < GIT_CONFIG_ENTRIES; i++)
        buf_str(&many, "x\n");
    is_int(read_n(many.s, many.n, &err), 0, "as many settings as there may be");
    buf_str(&many, "x\n");
    is_int(read_n(many.s, many.n, &err), -1, "one more");
    is_int(err.code, BK_E_LIMIT, "is over a limit");

    OWN(buf) struct buf deep = {0};
    buf_str(&deep, "[a \"");
    for (int i = 0; i < 500000; i++)
        buf_chr(&deep, 'b');
    buf_str(&deep, "\"]\n");
    for (int i = 0; i < 1000; i++)
        buf_str(&deep, "x\n");
    is_int(read_n(deep.s, deep.n, &err), -1, "a long section with many settings");
    is_int(err.code, BK_E_LIMIT, "is over a limit");

    OWN(buf) struct buf large = {0};
    while (large.n <= GIT_CONFIG_TEXT)
        buf_str(&large, "# comment\n");
    is_int(read_n(large.s, large.n, &err), -1, "a large text");
    is_int(err.code, BK_E_LIMIT, "is over a limit");
}

static void test_memory(void)
{
    OWN(arena) struct arena a;
    struct git_config c = {.n = 7};
    struct bk_err err = {0};
    arena_init(&a, 32);
    is_int(git_config_read(&a, "[a]x=1", 6, &c, &err), -1, "no memory");
    is_int((intmax_t)c.n, 7, "leaves what there was");
}

static void test_keys(void)
{
    struct git_key k;
    ok(git_key_split("branch.a.b.merge", &k) && k.sub_len == 3 && !strcmp(k.name, "merge"),
       "a subsection with dots");
    ok(git_key_split("core.bare", &k) && !k.sub, "no subsection");
    ok(!git_key_split("core", &k) && !git_key_split("core.", &k), "no key");
    ok(git_key_matches("branch.a.b.merge", "branch.*.merge"), "any subsection");
    ok(!git_key_matches("branch.merge", "branch.*.merge"), "but there must be one");
    ok(!git_key_matches("xbranch.a.merge", "branch.*.merge"), "another section");
    ok(!git_key_matches("branch.a.merges", "branch.*.merge"), "another name");
    ok(git_key_matches("core.bare", "core.bare") && !git_key_matches("core.x.bare", "core.bare"),
       "without a subsection");
}

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        reads_as(rows[i].text, rows[i].want, rows[i].what);
    test_spaced();
    test_limits();
    test_memory();
    test_keys();
    return done_testing();
}
