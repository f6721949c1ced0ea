/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "policy/presets.h"

#include "git/gitdir.h"

int presets_load(struct arena *a, const char *path, struct preset_config *out, struct bk_err *err)
{
    *out = (struct preset_config){0};
    return presets_read_shipped(a, out, err) < 0 ? -1 : preset_load(a, path, out, err);
}

int presets_parse(struct arena *a, const char *name, const char *text, size_t n,
                  struct preset_config *out, struct bk_err *err)
{
    struct preset_config c = {0};
    if (presets_read_shipped(a, &c, err) < 0 || preset_parse(a, name, text, n, &c, err) < 0)
        return -1;
    *out = c;
    return 0;
}

static int share_caches(struct arena *a, struct preset *p, struct bk_err *err)
{
    for (size_t i = 0; i < p->lists[PRESET_CACHE].n; i++)
        if (preset_push(a, &p->lists[PRESET_ALLOW], &p->lists[PRESET_CACHE].at[i]) < 0)
            return err_nomem(err);
    p->lists[PRESET_CACHE].n = 0;
    return 0;
}

int presets_share_caches(struct arena *a, struct preset_config *c, struct bk_err *err)
{
    for (size_t i = 0; i < c->npresets; i++)
        if (share_caches(a, &c->presets[i], err) < 0)
            return -1;
    for (size_t i = 0; i < c->nshipped; i++)
        if (share_caches(a, &c->shipped[i], err) < 0)
            return -1;
    return 0;
}

static int allow_git(struct arena *a, const char *cwd, struct access *access, struct bk_err *err)
{
    const char *folders[2];
    if (git_folders(a, cwd, &folders[0], &folders[1], err) < 0)
        return -1;
    for (size_t i = 0; i < 2; i++) {
        struct place place = {.path = folders[i], .origin = "allow-git"};
        if (folders[i] && (places_push(a, &access->allow_read, &place) < 0 ||
                           places_push(a, &access->allow_write, &place) < 0))
            return err_nomem(err);
    }
    return 0;
}

int presets_apply(struct arena *a, const struct preset *sum, const struct path_base *base,
                  struct access *access, struct words *unset, struct bk_err *err)
{
    if (preset_apply(a, sum, base, access, unset, err) < 0)
        return -1;
    return sum->flags[PRESET_ALLOW_GIT] ? allow_git(a, base->cwd, access, err) : 0;
}
