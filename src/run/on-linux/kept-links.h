/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_KEPT_LINKS_H
#define BK_RUN_KEPT_LINKS_H

#include "run/link-targets.h"

/*
 * Where built-in names lead from the home folder and the root, or from a large folder that the
 * command works in or below, as an earlier run found it, so that a launch need not look again. It
 * is kept with every folder that it depends on, and counts only while each of them is the same
 * folder and has not changed since: nobody can set the time of a folder's last change of names or
 * modes (ctime). A change within the same tick of the clock would not show, so nothing is kept of
 * folders that changed shortly before the search.
 */
struct kept_links;

/* A file that was read, for a process that asks again. All zero: none. */
struct kept_seen {
    const void *kept;
    struct buf inputs;
};
void kept_seen_free(struct kept_seen *s);

/* Fills the targets if they are known, and returns NULL. Else returns what link_targets_find() will
 * tell about its search; free with kept_links_free(). home and stores as there; seen may be NULL.
 */
struct kept_links *kept_links_recall(struct link_targets *targets, const char *home, bool stores,
                                     struct kept_seen *seen);

/* The same for large folders. All zero: none. */
enum { KEPT_LARGE = 4 };

struct kept_large {
    struct link_recall recall; /* the first member */
    struct kept_links *found[KEPT_LARGE];
    size_t n;
};

void kept_large_init(struct kept_large *k);
void kept_large_save(struct kept_large *k, const struct link_targets *targets);
void kept_large_free(struct kept_large *k);

/* Keeps what was found. Takes a while, so it is called while the command runs. */
void kept_links_save(struct kept_links *k, const struct link_targets *targets);

void kept_links_free(struct kept_links *k);

#endif
