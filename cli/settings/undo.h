/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_SETTINGS_UNDO_H
#define BK_CLI_SETTINGS_UNDO_H

#include "settings/lock.h"
#include "settings/settings.h"

/* A journal of the last changes that commands made to settings files, newest last. It is next to
 * the user's settings. All functions that return int return -1 on failure. */

/* One change of one key. value: NULL removes the key. */
struct settings_change {
    enum settings_edit how;
    const char *key, *value;
};

/* Makes all changes of a layer's file or none, and records them. `words` describe them. */
int undo_make_changes(struct settings *s, enum layer_id id, const struct settings_change *list,
                      size_t n, const char *words, struct bk_err *err);
/* Locks the journal. Hold the lock across all of the calls below. */
int undo_lock(const struct settings *s, struct settings_lock *lock, struct bk_err *err);
/* Records the contents of a file before a change; `words` describe the change. */
int undo_remember(struct settings *s, const char *file, const char *words, struct bk_err *err);
/* Records the contents after the change, so that undo does not discard later changes. */
int undo_changed(struct settings *s, const char *file, struct bk_err *err);
/* Removes the newest entry, whose change failed. */
void undo_forget(struct settings *s);
/* Reverts the newest change and describes it in words. Returns 1 if there is nothing to undo. Fails
 * if the file has changed since. */
int undo_last(struct settings *s, struct buf *words, struct bk_err *err);

#endif
