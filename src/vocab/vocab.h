/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_VOCAB_VOCAB_H
#define BK_VOCAB_VOCAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The vocabulary of SBPL. Everything here is a constant table generated from the .def files beside
 * it, which are the only source of enums, names, parents, legal filters and ids per OS version. No
 * state, no allocation. Lookups by name use an index that the build sorts (tools/vocab-index.c).
 */

/* OS versions whose ids we know, oldest first; columns of ops.def. */
enum vocab_os {
    VOCAB_IOS_4,
    VOCAB_IOS_8_4_1,
    VOCAB_IOS_9_3,
    VOCAB_IOS_13_0,
    VOCAB_MACOS_10_12,
    VOCAB_MACOS_10_13,
    VOCAB_MACOS_10_14,
    VOCAB_MACOS_10_15,
    VOCAB_MACOS_12_5,
    VOCAB_MACOS_13_0,
    VOCAB_MACOS_14_4_1,
    VOCAB_OS_COUNT,
    VOCAB_OS_ANY = VOCAB_OS_COUNT, /* the union: what the language accepts by default */
};

enum vocab_op {
#define OP(id, ...) OP_##id,
#include "vocab/ops.def"
#undef OP
    OP_COUNT,
    OP_NONE = 0xffff,
};

/* Filter categories: an operation takes the filters of its categories. */
enum vocab_category {
#define CATEGORY(id, name, primary, words) CAT_##id,
#include "vocab/categories.def"
#undef CATEGORY
    CAT_COUNT,
};

enum vocab_filter {
#define FILTER(id, ...) FILTER_##id,
#include "vocab/filters.def"
#undef FILTER
    FILTER_COUNT,
    FILTER_NONE = 0xffff,
};

enum vocab_modifier {
#define MODIFIER(id, ...) MOD_##id,
#include "vocab/modifiers.def"
#undef MODIFIER
    MOD_COUNT,
    MOD_NONE = 0xffff,
};

/* What ends an operation's rule list until a rule replaces it. */
enum vocab_tail { TAIL_PARENT, TAIL_ALLOW, TAIL_DENY };

enum { VOCAB_PROFILE_VERSIONS = 3 }; /* (version 1), (version 2), (version 3) */

/* Rows hold their names inline: the loader relocates a pointer at every start, page by page. */
enum { VOCAB_NAME = 56 }; /* fits the longest operation or filter name */

struct vocab_op_info {
    char name[VOCAB_NAME];
    uint16_t parent; /* enum vocab_op; OP_NONE for `default` and for `default-message-filter` */
    uint8_t tail[VOCAB_PROFILE_VERSIONS]; /* enum vocab_tail */
    bool message_filter;                  /* only inside apply-message-filter */
    bool extension;                       /* ours or the specification's, not Apple's */
    uint64_t categories;                  /* bit set of enum vocab_category, without descendants' */
    uint32_t modifiers;                   /* bit set of enum vocab_modifier */
    int16_t ids[VOCAB_OS_COUNT];          /* -1 when that version lacks it */
};

/* The kind of argument a filter takes. */
enum vocab_arg {
    ARG_NONE,    /* (notification-payload) */
    ARG_BOOL,    /* takes nothing, or a boolean */
    ARG_PATH,    /* string with literal, prefix, subpath and regex forms */
    ARG_STRING,  /* string with literal, prefix and regex forms */
    ARG_NAME,    /* plain string, exact only: extension, entitlement, state-flag */
    ARG_INT,     /* integer or constant */
    ARG_MODE,    /* bit mask: matches when any of these bits is set (file-mode, reboot-flags) */
    ARG_NETWORK, /* (local|remote PROTO "host:port") */
    ARG_DOMAIN,  /* ours: "*.example.com:443" */
};

struct vocab_filter_info {
    char name[VOCAB_NAME];
    uint8_t category;           /* enum vocab_category */
    uint8_t arg;                /* enum vocab_arg */
    int16_t cost;               /* Apple's cost factor, -1 when unknown */
    int16_t id_13_0, id_14_4_1; /* ids on the wire, -1 when absent */
    bool extension;             /* ours or the specification's */
};

/* Where case may be ignored. Names count as they are written, on every system. */
#define vocab_filter_is_path(filter) (vocab_filters[filter].arg == ARG_PATH)

struct vocab_modifier_info {
    const char *name;
    int16_t id_13_0;     /* -1 when not in 13.0 */
    uint8_t actions;     /* 1 deny, 2 allow, 3 both */
    uint8_t arg;         /* 1 none, 2 integer or constant, 3 string, 4 rules (message-filter) */
    uint32_t mask, flag; /* bits of the decision: (flags & ~mask) | flag */
};

/* Decision flag bits, as in the compiled form. */
enum { VOCAB_FLAG_DENY = 1, VOCAB_FLAG_REPORT = 4, VOCAB_FLAGS = 0xffffff };

/* A named integer: SYS_open, AF_UNIX, SIGKILL, EPERM, self, REGULAR-FILE… It belongs to the filter
 * or modifier that takes it. */
struct vocab_constant {
    uint32_t name;     /* for vocab_constant_name() */
    uint16_t filter;   /* enum vocab_filter, or FILTER_NONE when a modifier owns it */
    uint16_t modifier; /* enum vocab_modifier, or MOD_NONE */
    int64_t value;
};

/* How a filter's name selects a form of matching: (subpath …) is the path filter's subpath form,
 * (global-name-regex …) is global-name's regex form. */
enum vocab_form { FORM_PLAIN, FORM_LITERAL, FORM_PREFIX, FORM_SUBPATH, FORM_REGEX, FORM_GLOB };

enum vocab_kind { WORD_NONE, WORD_OP, WORD_FILTER, WORD_MODIFIER, WORD_CONSTANT };

/* What a name in a profile means, with aliases and old spellings resolved. */
struct vocab_word {
    enum vocab_kind kind;
    uint16_t id;  /* OP_…, FILTER_…, MOD_… or index of the constant */
    uint8_t form; /* for filters: enum vocab_form */
    bool alias;   /* spelled differently from the canonical name */
    bool extension;
};

extern const struct vocab_op_info vocab_ops[OP_COUNT];
extern const struct vocab_filter_info vocab_filters[FILTER_COUNT];
extern const struct vocab_modifier_info vocab_modifiers[MOD_COUNT];
extern const struct vocab_constant vocab_constants[];
extern const size_t vocab_constant_count;
const char *vocab_constant_name(size_t row); /* in vocab_constants[] */

/* Looks a name up; kind is WORD_NONE when it is unknown. Only operations and filters can share a
 * name: `want` chooses between them, and WORD_NONE prefers the operation. */
struct vocab_word vocab_find(const char *name, size_t n, enum vocab_kind want);

/* Finds a constant's value for this filter or modifier; false when it has none. Several filters may
 * use one name with different values. */
bool vocab_filter_constant(enum vocab_filter filter, const char *name, size_t n, int64_t *value);
bool vocab_modifier_constant(enum vocab_modifier mod, const char *name, size_t n, int64_t *value);
/* Returns the name of a value, for printing; NULL when it has none. */
const char *vocab_filter_constant_name(enum vocab_filter filter, int64_t value);
const char *vocab_modifier_constant_name(enum vocab_modifier mod, int64_t value);

/* Returns the spelling of this filter in the given form: (FILTER_PATH, FORM_SUBPATH) is "subpath",
 * (FILTER_GLOBAL_NAME, FORM_PREFIX) is "global-name-prefix". NULL when there is none. */
const char *vocab_filter_spelling(enum vocab_filter filter, enum vocab_form form);

/* Whether a rule on op may use this filter: by its own categories or a descendant's. */
bool vocab_op_takes_filter(enum vocab_op op, enum vocab_filter filter);
bool vocab_op_takes_modifier(enum vocab_op op, enum vocab_modifier mod);
/* Whether `ancestor` is op itself or one of its ancestors. */
bool vocab_op_is_within(enum vocab_op op, enum vocab_op ancestor);

/* Returns the filter that an operation's plain argument feeds: path for file-read*, global-name for
 * mach-lookup, sysctl-name for sysctl-read, remote or local for network operations, FILTER_NONE
 * when it takes none. */
enum vocab_filter vocab_op_subject(enum vocab_op op);
/* Whether a filter tests the object of an operation, rather than the process or the
 * circumstances. */
bool vocab_filter_is_subject(enum vocab_filter filter);

/* Returns the canonical name of a word found by vocab_find(), in its form. */
const char *vocab_word_name(const struct vocab_word *word);

/* All spellings, sorted by name. A name with several meanings occurs once for each. */
size_t vocab_spelling_count(void);
const char *vocab_spelling_at(size_t i, struct vocab_word *word);

/* Stores the first row of vocab_constants[] that a filter or modifier accepts, and returns how
 * many. */
size_t vocab_filter_constants(enum vocab_filter filter, size_t *first);
size_t vocab_modifier_constants(enum vocab_modifier mod, size_t *first);

const char *vocab_category_name(enum vocab_category category);  /* "posix-ipc" */
const char *vocab_category_words(enum vocab_category category); /* "a path", for messages */

/* Returns the known name closest to a misspelled one, for "did you mean"; NULL when none is close.
 * kinds is a bit set of 1 << enum vocab_kind. */
const char *vocab_suggest(const char *name, size_t n, unsigned kinds);

#endif
