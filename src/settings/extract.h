/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_EXTRACT_H
#define BK_SETTINGS_EXTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Regular expressions as srt's `extract` has them, in JavaScript's language, to find what the first
 * group captures. Policies use another engine (graph/regex), which answers yes or no. Without
 * lookaround and backreferences; time is proportional to the pattern and the text.
 */
enum { EXTRACT_STEPS = 2048, EXTRACT_CLASSES = 64 };

struct extract_step {
    uint8_t op;
    uint8_t c; /* a byte, or a class */
    uint16_t to, other;
};

struct extract {
    struct extract_step steps[EXTRACT_STEPS];
    uint8_t classes[EXTRACT_CLASSES][32];
    size_t nsteps, nclasses, ngroups;
};

/* Returns -1 for a pattern that is wrong, not understood, or without a group. */
int extract_compile(const char *pattern, struct extract *out, struct bk_err *err);

/* A match at or after `from`, as JavaScript finds it. group: of the first one, or SIZE_MAX if it
 * took no part. */
struct extract_match {
    size_t start, end;
    size_t group, group_end;
};
/* Returns 1 if there is one, 0 if not, and -1 without memory. */
int extract_next(const struct extract *x, const char *text, size_t n, size_t from,
                 struct extract_match *out);

#endif
