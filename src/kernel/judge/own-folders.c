/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Own folders are paths (path-set.h), because a folder that moves takes the marks
 * below it along. Foreign paths are only ever asked for, so their hashes are enough: `rm -rf` of a
 * large tree adds one for each folder in it.
 */

#include "kernel/judge/own-folders.h"

#include <stdlib.h>

enum { FOREIGN_MAX = 1 << 16, SLOTS = 2 * FOREIGN_MAX };

/* The slot of a hash: its own, or the empty one where it belongs. 0 marks empty slots. */
static size_t slot_of(const struct own_folders *o, uint64_t hash)
{
    size_t s = (hash ^ hash >> 32) % SLOTS;
    while (o->foreign[s] && o->foreign[s] != hash)
        s = (s + 1) % SLOTS;
    return s;
}

static uint64_t hash_path(const char *path, size_t len)
{
    uint64_t hash = PATH_HASH_START;
    for (size_t i = 0; i < len; i++)
        hash = path_hash_step(hash, path[i]);
    return hash ? hash : 1;
}

static void add_foreign(struct own_folders *o, const char *path, size_t len)
{
    uint64_t hash = hash_path(path, len);
    size_t s = slot_of(o, hash);
    if (o->foreign[s])
        return;
    o->full |= o->nforeign == FOREIGN_MAX;
    if (o->full)
        return;
    o->foreign[s] = hash;
    o->nforeign++;
}

static bool is_foreign(const struct own_folders *o, const char *head, size_t nhead,
                       const char *tail, size_t ntail)
{
    uint64_t hash = PATH_HASH_START;
    for (size_t i = 0; o->nforeign > 0 && i <= nhead + ntail; i++) {
        char c = i < nhead ? head[i] : i < nhead + ntail ? tail[i - nhead] : '/';
        if (c == '/' && i > 0 && o->foreign[slot_of(o, hash ? hash : 1)])
            return true;
        hash = path_hash_step(hash, c);
    }
    return o->full;
}

int own_folders_init(struct own_folders *o)
{
    o->foreign = calloc(SLOTS, sizeof(*o->foreign)); /* untouched pages cost nothing */
    return o->foreign && path_set_init(&o->own) == 0 ? 0 : -1;
}

bool own_folders_contain(const struct own_folders *o, const char *path, size_t len)
{
    return path_set_covers(&o->own, path, len, "", 0) && !is_foreign(o, path, len, "", 0);
}

bool own_folders_cover(const struct own_folders *o, const char *head, size_t nhead,
                       const char *tail, size_t ntail)
{
    size_t n = nhead + ntail;
    while (n > 0 && (n > nhead ? tail[n - 1 - nhead] : head[n - 1]) != '/')
        n--;
    n -= n > 0; /* the folder that it is in */
    size_t first = n < nhead ? n : nhead;
    return path_set_covers(&o->own, head, first, tail, n - first) &&
           !is_foreign(o, head, nhead, tail, ntail);
}

bool own_folders_may_begin(const struct own_folders *o, const char *path, size_t len)
{
    size_t name = len;
    while (name > 0 && path[name - 1] != '/')
        name--;
    return name < len && path[name] != '.' && !is_foreign(o, path, len, "", 0);
}

bool own_folders_replaced(const struct own_folders *o, const char *path, size_t len)
{
    return o->full || (o->nforeign > 0 && o->foreign[slot_of(o, hash_path(path, len))] != 0);
}

void own_folders_created(struct own_folders *o, const char *path, size_t len)
{
    if (!path_set_covers(&o->own, path, len, "", 0) && own_folders_may_begin(o, path, len))
        path_set_add(&o->own, path, len);
}

void own_folders_removed(struct own_folders *o, const char *path, size_t len)
{
    if (own_folders_contain(o, path, len))
        path_set_forget(&o->own, path, len);
    else
        add_foreign(o, path, len);
}

void own_folders_moved(struct own_folders *o, const char *from, size_t nfrom, const char *to,
                       size_t nto)
{
    bool own = own_folders_contain(o, from, nfrom);
    if (!own)
        add_foreign(o, from, nfrom);
    if (!own && path_set_covers(&o->own, to, nto, "", 0))
        add_foreign(o, to, nto);
    /* own folders below it, too, unless it takes a foreign path or a name that begins with a dot */
    if (own_folders_may_begin(o, to, nto))
        path_set_moved(&o->own, from, nfrom, to, nto);
    path_set_forget(&o->own, from, nfrom);
    if (own)
        own_folders_created(o, to, nto);
}

void own_folders_exchanged(struct own_folders *o, const char *one, size_t n, const char *other,
                           size_t m)
{
    if (own_folders_contain(o, one, n) && own_folders_contain(o, other, m))
        return;
    path_set_forget(&o->own, one, n);
    path_set_forget(&o->own, other, m);
    add_foreign(o, one, n);
    add_foreign(o, other, m);
}
