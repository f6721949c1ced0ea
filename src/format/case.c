/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Whether case counts in the paths of an era E file. macOS ignores it, and its compiler lowers
 * every path. iOS minds it, and its compiler keeps paths as written. The file does not say which
 * one made it, but an upper-case letter in one path does. Patterns are read from their first byte
 * to their last: every instruction has a length of its own, wherever its jumps lead.
 */

#include "format/format-int.h"

enum {
    WORK_PER_BYTE = 64, /* many nodes may name one pattern */
};

static bool is_upper(uint8_t c)
{
    return c >= 'A' && c <= 'Z';
}

/* Bytes of the instruction at `at`; `*text` of them, at its end, are literal. */
static size_t instruction(struct span code, size_t at, size_t *text)
{
    uint8_t op = code.p[at], next = at + 1 < code.n ? code.p[at + 1] : 0;
    *text = 0;
    if (op >= OP_LITERAL && op < OP_JUMP)
        return 1 + (*text = (op & 0x3f) + 1u);
    if (op == OP_LONG_LITERAL)
        return 2 + (*text = next + (size_t)LONG_LITERAL_MIN);
    if (op == OP_RANGES)
        return 2 + 2 * ((next & ~(unsigned)RANGES_REPEAT) + 1);
    if (op == OP_LONG_VARIABLE || op == OP_LONG_JUMP)
        return 3;
    return op == OP_THROUGH || op == OP_THROUGH_ANY ? 2 : 1;
}

static bool has_upper(struct span code)
{
    size_t text;
    for (size_t at = 0; at < code.n;) {
        at += instruction(code, at, &text);
        for (; text && at <= code.n; text--)
            if (is_upper(code.p[at - text]))
                return true;
    }
    return false;
}

bool blob_minds_case(const struct blob *b)
{
    size_t work = b->size * WORK_PER_BYTE;
    struct span code;
    for (uint32_t i = 0; i < b->nnodes; i++) {
        struct blob_node n = blob_node_at(b, i);
        if (n.terminal || n.filter & BLOB_REGEX_FORM)
            continue;
        enum vocab_filter f = blob_filter_name(b, n.filter);
        if (f == FILTER_NONE || vocab_filters[f].arg != ARG_PATH ||
            blob_record(b, n.arg, &code, NULL) < 0)
            continue;
        if (code.n > work)
            return false;
        work -= code.n;
        if (has_upper(code))
            return true;
    }
    return false;
}
