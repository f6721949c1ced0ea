/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* What numbers mean: operations and filters by era and version. */

#include <string.h>

#include "format/format-int.h"
#include "vocab/os.h"

static const struct {
    const char *letter, *words;
} eras[] = {
    [BLOB_NONE] = {"", "unknown"},      [BLOB_A] = {"A", "A (Mac OS X 10.6, iOS 4)"},
    [BLOB_B] = {"B", "B (iOS 6 to 9)"}, [BLOB_C] = {"C", "C (iOS 10 to 12)"},
    [BLOB_D] = {"D", "D (iOS 13)"},     [BLOB_E] = {"E", "E (macOS 14)"},
};

const char *blob_era_words(enum blob_era era)
{
    return eras[era].words;
}

enum blob_era blob_era_find(const char *letter)
{
    for (unsigned i = BLOB_A; i < BLOB_ERAS; i++)
        if (strcmp(eras[i].letter, letter) == 0)
            return (enum blob_era)i;
    return BLOB_NONE;
}

/* ---- operations ---- */

/* Number of operations in this version's operation table; message operations come after them. */
static uint32_t ops_in(enum vocab_os os)
{
    uint32_t n = 0;
    for (uint32_t op = 0; op < OP_COUNT; op++)
        if (!vocab_ops[op].message_filter && vocab_ops[op].ids[os] >= (int)n)
            n = (uint32_t)vocab_ops[op].ids[os] + 1;
    return n;
}

/* The number of operations identifies a version. iOS 13.0 and 10.15 have the same number. */
enum vocab_os blob_os_of(enum blob_era era, uint32_t nops)
{
    static const struct {
        enum blob_era era;
        enum vocab_os first, last;
    } ranges[] = {
        {BLOB_A, VOCAB_IOS_4, VOCAB_IOS_4},
        {BLOB_B, VOCAB_IOS_8_4_1, VOCAB_IOS_9_3},
        {BLOB_C, VOCAB_MACOS_10_12, VOCAB_MACOS_10_14},
        {BLOB_D, VOCAB_IOS_13_0, VOCAB_IOS_13_0},
        {BLOB_E, VOCAB_MACOS_13_0, VOCAB_MACOS_14_4_1},
    };
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
        for (unsigned os = ranges[i].first; ranges[i].era == era && os <= ranges[i].last; os++)
            if (ops_in((enum vocab_os)os) == nops)
                return (enum vocab_os)os;
    return VOCAB_OS_ANY;
}

int blob_use_names(struct blob *b, enum vocab_os os, struct bk_err *err)
{
    uint32_t n = ops_in(os);
    if (n != b->nops)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: the file has %u operations, %s has %u",
                       b->era >= BLOB_D ? 4 : b->rows, b->nops, vocab_os_name(os), n);
    b->os = os;
    return 0;
}

void blob_names_words(const struct blob *b, struct buf *out)
{
    if (b->os != VOCAB_OS_ANY)
        buf_fmt(out, "%u operation%s, named as in %s", b->nops, plural(b->nops),
                vocab_os_name(b->os));
    else
        buf_fmt(out, "%u operation%s with unknown names", b->nops, plural(b->nops));
}

enum vocab_op blob_op_name(const struct blob *b, uint32_t id)
{
    for (uint32_t op = 0; b->os != VOCAB_OS_ANY && op < OP_COUNT; op++)
        if (vocab_ops[op].ids[b->os] == (int)id)
            return (enum vocab_op)op;
    if (id == 0)
        return OP_DEFAULT;
    /* 10.6: from its only sample */
    return b->era == BLOB_A && b->os == VOCAB_OS_ANY && id == 5 ? OP_FILE_READ_DATA : OP_NONE;
}

/* ---- filters ---- */

static const uint16_t ios4[] = {
    [1] = FILTER_PATH,           [2] = FILTER_XATTR,       [3] = FILTER_FILE_MODE,
    [4] = FILTER_IPC_POSIX_NAME, [5] = FILTER_GLOBAL_NAME, [6] = FILTER_LOCAL_NAME,
    [7] = FILTER_LOCAL,          [8] = FILTER_REMOTE,      [9] = FILTER_SOCKET_DOMAIN,
    [10] = FILTER_TARGET,
};

/* iOS 7 to 11, after the ids that have not changed since. */
static const uint16_t ios11[] = {
    [0x28] = FILTER_ROOTLESS_BOOT_DEVICE_FILTER,
    [0x2a] = FILTER_ROOTLESS_DISK_FILTER,
    [0x2c] = FILTER_PRIVILEGE_ID,
    [0x2d] = FILTER_PROCESS_ATTRIBUTE,
    [0x2e] = FILTER_UID,
    [0x2f] = FILTER_NVRAM_VARIABLE,
    [0x30] = FILTER_CSR,
    [0x31] = FILTER_HOST_SPECIAL_PORT,
};

static const uint16_t ios13[] = {
    [0x43] = FILTER_REQUIRE_TARGET_WITH_ENTITLEMENT,
    [0x44] = FILTER_IOKIT_REGISTRY_ENTRY_ATTRIBUTE,
    [0x45] = FILTER_USER_INTENT_EXTENSION,
    [0x46] = FILTER_SNAPSHOT_NAME,
};

enum {
    SAME_UNTIL_11 = 0x26,
    SAME_UNTIL_12 = 0x3f,
    SAME_UNTIL_13 = 0x41,
};

/* FILTER_PATH is 0 and does not occur in these. */
static enum vocab_filter in_table(const uint16_t *table, size_t n, uint8_t id)
{
    return id < n && table[id] ? (enum vocab_filter)table[id] : FILTER_NONE;
}

/* Addresses are not established in era A. */
int blob_filter_id_a(enum vocab_filter filter)
{
    for (int i = 1; i < (int)(sizeof(ios4) / sizeof(ios4[0])); i++)
        if (ios4[i] == filter && vocab_filters[filter].arg != ARG_NETWORK)
            return i;
    return -1;
}

static enum vocab_filter with_id(enum vocab_os os, uint8_t id)
{
    for (uint32_t f = 0; f < FILTER_COUNT; f++)
        if (vocab_filter_id_in((enum vocab_filter)f, os) == id)
            return (enum vocab_filter)f;
    return FILTER_NONE;
}

enum vocab_filter blob_filter_name(const struct blob *b, uint8_t wire)
{
    uint8_t id = wire & (uint8_t)~BLOB_REGEX_FORM;
    if (b->era == BLOB_A)
        return wire && wire < sizeof(ios4) / sizeof(ios4[0]) ? (enum vocab_filter)ios4[wire]
                                                             : FILTER_NONE;
    if (b->era == BLOB_E && id == BLOB_ENTITLEMENT_LOAD)
        return FILTER_ENTITLEMENT_IS_PRESENT;
    if (b->era == BLOB_E)
        return with_id(b->os == VOCAB_MACOS_13_0 ? b->os : VOCAB_MACOS_14_4_1, id);
    bool early = b->era == BLOB_B || (b->era == BLOB_C && !b->late);
    uint8_t same = early ? SAME_UNTIL_11 : b->era == BLOB_C ? SAME_UNTIL_12 : SAME_UNTIL_13;
    if (id == BLOB_ENTITLEMENT_LOAD)
        return FILTER_ENTITLEMENT_IS_PRESENT;
    if (id <= same)
        return with_id(VOCAB_MACOS_13_0, id);
    return early ? in_table(ios11, sizeof(ios11) / sizeof(ios11[0]), id)
                 : in_table(ios13, b->era == BLOB_D ? sizeof(ios13) / sizeof(ios13[0]) : 0, id);
}
