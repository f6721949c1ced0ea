/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* What the first group of a JavaScript pattern captures, as JavaScript finds it. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings/extract.h"
#include "tap.h"

static const struct {
    const char *pattern, *text, *captures; /* separated by | */
} cases[] = {
    {"token:\\s*(\\S+)", "a token: abc\ntoken:def x", "abc|def"},
    {"\"key\": \"(.*?)\"", "{\"key\": \"a\", \"key\": \"b\"}", "a|b"},
    {"\"key\": \"(.*)\"", "{\"key\": \"a\", \"key\": \"b\"}", "a\", \"key\": \"b"},
    {"(a|ab)(c|bcd)", "abcd", "a"},
    {"(ab|a)(bc|cd)?", "abcd", "ab"},
    {"(?:x|y)(\\d{2,3})", "x1 y22 x4444", "22|444"},
    {"(\\d{2,3}?)", "12345", "12|34"},
    {"(\\d{2})", "12345", "12|34"},
    {"^(a)$", "a", "a"},
    {"^(a)", "ba", ""},
    {"\\b(\\w+)\\b", "one two", "one|two"},
    {"(?<name>[a-c\\d_-]+)!", "x-1!", "-1"},
    {"([^\\s:]+):([^@]+)@", "u:p@h", "u"},
    {"(a*)b", "aab", "aa"},
    {"(a+?)a", "aaa", "a"},
    {"x(a?)b", "xb xab", "|a"},
    {"(\\x41\\.)", "A. B.", "A."},
    {"(eyJ[A-Za-z0-9_-]+\\.[\\w-]+\\.[\\w-]+)", "t=eyJa.b.c;", "eyJa.b.c"},
    {"(x{0,2})y", "xxxy", "xx"},
};

static void captures_of(const struct extract *x, const char *text, char *out)
{
    struct extract_match m;
    size_t n = strlen(text), found = 0;
    *out = '\0';
    for (size_t at = 0; at <= n && extract_next(x, text, n, at, &m) == 1;
         at = m.end + (m.end == m.start))
        if (m.group != SIZE_MAX)
            sprintf(out + strlen(out), "%s%.*s", found++ ? "|" : "", (int)(m.group_end - m.group),
                    text + m.group);
}

int main(void)
{
    static const char *const wrong[] = {"abc",        "(a",       "a)",   "(?=a)(b)", "(a)\\1",
                                        "[a(b)",      "(*)",      "(a{2", "(a**)",    "(a\\",
                                        "(z-a)[z-a]", "(a{300})", ""};
    struct extract *x = malloc(sizeof(*x));
    struct bk_err err;
    char got[256];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int made = extract_compile(cases[i].pattern, x, &err);
        ok(made == 0, "%s: %s", cases[i].pattern, made ? err.msg : "");
        captures_of(x, cases[i].text, got);
        is_str(got, cases[i].captures, "%s in %s", cases[i].pattern, cases[i].text);
    }
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ok(extract_compile(wrong[i], x, &err) < 0, "refused: %s", wrong[i]);
    char *many = calloc(1, 100001);
    memset(many, 'a', 100000);
    extract_compile("(a*)*b", x, &err);
    struct extract_match m;
    is_int(extract_next(x, many, 2000, 0, &m), 0, "a pattern that others take forever for");
    free(many);
    free(x);
    return done_testing();
}
