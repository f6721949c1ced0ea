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
 * A command line that runs another one under a profile, for callers that start commands through a
 * shell: `env NAME=VALUE… sandbox-exec -p PROFILE SHELL -c COMMAND`.
 */

/* Appends one shell-quoted argument. Preserves all bytes except NUL. */
void shell_word(struct buf *out, const char *s);

/* Finds a shell by path, or by name in PATH. Returns NULL if there is none. */
const char *shell_find(struct arena *arena, const char *shell, const char *path,
                       struct bk_err *err);

/* The environment for a command: proxy variables if there are proxies, and TMPDIR unless tmpdir is
 * NULL. NULL-terminated; returns NULL without memory. */
const char **wrap_environ(struct arena *arena, const struct proxy_vars *p, const char *tmpdir);

struct wrap {
    const char *command;
    const char *profile;    /* NULL: no restrictions; the command is unchanged */
    const char *shell;      /* from shell_find() */
    const char *const *env; /* NAME=VALUE, NULL-terminated; may be NULL */
};

void wrap_line(const struct wrap *w, struct buf *out);

#endif
