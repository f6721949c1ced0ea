/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_RUN_WATCH_H
#define BK_CLI_RUN_RUN_WATCH_H

#include <stdatomic.h>

#include "cli/run/run-live.h"
#include "cli/run/run-settings.h"
#include "run/file-watch.h"

/*
 * Settings that change while a command runs: their files, and whole settings as lines of JSON from
 * a descriptor. What is wrong changes nothing; what the running command cannot be given is told.
 */
struct watch_settings {
    struct run_settings *settings;
    struct live *live;
    int later; /* a clock: files are listened to when it strikes; -1 for none */
    struct watch_files files;
    int control; /* --control-fd; -1 for none, or when it has ended */
    struct buf line;
    bool skipping;        /* the rest of a line that was too long */
    struct buf last_line; /* the last line that was right: it counts from then on */
    struct buf refused;   /* the last complaint; empty when all is well */
    bool quiet;
    atomic_bool own; /* the next change is ours: whoever said "always" knows of it */
};

/* --control-fd; before the run. */
int watch_check(struct watch_settings *w, const struct cli_args *args, struct bk_err *err);
/* Begins to watch; after live_open(). */
void watch_begin(struct watch_settings *w, struct run_settings *rs, struct live *live);
void watch_end(struct watch_settings *w);

#endif
