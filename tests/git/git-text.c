/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What src/git makes of git's files, for comparison with git itself:
 *
 *     git-text config FILE    settings as `git config --file FILE --list -z` prints them
 *     git-text spaced FILE    the same as git before 2.45 reads them
 *     git-text disarm FILE    a rebase's list without what it executes
 *     git-text harmless WAS NOW   whether settings may change so: exit status, and the key
 *
 * Exit status 1: git would call it an error, or the change is not harmless.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/own.h"
#include "git/change.h"
#include "git/config.h"
#include "git/todo.h"

#define TEXT_MAX ((size_t)2 << 20)

static char *load(struct arena *a, const char *path, size_t *n)
{
    OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = arena_alloc(a, TEXT_MAX);
    ssize_t got = fd < 0 || !text ? -1 : read(fd, text, TEXT_MAX);
    if (got < 0) {
        fprintf(stderr, "git-text: cannot read %s\n", path);
        exit(2);
    }
    *n = (size_t)got;
    return text;
}

static int read_settings(struct arena *a, const char *path, bool spaced, struct git_config *out)
{
    struct bk_err err = {0};
    size_t n;
    const char *text = load(a, path, &n);
    int r = (spaced ? git_config_read_spaced : git_config_read)(a, text, n, out, &err);
    if (r < 0)
        fprintf(stderr, "git-text: %s\n", err.msg);
    return r;
}

static int config(struct arena *a, const char *path, bool spaced)
{
    struct git_config c;
    if (read_settings(a, path, spaced, &c) < 0)
        return 1;
    for (size_t i = 0; i < c.n; i++) {
        fputs(c.entries[i].key, stdout);
        if (c.entries[i].value)
            printf("\n%s", c.entries[i].value);
        putchar('\0');
    }
    return 0;
}

static int disarm(struct arena *a, const char *path)
{
    size_t n, len;
    const char *text = load(a, path, &n), *out;
    size_t found = git_todo_disarm(a, text, n, &out, &len);
    fprintf(stderr, "%zu\n", found);
    return !out || fwrite(out, 1, len, stdout) != len;
}

static int harmless(struct arena *a, const char *was_path, const char *now_path)
{
    static const struct git_place place = {.gitdir = "/w/.git"};
    struct git_config was, now;
    struct git_finding found;
    if (read_settings(a, was_path, false, &was) < 0 || read_settings(a, now_path, false, &now) < 0)
        return 2;
    if (git_change_is_harmless(a, &place, &was, &was, &now, &found))
        return 0;
    printf("%s: %s\n", found.key, found.why);
    return 1;
}

int main(int argc, char **argv)
{
    OWN(arena) struct arena a;
    arena_init(&a, 64 << 20);
    const char *what = argc > 2 ? argv[1] : "";
    if (!strcmp(what, "config") || !strcmp(what, "spaced"))
        return config(&a, argv[2], what[0] == 's');
    if (!strcmp(what, "disarm"))
        return disarm(&a, argv[2]);
    if (!strcmp(what, "harmless") && argc > 3)
        return harmless(&a, argv[2], argv[3]);
    fprintf(stderr, "usage: git-text config|spaced|disarm FILE | harmless WAS NOW\n");
    return 2;
}
