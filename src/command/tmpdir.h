/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_COMMAND_TMPDIR_H
#define BK_COMMAND_TMPDIR_H

#include <stdbool.h>

#include "base/err.h"

/*
 * The session's TMPDIR: its own folder below $XDG_RUNTIME_DIR or /tmp, locked while the session
 * lives and removed with it. A killed session leaves an unlocked folder, which the next one
 * removes.
 */
struct tmpdir {
    char path[512]; /* the command's TMPDIR; empty if there is none */
    int lock;       /* the folder itself, once it is made */
    int number;     /* 0: the name is a random one */
    int numbers;    /* else the file in which the number is locked */
};

/* Its future path: as much as a policy needs. */
int tmpdir_name(struct tmpdir *s, struct bk_err *err);
/* The same in a folder of the user's, if that is usable; NULL: the usual place. */
int tmpdir_name_in(struct tmpdir *s, const char *place, struct bk_err *err);
/* Removes what others left, makes it and locks it. */
int tmpdir_make(struct tmpdir *s, struct bk_err *err);
/* The two parts of it: a launch waits for the first only. */
int tmpdir_make_alone(struct tmpdir *s, struct bk_err *err);
void tmpdir_sweep(const struct tmpdir *s);
/* Removes it if it is empty, as most are. */
bool tmpdir_remove_empty(struct tmpdir *s);
void tmpdir_remove(struct tmpdir *s); /* also fine when tmpdir_make() failed */

/* A folder below /tmp that all commands of the user share, for callers that start them later: made
 * if it is missing, and never removed. */
int tmpdir_shared(char path[64], struct bk_err *err);

/* Variables in which agents name a folder for temporary files. */
enum { TMPDIR_VARIABLES = 2 };
extern const char *const tmpdir_variables[TMPDIR_VARIABLES];
const char *tmpdir_wanted(void); /* the folder that the first of them names, or NULL */

/* For a process that removes it in our place: the folder above it, or a negative errno, and its
 * name in there. */
int tmpdir_open_above(const struct tmpdir *s, const char **name);
/* Forgets it: that process removes it. */
void tmpdir_leave(struct tmpdir *s);

#endif
