/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The versions that profiles can be encoded for, and the numbers they give to names. */

#include <string.h>

#include "format/format-int.h"
#include "vocab/os.h"

static const struct blob_version versions[] = {
    {"macOS 14.4.1", BLOB_E, VOCAB_MACOS_14_4_1, 190},
    {"iOS 4", BLOB_A, VOCAB_IOS_4, 73},
    {"Mac OS X 10.6", BLOB_A, VOCAB_OS_ANY, 59},
};

int blob_version_op(const struct blob_version *v, uint16_t op)
{
    if (v->os != VOCAB_OS_ANY)
        return vocab_ops[op].ids[v->os];
    return op == OP_DEFAULT ? 0 : op == OP_FILE_READ_DATA ? 5 : -1; /* from its only sample */
}

/* An era's letter means its first version here. */
const struct blob_version *blob_version_find(const char *name)
{
    enum vocab_os os;
    bool known = vocab_os_find(name, &os);
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        const struct blob_version *v = &versions[i];
        if ((known && v->os == os) || strcmp(name, v->era == BLOB_A ? "A" : "E") == 0)
            return v;
        if (v->os == VOCAB_OS_ANY && strcmp(name, "10.6") == 0)
            return v;
    }
    return NULL;
}
