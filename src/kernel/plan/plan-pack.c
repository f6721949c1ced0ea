/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* A plan in one arena, for other processes to map (kernel/shared/image.h). */

#include "base/packer.h"
#include "kernel/plan/plan.h"

static const char **pack_words(struct packer *k, const char **list, size_t n)
{
    const char **copy = pack(k, list, n, sizeof(*list));
    for (size_t i = 0; i < n && !k->full; i++)
        copy[i] = pack_word(k, copy[i]);
    return copy;
}

static void pack_calls(struct packer *k, struct plan *p)
{
    p->calls = pack(k, p->calls, p->ncalls, sizeof(*p->calls));
    for (size_t i = 0; i < p->ncalls && !k->full; i++) {
        struct sys_rule *r = &p->calls[i];
        r->name = pack_word(k, r->name);
        r->more = pack(k, r->more, r->nmore, sizeof(*r->more));
    }
}

static void pack_places(struct packer *k, struct plan *p)
{
    p->walls = pack(k, p->walls, p->nwalls, sizeof(*p->walls));
    for (size_t i = 0; i < p->nwalls && !k->full; i++)
        p->walls[i].path = pack_word(k, p->walls[i].path);
    p->sentries = pack(k, p->sentries, p->nsentries, sizeof(*p->sentries));
    for (size_t i = 0; i < p->nsentries && !k->full; i++)
        p->sentries[i].path = pack_word(k, p->sentries[i].path);
    p->searches = pack(k, p->searches, p->nsearches, sizeof(*p->searches));
    for (size_t i = 0; i < p->nsearches && !k->full; i++)
        p->searches[i].path = pack_word(k, p->searches[i].path);
    p->layers = pack(k, p->layers, p->nlayers, sizeof(*p->layers));
    for (size_t i = 0; i < p->nlayers && !k->full; i++) {
        p->layers[i].path = pack_word(k, p->layers[i].path);
        p->layers[i].real = pack_words(k, p->layers[i].real, p->layers[i].nreal);
    }
    p->devices = pack_words(k, p->devices, p->ndevices);
    p->device_types = pack(k, p->device_types, p->ndevices, sizeof(*p->device_types));
}

const struct plan *plan_pack(const struct plan *p, struct arena *into)
{
    struct packer k = {.into = into};
    struct plan *copy = pack(&k, p, 1, sizeof(*p));
    if (!copy)
        return NULL;
    copy->arena = (struct arena){0};
    copy->opt.cwd = copy->opt.tmpdir = NULL;
    copy->opt.mounts = NULL;
    for (size_t i = 0; i < OP_COUNT; i++) {
        copy->ops[i].wall = pack_word(&k, copy->ops[i].wall);
        copy->ops[i].note = pack_word(&k, copy->ops[i].note);
    }
    pack_calls(&k, copy);
    pack_places(&k, copy);
    copy->notes = pack_words(&k, copy->notes, copy->nnotes);
    return k.full ? NULL : copy;
}

void plan_unpack(const struct plan *packed, const struct plan_options *opt, struct plan *out)
{
    *out = *packed;
    out->opt.cwd = opt->cwd;
    out->opt.tmpdir = opt->tmpdir;
    out->opt.mounts = opt->mounts;
}
