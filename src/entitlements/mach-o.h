/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_ENTITLEMENTS_MACH_O_H
#define BK_ENTITLEMENTS_MACH_O_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * Programs of macOS and iOS as files: which architectures they are for, and what their code
 * signatures say. Anyone can have written the bytes: every offset and count is checked against what
 * contains it, and errors name the offset. Signatures are not verified.
 */

/* A file, or bytes at hand. */
struct macho_input {
    const uint8_t *bytes; /* NULL: read from fd */
    int fd;
    uint64_t size;
};

struct macho_slice {
    uint32_t cpu, subtype;
    uint64_t offset, size; /* in the input */
};

enum { MACHO_SLICES = 32, MACHO_NAME = 256 };

struct code_signature {
    bool present;
    char identifier[MACHO_NAME], team[MACHO_NAME]; /* empty: none */
    uint32_t version, flags;
    uint64_t exec_flags; /* of its executable segment; 0 in old versions */
    struct buf plist;    /* entitlements as XML, as they were signed; empty: none */
    struct buf der;      /* and as DER */
};

/* Whether the first bytes are those of a Mach-O file, thin or fat. */
bool macho_is(const uint8_t *bytes, size_t n);

/* Finds the slices. Returns their number, at least 1, or -1. */
int macho_slices(const struct macho_input *in, struct macho_slice out[MACHO_SLICES],
                 struct bk_err *err);

/* Reads what a slice's signature says. out is zeroed. Free with code_signature_free() whatever
 * happened. */
int macho_signature(const struct macho_input *in, const struct macho_slice *s,
                    struct code_signature *out, struct bk_err *err);
void code_signature_free(struct code_signature *s);
#define OWN_code_signature code_signature_free

/* "arm64", "x86_64"; NULL for one that has no name here. */
const char *macho_cpu_name(const struct macho_slice *s);
/* Appends the names of flags, as codesign(1) has them: "adhoc, runtime", or a number. */
void code_signature_flag_words(uint32_t flags, struct buf *out);

/* ---- private to this folder ---- */

int macho_read(const struct macho_input *in, uint64_t at, void *out, size_t n, struct bk_err *err);
/* code-signature.c: the bytes of one, which begin at this offset of the input. */
int code_signature_read(const uint8_t *p, size_t n, uint64_t offset, struct code_signature *out,
                        struct bk_err *err);

static inline uint32_t macho_u32(const uint8_t *p, bool big)
{
    return big ? (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3]
               : (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

#endif
