/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_IMPORT_H
#define BK_SETTINGS_IMPORT_H

#include "settings/settings.h"

/*
 * Permission settings of other programs as settings of ours. Nothing is taken over that would turn
 * the sandbox off or open everything, and nothing whose meaning is not known.
 */
enum import_from { IMPORT_UNKNOWN, IMPORT_CLAUDE, IMPORT_CODEX, IMPORT_GEMINI, IMPORT_SRT };

struct import {
    enum import_from from; /* IMPORT_UNKNOWN: by the file's name and keys */
    struct json *settings; /* what was taken over */
    size_t taken;          /* how many values */
    struct buf notes;      /* one line for each value that was not, with the reason */
};

const char *import_name(enum import_from from);  /* "claude" */
const char *import_title(enum import_from from); /* "Claude Code" */

/* Reads a file. Free the notes whatever happened. */
int import_read(struct settings *s, const char *path, struct import *im, struct bk_err *err);

/* The text of a layer's file before, and after the settings were merged into it. The file's other
 * keys and entries stay. */
int import_merge(struct settings *s, enum layer_id id, const struct import *im,
                 struct json_text *before, struct buf *after, struct bk_err *err);

#endif
