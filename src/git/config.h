/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GIT_CONFIG_H
#define BK_GIT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct bk_err;

/* Limits: bytes of text, number of settings, and bytes of all their strings. */
#define GIT_CONFIG_TEXT (1u << 20)
#define GIT_CONFIG_ENTRIES 20000u
#define GIT_CONFIG_STRINGS (8u << 20)

struct git_entry {
    /* As `git config --list` prints it, section and name in lower case, the subsection as written:
     * "remote.Origin.url". */
    const char *key;
    const char *value; /* NULL: a name without a value, which means true */
};

struct git_config {
    struct git_entry *entries;
    size_t n;
};

/*
 * Reads settings as git does. Includes are ordinary entries and are not followed. Rejects what git
 * rejects, and NUL bytes (git would end the value there). err has the line. On failure *out is
 * untouched.
 */
int git_config_read(struct arena *a, const char *text, size_t len, struct git_config *out,
                    struct bk_err *err);

/*
 * The same for git before 2.45, which turns each white space inside a value into a space.
 * git_config_read() keeps it, as later versions do. If two values are equal here, they are equal to
 * both.
 */
int git_config_read_spaced(struct arena *a, const char *text, size_t len, struct git_config *out,
                           struct bk_err *err);

/* Splits a key: "branch.a.b.merge" has the section "branch", the subsection "a.b" and the name
 * "merge"; without a subsection, sub is NULL. Returns false if there is no section. */
struct git_key {
    const char *section, *sub, *name;
    size_t section_len, sub_len;
};
bool git_key_split(const char *key, struct git_key *out);

/* Whether a key matches a pattern: "core.bare", or "branch.*.merge" for any subsection, even an
 * empty one. */
bool git_key_matches(const char *key, const char *pattern);

#endif
