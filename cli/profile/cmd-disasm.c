/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle disasm`: shows a compiled profile byte by byte, for checking the decoder. */

#include "base/own.h"
#include "base/source.h"
#include "cli/args.h"
#include "cli/profile/format-versions.h"
#include "cli/profile/profile-options.h"
#include "profile/profile.h"

static const struct cli_option options[] = {
    {"list", 'l', NULL, "list the profiles of a collection", NULL},
    LOAD_BLOB_OPTIONS,
    {"os", 0, "VERSION", "name operations as in this version, if several fit", "os"},
    {0},
};

static int list_profiles(const struct blob *b, struct buf *out, struct bk_err *err)
{
    if (!blob_is_collection(b))
        return err_set(err, BK_E_INPUT, "this is a single profile, not a collection");
    for (uint32_t i = 0; i < b->nprofiles; i++) {
        OWN(buf) struct buf name = {0};
        if (blob_profile_name(b, i, &name, err) < 0)
            return -1;
        buf_safe(out, name.s ? name.s : "", name.n);
        buf_chr(out, '\n');
    }
    return 0;
}

static int print_profile(const struct cli_args *args, struct blob *b, const char *name,
                         struct buf *out, struct bk_err *err)
{
    enum vocab_os os;
    if (args_has(args, "list"))
        return list_profiles(b, out, err);
    if (versions_os(args, &os, err) < 0 || (os != VOCAB_OS_ANY && blob_use_names(b, os, err) < 0))
        return -1;
    if (name && blob_choose_name(b, name, err) < 0)
        return -1;
    blob_disasm(b, out);
    return 0;
}

static int disasm(const struct cli_args *args, struct buf *out, struct bk_err *err)
{
    OWN(sbpl_unit) struct sbpl_unit unit;
    struct blob blob;
    enum blob_era era;
    const char *member;
    sbpl_unit_init(&unit, NULL);
    if (load_era(args, &era, err) < 0 || profile_add_named(&unit, args->pos[0], &member, err) < 0)
        return -1;
    const struct source *s = unit.map.last;
    if (args_value(args, "name"))
        member = args_value(args, "name");
    if (blob_open_as(&blob, s->text, s->len, era, err) == 0 &&
        print_profile(args, &blob, member, out, err) == 0)
        return 0;
    err_place(err, s->name, 0, 0);
    return -1;
}

static int cmd_disasm_run(struct cli_args *args)
{
    struct bk_err err;
    OWN(buf) struct buf out = {0};
    if (args->npos != 1)
        return cli_usage(args, "no compiled profile given");
    return disasm(args, &out, &err) < 0 ? cli_fail(&err) : cli_emit(&out, CLI_OK);
}

const struct cli_command cmd_disasm = {
    .name = "disasm",
    .usage = "[OPTION…] BLOB[:NAME]",
    .brief = "show the tables and nodes of a compiled profile",
    .about =
        "Prints a compiled profile in file order: header, tables, every node with its offset,\n"
        "bytes and meaning, and the bytes after the nodes. Parts that cannot be decoded are\n"
        "shown with the reason.\n"
        "\n"
        "BLOB is a file or \"-\". Its bytes show which version compiled it. For a collection,\n"
        "NAME (or --name) adds where that profile's operations start.",
    .options = options,
    .complete = "file",
    .run = cmd_disasm_run,
};
