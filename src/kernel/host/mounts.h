/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_HOST_MOUNTS_H
#define BK_KERNEL_HOST_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where file systems are mounted, as /proc/PID/mountinfo tells. The same files may be seen at
 * several places (bind mounts, subvolumes, an ostree's /sysroot): a rule that names one of them is
 * about all. So whoever asks the policy about a path gives its other names as well; a filter holds
 * when one of them fits.
 *
 * Most machines have no such mounts: then `aliased` is false, and nothing more is asked.
 */
struct mount_at {
    uint32_t id, parent;
    uint64_t device;       /* major and minor number */
    const char *root, *at; /* what is seen, in the file system; and where */
    uint32_t root_len, at_len;
    bool shown;   /* nothing lies over all of it */
    bool shares;  /* others may show the same files */
    bool folds;   /* names there do not tell upper from lower case */
    uint8_t kind; /* enum mount_kind */
};

enum mount_kind {
    MOUNT_PLAIN,
    MOUNT_FOLDS,  /* always */
    MOUNT_TRIED,  /* it depends on how it was made or mounted: one has to try */
    MOUNT_FLAGS,  /* single folders may */
    MOUNT_KERNEL, /* no files of anybody's */
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
    bool current; /* nothing has changed since it was read */
    struct mounts now;
    uint64_t folding[MOUNTS_FOLDING]; /* devices that were found to (case-fold.h) */
    size_t nfolding;
};

enum {
    MOUNT_NAMES = 64, /* most other names of one path; more is an error */
    MOUNT_PATH = 4096,
};

struct mount_names {
    size_t n;
    struct mount_name {
        size_t len;
        bool hidden; /* something else is seen there: the file would be, were that taken away */
        char path[MOUNT_PATH];
    } at[MOUNT_NAMES];
};

/* Reads a table of n bytes, which is changed and belongs to m from then on. 0 or a negated errno.
 */
int mounts_parse(struct mounts *m, char *text, size_t n);
void mounts_free(struct mounts *m);

/* Takes fd over. Nothing is read yet. */
void mounts_open(struct mounts_view *v, int fd);
/* The table as it is now; NULL when it cannot be read. With `ask` the kernel is asked whether it
 * changed, else that is known (`current`). */
const struct mounts *mounts_now(struct mounts_view *v, bool ask);

/* From now on, all mounts of this device fold case. */
void mounts_fold(struct mounts_view *v, uint64_t device);

/* The mount that a path lies on, or NULL. */
const struct mount_at *mounts_find(const struct mounts *m, const char *path, size_t len);
/* Whether it is among them: one that was taken away is not, and what lies on it has no name. */
bool mounts_has(const struct mounts *m, uint64_t id);
/* The same of a view; before it says no, it looks again. */
bool mounts_reach(struct mounts_view *v, uint64_t id);

/* Other names of the file that is seen under a path, first those under which it is seen as well,
 * then hidden ones. 0, or -E2BIG: there are more. */
int mounts_names(const struct mounts *m, const char *path, size_t len, struct mount_names *out);

/* Other places where something is seen that a path means: itself, what lies below it, and what lies
 * under a mount that covers it. 0, or -E2BIG. */
int mounts_places(const struct mounts *m, const char *path, size_t len, struct mount_names *out);

#endif
