/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_YTREE_H
#define BK_SETTINGS_YTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/*
 * YAML as a tree with positions. An alias is the same node as its anchor, so the tree is never
 * larger than the file; code that walks it has to count its steps.
 */
enum ynode_kind { YNODE_TEXT, YNODE_LIST, YNODE_MAP };

struct ynode {
    enum ynode_kind kind;
    bool plain; /* unquoted, so it may have meant a number or null */
    uint32_t line, col;
    const char *text;  /* NUL-terminated, and without a NUL inside */
    struct ynode **at; /* a list's elements; a map's keys and values, in turn */
    size_t n;          /* elements, or pairs */
};

enum {
    YTREE_MAX = 1 << 20,  /* bytes of text */
    YTREE_NODES = 100000, /* an alias counts as one */
    YTREE_DEPTH = 32,
    YTREE_PAIRS = 4096, /* in one map */
    YTREE_ANCHORS = 256,
};

/* Reads a text of one document; `name` is for messages. *out is NULL if it is empty. Refuses
 * duplicate keys, keys that are no text, tags, and aliases of their own parents. */
int ytree_read(struct arena *a, const char *name, const char *text, size_t n, struct ynode **out,
               struct bk_err *err);

/* Puts the node's place into an error already set. Returns -1. */
int ytree_fail(const char *name, const struct ynode *at, struct bk_err *err);

const char *ynode_words(const struct ynode *n); /* "a list", "the number 12"… */

/* Whether an unquoted text looks like null, a number, true or false. */
bool ynode_is_other(const struct ynode *n);
/* true or false. */
bool ynode_truth(const struct ynode *n, bool *out);

#endif
