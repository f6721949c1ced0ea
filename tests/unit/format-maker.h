/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TESTS_FORMAT_MAKER_H
#define BK_TESTS_FORMAT_MAKER_H

/*
 * Writes compiled profiles of era E for tests, from docs/formats.md and not from the decoder: what
 * a test says lies at an offset is put there by hand.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "tap.h"

enum { MAKER_OPS = 190, MAKER_POOL = 4096, MAKER_NODES = 64 };

struct maker {
    uint16_t flags;
    uint16_t ops[MAKER_OPS];
    uint16_t regexes[8], policies[8];
    unsigned nregexes, npolicies, nnodes;
    uint8_t nodes[MAKER_NODES][8];
    uint8_t pool[MAKER_POOL];
    size_t npool;
};

static inline void maker_put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
}

static inline uint16_t maker_filter(struct maker *m, unsigned filter, unsigned arg, unsigned match,
                                    unsigned unmatch)
{
    uint8_t *p = m->nodes[m->nnodes];
    p[1] = (uint8_t)filter;
    maker_put16(p + 2, arg);
    maker_put16(p + 4, match);
    maker_put16(p + 6, unmatch);
    return (uint16_t)m->nnodes++;
}

static inline uint16_t maker_decision(struct maker *m, uint32_t flags, uint32_t rest)
{
    uint8_t *p = m->nodes[m->nnodes];
    p[0] = 1;
    p[1] = (uint8_t)flags;
    p[2] = (uint8_t)(flags >> 8);
    p[3] = (uint8_t)(flags >> 16);
    maker_put16(p + 4, rest & 0xffff);
    maker_put16(p + 6, rest >> 16);
    return (uint16_t)m->nnodes++;
}

/* Bytes at the next multiple of 8 of the pool; its number there. */
static inline uint16_t maker_raw(struct maker *m, const void *bytes, size_t n)
{
    m->npool = (m->npool + 7) / 8 * 8;
    uint16_t at = (uint16_t)(m->npool / 8);
    memcpy(m->pool + m->npool, bytes, n);
    m->npool += n;
    return at;
}

/* The same with its length in front. */
static inline uint16_t maker_text(struct maker *m, const void *bytes, size_t n)
{
    uint8_t both[1024];
    maker_put16(both, (unsigned)n);
    memcpy(both + 2, bytes, n);
    return maker_raw(m, both, n + 2);
}

/* A string literal's bytes without its NUL: "\x40/\x0a". */
#define MAKER_TEXT(m, s) maker_text((m), (s), sizeof(s) - 1)
#define MAKER_RAW(m, s) maker_raw((m), (s), sizeof(s) - 1)

/* A regex of version 3 in the pool and in the table; its index. */
static inline uint16_t maker_regex(struct maker *m, const void *program, size_t n)
{
    uint8_t both[1024] = {0, 0, 0, 3};
    maker_put16(both + 4, (unsigned)n);
    memcpy(both + 6, program, n);
    m->regexes[m->nregexes] = maker_text(m, both, n + 6);
    return (uint16_t)m->nregexes++;
}
#define MAKER_REGEX(m, s) maker_regex((m), (s), sizeof(s) - 1)

/* The file, exactly as long as it is, so that a sanitizer sees a read past its end. */
static inline uint8_t *maker_file(const struct maker *m, size_t *size)
{
    size_t tables = 14 + 2 * (m->nregexes + m->npolicies + (size_t)MAKER_OPS);
    size_t nodes = (tables + 7) / 8 * 8;
    *size = nodes + 8 * (size_t)m->nnodes + m->npool;
    uint8_t *f = calloc(1, *size), *p = f + 14;
    maker_put16(f, m->flags);
    maker_put16(f + 2, m->nnodes);
    f[4] = MAKER_OPS;
    maker_put16(f + 10, m->nregexes);
    maker_put16(f + 12, m->npolicies);
    for (unsigned i = 0; i < m->nregexes; i++, p += 2)
        maker_put16(p, m->regexes[i]);
    for (unsigned i = 0; i < m->npolicies; i++, p += 2)
        maker_put16(p, m->policies[i]);
    for (unsigned i = 0; i < MAKER_OPS; i++, p += 2)
        maker_put16(p, m->ops[i]);
    memcpy(f + nodes, m->nodes, 8 * (size_t)m->nnodes);
    memcpy(f + nodes + 8 * (size_t)m->nnodes, m->pool, m->npool);
    return f;
}

static inline unsigned maker_op(enum vocab_op op)
{
    return (unsigned)vocab_ops[op].ids[VOCAB_MACOS_14_4_1];
}

static inline void maker_all(struct maker *m, uint16_t node)
{
    for (unsigned i = 0; i < MAKER_OPS; i++)
        m->ops[i] = node;
}

/* One of everything that is established. Nodes 0 and 1 are allow and deny. */
static inline void maker_everything(struct maker *m)
{
    static const uint8_t number[] = {1, 0, 2, 0, 0x05, 0x80}; /* 0, 2, 15 */
    static const uint8_t tcp80[] = {7, 0, 80, 0};
    *m = (struct maker){.flags = 0x4000};
    maker_decision(m, 0, 0);
    maker_decision(m, 5, 0);
    maker_all(m, 1);
    uint16_t trie = MAKER_TEXT(m, "\x40/\x0f\x46tmp/foo\x86\x40/\x80\x0a\x00\x0f\x0a\x48"
                                  "etc/hosts\x82\x00\x0f\x0a\x42opt\x0f\x0a");
    uint16_t regex = MAKER_REGEX(m, "\x19\x02/\x02u\x2f\x0d\x00\x02v\x0a\x05\x00\x1b\x30\x39\x15");
    uint16_t bits = maker_raw(m, number, sizeof(number));
    uint16_t port = maker_raw(m, tcp80, sizeof(tcp80));
    uint16_t name = maker_text(m, "com.example.read", 17);
    m->ops[maker_op(OP_FILE_READ_DATA)] = maker_filter(m, 1, trie, 0, 1);
    m->ops[maker_op(OP_FILE_WRITE_DATA)] = maker_filter(m, 0x81, regex, 0, 1);
    m->ops[maker_op(OP_SYSTEM_FCNTL)] = maker_filter(m, 0x80 | 78, bits, 0, 1);
    m->ops[maker_op(OP_NETWORK_OUTBOUND)] = maker_filter(m, 9, port, 0, 1);
    m->ops[maker_op(OP_FILE_MAP_EXECUTABLE)] = maker_filter(m, 23, name, 0, 1);
    m->ops[maker_op(OP_SIGNAL)] = maker_filter(m, 14, 1, 0, 1);
    m->policies[m->npolicies++] = 1;
    m->ops[maker_op(OP_IOKIT_OPEN_USER_CLIENT)] = maker_decision(m, 0x800000, 0xc113);
    uint16_t message = maker_text(m, "why not", 8);
    m->ops[maker_op(OP_FILE_IOCTL)] = maker_decision(m, 0x800005, (uint32_t)message << 16 | 10);
}

#endif
