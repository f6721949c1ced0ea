/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_TRY_WORLD_SHOW_H
#define BK_CLI_TRY_WORLD_SHOW_H

#include "base/buf.h"
#include "cli/args.h"
#include "world/keep.h"

/* A world's changes for people and for programs. Commands chose the names: they are escaped. */

/* Whether anything has changed that people see. */
bool world_has_changes(const struct changes *c);

/* At most so many rows (0: all of them): what is marked, what was there before, what is new. A new
 * folder is one row. The counts are of files and folders. */
void world_show_summary(const struct world *w, const struct changes *c, size_t most,
                        struct buf *out);
/* One row for each change, in order. */
void world_show_all(const struct world *w, const struct changes *c, struct buf *out);
void world_show_json(const struct world *w, const struct changes *c, struct buf *out);
void world_list_json(const struct world_about *list, size_t n, struct buf *out);
struct checkpoint;
void world_checkpoints_json(const struct checkpoint *list, size_t n, struct buf *out);
/* Differences of text files, as `diff -u` shows them; of others sizes. */
void world_show_diff(const struct world *w, const struct changes *c, struct buf *out);

/* "12 kB" */
void world_put_size(struct buf *out, uint64_t n);
/* "/place/path" of a change. */
void world_path(const struct world *w, const struct change *c, struct buf *out);

/* ---- protected-names.c ---- */

/* Reads a world's changes with their classes of protected names, by the default profile's rules and
 * Buckle's own. */
int world_changes(const struct world *w, struct changes *out, struct bk_err *err);

/* ---- git-changes.c ---- */

/* Gives what git obeys its class, and takes it from what is harmless. */
void world_look_at_git(const struct world *w, struct changes *c);

/* ---- world-run.c ---- */

/* Runs the command of these arguments in a world, and returns its exit status. Afterwards the
 * world's places are known. *ran: whether there was a command. observer: of the run, or NULL. */
struct run_observer;
int world_run(struct world *w, struct cli_args *args, const struct run_observer *observer,
              bool *ran, struct bk_err *err);

/* ---- review.c ---- */

/* The number that an option gives, of a checkpoint. */
int world_number(const struct cli_args *args, const char *option, unsigned *out,
                 struct bk_err *err);

/* The classes that --allow-protected names, as bits. */
int world_classes(const struct cli_args *args, unsigned *set, struct bk_err *err);

/* A world with another one on top of it can be neither kept nor discarded. */
int world_must_be_top(const struct world *w, struct bk_err *err);

/* Keeps changes, or prints why not. paths: as they were given; none means everything. Returns
 * whether they were kept. */
bool world_keep_these(struct world *w, struct changes *c, const char *const *paths, size_t n,
                      unsigned classes);

/* The end of a session in a world: an empty one is removed; of another one it prints the summary,
 * if it shows, and what can be done with it. */
int world_leave(struct world *w, bool shows, struct bk_err *err);

/* What follows a run in a world: the summary, and keeping, discarding or asking, as the options
 * say. Returns an exit status. */
int world_review(struct world *w, const struct cli_args *args, int status);

#endif
