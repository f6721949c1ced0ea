/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Code signatures. All numbers are big endian.
 *
 *   signature = magic fade0cc0, length, count, then for each blob: slot, offset; then the blobs
 *   blob      = magic, length, …
 *
 *   fade0c02   code directory: flags, identifier, team
 *   fade7171   entitlements as a property list
 *   fade7172   the same in DER
 */

#include "entitlements/mach-o.h"

#include <string.h>

enum {
    SUPER_BLOB = 0xfade0cc0,
    CODE_DIRECTORY = 0xfade0c02,
    ENTITLEMENTS = 0xfade7171,
    ENTITLEMENTS_DER = 0xfade7172,
    BLOBS_MAX = 64,      /* in one signature; real ones have up to ten */
    DIRECTORY_HEAD = 44, /* of the oldest version */
    WITH_TEAM = 0x20200, /* versions that have these fields */
    WITH_EXEC = 0x20400,
    TEAM_FIELD = 48, /* where they are */
    EXEC_FIELD = 80,
};

static uint32_t u32(const uint8_t *p)
{
    return macho_u32(p, true);
}

/* A text of the code directory, which ends with a NUL inside it. */
static int take_text(const uint8_t *p, size_t n, uint32_t at, uint64_t offset, char *out,
                     struct bk_err *err)
{
    const uint8_t *end = at < n ? memchr(p + at, 0, n - at) : NULL;
    size_t len = end ? (size_t)(end - p - at) : 0;
    if (!end || len >= MACHO_NAME)
        return err_set(err, BK_E_INPUT, "offset 0x%llx: a name of the code directory %s",
                       (unsigned long long)offset + at,
                       end ? "is too long" : "reaches past its end");
    memcpy(out, p + at, len + 1);
    return 0;
}

static int take_directory(const uint8_t *p, size_t n, uint64_t offset, struct code_signature *out,
                          struct bk_err *err)
{
    if (n < DIRECTORY_HEAD)
        return err_set(err, BK_E_INPUT, "offset 0x%llx: a code directory of %zu bytes",
                       (unsigned long long)offset, n);
    out->version = u32(p + 8);
    out->flags = u32(p + 12);
    if (take_text(p, n, u32(p + 20), offset, out->identifier, err) < 0)
        return -1;
    if (out->version >= WITH_EXEC && n >= EXEC_FIELD + 8)
        out->exec_flags = (uint64_t)u32(p + EXEC_FIELD) << 32 | u32(p + EXEC_FIELD + 4);
    bool team = out->version >= WITH_TEAM && n >= TEAM_FIELD + 4 && u32(p + TEAM_FIELD);
    return team ? take_text(p, n, u32(p + TEAM_FIELD), offset, out->team, err) : 0;
}

static int take_bytes(const uint8_t *p, size_t n, uint64_t offset, struct buf *out,
                      struct bk_err *err)
{
    if (out->n)
        return err_set(err, BK_E_INPUT, "offset 0x%llx: entitlements for the second time",
                       (unsigned long long)offset);
    buf_add(out, (const char *)p + 8, n - 8);
    return out->failed ? err_nomem(err) : 0;
}

/* Slot 0 has the code directory; others that follow differ in their hashes only. */
static int take_blob(const uint8_t *p, size_t n, uint32_t slot, uint64_t offset,
                     struct code_signature *out, struct bk_err *err)
{
    switch (u32(p)) {
    case (uint32_t)CODE_DIRECTORY:
        return slot == 0 ? take_directory(p, n, offset, out, err) : 0;
    case (uint32_t)ENTITLEMENTS:
        return take_bytes(p, n, offset, &out->plist, err);
    case (uint32_t)ENTITLEMENTS_DER:
        return take_bytes(p, n, offset, &out->der, err);
    default:
        return 0;
    }
}

int code_signature_read(const uint8_t *p, size_t n, uint64_t offset, struct code_signature *out,
                        struct bk_err *err)
{
    unsigned long long where = offset;
    if (n < 12 || u32(p) != (uint32_t)SUPER_BLOB)
        return err_set(err, BK_E_INPUT, "offset 0x%llx: no signature (fa de 0c c0) here", where);
    uint32_t length = u32(p + 4), count = u32(p + 8);
    if (length > n || length < 12 || count > BLOBS_MAX || count > (length - 12) / 8)
        return err_set(err, BK_E_INPUT, "offset 0x%llx: a signature of %u bytes with %u parts",
                       where, length, count);
    bool directory = false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t slot = u32(p + 12 + i * 8), at = u32(p + 16 + i * 8);
        uint32_t size = at <= length - 8 ? u32(p + at + 4) : 0;
        if (size < 8 || size > length - at)
            return err_set(err, BK_E_INPUT,
                           "offset 0x%llx: part %u of the signature is not inside it",
                           where + 12 + i * 8, i + 1);
        if (take_blob(p + at, size, slot, offset + at, out, err) < 0)
            return -1;
        directory |= slot == 0 && u32(p + at) == (uint32_t)CODE_DIRECTORY;
    }
    return directory ? 0
                     : err_set(err, BK_E_INPUT,
                               "offset 0x%llx: the signature has no code directory", where);
}

void code_signature_free(struct code_signature *s)
{
    buf_free(&s->plist);
    buf_free(&s->der);
}

void code_signature_flag_words(uint32_t flags, struct buf *out)
{
    static const struct {
        uint32_t flag;
        const char *word;
    } names[] = {
        {0x1, "host"},           {0x2, "adhoc"},
        {0x100, "hard"},         {0x200, "kill"},
        {0x400, "expires"},      {0x800, "restrict"},
        {0x1000, "enforcement"}, {0x2000, "library-validation"},
        {0x10000, "runtime"},    {0x20000, "linker-signed"},
    };
    bool any = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (flags & names[i].flag) {
            buf_fmt(out, "%s%s", any ? ", " : "", names[i].word);
            flags &= ~names[i].flag;
            any = true;
        }
    if (flags)
        buf_fmt(out, "%s0x%x", any ? ", " : "", flags);
    else if (!any)
        buf_str(out, "none");
}
