/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Patterns of commands. */

#include <string.h>

#include "graph/command.h"
#include "tap.h"

static const struct {
    const char *pattern, *command;
    bool fits;
} rows[] = {
    {"git push", "git push", true},
    {"git push", "git push x", false},
    {"git push *", "git push", true},
    {"git push *", "git push x", true},
    {"git push *", "git pushx", false},
    {"git push:*", "git push x", true},
    {"git push:*", "git pushx", false},
    {"git *", "git", true},
    {"git *", "/usr/bin/git log", true},
    {"git*", "gitk", true},
    {"*", "anything at all", true},
    {"* --force", "git push --force", true},
    {"* --force *", "git push --force", true},
    {"* --force *", "git push --force x", true},
    {"* --force *", "git push --forced x", false},
    {"/usr/bin/git *", "/usr/bin/git x", true},
    {"/usr/bin/git *", "git x", false},
    {"/usr/bin/git *", "/opt/bin/git x", false},
    {"rm -rf /*", "rm -rf /etc", true},
    {"rm -rf /*", "rm -rf etc", false},
    {"a*b*c", "a--b--c", true},
    {"a*b*c", "a--c--b", false},
    {"a*b*b", "ab", false},
    {"a*bc*bc", "abc", false},
    {"ab*ba", "aba", false},
    {"git push *", "", false},
    {"\xff*", "\xff\xfe", true},
};

static void test_fits(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *p = rows[i].pattern, *c = rows[i].command;
        is_int(graph_command_fits(p, strlen(p), c, strlen(c)), rows[i].fits, "%s: %s", p, c);
        ok(graph_command_fits(p, strlen(p), p, strlen(p)), "%s fits itself", p);
    }
}

static void test_program(void)
{
    ok(graph_command_fits_program("git push *", 10, "/usr/bin/git", 12), "by the name alone");
    ok(!graph_command_fits_program("git push *", 10, "/usr/bin/gi", 11), "another name");
    ok(graph_command_fits_program("* --force", 9, "x", 1), "any name");
    ok(graph_command_fits_program("/usr/bin/git *", 14, "/usr/bin/git", 12), "a path");
    ok(!graph_command_fits_program("/usr/bin/git *", 14, "/bin/git", 8), "another path");
}

static void test_check(void)
{
    static const char *const wrong[] = {"", " a", "a ", "a  b", "a\tb", "a\nb", "\x7f"};
    struct bk_err err;
    char longest[COMMAND_PATTERN + 1];
    memset(longest, 'a', sizeof(longest));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        ok(graph_command_check(wrong[i], strlen(wrong[i]), &err) < 0, "no pattern: '%s'", wrong[i]);
    ok(graph_command_check(longest, COMMAND_PATTERN, &err) == 0, "the longest");
    ok(graph_command_check(longest, sizeof(longest), &err) < 0, "too long");
    ok(!graph_command_fits(longest, sizeof(longest), longest, sizeof(longest)), "and never fits");
}

int main(void)
{
    test_fits();
    test_program();
    test_check();
    return done_testing();
}
