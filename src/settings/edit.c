/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Changes a settings file. The changed tree is printed and checked before it replaces the file, so
 * that the next run accepts it.
 */

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "settings/import.h"
#include "settings/lock.h"
#include "settings/settings.h"
#include "settings/write.h"

struct editor {
    struct settings *s;
    enum layer_id id;
    const struct setting_key *key;
    struct json *whole, *root; /* the file's tree, and our part of it */
    struct bk_err *err;
};

static int no_such_key(const char *name, struct bk_err *err)
{
    const char *dot = strchr(name, '.');
    char section[32] = "", near[96];
    if (dot && (size_t)(dot - name) < sizeof(section))
        memcpy(section, name, (size_t)(dot - name));
    const char *last = dot ? dot + 1 : name;
    const struct setting_key *k = setting_nearest(section, last, strlen(last));
    err_set(err, BK_E_INPUT, "%.80s is not a setting", name);
    if (k)
        err_hint(err, "did you mean %s?", setting_path(k, near));
    else
        err_remedy(err, REMEDY_LIST_KEYS);
    return -1;
}

static int open_file(struct editor *e, const char *path)
{
    struct json_text text;
    struct settings_findings found = {0};
    if (jt_load(&e->s->arena, path, &text, e->err) < 0) {
        if (e->err->sys != ENOENT && e->err->sys != ENOTDIR)
            return -1;
        e->whole = e->root = jt_new(&e->s->arena, JT_OBJECT);
        return e->whole ? 0 : err_nomem(e->err);
    }
    if (settings_check(&e->s->arena, &text, &e->root, &found, e->err) < 0)
        return -1;
    e->whole = e->root->parent ? e->root->parent : e->root;
    return 0; /* existing mistakes may be what this change mends */
}

/* A value as typed: JSON if it parses, else a string where one is expected. */
static struct json *read_value(struct editor *e, const char *value)
{
    struct json_text text = {.name = "the value", .s = value, .n = strlen(value)};
    struct bk_err why;
    enum setting_shape shape = e->key->shape;
    bool strings = setting_is_list(shape) && shape != SHAPE_PORTS;
    struct json *j = jt_read(&e->s->arena, &text, &why);
    bool wanted = j && (j->kind == JT_STRING || j->kind == JT_OBJECT || j->kind == JT_ARRAY);
    if (j && (wanted || !(strings || shape == SHAPE_TEXT)))
        return j;
    /* 10.0.0.1 and true are words in a list of words */
    if (!j && (value[0] == '{' || (value[0] == '[' && strchr(value, '"')))) {
        *e->err = why;
        return NULL;
    }
    return jt_string(&e->s->arena, value, strlen(value));
}

static struct json *section_of(struct editor *e, bool make)
{
    if (!*e->key->section)
        return e->root;
    struct json *section = jt_get(e->root, e->key->section);
    if (!section && make) {
        section = jt_new(&e->s->arena, JT_OBJECT);
        if (section)
            jt_set(e->root, e->key->section, section);
    }
    return section;
}

static int set(struct editor *e, struct json *value)
{
    struct json *section = section_of(e, true);
    if (!section)
        return err_nomem(e->err);
    if (setting_is_list(e->key->shape) && value->kind != JT_ARRAY) {
        struct json *list = jt_new(&e->s->arena, JT_ARRAY);
        if (!list)
            return err_nomem(e->err);
        jt_append(list, value);
        value = list;
    }
    jt_set(section, e->key->name, value);
    return 0;
}

static const struct json *find_equal(const struct json *list, const struct json *value)
{
    for (const struct json *j = list->first; j; j = j->next)
        if (jt_equal(j, value))
            return j;
    return NULL;
}

/* A new list starts with the defaults, because it replaces them. */
static struct json *list_to_grow(struct editor *e)
{
    struct json *section = section_of(e, true);
    struct json *list = section ? jt_get(section, e->key->name) : NULL;
    if (!section || list)
        return list;
    list = jt_new(&e->s->arena, JT_ARRAY);
    if (!list)
        return NULL;
    if (e->key == &setting_keys[SETTING_ALLOW_WRITE] && e->id != LAYER_POLICY) {
        struct json *here = jt_string(&e->s->arena, ".", 1);
        if (!here)
            return NULL;
        jt_append(list, here);
    }
    jt_set(section, e->key->name, list);
    return list;
}

static int add_value(struct editor *e, struct json *value)
{
    char path[96];
    if (!setting_is_list(e->key->shape))
        return err_set(e->err, BK_E_INPUT, "%s is not a list", setting_path(e->key, path));
    struct json *list = list_to_grow(e);
    if (!list)
        return err_nomem(e->err);
    if (list->kind != JT_ARRAY)
        return err_set(e->err, BK_E_INPUT, "%s is not a list in this file",
                       setting_path(e->key, path));
    struct json *next = value->kind == JT_ARRAY ? value->first : value;
    while (next) {
        struct json *one = next;
        next = value->kind == JT_ARRAY ? one->next : NULL;
        if (!find_equal(list, one))
            jt_append(list, one);
    }
    return 0;
}

static int remove_value(struct editor *e, const struct json *value)
{
    char path[96];
    struct json *section = section_of(e, false);
    struct json *old = section ? jt_get(section, e->key->name) : NULL;
    setting_path(e->key, path);
    if (!old)
        return err_set(e->err, BK_E_INPUT, "%s is not set in this file", path);
    if (!value) {
        jt_remove(section, old);
        if (section != e->root && !section->count)
            jt_remove(e->root, section);
        return 0;
    }
    const struct json *found = NULL;
    if (setting_is_map(e->key->shape) && value->kind == JT_STRING)
        found = jt_get(old, value->s);
    else if (old->kind == JT_ARRAY)
        found = find_equal(old, value);
    if (!found)
        return err_set(e->err, BK_E_INPUT, "%s has no such entry", path);
    jt_remove(old, found);
    return 0;
}

/* The new text must have no mistakes, also elsewhere in the file. */
static int check_result(struct editor *e, const char *path, const struct buf *out)
{
    struct json_text text = {.name = path, .s = out->s, .n = out->n};
    struct settings_findings found = {0};
    struct json *root;
    if (!buf_ok(out))
        return err_nomem(e->err);
    if (out->n > JSON_MAX)
        return err_set(e->err, BK_E_LIMIT, "the settings would be too large");
    if (settings_check(&e->s->arena, &text, &root, &found, e->err) < 0)
        return -1;
    for (const struct settings_finding *f = found.first; f; f = f->next)
        if (f->level == FINDING_ERROR) {
            *e->err = f->err;
            err_place(e->err, NULL, 0, 0); /* the line is of a text that is never written */
            return -1;
        }
    return 0;
}

/* The file's text after the change. */
static int edit_text(struct editor *e, enum settings_edit how, const char *path, struct json *value,
                     struct buf *out)
{
    if (open_file(e, path) < 0)
        return -1;
    if ((how == EDIT_SET   ? set(e, value)
         : how == EDIT_ADD ? add_value(e, value)
                           : remove_value(e, value)) < 0)
        return -1;
    jt_print(e->whole, out);
    return check_result(e, path, out);
}

static int begin_edit(struct editor *e, const char *key, const char *path, const char *value,
                      struct json **j)
{
    if (!e->key)
        return no_such_key(key, e->err);
    if (!path)
        return err_set(e->err, BK_E_INPUT, "the %s layer has no file", settings_layer_name(e->id));
    if (value && !(*j = read_value(e, value)))
        return e->err->code ? -1 : err_nomem(e->err);
    return 0;
}

int settings_edit(struct settings *s, enum layer_id id, enum settings_edit how, const char *key,
                  const char *value, struct bk_err *err)
{
    struct editor e = {.s = s, .id = id, .key = setting_by_path(key), .err = err};
    const char *path = settings_layer_path(s, id);
    struct json *j = NULL;
    OWN(buf) struct buf out = {0};
    if (begin_edit(&e, key, path, value, &j) < 0)
        return -1;
    OWN(settings_lock) struct settings_lock lock = SETTINGS_UNLOCKED;
    if ((how != EDIT_REMOVE && settings_make_folders(path, err) < 0) ||
        settings_lock(&lock, path, err) < 0 || edit_text(&e, how, path, j, &out) < 0)
        return -1;
    return settings_write_file(path, &out, id == LAYER_POLICY ? 0644 : 0600, err);
}

int settings_try_edit(struct settings *s, enum layer_id id, enum settings_edit how, const char *key,
                      const char *value, struct buf *text, struct bk_err *err)
{
    struct editor e = {.s = s, .id = id, .key = setting_by_path(key), .err = err};
    const char *path = settings_layer_path(s, id);
    struct json *j = NULL;
    if (begin_edit(&e, key, path, value, &j) < 0)
        return -1;
    return edit_text(&e, how, path, j, text);
}

/* ---- merging what was imported ---- */

static int merge_value(struct editor *e, const struct setting_key *k, struct json *value)
{
    e->key = k;
    bool many = setting_is_list(k->shape) && value->kind == JT_ARRAY;
    if (!many || !value->count)
        return set(e, value);
    return add_value(e, value);
}

static int merge_section(struct editor *e, const struct json *object, const char *section)
{
    struct json *next;
    for (struct json *j = object->first; j; j = next) {
        const struct setting_key *k = setting_find(section, j->key, j->nkey);
        next = j->next; /* a value moves to the other tree */
        if (!k)
            return err_set(e->err, BK_E_INPUT, "%.80s is not a setting", j->key);
        if ((k->shape == SHAPE_SECTION ? merge_section(e, j, k->name) : merge_value(e, k, j)) < 0)
            return -1;
    }
    return 0;
}

int import_merge(struct settings *s, enum layer_id id, const struct import *im,
                 struct json_text *before, struct buf *after, struct bk_err *err)
{
    struct editor e = {.s = s, .id = id, .err = err};
    const char *path = settings_layer_path(s, id);
    if (!path)
        return err_set(err, BK_E_INPUT, "the %s layer has no file", settings_layer_name(id));
    if (jt_load(&s->arena, path, before, err) < 0) {
        if (err->sys != ENOENT && err->sys != ENOTDIR)
            return -1;
        *before = (struct json_text){.name = path};
    }
    if (open_file(&e, path) < 0 || merge_section(&e, im->settings, "") < 0)
        return -1;
    jt_print(e.whole, after);
    return check_result(&e, path, after);
}

int settings_remember(const char *folder, const char *key, const char *word, struct bk_err *err)
{
    OWN(settings) struct settings s = {0};
    if (settings_init(&s, folder, err) < 0)
        return -1;
    return settings_edit(&s, LAYER_USER, EDIT_ADD, key, word, err);
}
