/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Repositories that the command created: membership at component boundaries, moves, and a full set.
 */

#include "kernel/judge/path-set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tap.h"

static struct path_set made;

static void add(const char *path)
{
    path_set_add(&made, path, strlen(path));
}

static bool covers(const char *path)
{
    return path_set_covers(&made, path, strlen(path), "", 0);
}

static void test_members(void)
{
    ok(!covers("/a/.git"), "an empty set has nothing");
    add("/a/.git");
    add("/a/.git");
    is_int((int)made.n, 1, "a path is kept once");
    ok(covers("/a/.git"), "the folder itself");
    ok(covers("/a/.git/config"), "what lies in it");
    ok(covers("/a/.git/hooks/x/y"), "at any depth");
    ok(!covers("/a"), "not what is around it");
    ok(!covers("/a/.gitignore"), "not a longer name");
    ok(!covers("/a/.gi"), "not a shorter one");
    ok(!covers("/b/.git/config"), "not another folder");
    ok(!covers(""), "not nothing");
}

static void test_parts(void)
{
    ok(path_set_covers(&made, "/a", 2, "/.git/config", 12), "a path in two parts");
    ok(path_set_covers(&made, "/a/.g", 5, "it", 2), "wherever it is cut");
    ok(!path_set_covers(&made, "/a/.g", 5, "itx", 3), "and nothing else");
    ok(path_set_covers(&made, "", 0, "/a/.git", 7), "an empty head");
}

static void test_moving(void)
{
    add("/p/one/.git");
    add("/p/one/sub/.git");
    add("/p/oneself/.git");
    path_set_moved(&made, "/p/one", 6, "/q/two", 6);
    ok(covers("/q/two/.git/config") && covers("/q/two/sub/.git/config"), "all below have moved");
    ok(!covers("/q/twoself/.git"), "but not a folder whose name only begins so");
    path_set_moved(&made, "/a/.git", 7, "/a/x", 4);
    ok(covers("/a/x/config"), "the folder itself has moved");
}

static void test_full(void)
{
    char path[64];
    for (int i = 0; i < PATH_SET_MAX + 100; i++) {
        snprintf(path, sizeof(path), "/many/r%d/.git", i);
        add(path);
    }
    is_int((int)made.n, PATH_SET_MAX, "a full set takes no more");
    ok(covers("/many/r0/.git/config") && covers("/many/r8000/.git/config"), "keeps what it has");
    ok(!covers("/many/r8250/.git/config"), "and forgets the rest");
}

int main(void)
{
    is_int(path_set_init(&made), 0, "init");
    test_members();
    test_parts();
    test_moving();
    test_full();
    free(made.text);
    return done_testing();
}
