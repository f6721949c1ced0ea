/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_CMD_H
#define BK_CLI_CMD_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The command line as data. Parsing, --help and the completions for three shells all come from
 * these tables. Manual pages are written by hand; tests/runners/run-tree.py checks that they
 * describe every option.
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
    const char *complete;     /* for positional arguments: "file operation" etc., may be NULL */
    bool takes_command;       /* everything after the first positional belongs to another command */
    bool letters;             /* its options have letters, but no long names */
    bool one_dash;            /* -name is --name, and switches take =true or =false, as in Go */
    const char *const *links; /* names of links that run its main(), then NULL; may be NULL */
    int (*run)(struct cli_args *args);  /* exit status */
    int (*main)(int argc, char **argv); /* compat names parse argv themselves (compat.h) */
};

extern const struct cli_command *const cli_commands[]; /* ends with NULL */

/* A command that only the program for Linux has, and why. */
struct cli_absence {
    const char *name, *why;
};

extern const struct cli_absence cli_linux_commands[]; /* ends with a NULL name */

/* Exit statuses: 0 yes, allow or clean; 1 no, deny or findings; 2 an error in the command line or
 * in the profile. */
enum { CLI_OK = 0, CLI_NO = 1, CLI_ERROR = 2 };

#endif
