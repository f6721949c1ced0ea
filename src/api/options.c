/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Options for loading. Strings and lists live in one arena; a growing list leaves small old copies
 * there. */

#include "api/api.h"

#include <stdlib.h>
#include <string.h>

enum { OPTIONS_BYTES = 16 << 20 };

struct buckle_options *buckle_options_new(void)
{
    struct buckle_options *o = calloc(1, sizeof(*o));
    if (o)
        arena_init(&o->arena, OPTIONS_BYTES);
    return o;
}

void buckle_options_free(struct buckle_options *options)
{
    if (!options)
        return;
    arena_free(&options->arena);
    free(options);
}

int buckle_options_param(struct buckle_options *options, const char *key, const char *value)
{
    struct buckle_options *o = options;
    struct sbpl_param p = {.key = api_copy(&o->arena, key), .value = api_copy(&o->arena, value)};
    struct sbpl_param *list = api_grown(&o->arena, o->params, o->nparams, sizeof(*list));
    if (!p.key || !p.value || !list)
        return -1;
    o->params = list;
    o->params[o->nparams++] = p;
    return 0;
}

int buckle_options_import_dir(struct buckle_options *options, const char *dir)
{
    struct buckle_options *o = options;
    const char *d = api_copy(&o->arena, dir);
    const char **list = api_grown(&o->arena, o->dirs, o->ndirs, sizeof(*list));
    if (!d || !list)
        return -1;
    o->dirs = list;
    o->dirs[o->ndirs++] = d;
    return 0;
}

int buckle_options_entitlements(struct buckle_options *options, const char *path)
{
    const char *p = api_copy(&options->arena, path);
    if (!p)
        return -1;
    options->entitlements = p;
    return 0;
}

void buckle_options_fold_case(struct buckle_options *options, int on)
{
    options->fold_case = on != 0;
}
