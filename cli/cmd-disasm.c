/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle disasm`: a compiled profile, byte by byte, for people who want to check the decoder. */

#include "args.h"
#include "base/own.h"
#include "base/source.h"
#include "format/format.h"

static const struct cli_option options[] = {
    {0},
};

static int disasm(const char *path, struct buf *out, struct bk_err *err)
{
    struct arena arena;
    struct source_map map;
    struct blob blob;
    arena_init(&arena, 2 * (size_t)SOURCE_MAX + (1 << 20));
    source_map_init(&map, &arena);
    const struct source *s = source_read(&map, path, err);
    int r = s ? blob_open(&blob, s->text, s->len, err) : -1;
    if (r == 0)
        blob_disasm(&blob, out);
    else if (s)
        err_place(err, s->name, 0, 0);
    arena_free(&arena);
    return r;
}

static int run(struct cli_args *args)
{
    struct bk_err err;
    OWN(buf) struct buf out = {0};
    if (args->npos != 1)
        return cli_usage(args, "which compiled profile?");
    return disasm(args->pos[0], &out, &err) < 0 ? cli_fail(&err) : cli_emit(&out, CLI_OK);
}

const struct cli_command cmd_disasm = {
    .name = "disasm",
    .usage = "BLOB",
    .brief = "show the tables and nodes of a compiled profile",
    .about =
        "Prints a compiled profile as it lies in the file: header, tables, every node with its\n"
        "offset, its bytes and what they say, and the bytes behind the nodes. What cannot be\n"
        "read is shown with the reason.\n"
        "\n"
        "BLOB is a file or \"-\". Which version compiled it is told from its bytes.",
    .options = options,
    .complete = "file",
    .run = run,
};
