/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_RUN_SETTINGS_H
#define BK_CLI_RUN_RUN_SETTINGS_H

#include "cli/args.h"
#include "kernel/launch/tmpdir.h"
#include "run/spec.h"
#include "settings/settings.h"

/*
 * Settings' part in a run: files that are found or named take the place of the default profile, and
 * the machine's policy holds whatever the policy is.
 */
enum { SETTINGS_SOURCES = 8 };

/* One reading of them all. */
struct settled {
    struct settings settings;
    struct settings_result result;
    struct buf text, caps;
    struct run_source sources[SETTINGS_SOURCES]; /* the policy, flags, what holds in any case */
    size_t nsources;
    bool active;        /* settings are the policy; else the sources are the profile's */
    struct access said; /* by settings alone, without what presets add */
};

struct run_settings {
    const struct cli_args *args;
    const char *cwd;
    /* As under the name srt: one file and the machine's policy, and nothing that they do not say.
     */
    bool alone;
    const char *only;                          /* that file; NULL: there is none */
    const char *tmpdir;                        /* a fixed TMPDIR; NULL: the run's own */
    const char *first;                         /* the command's name, or NULL */
    struct settled *now;                       /* NULL when there is nothing */
    struct tmpdir scratch;                     /* the run's TMPDIR, which the policy names */
    struct run_source given[SETTINGS_SOURCES]; /* the profile and flags */
    size_t ngiven;
    char *command;      /* as people write it, for ignoreViolations */
    bool writes_listed; /* somebody said what may be written */
};

/* Reads what is there, and changes the spec's sources and options accordingly; with nothing there
 * it leaves them as they are. The spec has its cwd and its flags' sources. Free with
 * run_settings_free() whatever happened. */
int run_settings_read(struct run_settings *rs, const struct cli_args *args, struct run_spec *spec,
                      struct bk_err *err);
void run_settings_free(struct run_settings *rs);

/* Reads all files anew; `control`, if not NULL, takes the place of those named by --settings. NULL
 * when something is wrong, and then nothing has changed. */
struct settled *run_settings_again(const struct run_settings *rs, const char *control, size_t n,
                                   struct bk_err *err);
void settled_free(struct settled *s);

/* Whether files of the user and of the project count. */
bool run_settings_found(const struct run_settings *rs);

/* Whether nobody is to be asked about hosts. */
bool run_settings_strict(const struct run_settings *rs);

/* Whether this denial is one that settings want no word of. */
bool run_settings_ignore(const struct run_settings *rs, const struct event *e);

/* After a run in which something was denied: that a project's permissions did not count. */
void run_settings_tell(const struct run_settings *rs);

#endif
