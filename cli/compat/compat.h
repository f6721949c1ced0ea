/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_COMPAT_COMPAT_H
#define BK_CLI_COMPAT_COMPAT_H

#include <limits.h>

#include "base/buf.h"
#include "cli/cmd.h"
#include "run/run.h"

/*
 * Names of other programs under which this one takes their command lines, so that scripts written
 * for them go on working. Each is a link to the program; the last part of argv[0] selects it.
 */
extern const struct cli_command name_cage, name_sandbox_exec, name_srt;
extern const struct cli_command *const compat_names[]; /* ends with NULL */

/* The name that argv[0] asks for, or NULL for our own. */
const struct cli_command *compat_find(const char *argv0);

/* Whether a shipped profile is one by itself, and no part of others. */
bool compat_stands_alone(const char *file);

/* One run under such a name. */
struct compat {
    const char *name;     /* what messages begin with */
    struct run_spec spec; /* cwd is set by compat_init() */
    struct run run;
    const char *refused; /* said before why this host cannot enforce the policy; may be NULL */
    bool compiled;       /* on failure: the policy itself was sound */
    bool verbose;        /* tell of each denied operation as it happens */
    void (*opened)(struct compat *d); /* called before the command starts; may be NULL */
    bool signals_as_status;           /* a signal becomes 128 and its number, as shells have it */
    /* Whether a denied operation is not worth a word; may be NULL. */
    bool (*ignored)(struct compat *d, const char *line);
    /* When something can be read from spec.launch.hears; may be NULL. */
    void (*heard)(struct compat *d);
    void *owner;
    struct run_source base; /* the policy; without a name: the spec has its sources already */
    struct assembly policy; /* base and the machine's policy */
    struct tmpdir scratch;
    char cwd[PATH_MAX];
};

int compat_init(struct compat *d, const char *name, struct bk_err *err);

/* Runs the command. When it ran, this program ends as it did and compat_run() never returns. On
 * failure everything but *err is cleaned up; STEP_POLICY in end->stage: the policy is wrong, and
 * was told of. */
int compat_run(struct compat *d, struct launch_end *end, struct bk_err *err);

/* "NAME: about: message", with the place and hint if there are any, to standard error. `about` may
 * be NULL. */
void compat_report(const char *name, const char *about, const struct bk_err *err);

#endif
