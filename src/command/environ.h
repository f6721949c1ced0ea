/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_COMMAND_ENVIRON_H
#define BK_COMMAND_ENVIRON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/*
 * The environment of a command: the caller's without the variables that commonly hold secrets or
 * lead to agents outside (tokens, passwords, cloud keys, agent sockets), and with those that
 * describe the sandbox. Names given with --env stay; with "*" all do.
 */
struct environ_result {
    char **env;           /* NULL-terminated, in the arena */
    const char **removed; /* names, in the arena */
    size_t nremoved;
};

/* set: "NAME=value" entries that replace or add, NULL-terminated. Returns -1 if the arena is
 * exhausted. */
int environ_make(char *const *caller, const char *const *keep, size_t nkeep, const char *const *set,
                 struct arena *arena, struct environ_result *out);

/* Whether a variable of this name is removed unless kept. */
bool environ_is_secret(const char *name, size_t n);

#endif
