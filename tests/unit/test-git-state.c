/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Git's small files: pointers, todo lists and other files of work in progress. */

#include "tap.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/own.h"
#include "git/path.h"
#include "git/pointer.h"
#include "git/todo.h"
#include "git-maker.h"

static void test_pointers(void)
{
    static const struct {
        enum git_pointer kind;
        const char *text, *want;
    } rows[] = {
        {GIT_POINTER_DOTGIT, "gitdir: ../.git/modules/lib\n", "/w/.git/modules/lib"},
        {GIT_POINTER_DOTGIT, "gitdir: /m/.git/worktrees/a b\n", "/m/.git/worktrees/a b"},
        {GIT_POINTER_DOTGIT, "gitdir: ./x\n", "/w/lib/x"},
        {GIT_POINTER_DOTGIT, "gitdir: //m//x/\n", "/m/x"},
        {GIT_POINTER_GITDIR, "/w/tree/.git\n", "/w/tree/.git"},
        {GIT_POINTER_COMMONDIR, "../..\n", "/"},
        {GIT_POINTER_DOTGIT, "gitdir: ../../../x\n", NULL},
        {GIT_POINTER_DOTGIT, "gitdir: a/../../x\n", NULL},
        {GIT_POINTER_DOTGIT, "gitdir: /m/../x\n", NULL},
        {GIT_POINTER_DOTGIT, "gitdir: /m\n\n", NULL},
        {GIT_POINTER_DOTGIT, "gitdir: /m", NULL},
        {GIT_POINTER_DOTGIT, "gitdir: /m\r\n", NULL},
        {GIT_POINTER_DOTGIT, "gitdir: /m\nx\n", NULL},
        {GIT_POINTER_DOTGIT, "gitdir:/m\n", NULL},
        {GIT_POINTER_DOTGIT, "gitdir:  /m\n", NULL},
        {GIT_POINTER_DOTGIT, "gitdir: /m \n", NULL},
        {GIT_POINTER_DOTGIT, "gitdir: \n", NULL},
        {GIT_POINTER_DOTGIT, "GITDIR: /m\n", NULL},
        {GIT_POINTER_DOTGIT, " gitdir: /m\n", NULL},
        {GIT_POINTER_DOTGIT, "\n", NULL},
        {GIT_POINTER_DOTGIT, "", NULL},
        {GIT_POINTER_COMMONDIR, "", NULL},
        {GIT_POINTER_COMMONDIR, "\n", NULL},
        {GIT_POINTER_COMMONDIR, "..\t\n", NULL},
        {GIT_POINTER_COMMONDIR, "gitdir: /m\n", "/w/lib/gitdir: /m"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        char out[64] = "untouched";
        bool fine = git_pointer_read(rows[i].text, strlen(rows[i].text), rows[i].kind, "/w/lib",
                                     out, sizeof(out));
        is_str(fine ? out : NULL, rows[i].want, "pointer: %s", rows[i].text);
        if (!fine)
            is_str(out, "untouched", "and nothing is written");
    }
    char out[64];
    ok(!git_pointer_read("/a\0b\n", 5, GIT_POINTER_GITDIR, "/w", out, sizeof(out)), "a NUL byte");
    ok(!git_pointer_read("/abc\n", 5, GIT_POINTER_GITDIR, "/w", out, 4), "no room");
    ok(!git_pointer_read("..\n", 3, GIT_POINTER_COMMONDIR, "w", out, sizeof(out)),
       "a folder that is not absolute");
}

static void test_paths(void)
{
    is_str(git_path_below("/a/b", "/a"), "b", "below");
    is_str(git_path_below("/a", "/"), "a", "below the root");
    ok(!git_path_below("/ab", "/a") && !git_path_below("/a", "/a") && !git_path_below("/", "/"),
       "not below");
    ok(git_path_has_dotgit("a/.Git/b") && git_path_has_dotgit(".git") &&
           !git_path_has_dotgit("a.git/.gitx"),
       "components");
}

static void disarmed(const char *text, size_t count, const char *want)
{
    OWN(arena) struct arena a;
    arena_init(&a, 1 << 20);
    const char *out = NULL;
    size_t n = 0;
    is_int((intmax_t)git_todo_disarm(&a, text, strlen(text), &out, &n), (intmax_t)count,
           "executes: %s", text);
    is_str(out, want, "disarmed: %s", text);
    is_int((intmax_t)n, (intmax_t)strlen(want), "and as long");
    ok(git_todo_is_quiet(out, n), "and quiet");
    is_int(git_todo_is_quiet(text, strlen(text)), count == 0, "quiet from the beginning or not");
}

static void test_todo(void)
{
    disarmed("", 0, "");
    disarmed("pick abc x\nlabel exec\nbreak\nreset x\nupdate-ref refs/heads/x\n", 0,
             "pick abc x\nlabel exec\nbreak\nreset x\nupdate-ref refs/heads/x\n");
    disarmed("pick abc exec x\n# exec x\n\nmerge -C abc x\n", 0,
             "pick abc exec x\n# exec x\n\nmerge -C abc x\n");
    disarmed("exec x\npick abc\nx y", 2, "# exec x\npick abc\n# x y");
    disarmed(" \t exec x\r\n\tx\ty\n", 2, "#  \t exec x\r\n# \tx\ty\n");
    disarmed("exec\tx\nexec\nx\nexec\r\nx\r\n", 5, "# exec\tx\n# exec\n# x\n# exec\r\n# x\r\n");
    disarmed("\r exec x\n\v x y\n", 2, "# \r exec x\n# \v x y\n");
    disarmed("pick abc\rexec x\n", 0, "pick abc\rexec x\n");
    disarmed("xpick abc\nexecx y\n", 1, "xpick abc\n# execx y\n");

    OWN(arena) struct arena a;
    arena_init(&a, 1 << 20);
    const char *out = NULL;
    size_t n = 0;
    is_int((intmax_t)git_todo_disarm(&a, "p\0exec x\n", 9, &out, &n), 1, "behind a NUL byte");
    ok(n == 11 && !memcmp(out, "p\0# exec x\n", 11), "it is disarmed too");
    ok(!git_todo_is_quiet("p\0", 2), "and no such list is quiet");
    static const char was[] = "pick 1\nexec make\npick 2\n";
    size_t m = sizeof(was) - 1;
    ok(git_todo_adds_nothing(was, m, "exec make\npick 2\n", 17),
       "a list that goes on adds nothing");
    ok(git_todo_adds_nothing(was, m, "", 0), "nor does an empty one");
    ok(git_todo_adds_nothing(was, m, "pick 3\nbreak\n", 13), "nor do lines that execute nothing");
    ok(!git_todo_adds_nothing(was, m, "exec make x\n", 12), "another command is new");
    ok(!git_todo_adds_nothing(was, m, "x make\n", 7), "so is the same one spelled otherwise");
    ok(!git_todo_adds_nothing(was, m, "p\0\n", 3), "a NUL byte is not taken");
    OWN(arena) struct arena little;
    arena_init(&little, 8);
    is_int((intmax_t)git_todo_disarm(&little, "exec x\nexec y\n", 14, &out, &n), 2, "no memory");
    ok(!out && !n, "no text");
}

static bool word(const char *s)
{
    return git_state_word_is_safe(s, strlen(s));
}

static bool options(const char *s)
{
    return git_state_options_are_safe(s, strlen(s));
}

static bool apply(const char *s)
{
    return git_state_apply_is_safe(s, strlen(s));
}

static bool author(const char *s)
{
    return git_state_author_is_safe(s, strlen(s));
}

static bool opts(const char *s)
{
    OWN(arena) struct arena a;
    arena_init(&a, 1 << 20);
    return git_state_opts_are_safe(maker_settings(&a, s));
}

static void test_author(void)
{
    ok(author("") &&
           author("GIT_AUTHOR_NAME='a b'\nGIT_AUTHOR_EMAIL='a@b'\n"
                  "GIT_AUTHOR_DATE='@1 +0000'\n") &&
           author("GIT_AUTHOR_NAME='O'\\''Neil'\\!''\n") && author("GIT_AUTHOR_NAME=''"),
       "an author");
    static const char *const bad[] = {
        "x",
        "\n",
        "PATH='x'\n",
        "GIT_AUTHOR_NAME=a\n",
        "GIT_AUTHOR_NAME='a'$(x)\n",
        "GIT_AUTHOR_NAME='a';x\n",
        "GIT_AUTHOR_NAME='a\n'\n",
        "GIT_AUTHOR_NAME='a'\\'\n",
        "GIT_AUTHOR_NAME=",
        "GIT_AUTHOR_NAME='",
        "GIT_AUTHOR_NAME='a'\\x'b'\n",
        "GIT_AUTHOR_NAME='a' x\n",
        "GIT_AUTHOR_NAME='a'\nx\n",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ok(!author(bad[i]), "no author: %s", bad[i]);
}

static void test_state(void)
{
    ok(word("ort\n") && word("ort") && word("") && word("bad\ngood\n") && word("not-yet\n"),
       "words");
    ok(!word("-x") && !word("a b") && !word("../x") && !word("a\n\nb") && !word("\n") &&
           !word("a;b") && !word("a\n-b\n") && !git_state_word_is_safe("a\0b", 3),
       "no words");
    ok(options(" --ours --diff-algorithm=patience") && options("'ours'\n") && options(""),
       "options of a strategy");
    ok(!options("--x=`y`") && !options("--x=/y") && !options("$(x)") &&
           !git_state_options_are_safe("\0", 1),
       "no options of a strategy");
    ok(apply("") && apply(" '-p1' '--whitespace=fix' -C3") && apply("--reject\n"),
       "options of apply");
    ok(!apply("--unsafe-paths") && !apply("'--unsafe-paths'") && !apply("--un'safe'-paths") &&
           !apply("-p1 --directory=../x") && !apply("'-p1") && !apply("-p") && !apply("-px") &&
           !apply("--whitespace=x") && !apply("-p1\\ x") && !apply("--build-fake-ancestor=x"),
       "no options of apply");
    ok(opts(
           "[options]\nno-commit = true\nmainline = 1\nstrategy = ort\nstrategy-option = ours\n") &&
           opts("") && opts("[options]default-msg-cleanup=scissors"),
       "options of a series");
    ok(!opts("[options]strategy=../x") && !opts("[options]strategy=") &&
           !opts("[options]strategy") && !opts("[core]fsmonitor=x") &&
           !opts("[options]unheard-of=1") && !opts("[options]edit=!x") &&
           !opts("[options]gpg-sign=x"),
       "no options of a series");
}

int main(void)
{
    test_pointers();
    test_paths();
    test_todo();
    test_author();
    test_state();
    return done_testing();
}
