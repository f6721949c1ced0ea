/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle decompile`: writes a compiled profile as SBPL, or reduces SBPL to its rules. --verify
 * compiles the result again and compares the two graphs.
 */

#include <string.h>

#include "analyze/analyze.h"
#include "analyze/decompile.h"
#include "base/own.h"
#include "cli/args.h"
#include "cli/profile/profile-options.h"

static const struct cli_option options[] = {
    LOAD_OPTIONS,
    LOAD_BLOB_OPTIONS,
    {"verify", 0, NULL, "recompile the result and prove that it is equivalent", NULL},
    {0},
};

struct proof {
    uint16_t op; /* the first operation without a proof */
    bool differs;
};

static void note_difference(void *arg, enum graph_equality how, const struct graph_difference *d)
{
    struct proof *p = arg;
    if (p->op == OP_NONE)
        p->op = d->op;
    p->differs = p->differs || how == GRAPH_DIFFERENT;
}

static int verify_text(const struct loaded *l, const struct buf *text, struct bk_err *err)
{
    struct sbpl_options opt = {.os = VOCAB_OS_ANY,
                               .fold_case = graph_options_of(l->graph)->fold_case};
    struct graph *again = NULL;
    struct proof proof = {.op = OP_NONE};
    enum graph_equality how = GRAPH_UNDECIDED;
    OWN(sbpl_unit) struct sbpl_unit unit;
    sbpl_unit_init(&unit, &opt);
    if (sbpl_add_text(&unit, "<decompiled>", text->s, text->n, err) < 0 ||
        sbpl_compile(&unit, &again, err) < 0)
        return -1;
    struct graph_diff_how alike = {.ops = l->compiled ? l->ops : NULL};
    int r = graph_diff(l->graph, again, &alike, note_difference, &proof, &how, err);
    graph_free(again);
    if (r < 0 || how == GRAPH_EQUAL)
        return r;
    return err_set(err, proof.differs ? BK_E_BUG : BK_E_LIMIT,
                   proof.differs ? "the decompiled text decides %s differently"
                                 : "cannot prove that the decompiled text decides %s the same way",
                   vocab_ops[proof.op].name);
}

static int cmd_decompile_run(struct cli_args *args)
{
    struct bk_err err;
    bool from_text = load_from_text(args);
    if (args->npos != (from_text ? 0 : 1))
        return cli_usage(args, "no profile given");
    OWN(loaded) struct loaded l;
    if (load_or_complain(args, from_text ? NULL : args->pos[0], &l) != CLI_OK)
        return CLI_ERROR;
    OWN(buf) struct buf origin = {0}, out = {0};
    const char *name = from_text ? "<text>" : args->pos[0];
    buf_str(&origin, strcmp(name, "-") == 0 ? "standard input" : name);
    if (l.compiled)
        buf_fmt(&origin, ", a compiled profile with %s", l.names.s ? l.names.s : "");
    struct decompile_options opt = {.ops = l.compiled ? l.ops : NULL, .origin = origin.s};
    if (sbpl_decompile(l.graph, &opt, &out, &err) < 0)
        return cli_fail(&err);
    if (args_has(args, "verify") && verify_text(&l, &out, &err) < 0)
        return cli_fail(&err);
    return cli_emit(&out, CLI_OK);
}

const struct cli_command cmd_decompile = {
    .name = "decompile",
    .usage = "[OPTION…] PROFILE",
    .brief = "turn a compiled profile back into SBPL",
    .about = "Prints SBPL that is equivalent to PROFILE: rules grouped by family of operations,\n"
             "with conditions and modifiers restored, without the rules that the compiler adds.\n"
             "PROFILE is compiled, or SBPL; SBPL is reduced to its rules, with parameters\n"
             "replaced by their values and procedures expanded.\n"
             "\n"
             "Refuses a graph whose text would be too large.\n"
             "\n"
             "Exit status: 0 on success, 2 on error or if --verify fails.",
    .options = options,
    .complete = "profile",
    .run = cmd_decompile_run,
};
