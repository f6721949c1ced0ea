/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle check`: loads every file separately and reports its findings in the order of the text. A
 * profile that compiles is linted as well: rules that can never decide become warnings, and with
 * --linux, operations without a counterpart on Linux become notes. Lint reports rules, but findings
 * need positions, so the positions are looked up in the text again.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "base/own.h"
#include "base/utf8.h"
#include "cli/args.h"
#include "cli/profile/check-settings.h"
#include "cli/profile/linux-support.h"
#include "cli/profile/profile-options.h"

static const struct cli_option options[] = {
    LOAD_OPTIONS,
    LOAD_BLOB_OPTIONS,
    {"json", 'j', NULL, "print one JSON document", NULL},
    {"settings", 's', NULL, "FILEs are settings; without FILE, check the ones in force here", NULL},
    {"linux", 0, NULL, "also list operations that have no counterpart on Linux", NULL},
    {"no-lint", 0, NULL, "report errors only, not rules that never decide", NULL},
    {"strict", 0, NULL, "exit with 1 for warnings, too", NULL},
    {0},
};

static int cmd_check_run(struct cli_args *args);

struct totals {
    size_t errors, warnings;
    bool unreadable;
};

static const struct source *find_source(const struct source_map *map, const char *name)
{
    for (const struct source *s = map->first; s; s = s->next)
        if (name && strcmp(s->name, name) == 0)
            return s;
    return NULL;
}

static src_pos find_place(const struct source_map *map, const struct graph_origin *o)
{
    const struct source *s = find_source(map, o->file);
    if (!s || !o->line)
        return 0;
    const char *at = s->text, *end = s->text + s->len;
    for (uint32_t line = 1; line < o->line; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline)
            return 0;
        at = newline + 1;
    }
    for (uint32_t col = 1; col < o->col && at < end; col++) {
        size_t w = utf8_width(at, (size_t)(end - at));
        at += w ? w : 1;
    }
    return s->base + (src_pos)(at - s->text);
}

/* Adds a finding at a rule's position, and underlines the rule if it is on one line. */
static struct diag *add_at_rule(struct loaded *l, uint32_t rule, enum diag_level level,
                                const char *code, const char *msg)
{
    const struct graph_origin *o = &graph_rule_at(l->graph, rule)->origin;
    src_pos pos = find_place(&l->unit.map, o);
    struct diag *g = diag_add(&l->unit.diags, level, code, pos, "%s", msg);
    const struct source *s = pos ? find_source(&l->unit.map, o->file) : NULL;
    size_t n = o->text ? strlen(o->text) : 0;
    if (g && s && n && n <= s->len - (pos - s->base) &&
        memcmp(s->text + (pos - s->base), o->text, n) == 0)
        g->width = (uint32_t)n;
    return g;
}

static const struct {
    const char *code, *words;
} lints[] = {
    [GRAPH_LINT_SHADOWED] = {"shadowed-rule", "this rule never decides: "},
    [GRAPH_LINT_REPLACED] = {"replaced-rule", "this rule never decides: "},
    [GRAPH_LINT_CONTRADICTORY] = {"contradictory-rule", "this rule never decides: "},
    [GRAPH_LINT_IMPOSSIBLE] = {"impossible-filter", ""},
};

/* Whether a rule is in the file that is checked. Of an imported one, profiles use a part and
 * replace another. */
static bool is_own(const struct loaded *l, uint32_t rule)
{
    const struct graph_origin *o = &graph_rule_at(l->graph, rule)->origin;
    const struct source *first = sbpl_text_at(&l->unit, 0);
    return !first || !o->file || strcmp(o->file, first->name) == 0;
}

static void lint_found(void *arg, const struct graph_lint *lint)
{
    struct loaded *l = arg;
    OWN(buf) struct buf msg = {0};
    if (!is_own(l, lint->rule))
        return;
    buf_fmt(&msg, "%s%s", lints[lint->kind].words, lint->why);
    struct diag *g =
        add_at_rule(l, lint->rule, DIAG_WARNING, lints[lint->kind].code, msg.s ? msg.s : "");
    if (!g || lint->by == GRAPH_NO_RULE)
        return;
    const struct graph_origin *by = &graph_rule_at(l->graph, lint->by)->origin;
    if (by->line)
        diag_hint(&l->unit.diags, g, "decided by %s:%u: %s", by->file ? by->file : "", by->line,
                  by->text ? by->text : "");
}

/* Reports each operation once, at its first rule. */
static void note_linux(struct loaded *l)
{
    bool reported[OP_COUNT] = {false};
    for (uint32_t rule = 0; rule < graph_rule_count(l->graph); rule++) {
        const struct graph_rule_info *r = graph_rule_at(l->graph, rule);
        if (r->implicit || r->is_default)
            continue;
        for (uint32_t i = 0; i < r->nops; i++) {
            enum vocab_op op = (enum vocab_op)r->ops[i];
            if (reported[op] || linux_has_operation(op))
                continue;
            reported[op] = true;
            char msg[160];
            snprintf(msg, sizeof(msg), "%s has no counterpart on Linux, so the rule has no effect",
                     vocab_ops[op].name);
            add_at_rule(l, rule, DIAG_NOTE, "no-linux-counterpart", msg);
        }
    }
}

/* Merges two lists that are sorted by position. */
static struct diag *merge_findings(struct diag *a, struct diag *b)
{
    struct diag *first = NULL, **end = &first;
    while (a && b) {
        struct diag **least = b->pos < a->pos ? &b : &a;
        *end = *least;
        end = &(*least)->next;
        *least = (*least)->next;
    }
    *end = a ? a : b;
    return first;
}

/* Sorts by position. Bottom-up merge sort: slot i holds a sorted list of 2^i findings. */
static void sort_findings(struct diags *d)
{
    struct diag *slots[16] = {NULL}, *rest = d->first;
    while (rest) {
        struct diag *one = rest;
        rest = rest->next;
        one->next = NULL;
        size_t i = 0;
        for (; slots[i]; i++) {
            one = merge_findings(slots[i], one);
            slots[i] = NULL;
        }
        slots[i] = one;
    }
    d->first = NULL;
    for (size_t i = 0; i < 16; i++)
        d->first = merge_findings(slots[i], d->first);
    d->last = d->first;
    while (d->last && d->last->next)
        d->last = d->last->next;
}

static void print_json(const struct diags *d, const char *name, struct buf *out)
{
    buf_str(out, "{\"file\": ");
    buf_json(out, name, strlen(name));
    buf_fmt(out, ", \"errors\": %zu, \"warnings\": %zu, \"notes\": %zu, \"findings\": [", d->errors,
            d->warnings, d->notes);
    for (const struct diag *g = d->first; g; g = g->next) {
        if (g != d->first)
            buf_str(out, ", ");
        diag_json(d, g, out);
    }
    buf_str(out, "]}");
}

/* Reports a file that cannot be read, on standard error and in the JSON document. */
static void unreadable(const struct cli_args *args, const char *name, const struct bk_err *err,
                       struct totals *sum, struct buf *out)
{
    sum->unreadable = true;
    cli_fail(err);
    if (!args_has(args, "json"))
        return;
    buf_str(out, "{\"file\": ");
    buf_json(out, name, strlen(name));
    buf_str(out, ", \"unreadable\": ");
    buf_json(out, err->msg, strlen(err->msg));
    buf_chr(out, '}');
}

static bool ends_in(const char *name, const char *end)
{
    size_t n = name ? strlen(name) : 0, m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static bool are_presets(const char *name)
{
    return ends_in(name, ".yaml") || ends_in(name, ".yml");
}

static bool are_settings(const struct cli_args *args, const char *name)
{
    return args_has(args, "settings") || ends_in(name, ".json") || are_presets(name);
}

static void check_settings_file(const struct cli_args *args, const char *name, struct totals *sum,
                                struct buf *out)
{
    OWN(checked_settings) struct checked_settings c = {0};
    struct bk_err err;
    if ((are_presets(name) ? check_presets : check_settings)(&c, name, &err) < 0) {
        unreadable(args, name, &err, sum, out);
        return;
    }
    sum->errors += c.diags.errors;
    sum->warnings += c.diags.warnings;
    if (args_has(args, "json"))
        print_json(&c.diags, name, out);
    else
        load_diags(&c.diags, out);
}

static void check_file(const struct cli_args *args, const char *name, struct totals *sum,
                       struct buf *out)
{
    if (are_settings(args, name)) {
        check_settings_file(args, name, sum, out);
        return;
    }
    OWN(loaded) struct loaded l;
    struct bk_err err;
    int failed = load_profile(args, name, &l, &err);
    struct diags *d = &l.unit.diags;
    if (failed && !d->errors) {
        unreadable(args, name ? name : "<text>", &err, sum, out);
        return;
    }
    if (!failed && !args_has(args, "no-lint"))
        graph_lint(l.graph, lint_found, &l);
    if (!failed && args_has(args, "linux"))
        note_linux(&l);
    sort_findings(d);
    sum->errors += d->errors;
    sum->warnings += d->warnings;
    if (args_has(args, "json"))
        print_json(d, name ? name : "<text>", out);
    else
        load_findings(&l.unit, out);
}

/* Checks the settings files in force in the working directory. */
static int check_found(struct cli_args *args)
{
    const char **pos = args->pos;
    const char *files[LAYER_COUNT];
    OWN(settings) struct settings s = {0};
    struct bk_err err;
    size_t n = check_settings_found(&s, files, &err);
    if (!s.cwd)
        return cli_fail(&err);
    if (!n)
        return CLI_OK;
    args->pos = files;
    args->npos = n;
    int status = cmd_check_run(args);
    args->pos = pos;
    args->npos = 0;
    return status;
}

static int cmd_check_run(struct cli_args *args)
{
    bool json = args_has(args, "json"), text = load_from_text(args);
    if (!args->npos && !text && args_has(args, "settings"))
        return check_found(args);
    if (!args->npos && !text)
        return cli_usage(args, "no file given");
    if (args->npos && text)
        return cli_usage(args, "give --text or a file, not both");
    struct totals sum = {0};
    OWN(buf) struct buf out = {0};
    if (json)
        buf_str(&out, "{\"files\": [");
    for (size_t i = 0; i < args->npos || (text && i == 0); i++) {
        if (json && i)
            buf_str(&out, ", ");
        check_file(args, text ? NULL : args->pos[i], &sum, &out);
        if (!json && out.n && cli_emit(&out, CLI_OK) != CLI_OK)
            return CLI_ERROR;
    }
    if (json)
        buf_fmt(&out, "], \"errors\": %zu, \"warnings\": %zu}\n", sum.errors, sum.warnings);
    bool findings = sum.errors || (sum.warnings && args_has(args, "strict"));
    return cli_emit(&out, sum.unreadable ? CLI_ERROR : findings ? CLI_NO : CLI_OK);
}

const struct cli_command cmd_check = {
    .name = "check",
    .usage = "[OPTION…] FILE…",
    .brief = "find mistakes in profiles, and rules that never decide",
    .about =
        "Checks each FILE as a separate profile (\"-\" is standard input) and prints mistakes as\n"
        "file:line:column, with the source line and a caret. If a profile has no errors, warns\n"
        "about rules that can never decide: shadowed by others, replaced, contradictory, or\n"
        "with filters that nothing matches. Prints nothing if all is well.\n"
        "\n"
        "A FILE that ends in .json is checked as settings, and one that ends in .yaml or .yml as\n"
        "presets; entries without effect are reported as well.\n"
        "\n"
        "Exit status: 0 no errors, 1 errors (with --strict also warnings), 2 if a file cannot\n"
        "be read.",
    .options = options,
    .complete = "profile",
    .run = cmd_check_run,
};
