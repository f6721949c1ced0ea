/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_FORMAT_DECODE_INT_H
#define BK_FORMAT_DECODE_INT_H

#include "format/format-int.h"
#include "graph/build.h"

/* Private to the files that decode nodes. */

/* A node that tests the value of an entitlement, or leads to such a test, is made once for each key
 * under which it is reached. */
struct keyed {
    uint32_t node, key, made;
};

struct place {
    uint32_t node, key;
};

struct nested {
    uint8_t op; /* id on the wire */
    uint32_t node;
};

struct decoder {
    const struct blob *b;
    const char *name;
    bool apart;
    uint32_t nkept; /* regexes */
    struct graph_build *build;
    struct budget *budget;
    uint32_t *made;      /* by node of the blob */
    struct place *stack; /* nodes being walked */
    bool *needs_key;
    struct keyed *keyed; /* a hash table */
    uint32_t nkeyed, keyed_mask;
    struct nested *nested;
    uint32_t nnested, cap_nested;
};

/* decode-decision.c: sets made[node]. */
int decode_decision(struct decoder *d, uint32_t node, const struct blob_node *n,
                    struct bk_err *err);

#endif
