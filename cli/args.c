/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Parses a command line in one pass: every word is an option, an option's value or a positional
 * argument, in that order of preference. Nothing is interpreted here; commands look options up by
 * name. Error messages are printed here too, so that they all look alike.
 */

#include "cli/args.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/spelling.h"

static const struct cli_option *find_long(const struct cli_option *table, const char *name,
                                          size_t n)
{
    for (; table && table->name; table++)
        if (strlen(table->name) == n && memcmp(table->name, name, n) == 0)
            return table;
    return NULL;
}

static const struct cli_option *find_letter(const struct cli_option *table, char letter)
{
    for (; table && table->name; table++)
        if (table->letter == letter)
            return table;
    return NULL;
}

const char *cli_nearest(const char *name, const char *const *names, size_t n)
{
    return spelling_nearest(name, names, n);
}

/* What precedes the command's name on a command line; nothing for compat names. */
static const char *own_word(const struct cli_command *command)
{
    return command->main ? "" : "buckle ";
}

static int unknown_long(const struct cli_command *command, const char *name, size_t n,
                        struct bk_err *err)
{
    const char *names[64];
    size_t count = 0;
    for (const struct cli_option *o = command->options; o && o->name && count < 63; o++)
        names[count++] = o->name;
    names[count++] = "help";
    char typed[SPELLING_MAX + 1];
    snprintf(typed, sizeof(typed), "%.*s", (int)n, name);
    const char *near = cli_nearest(typed, names, count);
    err_set(err, BK_E_INPUT, "%s: unknown option --%.*s", command->name, (int)n, name);
    if (near)
        err_hint(err, "did you mean --%s?", near);
    else
        err_hint(err, "%s%s --help lists the options", own_word(command), command->name);
    return -1;
}

static void add_given(struct cli_args *args, const struct cli_option *option, const char *value)
{
    args->given[args->ngiven++] = (struct cli_given){option, value};
}

/* --switch=value, for commands with Go's syntax. */
static int take_switch_value(struct cli_args *args, const struct cli_option *o, const char *value,
                             struct bk_err *err)
{
    static const char *const yes[] = {"true", "1", "t", "T", "TRUE", "True"};
    static const char *const no[] = {"false", "0", "f", "F", "FALSE", "False"};
    for (size_t i = 0; args->command->one_dash && i < sizeof(yes) / sizeof(*yes); i++) {
        if (strcmp(value, yes[i]) == 0)
            return add_given(args, o, NULL), 0;
        if (strcmp(value, no[i]) == 0)
            return 0;
    }
    return err_set(err, BK_E_INPUT, "%s: --%s takes no value", args->command->name, o->name);
}

/* --name, --name=value or --name value; advances *i past a value in the next word. */
static int take_long(struct cli_args *args, int argc, char **argv, int *i, struct bk_err *err)
{
    const char *name = argv[*i] + (argv[*i][1] == '-' ? 2 : 1), *equals = strchr(name, '=');
    size_t n = equals ? (size_t)(equals - name) : strlen(name);
    bool short_help = args->command->one_dash && n == 1 && *name == 'h';
    if ((n == 4 && memcmp(name, "help", 4) == 0) || short_help) {
        args->help = true;
        return 0;
    }
    const struct cli_option *o = find_long(args->command->options, name, n);
    if (!o)
        return unknown_long(args->command, name, n, err);
    if (!o->value && equals)
        return take_switch_value(args, o, equals + 1, err);
    if (!o->value) {
        add_given(args, o, NULL);
        return 0;
    }
    if (!equals && *i + 1 >= argc)
        return err_set(err, BK_E_INPUT, "%s: --%s needs a value: --%s=%s", args->command->name,
                       o->name, o->name, o->value);
    add_given(args, o, equals ? equals + 1 : argv[++*i]);
    return 0;
}

/* -abc, -Dvalue or -D value. */
static int take_letters(struct cli_args *args, int argc, char **argv, int *i, struct bk_err *err)
{
    for (const char *p = argv[*i] + 1; *p; p++) {
        if (*p == 'h') {
            args->help = true;
            continue;
        }
        const struct cli_option *o = find_letter(args->command->options, *p);
        if (!o) {
            err_set(err, BK_E_INPUT, "%s: unknown option -%c", args->command->name, *p);
            err_hint(err,
                     "%s%s --help lists the options; put arguments that start with a "
                     "dash after --",
                     own_word(args->command), args->command->name);
            return -1;
        }
        if (!o->value) {
            add_given(args, o, NULL);
            continue;
        }
        if (!p[1] && *i + 1 >= argc)
            return err_set(err, BK_E_INPUT, "%s: -%c needs a value: -%c %s", args->command->name,
                           *p, *p, o->value);
        add_given(args, o, p[1] ? p + 1 : argv[++*i]);
        return 0;
    }
    return 0;
}

int args_parse(struct cli_args *args, const struct cli_command *command, int argc, char **argv,
               struct bk_err *err)
{
    *args = (struct cli_args){.command = command};
    size_t letters = 0; /* "-abc" holds three options */
    for (int i = 0; i < argc; i++)
        letters += strlen(argv[i]) + 1;
    args->pos = calloc((size_t)argc + 1, sizeof(*args->pos));
    args->given = calloc(letters, sizeof(*args->given));
    if (!args->pos || !args->given)
        return err_nomem(err);
    bool only_positional = false;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (only_positional || word[0] != '-' || word[1] == '\0') {
            args->pos[args->npos++] = word;
            only_positional = only_positional || command->takes_command;
        } else if (strcmp(word, "--") == 0)
            only_positional = true;
        else if ((word[1] == '-' || command->one_dash ? take_long : take_letters)(args, argc, argv,
                                                                                  &i, err) < 0)
            return -1;
    }
    return 0;
}

void args_free(struct cli_args *args)
{
    free(args->pos);
    free(args->given);
    *args = (struct cli_args){0};
}

const char *args_nth(const struct cli_args *args, const char *name, size_t n)
{
    for (size_t i = 0; i < args->ngiven; i++)
        if (strcmp(args->given[i].option->name, name) == 0 && n-- == 0)
            return args->given[i].value;
    return NULL;
}

bool args_number(const char *text, uint64_t most, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long n = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    if (text[0] < '0' || text[0] > '9' || *end || errno || n > most)
        return false;
    *out = n;
    return true;
}

size_t args_count(const struct cli_args *args, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < args->ngiven; i++)
        n += strcmp(args->given[i].option->name, name) == 0;
    return n;
}

const char **args_all(const struct cli_args *args, const char *name)
{
    size_t n = args_count(args, name);
    const char **all = calloc(n + 1, sizeof(*all));
    for (size_t i = 0; all && i < n; i++)
        all[i] = args_nth(args, name, i);
    return all;
}

bool args_has(const struct cli_args *args, const char *name)
{
    return args_count(args, name) > 0;
}

const char *args_value(const struct cli_args *args, const char *name)
{
    size_t n = args_count(args, name);
    return n ? args_nth(args, name, n - 1) : NULL;
}

static void print_error(struct buf *line)
{
    if (buf_ok(line) && line->s)
        fputs(line->s, stderr);
}

int cli_fail(const struct bk_err *err)
{
    OWN(buf) struct buf line = {0};
    buf_str(&line, "buckle: ");
    err_lines(err, &line);
    print_error(&line);
    return CLI_ERROR;
}

int cli_usage(const struct cli_args *args, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    OWN(buf) struct buf line = {0};
    buf_fmt(&line, "buckle: %s: ", args->command->name);
    buf_safe(&line, text, strlen(text));
    buf_fmt(&line, "\n  usage: buckle %s %s\n", args->command->name, args->command->usage);
    print_error(&line);
    return CLI_ERROR;
}

int cli_emit(struct buf *out, int status)
{
    struct bk_err err;
    if (!buf_ok(out)) {
        err_nomem(&err);
        return cli_fail(&err);
    }
    if (out->n && (fwrite(out->s, 1, out->n, stdout) != out->n || fflush(stdout) != 0)) {
        err_sys(&err, "standard output");
        return cli_fail(&err);
    }
    buf_free(out);
    return status;
}

int args_amount(const char *name, const char *text, uint64_t max, uint64_t *out, struct bk_err *err)
{
    char *end;
    errno = 0;
    unsigned long long v = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    if (text[0] < '0' || text[0] > '9' || errno)
        return err_set(err, BK_E_INPUT, "--%s: %s is not a number", name, text);
    const char *units = "KMGT", *unit = *end ? strchr(units, *end & ~0x20) : NULL;
    if (unit) {
        int shift = (int)(unit - units + 1) * 10;
        if (v > (max >> shift))
            return err_set(err, BK_E_INPUT, "--%s must be between 1 and %llu", name,
                           (unsigned long long)max);
        v <<= shift;
        end++;
    }
    if (*end || v == 0 || v > max)
        return err_set(err, BK_E_INPUT, "--%s must be between 1 and %llu, not %s", name,
                       (unsigned long long)max, text);
    *out = v;
    return 0;
}
