/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Projects that the user trusts. A checked-out repository must not widen its own sandbox, so its
 * permissions count only after `buckle trust`, and only while its settings are byte for byte the
 * trusted ones: the next pull may bring others. The store keeps whole files, which needs no digest.
 *
 * One file for each folder, named by a hash of its real path. The path inside decides, so two paths
 * with the same hash only lose their trust to each other.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "settings/settings.h"
#include "settings/write.h"

static const enum layer_id kept[] = {LAYER_PROJECT, LAYER_LOCAL};

static int store_path(const struct settings *s, const char *folder, char out[4300])
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *c = folder; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    if (!s->config)
        return -1;
    int n = snprintf(out, 4300, "%s/trust/%016llx.json", s->config, (unsigned long long)hash);
    return n < 4300 ? 0 : -1;
}

static const struct json_text *text_of(const struct settings *s, const char *project,
                                       enum layer_id id)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->layers[i].id == id && s->layers[i].project == project)
            return &s->layers[i].text;
    return NULL;
}

/* The stored record of a folder; NULL if there is no valid one. */
static struct json *stored(struct settings *s, const char *folder)
{
    char path[4300];
    struct json_text text;
    struct bk_err err;
    if (store_path(s, folder, path) < 0 || jt_load(&s->arena, path, &text, &err) < 0)
        return NULL;
    struct json *root = jt_read(&s->arena, &text, &err);
    const struct json *of = root && root->kind == JT_OBJECT ? jt_get(root, "folder") : NULL;
    return of && of->kind == JT_STRING && strcmp(of->s, folder) == 0 ? root : NULL;
}

enum trust settings_trust(struct settings *s, const char *project)
{
    const struct json *record = project ? stored(s, project) : NULL;
    if (!record)
        return TRUST_NONE;
    for (size_t i = 0; i < 2; i++) {
        const struct json *was = jt_get(record, settings_layer_name(kept[i]));
        const struct json_text *is = text_of(s, project, kept[i]);
        /* a missing file permits nothing */
        if (is && (!was || was->kind != JT_STRING || was->n != is->n ||
                   memcmp(was->s, is->s, is->n) != 0))
            return TRUST_CHANGED;
    }
    return TRUST_GIVEN;
}

const char *settings_trust_folder(struct settings *s)
{
    if (!s->project)
        settings_layer_path(s, LAYER_PROJECT); /* looks for it */
    return s->project ? s->project : s->cwd;
}

/* ---- what is trusted besides settings ---- */

static const char files_key[] = "files", presets_key[] = "presets";

bool settings_trusts_file(struct settings *s, const char *name, const char *text, size_t n)
{
    const struct json *record = stored(s, settings_trust_folder(s));
    const struct json *files = record ? jt_get(record, files_key) : NULL;
    const struct json *was = files && files->kind == JT_OBJECT ? jt_get(files, name) : NULL;
    return was && was->kind == JT_STRING && was->n == n && memcmp(was->s, text, n) == 0;
}

int settings_trusted_presets(struct settings *s, struct words *out, struct bk_err *err)
{
    const struct json *record = stored(s, settings_trust_folder(s));
    const struct json *list = record ? jt_get(record, presets_key) : NULL;
    for (const struct json *e = list && list->kind == JT_ARRAY ? list->first : NULL; e; e = e->next)
        if (e->kind == JT_STRING && words_push(&s->arena, out, e->s) < 0)
            return err_nomem(err);
    return 0;
}

static int record_more(struct settings *s, const struct trust_more *more, struct json *record,
                       struct bk_err *err)
{
    struct json *files = jt_new(&s->arena, JT_OBJECT), *presets = jt_new(&s->arena, JT_ARRAY);
    if (!files || !presets)
        return err_nomem(err);
    for (size_t i = 0; i < more->names.n; i++) {
        struct json *text = jt_string(&s->arena, more->texts.at[i], strlen(more->texts.at[i]));
        if (!text)
            return err_nomem(err);
        jt_set(files, more->names.at[i], text);
    }
    for (size_t i = 0; i < more->presets.n; i++) {
        struct json *name = jt_string(&s->arena, more->presets.at[i], strlen(more->presets.at[i]));
        if (!name)
            return err_nomem(err);
        jt_append(presets, name);
    }
    if (more->names.n)
        jt_set(record, files_key, files);
    if (more->presets.n)
        jt_set(record, presets_key, presets);
    return 0;
}

static int record_settings(struct settings *s, struct json *record, struct bk_err *err)
{
    for (size_t i = 0; i < 2; i++) {
        const struct json_text *text = text_of(s, s->project, kept[i]);
        struct json *copy = text ? jt_string(&s->arena, text->s, text->n) : NULL;
        if (text && !copy)
            return err_nomem(err);
        if (copy)
            jt_set(record, settings_layer_name(kept[i]), copy);
    }
    return 0;
}

int settings_trust_give(struct settings *s, const struct trust_more *more, struct bk_err *err)
{
    char path[4300];
    OWN(buf) struct buf out = {0};
    const char *of = settings_trust_folder(s);
    if (!s->project && !more->names.n && !more->presets.n) {
        err_set(err, BK_E_INPUT, "no settings to trust: %s has no .buckle/settings.json", s->cwd);
        err_hint(err, "so there is nothing to trust");
        return -1;
    }
    if (store_path(s, of, path) < 0)
        return err_set(err, BK_E_INPUT, "cannot remember it: HOME is not set");
    struct json *record = jt_new(&s->arena, JT_OBJECT);
    struct json *folder = jt_string(&s->arena, of, strlen(of));
    if (!record || !folder)
        return err_nomem(err);
    jt_set(record, "folder", folder);
    if ((s->project && record_settings(s, record, err) < 0) ||
        record_more(s, more, record, err) < 0)
        return -1;
    jt_print(record, &out);
    return settings_write_file(path, &out, 0600, err);
}

int settings_trust_take(struct settings *s, const char *folder, struct bk_err *err)
{
    char path[4300];
    if (store_path(s, folder, path) < 0 || !stored(s, folder))
        return err_set(err, BK_E_INPUT, "%s was not trusted", folder);
    return unlink(path) < 0 ? err_sys(err, "cannot remove %s", path) : 0;
}

int settings_trust_list(struct settings *s, struct words *out, struct bk_err *err)
{
    char path[4300];
    if (!s->config)
        return 0;
    snprintf(path, sizeof(path), "%s/trust", s->config);
    OWN(dir) DIR *dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? 0 : err_sys(err, "cannot read %s", path);
    for (const struct dirent *e; (e = readdir(dir));) {
        struct json_text text;
        struct bk_err ignored;
        char file[4600];
        snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
        if (e->d_name[0] == '.' || jt_load(&s->arena, file, &text, &ignored) < 0)
            continue;
        struct json *root = jt_read(&s->arena, &text, &ignored);
        const struct json *of = root && root->kind == JT_OBJECT ? jt_get(root, "folder") : NULL;
        if (of && of->kind == JT_STRING && words_push(&s->arena, out, of->s) < 0)
            return err_nomem(err);
    }
    return 0;
}
