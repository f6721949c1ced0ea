/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Mach-O files:
 *
 *   fat    = magic, count (big endian), then for each slice: cpu, subtype, offset, size, align
 *   thin   = magic, cpu, subtype, type, ncmds, sizeofcmds, flags [, reserved], load commands
 *   command = number, size, …; LC_CODE_SIGNATURE has the offset and size of the signature
 */

#include "entitlements/mach-o.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"

enum {
    FAT_32 = 0xcafebabe,
    FAT_64 = 0xcafebabf,
    THIN_32 = 0xfeedface,
    THIN_64 = 0xfeedfacf,
    LC_CODE_SIGNATURE = 0x1d,
    CPU_64 = 0x01000000,
    COMMANDS_MAX = 1 << 20,  /* bytes; real programs have a few thousand */
    SIGNATURE_MAX = 64 << 20 /* bytes; grows with the program: 1/128 of it */
};

int macho_read(const struct macho_input *in, uint64_t at, void *out, size_t n, struct bk_err *err)
{
    if (at > in->size || n > in->size - at)
        return err_set(err, BK_E_INPUT, "offset 0x%llx: the file ends before %zu more bytes",
                       (unsigned long long)at, n);
    if (in->bytes) {
        memcpy(out, in->bytes + at, n);
        return 0;
    }
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(in->fd, (char *)out + done, n - done, (off_t)(at + done));
        if (got < 0)
            return err_sys(err, "offset 0x%llx", (unsigned long long)at);
        if (got == 0)
            return err_set(err, BK_E_INPUT, "offset 0x%llx: the file became shorter",
                           (unsigned long long)at);
        done += (size_t)got;
    }
    return 0;
}

/* ---- fat files ---- */

static bool is_fat(uint32_t magic)
{
    return magic == (uint32_t)FAT_32 || magic == (uint32_t)FAT_64;
}

static bool is_thin(uint32_t magic)
{
    return magic == (uint32_t)THIN_32 || magic == (uint32_t)THIN_64;
}

bool macho_is(const uint8_t *bytes, size_t n)
{
    if (n < 8)
        return false;
    uint32_t big = macho_u32(bytes, true), little = macho_u32(bytes, false);
    /* a Java class begins like a fat file and has its version there, which is 45 or more */
    return is_thin(big) || is_thin(little) ||
           (is_fat(big) && macho_u32(bytes + 4, true) <= MACHO_SLICES);
}

static uint64_t u64_big(const uint8_t *p)
{
    return (uint64_t)macho_u32(p, true) << 32 | macho_u32(p + 4, true);
}

static int fat_slices(const struct macho_input *in, bool wide, struct macho_slice *out,
                      struct bk_err *err)
{
    uint8_t count[4], e[32];
    size_t size = wide ? 32 : 20;
    if (macho_read(in, 4, count, sizeof(count), err) < 0)
        return -1;
    uint32_t n = macho_u32(count, true);
    if (n == 0 || n > MACHO_SLICES)
        return err_set(err, BK_E_INPUT, "offset 0x4: a fat file of %u architectures; at most %d", n,
                       MACHO_SLICES);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t at = 8 + i * size;
        if (macho_read(in, at, e, size, err) < 0)
            return -1;
        out[i] = (struct macho_slice){.cpu = macho_u32(e, true), .subtype = macho_u32(e + 4, true)};
        out[i].offset = wide ? u64_big(e + 8) : macho_u32(e + 8, true);
        out[i].size = wide ? u64_big(e + 16) : macho_u32(e + 12, true);
        if (out[i].offset > in->size || out[i].size > in->size - out[i].offset)
            return err_set(err, BK_E_INPUT,
                           "offset 0x%llx: architecture %u reaches past the end of the file",
                           (unsigned long long)at, i + 1);
    }
    return (int)n;
}

int macho_slices(const struct macho_input *in, struct macho_slice out[MACHO_SLICES],
                 struct bk_err *err)
{
    uint8_t head[12];
    if (macho_read(in, 0, head, sizeof(head), err) < 0)
        return -1;
    uint32_t big = macho_u32(head, true);
    if (is_fat(big))
        return fat_slices(in, big == (uint32_t)FAT_64, out, err);
    bool reversed = is_thin(big);
    if (!reversed && !is_thin(macho_u32(head, false)))
        return err_set(err, BK_E_INPUT, "offset 0x0: %02x %02x %02x %02x: not a Mach-O file",
                       head[0], head[1], head[2], head[3]);
    out[0] = (struct macho_slice){.cpu = macho_u32(head + 4, reversed),
                                  .subtype = macho_u32(head + 8, reversed),
                                  .size = in->size};
    return 1;
}

/* ---- load commands ---- */

/* Where the signature is, relative to the slice. */
struct place {
    bool found;
    uint32_t offset, size;
};

static int find_signature(const uint8_t *p, size_t n, uint32_t count, bool big, uint64_t offset,
                          struct place *out, struct bk_err *err)
{
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        unsigned long long where = offset + at;
        if (n - at < 8)
            return err_set(err, BK_E_INPUT, "offset 0x%llx: load command %u of %u is missing",
                           where, i + 1, count);
        uint32_t number = macho_u32(p + at, big), size = macho_u32(p + at + 4, big);
        if (size < 8 || size % 4 || size > n - at)
            return err_set(err, BK_E_INPUT, "offset 0x%llx: a load command of %u bytes", where,
                           size);
        if (number == LC_CODE_SIGNATURE && (size < 16 || out->found))
            return err_set(err, BK_E_INPUT, "offset 0x%llx: %s", where,
                           out->found ? "a second signature" : "the signature's place is missing");
        if (number == LC_CODE_SIGNATURE)
            *out = (struct place){true, macho_u32(p + at + 8, big), macho_u32(p + at + 12, big)};
        at += size;
    }
    return 0;
}

static int read_commands(const struct macho_input *in, const struct macho_slice *s,
                         struct place *out, struct bk_err *err)
{
    uint8_t head[32];
    struct macho_input slice = *in;
    slice.size = s->offset + s->size; /* reads stay inside the slice */
    if (macho_read(&slice, s->offset, head, 28, err) < 0)
        return -1;
    bool big = is_thin(macho_u32(head, true));
    uint32_t magic = macho_u32(head, big), n = macho_u32(head + 20, big);
    unsigned long long where = s->offset;
    if (!is_thin(magic))
        return err_set(err, BK_E_INPUT, "offset 0x%llx: %02x %02x %02x %02x: not a Mach-O file",
                       where, head[0], head[1], head[2], head[3]);
    if (n > COMMANDS_MAX)
        return err_set(err, BK_E_LIMIT, "offset 0x%llx: %u bytes of load commands", where + 20, n);
    uint64_t at = s->offset + (magic == (uint32_t)THIN_64 ? 32 : 28);
    OWN(mem) uint8_t *commands = malloc(n + 1u);
    if (!commands)
        return err_nomem(err);
    return macho_read(&slice, at, commands, n, err) < 0
               ? -1
               : find_signature(commands, n, macho_u32(head + 16, big), big, at, out, err);
}

int macho_signature(const struct macho_input *in, const struct macho_slice *s,
                    struct code_signature *out, struct bk_err *err)
{
    struct place at = {0};
    if (read_commands(in, s, &at, err) < 0)
        return -1;
    if (!at.found)
        return 0;
    if (at.offset > s->size || at.size > s->size - at.offset)
        return err_set(err, BK_E_INPUT,
                       "the signature (0x%x, %u bytes) reaches past the end of the program",
                       at.offset, at.size);
    if (at.size > SIGNATURE_MAX)
        return err_set(err, BK_E_LIMIT, "a signature of %u bytes", at.size);
    OWN(mem) uint8_t *bytes = malloc(at.size + 1u);
    if (!bytes)
        return err_nomem(err);
    out->present = true;
    if (macho_read(in, s->offset + at.offset, bytes, at.size, err) < 0)
        return -1;
    return code_signature_read(bytes, at.size, s->offset + at.offset, out, err);
}

/* ---- names ---- */

const char *macho_cpu_name(const struct macho_slice *s)
{
    enum { I386 = 7, ARM = 12, POWERPC = 18, SUBTYPE = 0xffffff };
    switch (s->cpu) {
    case I386:
        return "i386";
    case I386 | CPU_64:
        return (s->subtype & SUBTYPE) == 8 ? "x86_64h" : "x86_64";
    case ARM:
        return "arm";
    case ARM | CPU_64:
        return (s->subtype & SUBTYPE) == 2 ? "arm64e" : "arm64";
    case POWERPC:
        return "ppc";
    case POWERPC | CPU_64:
        return "ppc64";
    default:
        return NULL;
    }
}
