/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle explain`: shows the evaluator's steps. */

#include "analyze/analyze.h"
#include "api/question.h"
#include "base/own.h"
#include "cli/args.h"
#include "cli/profile/policy-stack.h"

static const struct cli_option options[] = {
    LOAD_OPTIONS, LOAD_BLOB_OPTIONS, STACK_OPTIONS, {"json", 'j', NULL, "print JSON", NULL}, {0},
};

static int cmd_explain_run(struct cli_args *args)
{
    size_t first = stack_first(args); /* position of the operation */
    bool json = args_has(args, "json");
    if (args->npos < first)
        return cli_usage(args, "no profile given");
    if (args->npos == first)
        return cli_usage(args, "no operation given");
    OWN(stacked) struct stacked s;
    if (stack_or_complain(args, &s) != CLI_OK)
        return CLI_ERROR;
    struct bk_err err;
    OWN(question) struct question q;
    if (question_parse(&q, args->pos[first], args->pos + first + 1, args->npos - first - 1, &err) <
        0)
        return cli_fail(&err);
    OWN(buf) struct buf out = {0};
    const struct graph_layer *only = &s.layers[0];
    if (stack_asked(args))
        (json ? graph_stack_explain_json : graph_stack_explain_text)(&s.stack, &q.query, &out);
    else
        (json ? graph_explain_json : graph_explain_text)(only->graph, only->cache, &q.query, &out);
    if (out.n && out.s[out.n - 1] != '\n')
        buf_chr(&out, '\n');
    return cli_emit(&out, CLI_OK);
}

const struct cli_command cmd_explain = {
    .name = "explain",
    .usage = "[OPTION…] PROFILE OPERATION [ARGUMENT] [KEY=VALUE…]",
    .brief = "explain why a profile allows or denies an operation",
    .about = "Takes the same arguments as eval and explains the verdict: the rule that decided,\n"
             "with file and line, and the rules tried before it. With --platform or --extension,\n"
             "explains each layer and the effect of each extension.\n"
             "\n"
             "Exit status: 0 for either verdict, 2 on error.",
    .options = options,
    .complete = "profile operation file",
    .run = cmd_explain_run,
};
