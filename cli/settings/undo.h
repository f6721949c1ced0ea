/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_SETTINGS_UNDO_H
#define BK_CLI_SETTINGS_UNDO_H

#include "settings/lock.h"
#include "settings/settings.h"

/* What settings files were before commands changed them, in a file of its own beside the user's:
 * the last changes, newest last. */

/* Keeps others from changing the list, from before the first of these calls to after the last. */
int undo_lock(const struct settings *s, struct settings_lock *lock, struct bk_err *err);
/* Remembers a file as it is now, before it is changed; changes that belong together have the same
 * words. */
int undo_remember(struct settings *s, const char *file, const char *words, struct bk_err *err);
/* Remembers what it is after the change, too: what anybody does to it later is not undone. */
int undo_changed(struct settings *s, const char *file, struct bk_err *err);
/* Forgets the newest, whose change failed. */
void undo_forget(struct settings *s);
/* Puts the newest back, and says what in words; 1 when there is nothing to undo. Fails when the
 * file is not as that change left it. */
int undo_last(struct settings *s, struct buf *words, struct bk_err *err);

#endif
