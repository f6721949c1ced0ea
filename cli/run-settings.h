/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_SETTINGS_H
#define BK_CLI_RUN_SETTINGS_H

#include "args.h"
#include "kernel/scratch.h"
#include "run/spec.h"
#include "settings/settings.h"

/*
 * Settings' part in a run: files that are found or named take the place of the default profile, and
 * the machine's policy holds whatever the policy is.
 */
struct run_settings {
    struct settings settings;
    struct settings_result result;
    struct scratch scratch; /* the run's TMPDIR, which the policy names */
    struct buf text, caps;
    struct run_source sources[3]; /* the policy, flags, what holds in any case */
    char *command;                /* as people write it, for ignoreViolations */
    bool active;                  /* settings are the policy */
    bool writes_listed;           /* somebody said what may be written */
};

/* Reads what is there, and changes the spec's sources and options accordingly; with nothing there
 * it leaves them as they are. The spec has its cwd and its flags' sources. Free with
 * run_settings_free() whatever happened. */
int run_settings_read(struct run_settings *rs, const struct cli_args *args, struct run_spec *spec,
                      struct bk_err *err);
void run_settings_free(struct run_settings *rs);

/* Whether this denial is one that settings want no word of. */
bool run_settings_ignore(const struct run_settings *rs, const struct event *e);

#endif
