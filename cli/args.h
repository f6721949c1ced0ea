/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_ARGS_H
#define BK_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/cmd.h"

/*
 * A parsed command line. Values point into argv. An option with a value can be written --os=14,
 * --os 14, -o14 or -o 14. Switches may share one dash, and options may follow positional
 * arguments; "--" ends the options.
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

/* argv[0] is the command's name. Call args_free() even after a failure. */
int args_parse(struct cli_args *args, const struct cli_command *command, int argc, char **argv,
               struct bk_err *err);
void args_free(struct cli_args *args);

/* All of these take an option's long name. */
bool args_has(const struct cli_args *args, const char *name);
const char *args_value(const struct cli_args *args, const char *name); /* the last one, or NULL */
/* A whole number up to `most`. */
bool args_number(const char *text, uint64_t most, uint64_t *out);
/* A number from 1 to max, with K, M, G or T behind it, of the option that has this name. */
int args_amount(const char *name, const char *text, uint64_t max, uint64_t *out,
                struct bk_err *err);
size_t args_count(const struct cli_args *args, const char *name);
/* The nth value of an option that may repeat; NULL past the last. */
const char *args_nth(const struct cli_args *args, const char *name, size_t n);
/* All values, then NULL. The caller frees the array. Returns NULL if out of memory. */
const char **args_all(const struct cli_args *args, const char *name);

/* Print "buckle: …" to standard error, followed by a hint or the command's usage line. Both return
 * CLI_ERROR. */
int cli_fail(const struct bk_err *err);
int cli_usage(const struct cli_args *args, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Writes the buffer to standard output and empties it. Returns status. If the buffer ran out of
 * memory or the write fails, prints an error and returns CLI_ERROR. */
int cli_emit(struct buf *out, int status);

/* The name closest to a misspelled one, or NULL if none is close. */
const char *cli_nearest(const char *name, const char *const *names, size_t n);

#endif
