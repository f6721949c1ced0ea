/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_CMD_H
#define BK_CLI_CMD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The command line as data: commands and their options are tables, from which come parsing, --help,
 * the completions for three shells and the man pages' option lists.
 */
struct cli_option {
    const char *name;     /* long name without dashes: "json"; NULL ends a table */
    char letter;          /* 'D' for -D, or 0 */
    const char *value;    /* name of its value in help ("K=V"), NULL for a switch */
    const char *help;     /* one line */
    const char *complete; /* for the shell: "file", "dir", "os", words "text dot", or NULL */
};

struct cli_args;

struct cli_command {
    const char *name;
    const char *usage; /* "PROFILE OPERATION [ARGUMENT] [KEY=VALUE…]" */
    const char *brief; /* one line, for the list of commands */
    const char *about; /* a paragraph or two for its own --help */
    const struct cli_option *options;
    const char *complete; /* for positional arguments: "file operation" etc., may be NULL */
    bool takes_command;   /* what follows the first positional is somebody else's command line */
    bool letters;         /* its options have letters only */
    bool one_dash;        /* -name is --name, and switches take =true or =false, as in Go */
    int (*run)(struct cli_args *args);  /* exit status */
    int (*main)(int argc, char **argv); /* drop-in names sort their words themselves (compat.h) */
};

extern const struct cli_command *const cli_commands[]; /* ends with NULL */

/* Exit statuses: 0 yes/allow/clean, 1 no/deny/findings, 2 a mistake in how it was called or in the
 * profile. */
enum { CLI_OK = 0, CLI_NO = 1, CLI_ERROR = 2 };

#endif
