/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_VOCAB_OS_H
#define BK_VOCAB_OS_H

#include "vocab/vocab.h"

/* The vocabulary by OS version: names of versions, and how words changed between them. */

const char *vocab_os_name(enum vocab_os os);             /* "14.4.1", "ios4" */
bool vocab_os_find(const char *name, enum vocab_os *os); /* also "macos14.4.1", "14" */

/* Returns the operation's name in that version: "iokit-open" in 10.15, "iokit-open*" in 12.5. */
const char *vocab_op_name_in(enum vocab_op op, enum vocab_os os);

/* Returns the operation that a name found by vocab_find() means in that version: "iokit-open" was
 * iokit-open* until 10.15, and is iokit-open-user-client since. */
enum vocab_op vocab_op_meant(const struct vocab_word *word, const char *name, size_t n,
                             enum vocab_os os);

/* Writes "since 10.13, gone in 12.5", or nothing when nothing changed. Mentions iOS only when there
 * is nothing about macOS. size includes the NUL and must not be 0. */
void vocab_op_history(enum vocab_op op, char *out, size_t size);

/* What happened to an operation between two versions; a renamed one may also have a new id. */
enum vocab_change { VOCAB_ADDED, VOCAB_GONE, VOCAB_RENAMED, VOCAB_RENUMBERED, VOCAB_SAME };
enum vocab_change vocab_op_change(enum vocab_op op, enum vocab_os from, enum vocab_os to);

/* Returns -1 when absent or unknown. Ids of filters and modifiers are known for 13.0 and 14.4.1
 * only; VOCAB_OS_ANY means the newest. */
int vocab_filter_id_in(enum vocab_filter filter, enum vocab_os os);
int vocab_modifier_id_in(enum vocab_modifier mod, enum vocab_os os);

#endif
