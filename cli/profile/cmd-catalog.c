/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle catalog`: lists what profiles let a process do, by family of operations; compares two
 * profiles; and lists operations that versions of the system added or removed.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/catalog.h"
#include "base/own.h"
#include "cli/args.h"
#include "cli/profile/format-versions.h"
#include "cli/profile/pair.h"
#include "cli/profile/policy-stack.h"
#include "vocab/os.h"

enum { MAX_BYTES = 512 << 20 };

static const struct cli_option options[] = {
    LOAD_OPTIONS,
    LOAD_BLOB_OPTIONS,
    {"platform", 0, "PROFILE", "a platform profile that must also allow it; may repeat", "profile"},
    EXTENSION_OPTION,
    {"diff", 'd', NULL, "show what the second profile adds and removes", NULL},
    {"changes", 0, "A..B", "only operations that are new in system version B", NULL},
    {"json", 'j', NULL, "print one JSON document", NULL},
    {0},
};

/* Chooses the operations to list: those of --os, or the new ones with --changes. */
static int choose_ops(const struct cli_args *args, bool ops[OP_COUNT], struct bk_err *err)
{
    const char *span = args_value(args, "changes");
    enum vocab_os from, to = VOCAB_OS_ANY;
    if ((span ? versions_span(span, &from, &to, err) : versions_os(args, &to, err)) < 0)
        return -1;
    for (uint32_t op = 0; op < OP_COUNT; op++) {
        if (span)
            ops[op] = vocab_op_change((enum vocab_op)op, from, to) == VOCAB_ADDED;
        else
            ops[op] = to == VOCAB_OS_ANY || vocab_ops[op].ids[to] >= 0;
    }
    return 0;
}

static void leave_out_unknown(const struct loaded *l, bool ops[OP_COUNT])
{
    for (uint32_t op = 0; l->compiled && op < OP_COUNT; op++)
        ops[op] = ops[op] && l->ops[op];
}

/* ---- platforms and a profile ---- */

struct layers {
    struct loaded *at;
    const struct graph **graphs;
    size_t n;
};

static void layers_free(struct layers *l)
{
    for (size_t i = 0; i < l->n; i++)
        loaded_free(&l->at[i]);
    free(l->at);
    free(l->graphs);
}
#define OWN_layers layers_free

/* Gives the process extensions: what they open is listed as open. */
static int hold(struct loaded *l, const struct extensions *held)
{
    struct bk_err err;
    struct graph *g = graph_extend(l->graph, held->at, held->n, &err);
    if (!g)
        return cli_fail(&err);
    graph_free(l->graph);
    l->graph = g;
    return CLI_OK;
}

static int load_layers(const struct cli_args *args, const char *name, struct layers *out)
{
    size_t platforms = args_count(args, "platform");
    out->at = calloc(platforms + 1, sizeof(*out->at));
    out->graphs = calloc(platforms + 1, sizeof(*out->graphs));
    if (!out->at || !out->graphs) {
        struct bk_err err;
        err_nomem(&err);
        return cli_fail(&err);
    }
    struct bk_err err;
    OWN(extensions) struct extensions held = {0};
    if (extensions_read(args, &held, &err) < 0)
        return cli_fail(&err);
    for (; out->n <= platforms; out->n++) {
        struct loaded *l = &out->at[out->n];
        const char *platform = args_nth(args, "platform", out->n);
        int status =
            platform ? load_file_or_complain(args, platform, l) : load_or_complain(args, name, l);
        if (status == CLI_OK && held.n)
            status = hold(l, &held);
        if (status != CLI_OK) {
            out->n++;
            return status;
        }
        out->graphs[out->n] = l->graph;
    }
    return CLI_OK;
}

/* ---- one profile after another ---- */

static int catalog_one(const struct cli_args *args, const char *name, struct buf *out)
{
    struct bk_err err;
    struct catalog c;
    bool ops[OP_COUNT];
    OWN(arena) struct arena arena;
    OWN(layers) struct layers l = {0};
    arena_init(&arena, MAX_BYTES);
    if (load_layers(args, name, &l) != CLI_OK)
        return CLI_ERROR;
    if (choose_ops(args, ops, &err) < 0)
        return cli_fail(&err);
    for (size_t i = 0; i < l.n; i++)
        leave_out_unknown(&l.at[i], ops);
    if (catalog_make(l.graphs, l.n, ops, &arena, &c, &err) < 0)
        return cli_fail(&err);
    if (args_has(args, "json"))
        catalog_print_json(&c, name ? name : "<text>", out);
    else
        catalog_print_text(&c, out);
    return CLI_OK;
}

static int catalog_each(const struct cli_args *args, struct buf *out)
{
    bool from_text = load_from_text(args), json = args_has(args, "json");
    size_t n = from_text ? 1 : args->npos;
    buf_str(out, json ? "[" : "");
    for (size_t i = 0; i < n; i++) {
        const char *name = from_text ? NULL : args->pos[i];
        if (i)
            buf_str(out, json ? ",\n" : "\n");
        if (n > 1 && !json) {
            buf_safe(out, name, strlen(name));
            buf_str(out, "\n\n");
        }
        if (catalog_one(args, name, out) != CLI_OK)
            return CLI_ERROR;
    }
    buf_str(out, json ? "]\n" : "");
    return cli_emit(out, CLI_OK);
}

/* ---- differences ---- */

static int compare_profiles(const struct cli_args *args, struct buf *out)
{
    struct bk_err err;
    struct catalog_diff d;
    bool ops[OP_COUNT];
    OWN(arena) struct arena arena;
    OWN(loaded_pair) struct loaded_pair pair;
    arena_init(&arena, MAX_BYTES);
    if (pair_or_complain(args, &pair) != CLI_OK)
        return CLI_ERROR;
    if (choose_ops(args, ops, &err) < 0)
        return cli_fail(&err);
    for (uint32_t op = 0; op < OP_COUNT; op++)
        ops[op] = ops[op] && pair.ops[op];
    if (catalog_compare(pair.sides[0].graph, pair.sides[1].graph, ops, &arena, &d, &err) < 0)
        return cli_fail(&err);
    if (args_has(args, "json")) {
        catalog_diff_print_json(&d, args->pos, out);
        buf_chr(out, '\n');
    } else {
        catalog_diff_print_text(&d, out);
    }
    return cli_emit(out, d.n ? CLI_NO : CLI_OK);
}

static int compare_versions(const struct cli_args *args, struct buf *out)
{
    struct bk_err err;
    enum vocab_os from, to;
    if (versions_span(args_value(args, "changes"), &from, &to, &err) < 0)
        return cli_fail(&err);
    if (args_has(args, "json")) {
        catalog_versions_print_json(from, to, out);
        buf_chr(out, '\n');
    } else {
        catalog_versions_print_text(from, to, out);
    }
    return cli_emit(out, CLI_OK);
}

/* ---- the command ---- */

static int cmd_catalog_run(struct cli_args *args)
{
    bool from_text = load_from_text(args);
    OWN(buf) struct buf out = {0};
    if (from_text && args->npos)
        return cli_usage(args, "give --text or profiles, not both");
    if (args_has(args, "changes") && args_has(args, "os"))
        return cli_usage(args, "--changes and --os exclude each other");
    if (args_has(args, "diff") && (args_has(args, "platform") || args_has(args, "extension")))
        return cli_usage(args, "--diff takes no --platform or --extension");
    if (args_has(args, "diff"))
        return compare_profiles(args, &out);
    if (args->npos || from_text)
        return catalog_each(args, &out);
    return args_has(args, "changes") ? compare_versions(args, &out)
                                     : cli_usage(args, "no profile given");
}

const struct cli_command cmd_catalog = {
    .name = "catalog",
    .usage = "[OPTION…] PROFILE…",
    .brief = "summarise what a profile lets a process do",
    .about =
        "Lists by family of operations what a process under PROFILE may do: read, write, run,\n"
        "reach and so on. PROFILE is SBPL or compiled. Access that needs an extension is listed\n"
        "separately. Everything not listed is denied.\n"
        "\n"
        "With --diff and two profiles, shows what the second allows that the first does not, and\n"
        "the reverse, with an example of each. With --changes, lists operations that were added,\n"
        "removed or renamed between two versions of the system; with a profile as well, what it\n"
        "lets a process do with the new ones.\n"
        "\n"
        "Exit status: 0 on success, 1 if --diff finds a difference, 2 on error.",
    .options = options,
    .complete = "profile",
    .run = cmd_catalog_run,
};
