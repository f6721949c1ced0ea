/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* SBPL and compiled profiles meet here, and nowhere below: their layers do not know each other. */

#include "profile/profile.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "analyze/decompile.h"
#include "base/own.h"
#include "format/format.h"

int profile_split(const char *name, char *path, size_t size, const char **member,
                  struct bk_err *err)
{
    const char *colon = strrchr(name, ':');
    if (strlen(name) >= size)
        return err_set(err, BK_E_INPUT, "the name of a file is too long");
    strcpy(path, name);
    *member = NULL;
    if (!colon || !colon[1] || access(name, F_OK) == 0)
        return 0;
    path[colon - name] = '\0';
    if (access(path, F_OK) == 0)
        *member = colon + 1;
    else
        strcpy(path, name); /* the whole name is what is missing */
    return 0;
}

static int decode(const struct source *s, const char *member, struct graph **out,
                  bool ops[OP_COUNT], struct bk_err *err)
{
    struct blob blob;
    if (blob_open(&blob, s->text, s->len, err) < 0 ||
        (member && blob_choose_name(&blob, member, err) < 0) ||
        blob_decode(&blob, s->name, out, err) < 0) {
        err_place(err, s->name, 0, 0);
        return -1;
    }
    memset(ops, 0, OP_COUNT * sizeof(*ops));
    for (uint32_t id = 0; id < blob.nops; id++) {
        enum vocab_op op = blob_op_name(&blob, id);
        if (op != OP_NONE)
            ops[op] = true;
    }
    return 0;
}

static int replace(struct sbpl_unit *u, const struct source *s, const char *member,
                   struct bk_err *err)
{
    bool ops[OP_COUNT];
    struct graph *g = NULL;
    OWN(buf) struct buf text = {0}, name = {0};
    if (decode(s, member, &g, ops, err) < 0)
        return -1;
    struct decompile_options opt = {.ops = ops, .origin = s->name};
    int r = sbpl_decompile(g, &opt, &text, err);
    bool fold = graph_options_of(g)->fold_case;
    graph_free(g);
    if (r < 0) {
        err_place(err, s->name, 0, 0);
        return -1;
    }
    u->opt.fold_case = u->opt.fold_case || fold;
    buf_fmt(&name, "%s (decompiled)", s->name);
    return sbpl_replace_last(u, name.s ? name.s : s->name, text.s, text.n, err);
}

int profile_add_file(struct sbpl_unit *u, const char *path, struct bk_err *err)
{
    char file[PATH_MAX];
    const char *member;
    if (profile_split(path, file, sizeof(file), &member, err) < 0 ||
        sbpl_add_file(u, file, err) < 0)
        return -1;
    const struct source *s = u->map.last;
    if (blob_is_binary(s->text, s->len))
        return replace(u, s, member, err);
    if (!member)
        return 0;
    return err_set(err, BK_E_INPUT, "%s is a text, not a collection with %s in it", file, member);
}

int profile_compile(struct sbpl_unit *u, struct graph **out, bool ops[OP_COUNT], struct bk_err *err)
{
    const struct source *only = sbpl_text_at(u, 1) ? NULL : sbpl_text_at(u, 0);
    bool unused[OP_COUNT], *has = ops ? ops : unused;
    if (only && blob_is_binary(only->text, only->len))
        return decode(only, NULL, out, has, err);
    memset(has, 1, OP_COUNT * sizeof(*has));
    return sbpl_compile(u, out, err);
}
