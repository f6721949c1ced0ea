/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * From presets to an access. The more specific of two entries wins, and of two for the same place
 * the denial; only a flag of this run wins over a preset's denial there. Denials keep metadata
 * readable, so that programs can find their way. Exceptions open only reading.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings/preset-int.h"

struct applying {
    struct arena *arena;
    struct path_base base; /* with a look-up that notes what is not set */
    const struct path_base *given;
    bool unset;
    struct words *unset_paths;
    struct access *policy;
    struct bk_err *err;
};

static const char *read_variable(void *arg, const char *name)
{
    struct applying *a = arg;
    const char *value = a->given->getenv ? a->given->getenv(a->given->arg, name) : getenv(name);
    a->unset |= !value || !*value;
    return value;
}

/* Adds an entry's places to `out`. A permission with an unset variable opens nothing: presets use
 * ${XDG_CACHE_HOME}, which few users set. A denial that cannot be resolved is an error. */
static int places_of(struct applying *a, const char *path, const char *origin, bool denies,
                     struct places *out)
{
    struct places links = {0};
    struct path_entry e = {.text = path,
                           .n = strlen(path),
                           .origin = origin,
                           .denies = denies,
                           .keeps_metadata = denies,
                           .links = denies ? NULL : &links};
    a->unset = false;
    /* as for reading: presets' permissions also open reading that others deny */
    if (path_places(a->arena, &a->base, &e, out, a->err) == 0)
        return access_note(a->arena, a->policy, false, &links, out->at[out->n - 1].path, origin) < 0
                   ? err_nomem(a->err)
                   : 0;
    if (a->unset && !denies)
        return a->unset_paths && words_push(a->arena, a->unset_paths, path) < 0 ? err_nomem(a->err)
                                                                                : 0;
    struct bk_err why = *a->err;
    err_set(a->err, why.code, "%.60s: %.80s: %.150s", origin, path, why.msg);
    err_hint(a->err, "%s", why.hint);
    return -1;
}

static int push_all(struct applying *a, struct places *to, const struct places *from, bool yields)
{
    for (size_t i = 0; i < from->n; i++) {
        struct place p = from->at[i];
        p.yields = yields;
        if (places_push(a->arena, to, &p) < 0)
            return err_nomem(a->err);
    }
    return 0;
}

/* ---- permission ---- */

static int allow(struct applying *a, const struct preset_path *p, bool write)
{
    struct places found = {0};
    if (places_of(a, p->path, p->origin, false, &found) < 0 ||
        push_all(a, &a->policy->allow_read, &found, false) < 0)
        return -1;
    return write ? push_all(a, &a->policy->allow_write, &found, false) : 0;
}

/* Without layers it is an ordinary permission. */
static int layer(struct applying *a, const struct preset_path *p)
{
    struct places found = {0};
    if (!a->policy->as_shipped)
        return allow(a, p, true);
    if (places_of(a, p->path, p->origin, false, &found) < 0)
        return -1;
    /* only where nothing else can be read: secrets in a cache's folder stay secret */
    if (a->policy->reads_nothing && push_all(a, &a->policy->allow_read, &found, false) < 0)
        return -1;
    return push_all(a, &a->policy->layered, &found, false);
}

static int allow_all(struct applying *a, const struct preset_paths *list, bool write)
{
    for (size_t i = 0; i < list->n; i++)
        if (allow(a, &list->at[i], write) < 0)
            return -1;
    return 0;
}

/* ---- denial ---- */

/* Places that flags open for this run. */
static int typed_places(struct applying *a, const struct preset *sum, struct places *out)
{
    const struct preset_paths *list = &sum->lists[PRESET_ALLOW];
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].flag && places_of(a, list->at[i].path, list->at[i].origin, false, out) < 0)
            return -1;
    return 0;
}

static bool is_typed(const struct places *typed, const struct place *p)
{
    for (size_t i = 0; i < typed->n; i++)
        if (typed->at[i].kind == p->kind && strcmp(typed->at[i].path, p->path) == 0)
            return true;
    return false;
}

static int deny(struct applying *a, const struct preset_path *p, bool read, bool write,
                const struct places *typed)
{
    struct places found = {0}, left = {0}, open = {0};
    if (places_of(a, p->path, p->origin, true, &found) < 0)
        return -1;
    for (size_t i = 0; i < found.n; i++)
        if ((p->flag || !is_typed(typed, &found.at[i])) &&
            places_push(a->arena, &left, &found.at[i]) < 0)
            return err_nomem(a->err);
    for (size_t i = 0; i < p->except.n; i++)
        if (places_of(a, p->except.at[i], p->origin, false, &open) < 0)
            return -1;
    if ((read && push_all(a, &a->policy->deny_read, &left, false) < 0) ||
        (write && push_all(a, &a->policy->deny_write, &left, true) < 0))
        return -1;
    return push_all(a, &a->policy->allow_read, &open, false);
}

static int deny_all(struct applying *a, const struct preset *sum)
{
    static const struct {
        enum preset_list list;
        bool read, write;
    } kinds[] = {{PRESET_DENY, true, true},
                 {PRESET_DENY_READ, true, false},
                 {PRESET_DENY_WRITE, false, true}};
    struct places typed = {0};
    if (typed_places(a, sum, &typed) < 0)
        return -1;
    for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
        const struct preset_paths *list = &sum->lists[kinds[k].list];
        for (size_t i = 0; i < list->n; i++)
            if (deny(a, &list->at[i], kinds[k].read, kinds[k].write, &typed) < 0)
                return -1;
    }
    return 0;
}

/* ---- all of it ---- */

int preset_apply(struct arena *arena, const struct preset *sum, const struct path_base *base,
                 struct access *policy, struct words *unset, struct bk_err *err)
{
    struct applying a = {.arena = arena,
                         .base = {.cwd = base->cwd, .home = base->home, .getenv = read_variable},
                         .given = base,
                         .unset_paths = unset,
                         .policy = policy,
                         .err = err};
    a.base.arg = &a;
    policy->reads_nothing |= sum->flags[PRESET_STRICT];
    policy->keychain |= sum->flags[PRESET_ALLOW_KEYCHAIN];
    if (allow_all(&a, &sum->lists[PRESET_ALLOW], true) < 0)
        return -1;
    for (size_t i = 0; i < sum->lists[PRESET_CACHE].n; i++)
        if (layer(&a, &sum->lists[PRESET_CACHE].at[i]) < 0)
            return -1;
    /* without strict everything is readable, and the list must not re-open denials */
    if (sum->flags[PRESET_STRICT] && allow_all(&a, &sum->lists[PRESET_READ], false) < 0)
        return -1;
    return deny_all(&a, sum);
}

static int protect(struct arena *a, const char *path, const struct path_base *base,
                   struct access *policy, struct bk_err *err)
{
    struct path_entry e = {.text = path,
                           .n = strlen(path),
                           .origin = "decides what sandboxes allow",
                           .literal = true,
                           .denies = true};
    return path_places(a, base, &e, &policy->deny_write, err);
}

int preset_protect(struct arena *a, const struct preset_config *c, const struct path_base *base,
                   struct access *policy, struct bk_err *err)
{
    static const char *const names[] = {"cage", "buckle"};
    const char *xdg = getenv("XDG_CONFIG_HOME");
    if (c->file && protect(a, c->file, base, policy, err) < 0)
        return -1;
    for (int place = 0; place < 2; place++) {
        const char *folder = place ? base->home : xdg;
        for (size_t i = 0; folder && folder[0] == '/' && i < 2; i++) {
            char path[PATH_MAX];
            int n =
                snprintf(path, sizeof(path), "%s%s/%s", folder, place ? "/.config" : "", names[i]);
            if (n < PATH_MAX && protect(a, path, base, policy, err) < 0)
                return -1;
        }
    }
    return 0;
}
