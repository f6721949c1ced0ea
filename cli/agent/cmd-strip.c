/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle strip`: removes the blocks that `buckle run --annotate` adds, for people. */

#include "base/own.h"
#include "cli/agent/filter.h"
#include "report/annotate.h"

static const struct cli_option options[] = {{0}};

static int cmd_strip_run(struct cli_args *args)
{
    OWN(buf) struct buf text = {0};
    OWN(buf) struct buf out = {0};
    struct bk_err err;
    if (args->npos)
        return cli_usage(args, "strip reads standard input only");
    if (filter_read(&text, &err) < 0)
        return cli_fail(&err);
    annotate_strip_piece(text.s ? text.s : "", text.n, (struct annotate_piece){0}, &out);
    return cli_emit(&out, CLI_OK);
}

const struct cli_command cmd_strip = {
    .name = "strip",
    .usage = "< TEXT",
    .brief = "remove the blocks of violations from a text",
    .about = "Copies standard input to standard output without <sandbox_violations> blocks, for\n"
             "people who read what was written for an agent.",
    .options = options,
    .run = cmd_strip_run,
};
