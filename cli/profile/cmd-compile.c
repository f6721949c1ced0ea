/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle compile`: writes a profile in the binary format of a system. */

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "cli/args.h"
#include "cli/profile/profile-options.h"
#include "format/format.h"

static const struct cli_option options[] = {
    LOAD_OPTIONS,
    {"name", 0, "NAME", "the profile to take from a compiled collection", NULL},
    {"era", 0, "A|E", "binary format: A for iOS 4, E for macOS 14.4.1 (default)", "A E"},
    {"output", 'o', "FILE", "write to FILE; - is standard output", "file"},
    {0},
};

/* Returns NULL after printing the reason. */
static const struct blob_version *choose_version(const struct cli_args *args)
{
    const char *era = args_value(args, "era"), *os = args_value(args, "os");
    const struct blob_version *v = blob_version_find(os ? os : era ? era : "E");
    if (era && !blob_version_find(era)) {
        cli_usage(args, "--era must be A or E; Buckle cannot write other formats");
        return NULL;
    }
    if (!v) {
        struct bk_err err;
        err_set(&err, BK_E_INPUT, "--os %s: Buckle cannot write profiles for this version", os);
        err_hint(&err, "known: 14.4.1, ios4, 10.6");
        cli_fail(&err);
        return NULL;
    }
    if (era && v->era != blob_version_find(era)->era) {
        cli_usage(args, "--os %s does not use era %s", os, era);
        return NULL;
    }
    return v;
}

static int write_output(struct buf *out, const char *path)
{
    struct bk_err err;
    if (strcmp(path, "-") == 0)
        return cli_emit(out, CLI_OK);
    OWN(file) FILE *f = fopen(path, "wbe");
    if (!f || fwrite(out->s, 1, out->n, f) != out->n || fflush(f) != 0) {
        err_sys(&err, "%s", path);
        return cli_fail(&err);
    }
    return CLI_OK;
}

static int cmd_compile_run(struct cli_args *args)
{
    size_t first = load_from_text(args) ? 0 : 1;
    if (args->npos != first)
        return cli_usage(args, "no profile given");
    if (!args_value(args, "output"))
        return cli_usage(args, "no output file given (-o FILE)");
    const struct blob_version *version = choose_version(args);
    if (!version)
        return CLI_ERROR;
    OWN(loaded) struct loaded l;
    struct load_how how = {.fold = version->era == BLOB_E,
                           .apart = true,
                           .any_era = true,
                           .no_inferred = version->era != BLOB_E,
                           .os = VOCAB_OS_ANY};
    if (load_as_or_complain(args, first ? args->pos[0] : NULL, &how, &l) != CLI_OK)
        return CLI_ERROR;
    struct bk_err err;
    OWN(buf) struct buf out = {0};
    if (blob_encode(l.graph, version, &out, &err) < 0)
        return cli_fail(&err);
    return write_output(&out, args_value(args, "output"));
}

const struct cli_command cmd_compile = {
    .name = "compile",
    .usage = "[OPTION…] PROFILE -o FILE",
    .brief = "compile a profile to the binary format of macOS or iOS",
    .about = "Compiles a profile to the same bytes as the system's own compiler, as far as they\n"
             "are known (docs/formats.md). The same profile always gives the same bytes. It is an\n"
             "error if the profile uses operations or filters that the version lacks, or whose\n"
             "encoding is unknown.\n"
             "\n"
             "PROFILE may itself be compiled.",
    .options = options,
    .complete = "profile",
    .run = cmd_compile_run,
};
