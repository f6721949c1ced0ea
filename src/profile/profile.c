/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* SBPL and compiled profiles meet here and nowhere below: their layers do not know each other. */

#include "profile/profile.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/decompile.h"
#include "base/own.h"

/* ---- names ---- */

/* What names of files end in: profiles, compiled profiles, settings, presets. */
static const char *const path_suffixes[] = {".sb",   ".sbpl", ".bin", ".blob",
                                            ".json", ".yaml", ".yml"};

static bool has_suffix(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof(path_suffixes) / sizeof(path_suffixes[0]); i++) {
        size_t len = strlen(path_suffixes[i]);
        if (n > len && memcmp(name + n - len, path_suffixes[i], len) == 0)
            return true;
    }
    return false;
}

bool profile_is_path(const char *name)
{
    const char *colon = strrchr(name, ':');
    return strcmp(name, "-") == 0 || strchr(name, '/') || has_suffix(name, strlen(name)) ||
           (colon && colon[1] && has_suffix(name, (size_t)(colon - name)));
}

static const struct sbpl_builtin *find_shipped(const char *name, size_t n)
{
    for (const struct sbpl_builtin *b = sbpl_builtins; b->name; b++)
        if (strncmp(b->name, name, n) == 0 && strcmp(b->name + n, ".sb") == 0)
            return b;
    return NULL;
}

const struct sbpl_builtin *profile_find_shipped(const char *name)
{
    return find_shipped(name, strlen(name));
}

/* FILE:NAME as path and member; member is NULL, and path the whole, if there is a file of the whole
 * name or none of the first part. */
static int split_member(const char *name, char path[PATH_MAX], const char **member,
                        struct bk_err *err)
{
    const char *colon = strrchr(name, ':');
    if (strlen(name) >= PATH_MAX)
        return err_set(err, BK_E_INPUT, "the file name is too long");
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

/* ---- adding ---- */

int profile_add_shipped(struct sbpl_unit *u, const char *name, struct bk_err *err)
{
    const struct sbpl_builtin *b = profile_find_shipped(name);
    if (b)
        return sbpl_add_builtin(u, b->name, err);
    err_set(err, BK_E_INPUT, "there is no shipped profile %.80s", name);
    if (name[0] && access(name, F_OK) == 0)
        err_hint(err, "for the file of that name, write ./%.80s", name);
    else
        err_hint(err, "default, strict, readonly, open; a file is given with a slash or its .sb");
    return -1;
}

static int add_bytes(struct sbpl_unit *u, const char *name, const char **member, struct bk_err *err)
{
    char path[PATH_MAX];
    size_t n = strlen(name);
    if (split_member(name, path, member, err) < 0)
        return -1;
    if (sbpl_add_file(u, path, err) == 0)
        return 0;
    if (err->sys == ENOENT && n > 3 && strcmp(name + n - 3, ".sb") == 0 &&
        find_shipped(name, n - 3))
        err_hint(err, "the shipped profile is called %.*s", (int)(n - 3), name);
    return -1;
}

int profile_add_named(struct sbpl_unit *u, const char *name, const char **member,
                      struct bk_err *err)
{
    *member = NULL;
    return profile_is_path(name) ? add_bytes(u, name, member, err)
                                 : profile_add_shipped(u, name, err);
}

int profile_refuse_member(const struct sbpl_unit *u, const char *member, struct bk_err *err)
{
    return err_set(err, BK_E_INPUT, "%s is a text, not a collection that contains %s",
                   u->map.last->name, member);
}

/* ---- compiled profiles ---- */

const struct source *profile_compiled(const struct sbpl_unit *u)
{
    const struct source *s = u->map.last;
    return s && blob_is_binary(s->text, s->len) ? s : NULL;
}

static int decode_blob(struct blob *blob, const struct source *s,
                       const struct profile_decoding *how, struct graph **out, struct bk_err *err)
{
    if (blob_open_as(blob, s->text, s->len, how->era, err) < 0 ||
        (how->os != VOCAB_OS_ANY && blob_use_names(blob, how->os, err) < 0) ||
        (how->member && blob_choose_name(blob, how->member, err) < 0))
        return -1;
    return (how->apart ? blob_decode_apart : blob_decode)(blob, s->name, out, err);
}

int profile_decode(const struct source *s, const struct profile_decoding *how, struct graph **out,
                   bool ops[OP_COUNT], struct buf *names, struct bk_err *err)
{
    struct blob blob;
    if (decode_blob(&blob, s, how, out, err) < 0) {
        err_place(err, s->name, 0, 0);
        return -1;
    }
    if (names)
        blob_names_words(&blob, names);
    memset(ops, 0, OP_COUNT * sizeof(*ops));
    for (uint32_t id = 0; id < blob.nops; id++) {
        enum vocab_op op = blob_op_name(&blob, id);
        if (op != OP_NONE)
            ops[op] = true;
    }
    return 0;
}

static int replace_by_text(struct sbpl_unit *u, const struct source *s, const char *member,
                           struct bk_err *err)
{
    const struct profile_decoding how = {.member = member, .os = VOCAB_OS_ANY};
    bool ops[OP_COUNT];
    struct graph *g = NULL;
    OWN(buf) struct buf text = {0}, name = {0};
    if (profile_decode(s, &how, &g, ops, NULL, err) < 0)
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
    const char *member;
    if (add_bytes(u, path, &member, err) < 0)
        return -1;
    const struct source *s = profile_compiled(u);
    if (s)
        return replace_by_text(u, s, member, err);
    return member ? profile_refuse_member(u, member, err) : 0;
}

int profile_compile(struct sbpl_unit *u, struct graph **out, bool ops[OP_COUNT], struct bk_err *err)
{
    const struct profile_decoding how = {.os = VOCAB_OS_ANY};
    const struct source *only = sbpl_text_at(u, 1) ? NULL : sbpl_text_at(u, 0);
    bool unused[OP_COUNT], *has = ops ? ops : unused;
    if (only && blob_is_binary(only->text, only->len))
        return profile_decode(only, &how, out, has, NULL, err);
    memset(has, 1, OP_COUNT * sizeof(*has));
    return sbpl_compile(u, out, err);
}
