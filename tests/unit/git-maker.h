/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TESTS_GIT_MAKER_H
#define BK_TESTS_GIT_MAKER_H

/* Settings from texts, for tests of src/git. */

#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "git/config.h"

static inline struct git_config *maker_settings(struct arena *a, const char *text)
{
    struct bk_err err = {0};
    struct git_config *c = arena_new(a, struct git_config);
    if (!text)
        return NULL;
    if (!c || git_config_read(a, text, strlen(text), c, &err) < 0) {
        fprintf(stderr, "%s: %s\n", err.msg, text);
        abort();
    }
    return c;
}

#endif
