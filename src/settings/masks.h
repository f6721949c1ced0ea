/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_MASKS_H
#define BK_SETTINGS_MASKS_H

#include "settings/credential-rule.h"
#include "settings/json.h"

/*
 * srt's setting `credentials`: variables and files that the command cannot see, or sees with
 * placeholders, which requests to some hosts replace.
 */

/* What happens if there is nothing in it to hide. */
enum mask_miss { MISS_WARNS, MISS_DENIES, MISS_FAILS };

struct mask {
    const char *variable; /* its name; or NULL, and then: */
    const char *file;     /* an absolute path */
    bool denied;          /* it is not there, or cannot be read */
    const char *extract;  /* pattern whose first group is hidden; NULL: all of it */
    bool jwt;             /* only what is a JSON Web Token, and as such */
    struct words claims;  /* … and of that only these claims, if there are any */
    bool duplicates;      /* other places where the same text is, too */
    enum mask_miss miss;
    const struct credential_place *places;
    size_t nplaces;
};

enum { MASKS_MAX = 64, MASK_PAIRS = 8 };

/* Signatures for AWS that are passed on although they will not be valid, or refused. */
enum { MASK_STREAMS = 1, MASK_PRESIGNED = 2, MASK_SIGV4A = 4 };

struct masks {
    struct mask at[MASKS_MAX];
    size_t n;
    struct mask_pair {
        const char *id, *key; /* variables */
    } pairs[MASK_PAIRS];
    size_t npairs;
    unsigned passed, refused; /* bit sets */
    bool unencrypted;
};

struct masks_base {
    const char *home, *cwd;
    const struct words *hosts; /* for entries that name none */
    struct arena *arena;
};

/* On failure *where is what is wrong. */
int masks_read(const struct json *j, const struct masks_base *base, struct masks *out,
               const struct json **where, struct bk_err *err);
/* Writes rules that let only requests through to their hosts. */
void masks_sbpl(const struct masks *m, struct buf *out);

#endif
