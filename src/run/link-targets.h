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
 * What built-in names mean on this machine. protected.sb and secrets.sb close files by name, and
 * policy is judged by real paths: where such a name is a symbolic link, or lies behind one, what it
 * leads to has to be closed too. That is found once, when a run begins, and becomes rules that
 * follow the shipped text wherever a program imports it (sbpl_options.sequels). So they are part of
 * a policy exactly when the names are, and what a program says later, flags among it, is said about
 * them as well.
 *
 * Looked at: the names in the home folder, in the working folder and in those above it, and links
 * directly in folders that are closed as a whole. Whether what a link leads to exists does not
 * matter. Links that somebody outside makes later count from the next run on.
 */
struct link_targets {
    struct buf protect, secrets; /* SBPL: after protected.sb, and after secrets.sb */
    size_t count;
    struct sbpl_sequel sequels[3];
};

/* Looks. Both folders are canonical; home may be NULL. `stores`: the program knows the home folder,
 * so that names in it count which mean nothing elsewhere. Free with link_targets_free() whatever
 * happened. */
int link_targets_find(struct link_targets *m, const char *home, bool stores, const char *cwd,
                      struct bk_err *err);

/* Nobody writes to this path either, nor to what lies below it, in whatever program protects names;
 * it is canonical, and need not exist. The message is what reports say, and begins with
 * "protected: ". To be called after link_targets_find() and before link_targets_sequels(). */
int link_targets_protect(struct link_targets *m, const char *path, const char *message,
                         struct bk_err *err);

/* For sbpl_options: valid as long as m is, and unchanged. */
const struct sbpl_sequel *link_targets_sequels(struct link_targets *m, size_t *count);

void link_targets_free(struct link_targets *m);
#define OWN_link_targets link_targets_free

#endif
