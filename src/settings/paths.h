/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_PATHS_H
#define BK_SETTINGS_PATHS_H

#include "settings/access.h"

/*
 * Turns one entry of a list of paths, as users write it, into places: replaces ~, $VAR and ${VAR},
 * starts relative paths in the working directory, follows symlinks, and reads * ** ? [set] as a
 * pattern. A replacement (~, a variable, the working directory) is a name and never a pattern.
 */
struct path_base {
    const char *cwd;                                    /* absolute */
    const char *home;                                   /* of ~; NULL if unknown */
    const char *(*getenv)(void *arg, const char *name); /* NULL: the process's own environment */
    void *arg;
    bool elsewhere; /* of another machine: this one's symlinks do not count */
};

struct path_entry {
    const char *text;
    size_t n;
    const char *origin; /* kept, not copied; may be NULL */
    bool literal;       /* {"path": …, "literal": true}: a path and never a pattern */
    bool from_shell;    /* which has replaced variables already */
    bool denies;        /* for a list of denials */
    bool keeps_metadata;
    bool elsewhere;       /* as in the base, which sets it */
    struct places *links; /* gets the user's own symlinks on the way; may be NULL */
};

/*
 * Appends the entry's places to `out`. There are several if a denied path leads through symlinks:
 * each link is denied as well, so that none can be replaced. (An allowed path opens only its
 * target.) Also if brackets could be a set or part of a name ("app/[id]"): a denial covers both
 * readings; a permission does if the name exists.
 *
 * Fails, with nothing appended, on what cannot be enforced: an unknown variable, a pattern that
 * ends in a slash, ".." behind a wildcard, a set with a wildcard in it.
 */
int path_places(struct arena *a, const struct path_base *base, const struct path_entry *e,
                struct places *out, struct bk_err *err);

/* The same as one path, for what takes no pattern; links followed. NULL on failure. */
const char *path_real(struct arena *a, const struct path_base *base, const char *text,
                      struct bk_err *err);

/* Lists grow in the arena. -1 when memory is short. */
int places_push(struct arena *a, struct places *list, const struct place *p);
int words_push(struct arena *a, struct words *list, const char *word);

#endif
