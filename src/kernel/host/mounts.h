/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_HOST_MOUNTS_H
#define BK_KERNEL_HOST_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where file systems are mounted, from /proc/PID/mountinfo. Several paths may show the same files
 * (bind mounts, subvolumes, an ostree's /sysroot), and a rule that names one of them is about all.
 * So a check of a path also passes its other names, and a filter matches if one of them fits.
 *
 * Most machines have no such mounts. Then `aliased` is false and nothing more is checked.
 */
struct mount_at {
    uint32_t id, parent;
    uint64_t device;       /* major and minor number */
    const char *root, *at; /* the visible part of the file system, and its mount point */
    uint32_t root_len, at_len;
    bool shown;   /* no other mount covers all of it */
    bool shares;  /* others may show the same files */
    bool folds;   /* names there are case-insensitive */
    uint8_t kind; /* enum mount_kind */
};

enum mount_kind {
    MOUNT_PLAIN,
    MOUNT_FOLDS,  /* always */
    MOUNT_TRIED,  /* depends on how it was made or mounted: we have to try */
    MOUNT_FLAGS,  /* in single folders */
    MOUNT_KERNEL, /* holds nobody's files */
};

enum { MOUNTS_FOLDING = 8 };

struct mounts {
    char *text;
    struct mount_at *list;
    size_t n;
    uint32_t *ids; /* ascending */
    bool aliased;  /* some of them share files */
    bool folds;    /* some of them fold case */
};

/* The same, kept up to date. */
struct mounts_view {
    int fd;       /* a mountinfo file; -1: none */
    bool current; /* nothing has changed since we read it */
    struct mounts now;
    uint64_t folding[MOUNTS_FOLDING]; /* devices found to fold case (case-fold.h) */
    size_t nfolding;
};

enum {
    MOUNT_NAMES = 64, /* the most other names of one path; more is an error */
    MOUNT_PATH = 4096,
};

struct mount_names {
    size_t n;
    struct mount_name {
        size_t len;
        bool hidden; /* hidden: another mount covers it there */
        char path[MOUNT_PATH];
    } at[MOUNT_NAMES];
};

/* Parses a table of n bytes. m takes ownership of it and changes it. Returns 0 or a negative errno.
 */
int mounts_parse(struct mounts *m, char *text, size_t n);
void mounts_free(struct mounts *m);

/* Reads a table for mounts_parse(), which may be another process's. The caller frees it. Returns 0
 * or a negative errno. */
int mounts_read(int fd, char **text, size_t *n);

/* Takes ownership of fd. Reads nothing yet. */
void mounts_open(struct mounts_view *v, int fd);
/* Returns the current table, or NULL if it cannot be read. With `ask` the kernel is asked whether
 * it changed; otherwise `current` says so. */
const struct mounts *mounts_now(struct mounts_view *v, bool ask);

/* From now on, all mounts of this device fold case. */
void mounts_fold(struct mounts_view *v, uint64_t device);

/* The mount that contains a path, or NULL. */
const struct mount_at *mounts_find(const struct mounts *m, const char *path, size_t len);
/* Whether the table has this mount. After an unmount it has not, and its files have no name. */
bool mounts_has(const struct mounts *m, uint64_t id);
/* The same for a view. Before it returns false it reads the table again. */
bool mounts_reach(struct mounts_view *v, uint64_t id);

/* Lists other names of the file at a path: first the visible ones, then hidden ones. Returns 0, or
 * -E2BIG if there are more. */
int mounts_names(const struct mounts *m, const char *path, size_t len, struct mount_names *out);

/* Lists other paths that show what a path contains: itself, all below it, and what a mount on it
 * covers. Returns 0 or -E2BIG. */
int mounts_places(const struct mounts *m, const char *path, size_t len, struct mount_names *out);

#endif
