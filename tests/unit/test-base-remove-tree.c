/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Removing a tree that somebody hostile has built, and may still be changing. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "base/remove-tree.h"
#include "tap.h"

static void bail(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(1);
}

static char top[] = "/tmp/remove-tree-XXXXXX";
static int folder;

static void make_file(int at, const char *name)
{
    OWN(fd) int fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        bail(name);
}

static int make_folder(int at, const char *name)
{
    mkdirat(at, name, 0700);
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        bail(name);
    return fd;
}

static bool is_there(int at, const char *name)
{
    return faccessat(at, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void test_links(void)
{
    OWN(fd) int kept = make_folder(folder, "kept");
    OWN(fd) int tree = make_folder(folder, "tree");
    OWN(fd) int closed = make_folder(tree, "closed");
    make_file(kept, "file");
    make_file(tree, "file");
    make_file(closed, "file");
    symlinkat("../kept", tree, "link");
    symlinkat("../kept/file", tree, "other");
    symlinkat("..", closed, "up");
    symlinkat("/", tree, ".deep-1-1");
    fchmod(closed, 0);
    remove_tree_at(folder, "tree");
    ok(!is_there(folder, "tree"), "a tree with links and a closed folder is removed");
    ok(is_there(kept, "file"), "what links lead to is not");
    symlinkat("kept", folder, "tree");
    remove_tree_at(folder, "tree");
    ok(!is_there(folder, "tree") && is_there(kept, "file"), "a link itself is removed");
    make_file(folder, "tree");
    remove_tree_at(folder, "tree");
    ok(!is_there(folder, "tree"), "a file, too");
    remove_tree_at(folder, "missing");
}

static void test_deep(void)
{
    enum { LEVELS = 1000 };
    char name[64];
    memset(name, 'n', 60);
    name[60] = '\0';
    int at = make_folder(folder, "deep");
    for (int i = 0; i < LEVELS; i++) {
        make_file(at, "file");
        int next = make_folder(at, name);
        close(at);
        at = next;
    }
    close(at);
    remove_tree_at(folder, "deep");
    ok(!is_there(folder, "deep"), "a tree of %d levels", LEVELS);
}

static void test_wide(void)
{
    char name[32];
    OWN(fd) int tree = make_folder(folder, "wide");
    for (int i = 0; i < 2000; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        make_file(tree, name);
        snprintf(name, sizeof(name), "d%d", i);
        mkdirat(tree, name, 0700);
    }
    remove_tree_at(folder, "wide");
    ok(!is_there(folder, "wide"), "a tree of 4000 entries");
}

/* Replaces a folder with a link to another one, again and again. */
static void swap_forever(int tree)
{
    for (;;) {
        renameat(tree, "d", tree, "e");
        renameat(tree, "l", tree, "d");
        renameat(tree, "d", tree, "l");
        renameat(tree, "e", tree, "d");
    }
}

static void test_race(void)
{
    enum { FILES = 200, ROUNDS = 10 };
    char name[32];
    OWN(fd) int kept = make_folder(folder, "outside");
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        make_file(kept, name);
    }
    for (int round = 0; round < ROUNDS; round++) {
        OWN(fd) int tree = make_folder(folder, "race");
        OWN(fd) int inner = make_folder(tree, "d");
        for (int i = 0; i < FILES; i++) {
            snprintf(name, sizeof(name), "f%d", i);
            make_file(inner, name);
        }
        symlinkat("../outside", tree, "l");
        pid_t pid = fork();
        if (pid == 0)
            swap_forever(tree);
        remove_tree_at(folder, "race");
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        remove_tree_at(folder, "race");
    }
    int left = 0;
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        left += is_there(kept, name);
    }
    is_int(left, FILES, "nothing outside is removed while a folder turns into a link");
    ok(!is_there(folder, "race"), "the tree is removed in the end");
}

int main(void)
{
    if (!mkdtemp(top) || (folder = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        bail("mkdtemp");
    test_links();
    test_deep();
    test_wide();
    test_race();
    remove_tree(top);
    ok(access(top, F_OK) < 0, "by its path");
    return done_testing();
}
