/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The versions for which profiles can be written, and the numbers that they give to names. */

#include <string.h>

#include "format/format-int.h"

static const struct blob_version versions[] = {
    {"macOS 14.4.1", BLOB_E, VOCAB_MACOS_14_4_1, 190},
    {"iOS 4", BLOB_A, VOCAB_IOS_4, 73},
    {"Mac OS X 10.6", BLOB_A, VOCAB_OS_ANY, 59},
};

/* 10.6: what its one sample shows. */
static const uint16_t ops_10_6[] = {[0] = OP_DEFAULT, [5] = OP_FILE_READ_DATA};

int blob_version_op(const struct blob_version *v, uint16_t op)
{
    if (v->os != VOCAB_OS_ANY)
        return vocab_ops[op].ids[v->os];
    return op == OP_DEFAULT ? 0 : op == ops_10_6[5] ? 5 : -1;
}

const struct blob_version *blob_version_for_os(enum vocab_os os)
{
    for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
        if (versions[i].os == os)
            return &versions[i];
    return NULL;
}

const struct blob_version *blob_version_10_6(void)
{
    return &versions[2];
}
