/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_COMMAND_OWN_RECORD_H
#define BK_COMMAND_OWN_RECORD_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "system/files.h"

/*
 * The record of own folders: what a user's runs remember about folders that sandboxed commands
 * created (judge/own-folders.h). It is one file in the user's state folder, which no policy lets a
 * command write (run/own-rules.h), and runs share it while they run.
 *
 * A folder is known by device, inode number and birth time, never by its path: it keeps its mark
 * when it moves, and a folder that gets its number later does not have its birth time. File systems
 * without birth times have no marks.
 *
 * The record has a fixed size. A new mark takes the place of the oldest that it could be confused
 * with; a folder that is forgotten is protected like one that was always there.
 */
enum own_mark {
    MARK_NONE,
    MARK_OWN,
    MARK_ADOPTED, /* the user has started a run in it or below */
};

/* The path of the record, from the environment: below $XDG_STATE_HOME or ~/.local/state. Returns
 * false if there is no such path. */
bool own_record_path(char path[PATH_MAX]);
/* Opens the record of the user whom this process runs as. Creates it if `create`. Returns -1 if
 * there is none, or if it is not the user's own private file. */
int own_record_open(const char *path, bool create);

/* From now on this process reads the record from memory. For one that asks often: if the user
 * truncates the file meanwhile, the process is killed. */
void own_record_map(int record);

/* The following accept -1 for a record that is not there. */

/* The mark of a folder. If id->born is 0, the mark of any folder with this number. */
enum own_mark own_record_find(int record, const struct folder_id *id);
/* Nothing is stored for a folder whose birth is unknown. */
void own_record_put(int record, const struct folder_id *id, enum own_mark mark);
/* Whether it has any marks. */
bool own_record_has_marks(int record);

/* The user works in this folder: it and all folders above it are not own any longer. */
void own_record_adopt(int record, const char *path);
/* The nearest mark of a folder or one above it. *len is how much of the path has it. */
enum own_mark own_record_above(int record, const char *path, size_t *len);

/*
 * Paths, as hashes, from which a command has removed or moved a folder that was not its own: for a
 * week no run gets one of its own there. A full table says yes.
 */
void own_record_vacate(int record, uint64_t hash);
void own_record_unvacate(int record, uint64_t hash);
bool own_record_has_vacated(int record); /* any */
bool own_record_is_vacated(int record, uint64_t hash);

#endif
