/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GIT_CONFIG_H
#define BK_GIT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct bk_err;

/* Budgets: bytes of text, settings in it, and bytes of the strings that reading makes. */
#define GIT_CONFIG_TEXT (1u << 20)
#define GIT_CONFIG_ENTRIES 20000u
#define GIT_CONFIG_STRINGS (8u << 20)

struct git_entry {
    /* As `git config --list` prints it: section and name in lower case, the subsection as written:
     * "remote.Origin.url". */
    const char *key;
    const char *value; /* NULL: the name alone, which git takes for true */
};

struct git_config {
    struct git_entry *entries;
    size_t n;
};

/*
 * Reads settings as git does. Includes are entries like others and are not followed. What git
 * refuses is refused, and a NUL byte is (git would end the value there). err has the line. On
 * failure *out is untouched.
 */
int git_config_read(struct arena *a, const char *text, size_t len, struct git_config *out,
                    struct bk_err *err);

/*
 * White space inside a value: git 2.45 and later keep it as it is, which is what git_config_read()
 * does; earlier ones make each character of it a space. Two values that are equal here are equal
 * for both.
 */
int git_config_read_spaced(struct arena *a, const char *text, size_t len, struct git_config *out,
                           struct bk_err *err);

/* The parts of a key: "branch.a.b.merge" has the section "branch", the subsection "a.b" and the
 * name "merge". Without a subsection sub is NULL. False when it has no section. */
struct git_key {
    const char *section, *sub, *name;
    size_t section_len, sub_len;
};
bool git_key_split(const char *key, struct git_key *out);

/* Whether a key is the pattern's: "core.bare", or "branch.*.merge" for any subsection, an empty one
 * included. */
bool git_key_matches(const char *key, const char *pattern);

#endif
