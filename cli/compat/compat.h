/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_COMPAT_COMPAT_H
#define BK_CLI_COMPAT_COMPAT_H

#include <limits.h>

#include "base/buf.h"
#include "cli/cmd.h"
#include "cli/run/program-hints.h"
#include "run/run.h"

/*
 * Names of other programs under which this one accepts their command lines, so that scripts for
 * them keep working. Each is a link to the program; the last part of argv[0] selects it.
 */
extern const struct cli_command name_cage, name_sandbox_exec, name_srt;
extern const struct cli_command *const compat_names[]; /* ends with NULL */

/* The compat name in argv[0], or NULL. */
const struct cli_command *compat_find(const char *argv0);

/* Whether a shipped profile can be used alone, and is not part of others. */
bool compat_is_program(const char *file);

/* One run under such a name. */
struct compat {
    const char *name;     /* what messages begin with */
    struct run_spec spec; /* cwd is set by compat_init() */
    struct run run;
    const char *refused; /* printed before the reason why this host cannot enforce the policy; may
                            be NULL */
    bool compiled;       /* on failure: the policy itself is valid */
    bool verbose;        /* report each denied operation as it happens */
    void (*opened)(struct compat *d); /* called before the command starts; may be NULL */
    bool signals_as_status;           /* a signal becomes 128 and its number, as in shells */
    /* Whether not to report a denied operation; may be NULL. */
    bool (*ignored)(struct compat *d, const char *line);
    /* When something can be read from spec.launch.hears; may be NULL. */
    void (*on_input)(struct compat *d);
    /* For a session: each reported operation, and the end of the command; may be NULL. */
    void (*on_event)(struct compat *d, const struct event *e);
    void (*ending)(struct compat *d, const struct launch_end *end);
    void *owner;
    struct run_source base; /* the policy; without a name: the spec has its sources already */
    struct assembly policy; /* base and the machine's policy */
    struct tmpdir private_tmpdir;
    struct program_mounts mounts;
    char cwd[PATH_MAX];
};

int compat_init(struct compat *d, const char *name, struct bk_err *err);

/* Runs the command. If it ran, this program ends like it, and compat_run() never returns. On
 * failure everything except *err is cleaned up; with STEP_POLICY in end->step the policy is wrong
 * and was reported. */
int compat_run(struct compat *d, struct launch_end *end, struct bk_err *err);

/* "NAME: about: message", with the place and hint if there are any, to standard error. `about` may
 * be NULL. */
void compat_report(const char *name, const char *about, const struct bk_err *err);

#endif
