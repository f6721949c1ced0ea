/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_RUN_WATCH_H
#define BK_CLI_RUN_RUN_WATCH_H

#include <stdatomic.h>

#include "cli/run/run-live.h"
#include "cli/run/run-settings.h"
#include "system/file-watch.h"

/*
 * Settings that change while a command runs: files, and whole settings as lines of JSON from a
 * descriptor. Wrong settings change nothing; what has to wait for the next command is reported.
 */
struct watch_settings {
    struct run_settings *settings;
    struct live *live;
    int later; /* a timer for watching files; -1 for none */
    struct watch_files files;
    bool looking; /* at files that cannot be watched */
    int control;  /* --control-fd; -1 for none, or when it has ended */
    struct buf line;
    bool skipping;        /* the rest of a line that was too long */
    struct buf last_line; /* the last valid line, which counts from then on */
    struct buf refused;   /* the last complaint; empty when all is well */
    bool quiet;
    atomic_bool own; /* the next change is ours: the user who said "always" knows of it */
};

/* --control-fd; before the run. */
int watch_check(struct watch_settings *w, const struct cli_args *args, struct bk_err *err);
/* Starts to watch; call it after live_open(). */
void watch_begin(struct watch_settings *w, struct run_settings *rs, struct live *live);
void watch_end(struct watch_settings *w);

#endif
