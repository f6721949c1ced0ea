/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle completions SHELL`: writes scripts for three shells from the command table. Each argument
 * has a kind: "file", "dir", or a list of words ("operation", "profile", "os", …). The script
 * contains the words themselves, so that pressing Tab starts no program. Blanks separate the kinds
 * of positional arguments, and the last one repeats; "a|b" are literal words.
 */

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/args.h"
#include "cli/compat/compat.h"
#include "sbpl/sbpl.h"
#include "settings/keys.h"
#include "vocab/os.h"

/* ---- lists of words ---- */

static void words_operation(struct buf *out)
{
    for (unsigned op = 0; op < OP_COUNT; op++)
        buf_fmt(out, "%s ", vocab_ops[op].name);
}

static void words_name(struct buf *out)
{
    words_operation(out);
    for (unsigned f = 0; f < FILTER_COUNT; f++)
        buf_fmt(out, "%s ", vocab_filters[f].name);
    for (unsigned m = 0; m < MOD_COUNT; m++)
        buf_fmt(out, "%s ", vocab_modifiers[m].name);
}

static void words_os(struct buf *out)
{
    for (unsigned v = 0; v < VOCAB_OS_COUNT; v++)
        buf_fmt(out, "%s ", vocab_os_name((enum vocab_os)v));
}

static void words_profile(struct buf *out)
{
    for (const struct sbpl_builtin *b = sbpl_builtins; b->name; b++)
        buf_fmt(out, "%.*s ", (int)(strlen(b->name) - strlen(".sb")), b->name);
}

/* Profiles for `sandbox-exec -n`: those that are complete, not parts of others. */
static void words_shipped(struct buf *out)
{
    for (const struct sbpl_builtin *b = sbpl_builtins; b->name; b++)
        if (compat_is_program(b->name))
            buf_fmt(out, "%.*s ", (int)(strlen(b->name) - strlen(".sb")), b->name);
}

static void words_command(struct buf *out)
{
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        buf_fmt(out, "%s ", (*c)->name);
}

static void words_setting(struct buf *out)
{
    char path[96];
    for (size_t i = 0; i < SETTING_COUNT; i++)
        if (setting_keys[i].shape != SHAPE_SECTION && setting_keys[i].effect != EFFECT_LATER)
            buf_fmt(out, "%s ", setting_path(&setting_keys[i], path));
}

static const struct kind {
    const char *name;
    void (*words)(struct buf *out); /* NULL: only files or directories */
    bool files;                     /* offer files as well */
} kinds[] = {
    {"operation", words_operation, false},
    {"name", words_name, false},
    {"os", words_os, false},
    {"profile", words_profile, true},
    {"shipped", words_shipped, false},
    {"command", words_command, false},
    {"setting", words_setting, false},
    {"file", NULL, true},
    {"dir", NULL, false},
};

static const struct kind *find_kind(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (strlen(kinds[i].name) == n && memcmp(kinds[i].name, name, n) == 0)
            return &kinds[i];
    return NULL;
}

static void drop_last_blank(struct buf *b)
{
    if (b->n && b->s[b->n - 1] == ' ')
        b->s[--b->n] = '\0';
}

/* Adds the words of a kind; anything that is not a kind is a list of words itself. */
static void add_words(struct buf *out, const char *kind, size_t n)
{
    const struct kind *k = find_kind(kind, n);
    if (k && k->words)
        k->words(out);
    for (size_t i = 0; !k && i < n; i++)
        buf_chr(out, kind[i] == '|' ? ' ' : kind[i]);
    drop_last_blank(out);
}

/* The same, for shells that would read file-read* as a pattern. */
static void add_plain_words(struct buf *out, const char *kind, size_t n)
{
    OWN(buf) struct buf words = {0};
    add_words(&words, kind, n);
    for (size_t i = 0; i < words.n; i++) {
        if (words.s[i] == '*')
            buf_chr(out, '\\');
        buf_chr(out, words.s[i]);
    }
}

/* Adds s for use inside '…', with the characters in `special` escaped. */
static void add_quoted(struct buf *out, const char *s, const char *special)
{
    for (; *s; s++) {
        if (*s == '\'')
            buf_str(out, "'\\''");
        else if (strchr(special, *s))
            buf_fmt(out, "\\%c", *s);
        else
            buf_chr(out, *s);
    }
}

/* ---- bash ---- */

static const char bash_head[] =
    "# bash completion for buckle\n"
    "_buckle_offer() {\n"
    "    local cur=$1 kind=$2 words=$3\n"
    "    case $kind in\n"
    "    dir) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;\n"
    "    file) compopt -o filenames\n"
    "        mapfile -t COMPREPLY < <(compgen -f -W \"$words\" -- \"$cur\") ;;\n"
    "    *) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\") ;;\n"
    "    esac\n"
    "}\n"
    "_buckle() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
    "    local command=${COMP_WORDS[1]} n=0 i\n"
    "    COMPREPLY=()\n"
    "    # bash cuts --option=value into three words\n"
    "    if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD - "
    "2]}; fi\n"
    "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
    "        case \"$command ${COMP_WORDS[i]}\" in\n";

static const char bash_count[] = "        *\\ -* | *\\ =) ;;\n"
                                 "        *) [[ ${COMP_WORDS[i - 1]} == = ]] || ((n++)) ;;\n"
                                 "        esac\n"
                                 "    done\n";

/* A bash case label that matches the option's names: -D|--define */
static void bash_label(struct buf *out, const struct cli_command *c, const struct cli_option *o)
{
    if (c->one_dash)
        buf_fmt(out, "-%s|", o->name);
    if (o->letter)
        buf_fmt(out, "-%c|", o->letter);
    buf_fmt(out, "--%s", o->name);
}

static void bash_offer(struct buf *out, const char *kind, size_t n)
{
    const struct kind *k = find_kind(kind, n);
    const char *how = !k                            ? "words"
                      : strcmp(k->name, "dir") == 0 ? "dir"
                      : k->files                    ? "file"
                                                    : "words";
    buf_fmt(out, "_buckle_offer \"$cur\" %s '", how);
    add_words(out, kind, n);
    buf_str(out, "'");
}

static void bash_values(struct buf *out, const struct cli_command *c)
{
    buf_str(out, "        case $prev in\n");
    for (const struct cli_option *o = c->options; o && o->name; o++) {
        if (!o->value)
            continue;
        buf_str(out, "        ");
        bash_label(out, c, o);
        buf_str(out, ") ");
        if (o->complete) {
            bash_offer(out, o->complete, strlen(o->complete));
            buf_str(out, "; ");
        }
        buf_str(out, "return ;;\n");
    }
    buf_str(out, "        esac\n");
}

static void bash_options(struct buf *out, const struct cli_command *c)
{
    buf_str(out, "        if [[ $cur == -* ]]; then\n            _buckle_offer \"$cur\" words '");
    for (const struct cli_option *o = c->options; o && o->name; o++) {
        if (o->letter)
            buf_fmt(out, "-%c ", o->letter);
        if (!c->letters)
            buf_fmt(out, "--%s ", o->name);
    }
    buf_fmt(out, "%s'\n            return\n        fi\n", c->letters ? "--" : "-h --help");
}

static size_t kind_width(const char *at)
{
    return strcspn(at, " ");
}

static void bash_positional(struct buf *out, const struct cli_command *c)
{
    if (!c->complete)
        return;
    buf_str(out, "        case $n in\n");
    const char *at = c->complete;
    for (unsigned i = 0;; i++) {
        size_t n = kind_width(at);
        bool last = at[n] == '\0';
        if (last)
            buf_str(out, "        *) ");
        else
            buf_fmt(out, "        %u) ", i);
        bash_offer(out, at, n);
        buf_str(out, " ;;\n");
        if (last)
            break;
        at += n + 1;
    }
    buf_str(out, "        esac\n");
}

/* So that values of options do not count as positional arguments. */
static void bash_skip_values(struct buf *out)
{
    for (const struct cli_command *const *c = cli_commands; *c; c++)
        for (const struct cli_option *o = (*c)->options; o && o->name; o++)
            if (o->value) {
                buf_fmt(out, "        \"%s --%s\"", (*c)->name, o->name);
                if (o->letter)
                    buf_fmt(out, "|\"%s -%c\"", (*c)->name, o->letter);
                buf_str(out, ") ((i++)) ;;\n");
            }
}

/* The compat names: options first, then another command. */
static void print_bash_names(struct buf *out)
{
    buf_str(out, "_buckle_name() {\n"
                 "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
                 "    COMPREPLY=()\n"
                 "    case ${COMP_WORDS[0]##*/} in\n");
    for (const struct cli_command *const *c = compat_names; *c; c++) {
        buf_fmt(out, "    %s)\n", (*c)->name);
        bash_values(out, *c);
        bash_options(out, *c);
        buf_str(out, "        ;;\n");
    }
    buf_str(out, "    esac\n"
                 "    mapfile -t COMPREPLY < <(compgen -c -- \"$cur\")\n}\n"
                 "complete -o default -F _buckle_name");
    for (const struct cli_command *const *c = compat_names; *c; c++)
        buf_fmt(out, " %s", (*c)->name);
    buf_chr(out, '\n');
}

static void print_bash(struct buf *out)
{
    buf_str(out, bash_head);
    bash_skip_values(out);
    buf_str(out, bash_count);
    buf_str(out, "    if ((COMP_CWORD == 1)); then\n        _buckle_offer \"$cur\" words '");
    words_command(out);
    buf_str(out, "--help --version'\n        return\n    fi\n    case $command in\n");
    for (const struct cli_command *const *c = cli_commands; *c; c++) {
        buf_fmt(out, "    %s)\n", (*c)->name);
        bash_values(out, *c);
        bash_options(out, *c);
        bash_positional(out, *c);
        buf_str(out, "        ;;\n");
    }
    buf_str(out, "    esac\n}\ncomplete -F _buckle buckle\n");
    print_bash_names(out);
}

/* ---- zsh ---- */

static const char zsh_special[] = "[]:\\";

static void zsh_action(struct buf *out, const char *kind, size_t n)
{
    const struct kind *k = kind ? find_kind(kind, n) : NULL;
    if (!kind) {
        buf_str(out, " ");
    } else if (k && strcmp(k->name, "dir") == 0) {
        buf_str(out, "_files -/");
    } else if (k && k->files) {
        buf_str(out, "_files");
    } else {
        buf_chr(out, '(');
        add_plain_words(out, kind, n);
        buf_chr(out, ')');
    }
}

static void zsh_option(struct buf *out, const struct cli_option *o, bool letters)
{
    buf_str(out, " \\\n        '*'");
    if (letters)
        buf_fmt(out, "-%c%s", o->letter, o->value ? "+" : "");
    else if (o->letter)
        buf_fmt(out, "{-%c%s,--%s%s}", o->letter, o->value ? "+" : "", o->name,
                o->value ? "=" : "");
    else
        buf_fmt(out, "--%s%s", o->name, o->value ? "=" : "");
    buf_str(out, "'[");
    add_quoted(out, o->help, zsh_special);
    buf_chr(out, ']');
    if (o->value) {
        buf_fmt(out, ":%s:", o->value);
        zsh_action(out, o->complete, o->complete ? strlen(o->complete) : 0);
    }
    buf_chr(out, '\'');
}

static void zsh_positional(struct buf *out, const char *at)
{
    for (unsigned i = 1;; i++) {
        size_t n = kind_width(at);
        bool last = at[n] == '\0';
        if (last)
            buf_str(out, " \\\n        '*");
        else
            buf_fmt(out, " \\\n        '%u", i);
        buf_str(out, ": :");
        zsh_action(out, at, n);
        buf_chr(out, '\'');
        if (last)
            return;
        at += n + 1;
    }
}

static void print_zsh(struct buf *out)
{
    buf_str(out, "#compdef buckle");
    for (const struct cli_command *const *c = compat_names; *c; c++)
        buf_fmt(out, " %s", (*c)->name);
    buf_str(out, "\n_buckle() {\n    case $service in\n");
    for (const struct cli_command *const *c = compat_names; *c; c++) {
        buf_fmt(out, "    %s) _arguments", (*c)->name);
        for (const struct cli_option *o = (*c)->options; o && o->name; o++)
            zsh_option(out, o, (*c)->letters);
        buf_str(out, " \\\n        '1: :_command_names -e' '*:: :_normal'\n        return ;;\n");
    }
    buf_str(out, "    esac\n    local -a commands\n    commands=(\n");
    for (const struct cli_command *const *c = cli_commands; *c; c++) {
        buf_fmt(out, "        '%s:", (*c)->name);
        add_quoted(out, (*c)->brief, ":\\");
        buf_str(out, "'\n");
    }
    buf_str(out, "    )\n    if ((CURRENT == 2)); then\n        _describe command commands\n"
                 "        return\n    fi\n    local command=$words[2]\n    shift words\n"
                 "    ((CURRENT--))\n    case $command in\n");
    for (const struct cli_command *const *c = cli_commands; *c; c++) {
        buf_fmt(out, "    %s) _arguments", (*c)->name);
        for (const struct cli_option *o = (*c)->options; o && o->name; o++)
            zsh_option(out, o, false);
        buf_str(out, " \\\n        {-h,--help}'[show help]'");
        if ((*c)->complete)
            zsh_positional(out, (*c)->complete);
        buf_str(out, " ;;\n");
    }
    buf_str(out, "    esac\n}\n_buckle \"$@\"\n");
}

/* ---- fish ---- */

static void fish_option(struct buf *out, const struct cli_command *c, const struct cli_option *o)
{
    const struct kind *k = o->complete ? find_kind(o->complete, strlen(o->complete)) : NULL;
    buf_fmt(out, "complete -c buckle -n '__fish_seen_subcommand_from %s'", c->name);
    if (o->letter)
        buf_fmt(out, " -s %c", o->letter);
    buf_fmt(out, " -l %s -d '", o->name);
    add_quoted(out, o->help, "\\");
    buf_chr(out, '\'');
    if (o->value && k && !k->words)
        buf_str(out, " -r"); /* fish offers files and directories by itself */
    else if (o->value)
        buf_str(out, " -x");
    if (o->complete && (!k || k->words)) {
        buf_str(out, " -a '");
        add_plain_words(out, o->complete, strlen(o->complete));
        buf_chr(out, '\'');
    }
    buf_chr(out, '\n');
}

/* fish does not know an argument's position, so every position offers the words of all kinds. */
static void fish_positional(struct buf *out, const struct cli_command *c)
{
    for (const char *at = c->complete; at && *at; at += strspn(at, " ")) {
        size_t n = kind_width(at);
        const struct kind *k = find_kind(at, n);
        if (!k || k->words) {
            buf_fmt(out, "complete -c buckle -n '__fish_seen_subcommand_from %s'%s -a '", c->name,
                    strstr(c->complete, "file") ? "" : " -f");
            add_plain_words(out, at, n);
            buf_str(out, "'\n");
        }
        at += n;
    }
}

static void fish_names(struct buf *out)
{
    for (const struct cli_command *const *c = compat_names; *c; c++)
        for (const struct cli_option *o = (*c)->options; o && o->name; o++) {
            buf_fmt(out, "complete -c %s", (*c)->name);
            if (o->letter)
                buf_fmt(out, " -s %c", o->letter);
            if (!(*c)->letters)
                buf_fmt(out, " -l %s", o->name);
            if (o->value)
                buf_str(out, " -r");
            buf_str(out, " -d '");
            add_quoted(out, o->help, "\\");
            buf_str(out, "'\n");
        }
}

static void print_fish(struct buf *out)
{
    buf_str(out,
            "# fish completion for buckle\n"
            "complete -c buckle -n __fish_use_subcommand -f -l version -d 'print the version'\n"
            "complete -c buckle -f -s h -l help -d 'show help'\n");
    for (const struct cli_command *const *c = cli_commands; *c; c++) {
        buf_fmt(out, "complete -c buckle -n __fish_use_subcommand -f -a %s -d '", (*c)->name);
        add_quoted(out, (*c)->brief, "\\");
        buf_str(out, "'\n");
        for (const struct cli_option *o = (*c)->options; o && o->name; o++)
            fish_option(out, *c, o);
        fish_positional(out, *c);
    }
    fish_names(out);
}

/* ---- the command ---- */

static const struct shell {
    const char *name;
    void (*print)(struct buf *out);
} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

static int cmd_completions_run(struct cli_args *args)
{
    if (args->npos != 1)
        return cli_usage(args, "no shell given");
    for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++) {
        if (strcmp(shells[i].name, args->pos[0]) != 0)
            continue;
        OWN(buf) struct buf out = {0};
        shells[i].print(&out);
        return cli_emit(&out, CLI_OK);
    }
    return cli_usage(args, "%s: no completions for this shell", args->pos[0]);
}

static const struct cli_option options[] = {{0}};

const struct cli_command cmd_completions = {
    .name = "completions",
    .usage = "bash|zsh|fish",
    .brief = "print a completion script for a shell",
    .about = "Prints a completion script for the shell. Buckle installs these scripts; to use one\n"
             "without installing, add this to ~/.bashrc:\n"
             "\n"
             "    source <(buckle completions bash)",
    .options = options,
    .complete = "bash|zsh|fish",
    .run = cmd_completions_run,
};
