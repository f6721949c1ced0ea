/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle export`: prints what a profile means to Landlock, seccomp or systemd alone. */

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/args.h"
#include "cli/profile/profile-options.h"
#include "export/export.h"

enum { IS_LESS = 3 };

static const struct cli_option options[] = {
    LOAD_OPTIONS,
    LOAD_BLOB_OPTIONS,
    {"quiet", 'q', NULL, "do not list what is lost", NULL},
    {0},
};

static const char *const formats[EXPORTS] = {
    [EXPORT_LANDLOCK] = "landlock-json",
    [EXPORT_SECCOMP] = "seccomp-json",
    [EXPORT_SYSTEMD] = "systemd",
};

/* JSON has no comments. */
static void put_comments(const struct exported *e, struct buf *out)
{
    const char *end;
    buf_str(out, "# Not in this file, because systemd has no counterpart:\n");
    for (const char *at = e->lost.s; at && *at; at = end + 1) {
        end = strchr(at, '\n');
        buf_fmt(out, "#   %.*s\n", (int)(end - at), at);
    }
}

static int cmd_export_run(struct cli_args *args)
{
    OWN(exported) struct exported e = {0};
    OWN(loaded) struct loaded l = {0};
    OWN(buf) struct buf out = {0};
    struct bk_err err = {0};
    int to = 0;
    size_t want = load_from_text(args) ? 1 : 2;
    while (args->npos && to < EXPORTS && strcmp(formats[to], args->pos[0]) != 0)
        to++;
    if (args->npos != want || to == EXPORTS)
        return cli_usage(args,
                         "give a format (landlock-json, seccomp-json, systemd) and a profile");
    if (load_or_complain(args, want == 2 ? args->pos[1] : NULL, &l) != CLI_OK)
        return CLI_ERROR;
    if (export_graph(l.graph, (enum export_to)to, &e, &err) < 0)
        return cli_fail(&err);
    if (e.nlost && to == EXPORT_SYSTEMD)
        put_comments(&e, &out);
    buf_add(&out, e.text.s, e.text.n);
    if (e.nlost && !args_has(args, "quiet"))
        fprintf(stderr, "buckle: not in this file:\n%s", e.lost.s);
    return cli_emit(&out, e.nlost ? IS_LESS : CLI_OK);
}

const struct cli_command cmd_export = {
    .name = "export",
    .usage = "[OPTION…] landlock-json|seccomp-json|systemd PROFILE",
    .brief = "print what a profile means to Landlock, seccomp or systemd alone",
    .about =
        "landlock-json is landlockconfig's JSON, seccomp-json that of OCI runtimes, systemd a\n"
        "drop-in for a unit. None of them has a judge: for files they allow at least what the\n"
        "profile allows, and more where it has patterns, or denials inside of what it allows.\n"
        "Standard error lists what is lost.\n"
        "\n"
        "Exit status: 0 nothing is lost, 3 something is, 2 error.",
    .options = options,
    .complete = "landlock-json|seccomp-json|systemd file",
    .run = cmd_export_run,
};
