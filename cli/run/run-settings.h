/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_RUN_SETTINGS_H
#define BK_CLI_RUN_RUN_SETTINGS_H

#include "cli/args.h"
#include "command/tmpdir.h"
#include "policy/assemble.h"
#include "run/spec.h"

/*
 * The policy of a run from the command line: a profile, settings that are found or named, presets,
 * flags and the machine's policy. Settings can change while the command runs.
 */
struct run_settings {
    const struct cli_args *args;
    /* As under the name srt: one file and the machine's policy, and nothing that they don't say. */
    bool bare;
    const char *only;                 /* that file; NULL: there is none */
    const char *tmpdir;               /* a fixed TMPDIR; NULL: the run's own */
    struct run_source profile, rules; /* rules: made from flags */
    const struct run_source *texts;   /* after the profile */
    size_t ntexts;

    struct policy_request request;
    struct arena arena;           /* of the request */
    struct assembly *now;         /* set by run_settings_read() */
    struct tmpdir private_tmpdir; /* the run's TMPDIR, which the policy names */
    char *command;                /* as people write it, for ignoreViolations */
    bool writes_listed;           /* settings say what may be written */
};

/* Assembles the policy and fills the spec with it. The spec has its cwd. Free with
 * run_settings_free() whatever happened. */
int run_settings_read(struct run_settings *rs, const struct cli_args *args, struct run_spec *spec,
                      struct bk_err *err);
/* Appends all texts that were read. */
void run_settings_put(const struct run_settings *rs, struct buf *out);
/* Another command has this policy. */
void run_settings_command(struct run_settings *rs, char *const *argv);
void run_settings_free(struct run_settings *rs);

/* Reads all files again; `control`, if not NULL, replaces those named by --settings. NULL on
 * failure. Free with run_settings_free_policy(). */
struct assembly *run_settings_again(const struct run_settings *rs, const char *control, size_t n,
                                    struct bk_err *err);
void run_settings_free_policy(struct assembly *a);

/* Whether settings of the user and the project count. */
bool run_settings_found(const struct run_settings *rs);

/* Whether the user is never asked about hosts. */
bool run_settings_strict(const struct run_settings *rs);

/* Whether settings say not to report this denial. */
bool run_settings_ignore(const struct run_settings *rs, const struct event *e);

/* After a run with denials: warns that a project's permissions did not count. */
void run_settings_warn(const struct run_settings *rs);

#endif
