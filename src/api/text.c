/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Texts and lists of the public functions. */

#include <stdlib.h>
#include <string.h>

#include "api/api.h"

void buckle_free(void *text)
{
    free(text);
}

void *api_grown(struct arena *a, void *list, size_t n, size_t size)
{
    if (n & (n - 1))
        return list;
    void *more = arena_array(a, n ? n * 2 : 1, size);
    if (more && n)
        memcpy(more, list, n * size);
    return more;
}

char *api_copy(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *api_text(struct buf *text)
{
    buf_add(text, "", 0);
    if (!text->s)
        buf_chr(text, '\0');
    if (buf_ok(text))
        return text->s;
    buf_free(text);
    return NULL;
}

char *api_text_or(struct buf *text, struct buckle_error **error)
{
    struct bk_err err;
    char *s = api_text(text);
    if (s)
        return s;
    err_nomem(&err);
    api_error(error, &err, NULL);
    return NULL;
}
