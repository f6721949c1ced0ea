/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Values of git's settings, above all URLs. */

#include "tap.h"

#include "git/value.h"

static const char *const good_urls[] = {
    "https://github.com/x/y.git",
    "https://user:p%40ss!w$rd@h:8443/x",
    "http://h/x?y#z",
    "ssh://git@h/x.git",
    "ssh://git@h:22/~me/x.git",
    "ssh://[::1]:22/x",
    "git+ssh://h/x",
    "ssh+git://h/x",
    "git://h/x",
    "file:///srv/x.git",
    "ftp://h/x",
    "git@github.com:x/y.git",
    "h:x",
    "user@[::1]:x",
    "[::1]:x",
    "[git@h:22]:x/y.git",
    "me-too@my-host:my-path",
    "../x.git",
    "./-x",
    "/srv/a b.git",
    "/srv/a:b.git",
    "origin",
    ".",
    "my-remote",
    "https://h/a/-/b",
    "https://h/%E4%BD%A0",
    "h\xc3\xa4usl:x",
};

static const char *const bad_urls[] = {
    "",
    "-x",
    "--upload-pack=x",
    "ext::sh -c x",
    "fd::7",
    "EXT::x",
    "foo::https://h/x",
    "a+b-c.d::x",
    "::x",
    "ext::sh [x]",
    "%65xt::x",
    "ext%3a:x",
    "ext://x",
    "foo://h/x",
    "HTTPS://h/x",
    "://h/x",
    "ssh://-oProxyCommand=x/y",
    "ssh://%2doProxyCommand=x/y",
    "ssh://%2DoProxyCommand=x/y",
    "ssh://me@-oProxyCommand=x/y",
    "ssh://[-oProxyCommand=x]/y",
    "ssh://h:-1/y",
    "ssh://h/-y",
    "ssh://`x`h/y",
    "ssh://h$(x)/y",
    "ssh://h%60x%60/y",
    "-oProxyCommand=x:y",
    "me@-oProxyCommand=x:y",
    "[-oProxyCommand=x]:y",
    "me@[-oProxyCommand=x]:y",
    "h:-y",
    "h$(x):y",
    "h;x:y",
    "h x:y",
    "%2dx",
    "git://-h/x",
    "http://-h/x",
    "https://u@-h/x",
    "https://h x/y",
    "file://-x/y",
    "https://h/x\ny",
    "https://h/x%0ahost=evil",
    "https://h/x%00y",
    "https://h\\@evil/",
    "x\ty",
    "x\x7f",
};

static void test_urls(void)
{
    for (size_t i = 0; i < sizeof(good_urls) / sizeof(*good_urls); i++)
        ok(git_value_is_url(good_urls[i]), "good: %s", good_urls[i]);
    for (size_t i = 0; i < sizeof(bad_urls) / sizeof(*bad_urls); i++)
        ok(!git_value_is_url(bad_urls[i]), "bad: %s", bad_urls[i]);
    ok(!git_value_is_url(NULL), "bad: none");
    char huge[8192];
    memset(huge, 'x', sizeof(huge) - 1);
    huge[sizeof(huge) - 1] = '\0';
    ok(!git_value_is_url(huge), "bad: huge");
}

static bool is_ref(const char *s)
{
    return git_value_is_ref(s, strlen(s));
}

static void test_refs(void)
{
    static const char *const good[] = {"main", "refs/heads/a.b", "a/b-c", "v1@x", "\xc3\xa4"};
    static const char *const bad[] = {"",     "-x",   "a..b", ".a",  "a/.b", "a.",   "a.lock",
                                      "a b",  "a~1",  "a^",   "a:b", "a?",   "a*",   "a[b",
                                      "a\\b", "a@{1", "/a",   "a/",  "a//b", "a\nb", "a.lock/b"};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        ok(is_ref(good[i]), "a reference: %s", good[i]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        ok(!is_ref(bad[i]), "no reference: %s", bad[i]);
    ok(git_value_is_refspec("+refs/heads/*:refs/remotes/o/*"), "a refspec");
    ok(git_value_is_refspec("refs/heads/x") && git_value_is_refspec("^refs/x") &&
           git_value_is_refspec(":x"),
       "short ones");
    ok(!git_value_is_refspec("--x") && !git_value_is_refspec("a:b:c") &&
           !git_value_is_refspec("refs/*/*:x") && !git_value_is_refspec(NULL),
       "no refspecs");
}

static void test_plain(void)
{
    ok(git_value_is_bool(NULL) && git_value_is_bool("") && git_value_is_bool("YES") &&
           git_value_is_bool("-1"),
       "truth values");
    ok(!git_value_is_bool("!x") && !git_value_is_bool("true x"), "no truth values");
    ok(git_value_is_int("5") && git_value_is_int("-1") && git_value_is_int("5G"), "numbers");
    ok(!git_value_is_int("") && !git_value_is_int("5x") && !git_value_is_int("5kk") &&
           !git_value_is_int(NULL) && !git_value_is_int("9999999999999999999"),
       "no numbers");
    ok(git_value_is_word("B", "a|b|c") && git_value_is_word("c", "a|b|c"), "words");
    ok(!git_value_is_word("a|b", "a|b|c") && !git_value_is_word("", "a|b") &&
           !git_value_is_word(NULL, "a"),
       "no words");
    ok(git_value_is_below("a/b..c", 6) && git_value_is_below("..a", 3), "below");
    ok(!git_value_is_below("a/../b", 6) && !git_value_is_below("..", 2) &&
           !git_value_is_below("/a", 2) && !git_value_is_below("~/a", 3) &&
           !git_value_is_below("-a", 2) && !git_value_is_below("", 0) &&
           !git_value_is_below("a\\b", 3),
       "not below");
    ok(git_value_is_plain("bold #ff0000, 50%") && !git_value_is_plain("$(x)") &&
           !git_value_is_plain("\x1b[m"),
       "plain characters");
}

int main(void)
{
    test_urls();
    test_refs();
    test_plain();
    return done_testing();
}
