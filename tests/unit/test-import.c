/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* src/import: how inputs become words and lines, what becomes of paths and patterns, mounts over
 * mounts, and the limits. What the tools mean is tested end to end. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "import/import-int.h"
#include "tap.h"

static const struct imp_env env = {.home = "/home/u", .cwd = "/w", .uid = 1000};

/* The profile of a command line whose words are separated by blanks; or the error. */
static void show(const char *tool, const char *line, struct buf *out)
{
    char copy[1024];
    const char *words[64];
    struct imp_input in = {.words = words};
    struct bk_err err = {0};
    OWN(imp) struct imp im = {0};
    snprintf(copy, sizeof(copy), "%s", line);
    for (char *w = strtok(copy, " "); w && in.nwords < 64; w = strtok(NULL, " "))
        words[in.nwords++] = w;
    if (imp_read(&im, imp_find(tool), &env, &in, &err) < 0 || imp_print(&im, out, &err) < 0)
        err_line(&err, out);
}

static void has(const char *tool, const char *line, const char *want, const char *what)
{
    OWN(buf) struct buf out = {0};
    show(tool, line, &out);
    ok(out.s && strstr(out.s, want), "%s", what);
    if (out.s && !strstr(out.s, want))
        printf("# wanted %s\n# %s\n", want, line);
}

static void lacks(const char *tool, const char *line, const char *bad, const char *what)
{
    OWN(buf) struct buf out = {0};
    show(tool, line, &out);
    ok(out.s && strstr(out.s, "(version 1)") && !strstr(out.s, bad), "%s", what);
}

/* ---- words ---- */

static void test_words(void)
{
    static const struct {
        const char *text, *words; /* joined by |; or the error */
    } rows[] = {
        {"bwrap --bind a b", "--bind|a|b"},
        {"/usr/bin/bwrap x", "x"},
        {"a 'b c' \"d e\" f\\ g", "a|b c|d e|f g"},
        {"a # rest\nb", "a|b"},
        {"a \\\n b", "a|b"},
        {"\"$HOME/x\" ${PWD}", "/home/u/x|/w"},
        {"'$HOME'", "$HOME"},
        {"''", ""},
        {"a; b", "a shell does something with ;"},
        {"a $X", "a shell replaces"},
        {"\"`x`\"", "a shell replaces"},
        {"a 'b", "unclosed quotation mark"},
        {"a\\", "the text ends in a backslash"},
        {"$HOMER", "a shell replaces"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct imp_input in = {.name = "t", .text = rows[i].text, .n = strlen(rows[i].text)};
        struct imp im = {.env = &env, .tool = "bwrap", .source = "t"};
        const struct imp_word *words;
        size_t n;
        struct bk_err err = {0};
        OWN(buf) struct buf got = {0};
        arena_init(&im.arena, 8 << 20);
        if (imp_words(&im, &in, NULL, &words, &n, &err) < 0)
            buf_str(&got, err.msg);
        for (size_t w = 0; !err.msg[0] && w < n; w++)
            buf_fmt(&got, "%s%s", w ? "|" : "", words[w].s);
        ok(strncmp(got.s ? got.s : "", rows[i].words, strlen(rows[i].words)) == 0 &&
               (err.msg[0] || strlen(got.s ? got.s : "") == strlen(rows[i].words)),
           "words %zu: %s", i, got.s ? got.s : "");
        imp_free(&im);
    }
}

/* ---- paths ---- */

static void test_paths(void)
{
    has("landrun", "--ro /a//b/./c/ x", "(subpath \"/a/b/c\")", "a path without . and //");
    has("landrun", "--ro b x", "(subpath \"/w/b\")", "a relative path");
    has("landrun", "--ro ~/b x", "(subpath \"/home/u/b\")", "a path in the home folder");
    has("landrun", "--ro /a/../b x", "without \"..\"", "a path with .. is refused");
    has("landrun", "--ro /a/..b x", "(subpath \"/a/..b\")", "a name that begins with dots");
    has("landrun", "--ro , x", "a path is empty", "an empty path is refused");
    has("firejail", "--blacklist=/a*b?[c-d].x", "\"^/a[^/]*b[^/][c-d]\\\\.x(/|$)\"", "a pattern");
    has("firejail", "--blacklist=/a[!b]", "\"^/a[^/b](/|$)\"", "a pattern with a negated class");
    has("firejail", "--blacklist=/*/a[b", "\"^/[^/]*/a\\\\[b(/|$)\"",
        "an open bracket is a bracket");
    has("firejail", "--blacklist=/a/**/b", "\"^/a/.*/b(/|$)\"", "two stars deny any depth");
    has("firejail", "--whitelist=/a/**/b", "\"^/a/[^/]*/b(/|$)\"", "and allow one name");
}

/* ---- mounts ---- */

static void test_mounts(void)
{
    lacks("bwrap", "--bind /x /a/b --tmpfs /a", "\"/x\"", "a mount that is covered is gone");
    has("bwrap", "--bind /x /a --tmpfs /a/b", "(subpath \"/x/b\")", "a part of a source is closed");
    has("bwrap", "--bind / /r --tmpfs /r/b", "(subpath \"/b\")", "also of the root");
    lacks("bwrap", "--tmpfs /a", "deny file-read*", "nothing to close: no rule");
    has("bwrap", "--bind /x /a --bind /y /a", "(subpath \"/y\")", "the later of two at one place");
    lacks("bwrap", "--bind /x /a --bind /y /a", "(subpath \"/x\")", "not the earlier");
    has("bwrap", "--bind /a /a --ro-bind /ab /ab", "(subpath \"/ab\")", "a name that begins alike");
    has("bwrap", "--bind /a /a --ro-bind /a/b /a/b", "(deny file-write*", "read-only inside");
}

/* ---- limits ---- */

static void test_limits(void)
{
    struct imp_input in = {.name = "t", .n = IMP_TEXT + 1};
    struct bk_err err = {0};
    OWN(imp) struct imp im = {0};
    char *text = calloc(1, IMP_TEXT + 2);
    memset(text, 'a', IMP_TEXT + 1);
    in.text = text;
    is_int(imp_read(&im, imp_find("bwrap"), &env, &in, &err), -1, "a text that is too long");
    is_int(err.code, BK_E_LIMIT, "is a limit");
    for (size_t i = 0; i < IMP_TEXT; i++)
        text[i] = i & 1 ? ' ' : 'a';
    in.n = IMP_TEXT;
    imp_free(&im);
    is_int(imp_read(&im, imp_find("bwrap"), &env, &in, &err), -1, "too many words");
    is_int(err.code, BK_E_LIMIT, "are a limit");
    free(text);
    has("landrun", "--connect-tcp 65536 x", "between 0 and 65535", "a port that is none");
    has("landrun", "--connect-tcp 9-8 x", "between 0 and 65535", "ports in the wrong order");
    ok(!imp_find("nothing"), "an unknown tool");
    ok(imp_is_domain("a.b") && imp_is_domain("*.a.b") && !imp_is_domain("a b") &&
           !imp_is_domain("") && !imp_is_domain("*.") && !imp_is_domain("a\"b"),
       "names of hosts");
}

int main(void)
{
    test_words();
    test_paths();
    test_mounts();
    test_limits();
    return done_testing();
}
