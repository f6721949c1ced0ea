/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#ifndef BK_SETTINGS_CHECK_INT_H
#define BK_SETTINGS_CHECK_INT_H

/* A check of a settings text under way, shared by those of keys and of values. */

#include "settings/settings.h"

struct checker {
    const struct json_text *text;
    struct settings_findings *out;
    const struct setting_key *key; /* being checked */
};

/* Adds a finding about the place `at`, whose message the caller sets. */
struct bk_err *checker_add(struct checker *c, enum finding_level level, uint32_t at);

/* err_set() clears the place. */
#define FOUND(c, level, at, ...)                                                                   \
    do {                                                                                           \
        struct bk_err *e_ = checker_add(c, level, at), place_ = *e_;                               \
        err_set(e_, BK_E_INPUT, __VA_ARGS__);                                                      \
        err_place(e_, place_.file, place_.line, place_.col);                                       \
    } while (0)

/* Adds what to do about the last finding. */
void checker_hint(struct checker *c, const char *text);

/* The key being checked, as people write it. Valid until the next call. */
const char *checker_path(const struct checker *c);

/* Checks the value of the key being checked. */
void checker_value(struct checker *c, const struct json *j);

#endif
