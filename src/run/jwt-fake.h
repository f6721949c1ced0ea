/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_JWT_FAKE_H
#define BK_RUN_JWT_FAKE_H

#include <stdbool.h>
#include <stddef.h>

#include "settings/access.h"

/* JSON Web Tokens of which parts are replaced, and that still look like tokens. */

enum { JWT_MAX = 4096, JWT_CLAIMS = 16 };

struct jwt_claim {
    char value[JWT_MAX], fake[JWT_MAX]; /* the text of a claim, and what is there instead */
    size_t n;
};

struct jwt_fake {
    char token[JWT_MAX + 1]; /* as long as the real one */
    struct jwt_claim claims[JWT_CLAIMS];
    size_t nclaims;
};

bool jwt_is(const char *s, size_t n);
/* Replaces the signature and these claims, or all texts if there are none. Returns 1, 0 if the
 * token has none of these claims, or -1 if it is too long. */
int jwt_fake(const char *s, size_t n, const struct words *claims, struct jwt_fake *out);

#endif
