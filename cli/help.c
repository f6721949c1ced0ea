/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* --help, from the tables that also drive parsing, so that the two always agree. */

#include "cli/help.h"

#include <string.h>

#include "cli/args.h"

enum { COLUMN = 28 };

/* Counts characters, not bytes: usage lines contain "…". */
static size_t shown_width(const char *s)
{
    size_t n = 0;
    for (; *s; s++)
        n += ((unsigned char)*s & 0xc0) != 0x80;
    return n;
}

static void add_row(struct buf *out, const char *left, const char *right)
{
    size_t w = shown_width(left) + 2;
    buf_fmt(out, "  %s", left);
    if (w + 2 > COLUMN) {
        buf_chr(out, '\n');
        w = 0;
    }
    buf_fmt(out, "%*s%s\n", (int)(COLUMN - w), "", right);
}

static void add_option(struct buf *out, const struct cli_option *o)
{
    struct buf left = {0};
    if (o->letter)
        buf_fmt(&left, "-%c, --%s", o->letter, o->name);
    else
        buf_fmt(&left, "    --%s", o->name);
    if (o->value)
        buf_fmt(&left, "=%s", o->value);
    add_row(out, left.s ? left.s : "", o->help);
    buf_free(&left);
}

static const struct cli_option help_option = {"help", 'h', NULL, "show this help and exit", NULL};

void help_options(const struct cli_option *options, struct buf *out)
{
    for (const struct cli_option *o = options; o && o->name; o++)
        add_option(out, o);
    add_option(out, &help_option);
}

void help_command(const struct cli_command *command, struct buf *out)
{
    buf_fmt(out, "Usage: buckle %s %s\n\n%s\n\nOptions:\n", command->name, command->usage,
            command->about);
    help_options(command->options, out);
}

void help_program(struct buf *out)
{
    buf_str(out,
            "Usage: buckle COMMAND [OPTION…] [ARGUMENT…]\n\n"
            "Runs commands in a sandbox, under policies in Apple's sandbox language (SBPL), and\n"
            "explains what it denied. Also compiles, tests and compares profiles.\n\n"
            "Commands:\n");
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        add_row(out, (*c)->name, (*c)->brief);
    buf_str(out, "\n`buckle COMMAND --help` and `man buckle-COMMAND` describe each command.\n"
                 "`buckle --version` prints the version.\n");
}

const struct cli_command *find_command(const char *name)
{
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        if (strcmp((*c)->name, name) == 0)
            return *c;
    return NULL;
}

int unknown_command(const char *name)
{
    enum { COMMANDS_MAX = 64 };
    const char *names[COMMANDS_MAX];
    size_t n = 0;
    for (const struct cli_command *const *c = cli_commands; *c && n < COMMANDS_MAX; c++)
        names[n++] = (*c)->name;
    const char *near = cli_nearest(name, names, n);
    struct bk_err err;
    for (const struct cli_absence *a = cli_linux_commands; a->name; a++) {
        if (strcmp(a->name, name) == 0) {
            err_set(&err, BK_E_INPUT, "%s works on Linux only: %s", name, a->why);
            return cli_fail(&err);
        }
    }
    err_set(&err, BK_E_INPUT, "%s: unknown command", name);
    if (near)
        err_hint(&err, "did you mean %s?", near);
    else
        err_hint(&err, "buckle --help lists the commands");
    return cli_fail(&err);
}
