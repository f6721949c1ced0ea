/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TESTS_WORLD_FOLDERS_H
#define BK_TESTS_WORLD_FOLDERS_H

/* A place with files, and a world whose upper side is made by hand, as an overlay would. */

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/remove-tree.h"
#include "tap.h"
#include "vocab/protected-classes.h"
#include "world/keep.h"

static char top[] = "/tmp/test-world-XXXXXX";
static char place[64], upper[PATH_MAX + 16];

static const char *in(const char *folder, const char *path)
{
    static char out[4][PATH_MAX + 256];
    static int next;
    char *one = out[next++ % 4];
    snprintf(one, sizeof(out[0]), "%s%s%s", folder, *path ? "/" : "", path);
    return one;
}

static void put(const char *folder, const char *path, const char *text)
{
    OWN(fd) int fd = open(in(folder, path), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        printf("# cannot write %s\n", in(folder, path));
}

/* As the overlay of this user does. */
static void set_mark(const char *path, const char *name, const char *value, size_t n)
{
    char full[64];
    snprintf(full, sizeof(full), "%s.overlay.%s", geteuid() == 0 ? "trusted" : "user", name);
    setxattr(path, full, value, n, 0);
}

static void make_folder(const char *folder, const char *path, bool opaque)
{
    mkdir(in(folder, path), 0755);
    if (opaque)
        set_mark(in(folder, path), "opaque", "y", 1);
}

static void whiteout(const char *path)
{
    mknod(in(upper, path), S_IFCHR, makedev(0, 0));
}

/* Something that happened before the world began. */
static void settle(void)
{
    usleep(20000);
}

/* The world is open, with one place. */
static bool begin(struct world *w)
{
    struct bk_err err;
    static char word[] = "make";
    char *argv[] = {word, NULL};
    settle();
    if (world_make(w, place, argv, NULL, &err) < 0)
        return false;
    settle();
    mkdir(in(w->folder, "0"), 0700);
    snprintf(upper, sizeof(upper), "%s/0/upper", w->folder);
    mkdir(upper, 0755);
    put(in(w->folder, "0"), "path", place);
    return world_refresh(w, &err) == 0;
}

static void fresh(void)
{
    if (!mkdtemp(top))
        exit(1);
    snprintf(place, sizeof(place), "%s/place", top);
    mkdir(place, 0755);
    setenv("XDG_STATE_HOME", in(top, "state"), 1);
    mkdir(in(top, "state"), 0700);
}

#endif
