/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle explain`: the evaluator's own walk, told step by step. */

#include "api/question.h"
#include "args.h"
#include "base/own.h"
#include "load.h"

static const struct cli_option options[] = {
    LOAD_OPTIONS,
    LOAD_BLOB_OPTIONS,
    {"json", 'j', NULL, "print JSON", NULL},
    {0},
};

static int run(struct cli_args *args)
{
    size_t first = load_from_text(args) ? 0 : 1; /* position of the operation */
    if (args->npos < first)
        return cli_usage(args, "which profile?");
    if (args->npos == first)
        return cli_usage(args, "which operation?");
    OWN(loaded) struct loaded l;
    if (load_or_complain(args, first ? args->pos[0] : NULL, &l) != CLI_OK)
        return CLI_ERROR;
    struct bk_err err;
    OWN(question) struct question q;
    if (question_parse(&q, args->pos[first], args->pos + first + 1, args->npos - first - 1, &err) <
        0)
        return cli_fail(&err);
    OWN(buf) struct buf out = {0};
    (args_has(args, "json") ? graph_explain_json : graph_explain_text)(l.graph, l.cache, &q.query,
                                                                       &out);
    if (out.n && out.s[out.n - 1] != '\n')
        buf_chr(&out, '\n');
    return cli_emit(&out, CLI_OK);
}

const struct cli_command cmd_explain = {
    .name = "explain",
    .usage = "[OPTION…] PROFILE OPERATION [ARGUMENT] [KEY=VALUE…]",
    .brief = "say why a profile allows or denies an operation",
    .about = "Takes the same question as eval and tells how it was decided: the verdict, the rule\n"
             "behind it with file and line, and what was tried before it.\n"
             "\n"
             "Exit status: 0 when the question could be answered either way, 2 on error.",
    .options = options,
    .complete = "profile operation file",
    .run = run,
};
