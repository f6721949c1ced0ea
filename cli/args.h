/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_ARGS_H
#define BK_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/cmd.h"

/*
 * What a person typed, sorted by a command's option table. Values point into argv. An option that
 * takes a value may be written --os=14, --os 14, -o14 or -o 14; switches may share one dash;
 * options may follow positional arguments; "--" ends them.
 */
struct cli_given {
    const struct cli_option *option;
    const char *value; /* NULL for a switch */
};

struct cli_args {
    const struct cli_command *command;
    const char **pos; /* positional arguments */
    size_t npos;
    struct cli_given *given; /* options in the order written */
    size_t ngiven;
    bool help; /* --help or -h, which every command has without listing it */
};

/* argv[0] is the command's name. Free with args_free() whatever happened. */
int args_parse(struct cli_args *args, const struct cli_command *command, int argc, char **argv,
               struct bk_err *err);
void args_free(struct cli_args *args);

/* Options are asked for by long name. */
bool args_has(const struct cli_args *args, const char *name);
const char *args_value(const struct cli_args *args, const char *name); /* the last one, or NULL */
size_t args_count(const struct cli_args *args, const char *name);
/* The nth value given for an option that may repeat; NULL past the last. */
const char *args_nth(const struct cli_args *args, const char *name, size_t n);
/* All of them, and NULL; free() it. NULL without memory. */
const char **args_all(const struct cli_args *args, const char *name);

/* What a person is told. cli_fail() and cli_usage() print "buckle: …" to standard error, and a hint
 * or the command's usage line below it, and return CLI_ERROR. */
int cli_fail(const struct bk_err *err);
int cli_usage(const struct cli_args *args, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes the buffer to standard output in one go and empties it. Returns status, or CLI_ERROR
 * (after saying so) when the buffer had run out of memory or could not be written. */
int cli_emit(struct buf *out, int status);

/* The nearest of n names to a misspelled one, or NULL when none is near. */
const char *cli_nearest(const char *name, const char *const *names, size_t n);

#endif
