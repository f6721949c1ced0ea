/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Races with folders. Whole folders are swapped, or moved to another depth, while calls are in
 * progress inside: a name is looked up in one folder and used in another, and ".." leads elsewhere
 * than a moment ago. IN and OUT are as in race.c.
 */

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "escape.h"
#include "race.h"

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE 2
#endif

static char there[4][4096]; /* IN/there/victim and so on */

static void make(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    must(fd, path);
    close(fd);
}

/* ---- a folder and a link to OUT, exchanged ---- */

static void *flip_folders(void *arg)
{
    char folder[4096], other[4096];
    (void)arg;
    snprintf(folder, sizeof(folder), "%s/there", race_at.inside);
    snprintf(other, sizeof(other), "%s/elsewhere", race_at.inside);
    while (!atomic_load_explicit(&race_over, memory_order_relaxed))
        syscall(SYS_renameat2, AT_FDCWD, folder, AT_FDCWD, other, RENAME_EXCHANGE);
    return NULL;
}

static void *hammer_there(void *arg)
{
    (void)arg;
    while (!atomic_load(&race_over)) {
        race_names(there);
        race_attributes(there);
    }
    return NULL;
}

/* The same from a working directory that is one or the other at random. */
static void *hammer_working_directory(void *arg)
{
    char folder[4096], names[4][4096] = {"victim", "sub", "new", "new2"};
    (void)arg;
    snprintf(folder, sizeof(folder), "%s/there", race_at.inside);
    must(unshare(CLONE_FS), "unshare");
    while (!atomic_load(&race_over))
        if (chdir(folder) == 0)
            race_names(names);
    return NULL;
}

static int swap_folders(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_there, hammer_there, hammer_there,
                                               hammer_there, hammer_working_directory};
    race_prepare(a);
    race_paths(there, race_at.inside, "there/");
    must(mkdir(in_folder(race_at.inside, "there"), 0700), "mkdir");
    make(there[0]);
    must(mkdir(there[1], 0700), "mkdir");
    must(symlink(race_at.outside, in_folder(race_at.inside, "elsewhere")), "symlink");
    return race_run(atof(a[0]), flip_folders, hammers, 5);
}

/* For a process outside the sandbox, which is faster. */
static int swap_flip(char **a)
{
    race_prepare(a);
    return race_run(atof(a[0]), flip_folders, NULL, 0);
}

/* ---- a folder that moves up and down ---- */

static char climbing[4][4096];

/* From IN/a/b/deep, "../../un" is IN/a/un, the attacker's own; from IN/deep it is OUT. */
static void *flip_depth(void *arg)
{
    char low[4096], high[4096];
    (void)arg;
    snprintf(low, sizeof(low), "%s/a/b/deep", race_at.inside);
    snprintf(high, sizeof(high), "%s/deep", race_at.inside);
    while (!atomic_load_explicit(&race_over, memory_order_relaxed)) {
        rename(low, high);
        rename(high, low);
    }
    return NULL;
}

static void *hammer_upwards(void *arg)
{
    (void)arg;
    while (!atomic_load(&race_over)) {
        race_names(climbing);
        race_attributes(climbing);
    }
    return NULL;
}

static int swap_depth(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_upwards, hammer_upwards, hammer_upwards,
                                               hammer_upwards};
    static const char *const folders[] = {"a", "a/b", "a/b/deep", "a/un", "a/un/sub"};
    race_prepare(a);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        must(mkdir(in_folder(race_at.inside, folders[i]), 0700), "mkdir");
    make(in_folder(race_at.inside, "a/un/victim"));
    must(chdir(in_folder(race_at.inside, "a/b/deep")), "chdir");
    race_paths(climbing, "../..", "un/");
    return race_run(atof(a[0]), flip_depth, hammers, 4);
}

const struct attack attacks_swap[] = {
    {"swap-folders", 3, swap_folders},
    {"swap-flip", 3, swap_flip},
    {"swap-depth", 3, swap_depth},
    {0},
};
