/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Which programs a command line names. */

#include <string.h>

#include "base/own.h"
#include "policy/auto-command.h"
#include "tap.h"

static const struct {
    const char *argv[8];
    const char *programs;
} rows[] = {
    {{"npm", "ci"}, "npm"},
    {{"/usr/bin/npm", "ci"}, "npm"},
    {{"./gradlew", "build"}, "gradlew"},
    {{"env", "-i", "A=b", "npm"}, "npm"},
    {{"env", "-u", "X", "npm"}, "npm"},
    {{"timeout", "-k", "5", "60", "npm", "ci"}, "npm"},
    {{"nice", "-n", "5", "nohup", "cargo", "build"}, "cargo"},
    {{"python3", "-m", "pip", "install", "x"}, "python3 pip"},
    {{"python3", "-I", "-m", "pip"}, "python3 pip"},
    {{"python3", "x.py", "-m", "pip"}, "python3"},
    {{"sh", "-c", "npm ci"}, "sh npm"},
    {{"bash", "-lc", "cd a && npm ci; FOO=1 cargo test | tee log"}, "bash cd npm cargo tee"},
    {{"sh", "-c", "if true; then go build; fi"}, "sh true go"},
    {{"sh", "-c", "echo 'npm; cargo' \"x && go\""}, "sh echo"},
    {{"sh", "-c", "x=$(npm root) y"}, "sh npm y"},
    {{"sh", "-c", "(mvn -q package)"}, "sh mvn"},
    {{"sh", "-c", "env A=1 timeout 5 npm ci"}, "sh npm"},
    {{"sh", "-c", "sh -c \"sh -c 'npm ci'\""}, "sh npm"},
    {{"sh", "script.sh"}, "sh"},
    {{"sh", "-c"}, "sh"},
    {{"sh", "-c", "'"}, "sh"},
    {{"sh", "-c", "\\"}, "sh \\"},
    {{"env"}, ""},
    {{"timeout"}, ""},
    {{"npm"}, "npm"},
    {{NULL}, ""},
};

int main(void)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        OWN(arena) struct arena arena;
        OWN(buf) struct buf got = {0};
        struct words programs = {0};
        struct bk_err err;
        arena_init(&arena, 1 << 20);
        int found = auto_command_programs(&arena, (char *const *)rows[i].argv, &programs, &err);
        for (size_t p = 0; p < programs.n; p++)
            buf_fmt(&got, "%s%s", p ? " " : "", programs.at[p]);
        ok(found == 0 && strcmp(got.s ? got.s : "", rows[i].programs) == 0, "%s: %s",
           rows[i].argv[0] ? rows[i].argv[0] : "nothing", got.s ? got.s : "");
    }
    ok(auto_command_is("pip3.11", "pip") && auto_command_is("pip", "pip") &&
           !auto_command_is("pipx", "pip") && !auto_command_is("pi", "pip"),
       "versions of a program");
    return done_testing();
}
