/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_LINK_TARGETS_H
#define BK_RUN_LINK_TARGETS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "sbpl/sbpl.h"

/*
 * Where built-in names lead on this machine. protected.sb and secrets.sb deny files by name, but
 * policies are evaluated with real paths: if such a name is a symlink, or is behind one, its target
 * must be denied too. A run finds the targets once, at its start. They become rules that follow the
 * shipped text wherever a program imports it (sbpl_options.sequels), so they are part of a policy
 * exactly when the names are, and later rules and flags apply to them as well.
 *
 * The search covers the names in the home folder, in the working folder and in the folders above
 * it, and symlinks directly in folders that are denied as a whole. Targets need not exist. Symlinks
 * that a process outside creates later count from the next run on.
 */
struct link_targets {
    struct buf protect, secrets; /* SBPL: after protected.sb, and after secrets.sb */
    size_t count;
    bool quiet; /* set before: list no secret store, because a sandbox around us would report that.
                   Its own run has listed them */
    bool recalled; /* set before: it already has what the home folder and the root lead to */
    struct link_watcher *watcher; /* of these; set before, or NULL */
    struct link_recall *recall;   /* for the working folder and those above it, likewise */
    struct sbpl_sequel sequels[3];
};

/* Learns what folders lead to, and which folders that depends on. */
struct link_watcher {
    /* Names are looked up in this folder, or with -1 in the one around this path, which is
     * canonical. */
    void (*folder)(struct link_watcher *w, int fd, const char *path);
    bool unsure; /* it depends on something else as well */
    /* which part of the targets it is */
    struct link_part {
        size_t protect, secrets, count;
    } from, to;
};

/* Knows what some large folders lead to. Listing others takes less. */
struct link_recall {
    /* Adds that to the targets and returns true. Else the watcher is for the search of this folder,
     * or NULL. */
    bool (*known)(struct link_recall *k, struct link_targets *m, const char *folder,
                  struct link_watcher **watcher);
};

/* Searches. Both folders are canonical; home may be NULL. `stores`: the policy knows the home
 * folder, so names that matter only there count. Free with link_targets_free() whatever happened.
 */
int link_targets_find(struct link_targets *m, const char *home, bool stores, const char *cwd,
                      struct bk_err *err);

/* Denies writing to this path and below in every policy that protects names. The path is canonical
 * and need not exist. Reports show the message, which begins with "protected: " and may end in a
 * class. Call it after link_targets_find() and before link_targets_sequels(). */
int link_targets_protect(struct link_targets *m, const char *path, const char *message,
                         struct bk_err *err);

/* For sbpl_options; valid until m changes. */
const struct sbpl_sequel *link_targets_sequels(struct link_targets *m, size_t *count);

void link_targets_free(struct link_targets *m);
#define OWN_link_targets link_targets_free

#endif
