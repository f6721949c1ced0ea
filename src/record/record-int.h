/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RECORD_INT_H
#define BK_RECORD_INT_H

#include "record/record.h"

/* Takes a whole line apart, from its ends only. Returns false if it is none of ours. */
bool record_line_parse(const char *text, size_t n, struct record_line *out);
/* Whether its hash is that of its text. */
bool record_line_holds(const struct record_line *l);
/* The number of the newest full file; 0: none. */
uint32_t record_newest(const struct record_file *f);
/* The number of a full file by its name; 0: it is none. */
uint32_t record_suffix(const char *name, const char *file);

#endif
