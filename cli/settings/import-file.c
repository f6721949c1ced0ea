/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle settings import`: shows what another program's permission settings change in a layer's
 * file, and what could not be taken over; with --write, changes the file.
 */

#include "cli/settings/import-file.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text-diff.h"
#include "cli/settings/undo.h"
#include "settings/import.h"
#include "settings/write.h"

static int write_result(struct settings *s, enum layer_id layer, const struct buf *after,
                        const char *words, struct bk_err *err)
{
    const char *path = settings_layer_path(s, layer);
    OWN(settings_lock) struct settings_lock journal = SETTINGS_UNLOCKED;
    if (undo_lock(s, &journal, err) < 0 || undo_remember(s, path, words, err) < 0)
        return -1;
    if (settings_write_file(path, after, layer == LAYER_POLICY ? 0644 : 0600, err) < 0) {
        undo_forget(s);
        return -1;
    }
    fprintf(stderr, "buckle: %s, in %s\n", words, path);
    return undo_changed(s, path, err);
}

static int find_format(const char *name, enum import_from *out)
{
    *out = IMPORT_UNKNOWN;
    for (int f = IMPORT_CLAUDE; name && f <= IMPORT_SRT; f++)
        if (strcmp(import_name((enum import_from)f), name) == 0)
            *out = (enum import_from)f;
    return name && *out == IMPORT_UNKNOWN ? -1 : 0;
}

static int show_and_write(const struct cli_args *args, struct settings *s, enum layer_id layer,
                          struct import *im, struct bk_err *err)
{
    OWN(buf) struct buf out = {0};
    OWN(buf) struct buf after = {0};
    OWN(buf) struct buf words = {0};
    struct json_text before;
    OWN(settings_lock) struct settings_lock lock = SETTINGS_UNLOCKED;
    const char *path = settings_layer_path(s, layer);
    bool writes = args_has(args, "write");
    if (import_read(s, args->pos[1], im, err) < 0)
        return -1;
    if (writes && path &&
        (settings_make_folders(path, err) < 0 || settings_lock(&lock, path, err) < 0))
        return -1;
    if (import_merge(s, layer, im, &before, &after, err) < 0)
        return -1;
    if (im->taken)
        text_diff(path, before.s, before.n, after.s, after.n, &out);
    bool same = !out.n;
    buf_fmt(&words, "took over %zu setting%s of %s", im->taken, plural(im->taken),
            import_title(im->from));
    if (im->notes.n)
        buf_fmt(&out, "%snot taken over:\n%s", out.n ? "\n" : "", im->notes.s);
    if (!buf_ok(&out) || !buf_ok(&words))
        return err_nomem(err);
    if (cli_emit(&out, CLI_OK) != CLI_OK)
        return err_sys(err, "cannot write");
    if (same)
        fprintf(stderr, "buckle: nothing changes\n");
    else if (!writes)
        fprintf(stderr, "buckle: nothing is changed yet; --write does it\n");
    return same || !writes ? 0 : write_result(s, layer, &after, words.s, err);
}

int import_file(const struct cli_args *args, struct settings *s, enum layer_id layer)
{
    struct import im = {0};
    struct bk_err err = {0};
    if (args->npos != 2)
        return cli_usage(args, "give one file to import");
    if (find_format(args_value(args, "from"), &im.from) < 0)
        return cli_usage(args, "--from must be claude, codex, gemini or srt");
    int result = show_and_write(args, s, layer, &im, &err);
    buf_free(&im.notes);
    return result < 0 ? cli_fail(&err) : CLI_OK;
}
