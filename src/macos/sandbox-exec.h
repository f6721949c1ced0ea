/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_MACOS_SANDBOX_EXEC_H
#define BK_MACOS_SANDBOX_EXEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "net/proxy-vars.h"

/*
 * A command line that runs another one under a profile, for whoever has a shell and no Buckle to
 * start things with: `env NAME=VALUE… sandbox-exec -p PROFILE SHELL -c COMMAND`.
 */

/* One word of a shell's command line. Any bytes but NUL survive. */
void shell_word(struct buf *out, const char *s);

/* A shell by name, looked up in PATH, or by path. NULL when there is none. */
const char *shell_find(struct arena *arena, const char *shell, const char *path,
                       struct bk_err *err);

/* NAME=VALUE for a command that has to go through proxies, or, without one, for any.
 * tmpdir may be NULL. NULL without memory, else it ends in NULL. */
const char **wrap_environ(struct arena *arena, const struct netenv *p, const char *tmpdir);

struct wrap {
    const char *command;
    const char *profile;    /* NULL: nothing is restricted, and the command stays as it is */
    const char *shell;      /* as shell_find() says it */
    const char *const *env; /* NAME=VALUE, ends in NULL; may be NULL */
};

void wrap_line(const struct wrap *w, struct buf *out);

#endif
