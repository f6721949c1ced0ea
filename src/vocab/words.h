/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_VOCAB_WORDS_H
#define BK_VOCAB_WORDS_H

#include "vocab/vocab.h"

/*
 * What the columns of the .def files mean. Private to the two programs that expand them: vocab.c
 * and the index generator. Names are short because the tables are read more often than this
 * file.
 */

#define __ (-1) /* absent */

/* Who defines the word. */
enum { APPLE, MESSAGE, OURS };

/* Category sets. Message-filter operations take `system` and `process` filters in 13.0; profiles
 * for later systems also give them state flags, hence `sandbox`. */
#define C(id) (UINT64_C(1) << CAT_##id)
#define COMMON (C(EXTENSION) | C(PROCESS) | C(SYSTEM) | C(SANDBOX))
#define FILES (COMMON | C(PATH) | C(FILE_MODE) | C(VNODE_TYPE) | C(DEVICE) | C(FS))
#define NETWORKS (COMMON | C(SOCKET) | C(NETWORK) | C(PATH) | C(FILE_MODE) | C(VNODE_TYPE) | C(FS))
/* 13.0 lists only process and system here. WebKit's profiles put whole groups of rules, including
 * message rules, under state flags and extensions, and macOS loads them. */
#define MESSAGES (C(EXTENSION) | C(PROCESS) | C(SYSTEM) | C(SANDBOX))

/* Modifier sets. */
#define M(id) (UINT32_C(1) << MOD_##id)
#define REPORTING                                                                                  \
    (M(REPORT) | M(NO_REPORT) | M(MESSAGE) | M(AUTHORITY) | M(TELEMETRY) | M(TELEMETRY_BACKTRACE))
#define STANDARD                                                                                   \
    (REPORTING | M(SEND_SIGNAL) | M(ERRNO) | M(SIP_OVERRIDE) | M(USER_APPROVAL) |                  \
     M(NO_APPROVAL_PROMPT) | M(ENABLE_STATE_FLAG) | M(DEPRECATED) | M(PARTIAL_SYMBOLICATION))

/* clang-format off */

/* Tails for (version 1), 2 and 3. */
#define TAILS_PARENT   {TAIL_PARENT, TAIL_PARENT, TAIL_PARENT}
#define TAILS_ALLOW    {TAIL_ALLOW, TAIL_ALLOW, TAIL_ALLOW}
#define TAILS_ALLOW_V1 {TAIL_ALLOW, TAIL_PARENT, TAIL_PARENT}
#define TAILS_DENY     {TAIL_DENY, TAIL_DENY, TAIL_DENY}

#define IDS(...) {__VA_ARGS__}

/* clang-format on */

/* Modifiers: which rules, what argument (struct vocab_modifier_info). */
enum { ON_DENY = 1, ON_ALLOW = 2, ON_BOTH = 3 };
enum { WANTS_NOTHING = 1, WANTS_NUMBER = 2, WANTS_TEXT = 3, WANTS_RULES = 4 };

/* Old spellings: the versions that used this name, a bit set of enum vocab_os. */
#define UNTIL(os) ((2u << VOCAB_##os) - 1)
#define NEVER 0u

/* Profile versions of an implicit rule. */
enum { V1 = 1, V2 = 2, V3 = 4 };

/* An entry of the name index. It has no pointers, so that loading the program relocates nothing. */
struct vocab_index_entry {
    uint32_t name; /* offset in the pool of names */
    uint16_t id;
    uint8_t len, kind, form, flags;
};

enum { INDEX_ALIAS = 1, INDEX_EXTENSION = 2 };

/* Rows of vocab_constants[] that an owner accepts. */
struct vocab_range {
    uint16_t first, count;
};

enum { VOCAB_FORMS = FORM_GLOB + 1, VOCAB_NAME_MAX = 96 };

_Static_assert(CAT_COUNT <= 64, "categories are a 64-bit set");
_Static_assert(MOD_COUNT <= 32, "modifiers are a 32-bit set");
_Static_assert(VOCAB_OS_COUNT <= 16, "columns are a small bit set");

#endif
