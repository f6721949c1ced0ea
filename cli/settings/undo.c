/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "cli/settings/undo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/json.h"
#include "base/own.h"
#include "settings/write.h"

enum { REMEMBERED = 50, FILE_MOST = 4 << 20 };

static int journal_path(const struct settings *s, struct buf *path, struct bk_err *err)
{
    if (!s->config)
        return err_set(err, BK_E_INPUT, "HOME is not set");
    buf_fmt(path, "%s/undo.json", s->config);
    return buf_ok(path) ? 0 : err_nomem(err);
}

int undo_lock(const struct settings *s, struct settings_lock *lock, struct bk_err *err)
{
    OWN(buf) struct buf path = {0};
    if (journal_path(s, &path, err) < 0 || settings_make_folders(path.s, err) < 0)
        return -1;
    return settings_lock(lock, path.s, err);
}

/* An unreadable journal is replaced by an empty one: it is a convenience, not a record. */
static json_t *journal_read(const char *path)
{
    json_t *j = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_array(j))
        return j;
    json_decref(j);
    return json_array();
}

static int journal_write(const json_t *journal, const char *path, struct bk_err *err)
{
    OWN(mem) char *dumped = json_dumps(journal, JSON_INDENT(2));
    OWN(buf) struct buf text = {0};
    buf_str(&text, dumped ? dumped : "[]");
    return settings_write_file(path, &text, 0600, err);
}

/* The text of a file, or JSON null if there is no file. NULL on error. */
static json_t *read_text(const char *file, struct bk_err *err)
{
    OWN(file) FILE *f = fopen(file, "re");
    OWN(buf) struct buf text = {0};
    char block[4096];
    size_t n;
    if (!f && errno == ENOENT)
        return json_null();
    while (f && text.n < FILE_MOST && (n = fread(block, 1, sizeof(block), f)) > 0)
        buf_add(&text, block, n);
    json_t *j =
        f && !ferror(f) && buf_ok(&text) ? json_stringn(text.s ? text.s : "", text.n) : NULL;
    if (!j)
        err_set(err, BK_E_INPUT,
                "%s is not a readable text file, so the change could not be undone", file);
    return j;
}

int undo_remember(struct settings *s, const char *file, const char *words, struct bk_err *err)
{
    OWN(buf) struct buf path = {0};
    if (journal_path(s, &path, err) < 0)
        return -1;
    json_t *text = read_text(file, err);
    if (!text)
        return -1;
    OWN(json) json_t *journal = journal_read(path.s);
    json_array_append_new(
        journal, json_pack("{s:s, s:s, s:o}", "file", file, "change", words, "text", text));
    while (json_array_size(journal) > REMEMBERED)
        json_array_remove(journal, 0);
    return journal_write(journal, path.s, err);
}

static json_t *newest_entry(const json_t *journal)
{
    size_t n = json_array_size(journal);
    return n ? json_array_get(journal, n - 1) : NULL;
}

int undo_changed(struct settings *s, const char *file, struct bk_err *err)
{
    OWN(buf) struct buf path = {0};
    if (journal_path(s, &path, err) < 0)
        return -1;
    OWN(json) json_t *journal = journal_read(path.s);
    json_t *text = read_text(file, err);
    if (!text)
        return -1;
    json_object_set_new(newest_entry(journal), "after", text);
    return journal_write(journal, path.s, err);
}

void undo_forget(struct settings *s)
{
    OWN(buf) struct buf path = {0};
    struct bk_err err;
    if (journal_path(s, &path, &err) < 0)
        return;
    OWN(json) json_t *journal = journal_read(path.s);
    if (json_array_size(journal) && json_array_remove(journal, json_array_size(journal) - 1) == 0)
        journal_write(journal, path.s, &err);
}

/* An entry without `after` belongs to a change that was interrupted. */
static int check_unchanged(const json_t *entry, const char *file, struct bk_err *err)
{
    const json_t *after = json_object_get(entry, "after");
    OWN(json) json_t *now = after ? read_text(file, err) : NULL;
    if (!after || (now && json_equal(now, after)))
        return 0;
    if (!now)
        return -1;
    err_set(err, BK_E_INPUT, "%s has changed since; left unchanged", file);
    err_hint(err, "use `buckle settings` to change single values");
    return -1;
}

static int restore_file(const json_t *entry, const char *file, struct bk_err *err)
{
    const char *text = json_text(entry, "text");
    OWN(buf) struct buf content = {0};
    if (!text)
        return unlink(file) < 0 && errno != ENOENT ? err_sys(err, "cannot remove %s", file) : 0;
    buf_str(&content, text);
    return settings_write_file(file, &content, 0600, err);
}

int undo_last(struct settings *s, struct buf *words, struct bk_err *err)
{
    OWN(buf) struct buf path = {0};
    if (journal_path(s, &path, err) < 0)
        return -1;
    OWN(json) json_t *journal = journal_read(path.s);
    const json_t *entry = newest_entry(journal);
    if (!entry)
        return 1;
    const char *change = json_text(entry, "change"), *file = json_text(entry, "file");
    if (!file)
        return err_set(err, BK_E_INPUT, "the list of changes is damaged");
    OWN(settings_lock) struct settings_lock lock = SETTINGS_UNLOCKED;
    if (settings_lock(&lock, file, err) < 0 || check_unchanged(entry, file, err) < 0 ||
        restore_file(entry, file, err) < 0)
        return -1;
    buf_fmt(words, "undone in %s: %s", file, change ? change : "a change");
    json_array_remove(journal, json_array_size(journal) - 1);
    return journal_write(journal, path.s, err);
}

int undo_make_changes(struct settings *s, enum layer_id id, const struct settings_change *list,
                      size_t n, const char *words, struct bk_err *err)
{
    const char *path = settings_layer_path(s, id);
    OWN(buf) struct buf undone = {0};
    struct bk_err ignored;
    if (!path)
        return err_set(err, BK_E_INPUT, "the %s layer has no file", settings_layer_name(id));
    OWN(settings_lock) struct settings_lock lock = SETTINGS_UNLOCKED;
    if (undo_lock(s, &lock, err) < 0 || undo_remember(s, path, words, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (settings_edit(s, id, list[i].how, list[i].key, list[i].value, err) < 0) {
            if (undo_last(s, &undone, &ignored) < 0)
                undo_forget(s);
            return -1;
        }
    return undo_changed(s, path, err);
}
