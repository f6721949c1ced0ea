/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Options of a tool as tables: each row says what becomes of one. An option without a row is an
 * error, because it may be a restriction. */

#include <string.h>

#include "base/own.h"
#include "import/import-int.h"

const struct imp_option *imp_option_find(const struct imp_option *table, const char *name, size_t n)
{
    for (const struct imp_option *o = table; o->name; o++)
        if (strlen(o->name) == n && memcmp(o->name, name, n) == 0)
            return o;
    return NULL;
}

int imp_option_do(struct imp *im, const struct imp_option *o, void *state,
                  const char *const *values, const char *shown, uint32_t line, struct bk_err *err)
{
    switch (o->what) {
    case IMP_NOTHING:
        return 0;
    case IMP_DIFFERS:
        return imp_differs(im, line, shown, o->why, err);
    case IMP_LOST:
        return imp_lost(im, line, shown, o->why, err);
    case IMP_REFUSED:
        return imp_fail(im, line, err, "%.100s: %s", shown, o->why);
    case IMP_TAKEN:
        return o->take(im, state, o, values, line, err);
    }
    return 0;
}

/* The option and its values, for notes. */
static int show(struct imp *im, const struct imp_option *o, const char *const *values,
                const char **out, struct bk_err *err)
{
    OWN(buf) struct buf b = {0};
    buf_str(&b, o->name);
    for (size_t i = 0; i < o->values && b.n < 300; i++)
        buf_fmt(&b, " %s", values[i]);
    *out = buf_ok(&b) ? arena_strndup(&im->arena, b.s, b.n) : NULL;
    return *out ? 0 : err_nomem(err);
}

enum { VALUES = 2 };

static int one(struct imp *im, const struct imp_option *table, void *state,
               const struct imp_word *words, size_t n, size_t *at, struct bk_err *err)
{
    const struct imp_word *w = &words[*at];
    const char *equal = w->s[1] == '-' ? strchr(w->s, '=') : NULL, *shown;
    size_t len = equal ? (size_t)(equal - w->s) : strlen(w->s), left = n - *at - 1;
    const char *values[VALUES] = {NULL};
    const struct imp_option *o = imp_option_find(table, w->s, len);
    if (!o)
        return imp_fail(im, w->line, err, "unknown option %.*s of %s", (int)(len < 100 ? len : 100),
                        w->s, im->tool);
    size_t inner = equal ? 1 : 0;
    if (o->values > VALUES || (equal && o->values > 1))
        return imp_fail(im, w->line, err, "%.100s takes %d values", o->name, o->values);
    if (equal)
        values[0] = equal + 1;
    if (o->values > inner && left < o->values - inner)
        return imp_fail(im, w->line, err, "%.100s needs %d values", o->name, o->values);
    for (size_t i = inner; i < o->values; i++)
        values[i] = words[++*at].s;
    ++*at;
    if (show(im, o, values, &shown, err) < 0)
        return -1;
    return imp_option_do(im, o, state, values, shown, w->line, err);
}

int imp_options(struct imp *im, const struct imp_option *table, void *state,
                const struct imp_word *words, size_t n, size_t *at, struct bk_err *err)
{
    while (*at < n) {
        const char *s = words[*at].s;
        if (strcmp(s, "--") == 0) {
            ++*at;
            return 0;
        }
        if (s[0] != '-' || !s[1])
            return 0;
        if (one(im, table, state, words, n, at, err) < 0)
            return -1;
    }
    return 0;
}
