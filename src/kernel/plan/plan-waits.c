/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What has to wait for the next command when a policy changes. A plan is performed once: operations
 * that were free are never judged, and walls and sentries stay where they are. Everything else
 * follows the new policy at the next call.
 */

#include <string.h>

#include "kernel/plan/plan-int.h"
#include "vocab/vocab.h"

struct waits {
    const struct plan *running, *wanted;
    struct buf *out;
    size_t n;
};

static void wait_for(struct waits *w, enum vocab_op op, const char *path, const char *why)
{
    buf_fmt(w->out, "%s", vocab_ops[op].name);
    if (path) {
        buf_chr(w->out, ' ');
        buf_safe(w->out, path, strlen(path));
    }
    buf_fmt(w->out, ": %s\n", why);
    w->n++;
}

/* Whether a path is one or is beneath it. */
static bool lies_in(const char *path, const char *folder, bool beneath)
{
    size_t n = strlen(folder);
    if (n == 1 && beneath)
        return true;
    return strncmp(path, folder, n) == 0 && (path[n] == '\0' || (beneath && path[n] == '/'));
}

/* ---- walls ---- */

static bool is_within_walls(const struct plan *p, const struct wall_path *one, uint64_t rights)
{
    for (size_t i = 0; i < p->nwalls && rights; i++)
        if (lies_in(one->path, p->walls[i].path, p->walls[i].folder))
            rights &= ~p->walls[i].rights;
    return rights == 0;
}

/* What the wall denies and the new policy would allow. */
static void compare_walls(struct waits *w, enum vocab_op op, uint64_t rights)
{
    static const char why[] = "a wall denies it and cannot be moved";
    const struct plan *wanted = w->wanted;
    rights &= w->running->handled_fs;
    if (!rights)
        return;
    if (!(wanted->handled_fs & rights)) {
        wait_for(w, op, NULL, why);
        return;
    }
    for (size_t i = 0; i < wanted->nwalls; i++) {
        const struct wall_path *one = &wanted->walls[i];
        if (!one->loader && !is_within_walls(w->running, one, one->rights & rights))
            wait_for(w, op, one->path, why);
    }
}

/* ---- sentries ---- */

static bool is_guarded(const struct plan *p, const struct plan_sentry *one)
{
    bool guarded = false;
    for (size_t i = 0; i < p->nsentries; i++) /* outer ones come first */
        if (lies_in(one->path, p->sentries[i].path, !p->sentries[i].exact))
            guarded = !p->sentries[i].open;
    return guarded;
}

static bool is_searched(const struct plan *p, const struct plan_search *one)
{
    for (size_t i = 0; i < p->nsearches; i++)
        if (strcmp(p->searches[i].path, one->path) == 0)
            return true;
    return false;
}

static void compare_sentries(struct waits *w, enum vocab_op op)
{
    static const char why[] = "no sentry covers it";
    const struct plan *wanted = w->wanted;
    uint8_t tier = wanted->ops[op].tier;
    if (w->running->ops[op].tier == TIER_MASKED && tier != TIER_MASKED)
        wait_for(w, op, NULL, "it is hidden, and stays so");
    if (plan_is_asked(tier))
        wait_for(w, op, NULL, why);
    for (size_t i = 0; i < wanted->nsentries && (tier == TIER_SENTRY || tier == TIER_MASKED); i++)
        if (!wanted->sentries[i].open && !is_guarded(w->running, &wanted->sentries[i]))
            wait_for(w, op, wanted->sentries[i].path, why);
    for (size_t i = 0; i < wanted->nsearches && op == OP_FILE_READ_DATA; i++)
        if (!is_searched(w->running, &wanted->searches[i]))
            wait_for(w, op, wanted->searches[i].path, why);
}

/* ---- operations ---- */

static void compare_op(struct waits *w, enum vocab_op op)
{
    const struct plan_op *now = &w->running->ops[op], *then = &w->wanted->ops[op];
    switch ((enum plan_tier)now->tier) {
    case TIER_FREE:
        if (then->tier != TIER_FREE && then->tier != TIER_ABSENT)
            wait_for(w, op, NULL, "it was wholly allowed and is not judged");
        break;
    case TIER_DENIED:
    case TIER_WALLED:
        if (then->tier != now->tier)
            wait_for(w, op, NULL, "a wall alone decides it");
        break;
    case TIER_SENTRY:
    case TIER_MASKED:
        compare_sentries(w, op);
        break;
    case TIER_JUDGED:
    case TIER_ABSENT:
        break;
    }
    compare_walls(w, op, plan_wall_rights(op));
}

/* The launch decided which device files can be opened. */
static void compare_devices(struct waits *w)
{
    const struct plan *now = w->running, *then = w->wanted;
    bool same = now->device_wall == then->device_wall && now->device_scan == then->device_scan &&
                now->ndevices == then->ndevices;
    for (size_t i = 0; same && i < now->ndevices; i++)
        same = strcmp(now->devices[i], then->devices[i]) == 0;
    if (!same && !plan_is_asked(now->ops[OP_FILE_READ_DATA].tier))
        wait_for(w, OP_FILE_READ_DATA, "/dev", "the open devices were chosen at the start");
}

/* ---- layers ---- */

static const struct plan_layer *find_layer(const struct plan *p, const char *path)
{
    for (size_t i = 0; i < p->nlayers; i++)
        if (strcmp(p->layers[i].path, path) == 0)
            return &p->layers[i];
    return NULL;
}

static bool is_real(const struct plan_layer *l, const char *path)
{
    for (size_t i = 0; i < l->nopened; i++)
        if (lies_in(path, l->real[i], true))
            return true;
    return false;
}

/* What the new policy opens in a folder that has a layer is still written to the layer. */
static void compare_layers(struct waits *w)
{
    static const char why[] = "a private layer is there, and what is written stays in it";
    for (size_t i = 0; i < w->running->nlayers; i++) {
        const struct plan_layer *now = &w->running->layers[i];
        const struct plan_layer *then = find_layer(w->wanted, now->path);
        if (!then)
            wait_for(w, OP_FILE_WRITE_CREATE, now->path, why);
        for (size_t k = 0; then && k < then->nopened; k++)
            if (!is_real(now, then->real[k]))
                wait_for(w, OP_FILE_WRITE_CREATE, then->real[k], why);
    }
    for (size_t i = 0; i < w->wanted->nlayers; i++)
        if (!find_layer(w->running, w->wanted->layers[i].path))
            wait_for(w, OP_FILE_WRITE_CREATE, w->wanted->layers[i].path,
                     "no private layer was mounted there");
}

size_t plan_waits(const struct plan *running, const struct plan *wanted, struct buf *out)
{
    struct waits w = {running, wanted, out, 0};
    for (size_t op = 0; op < OP_COUNT; op++)
        compare_op(&w, (enum vocab_op)op);
    compare_devices(&w);
    compare_layers(&w);
    if (wanted->gate && !running->gate)
        wait_for(&w, OP_NETWORK_OUTBOUND, NULL, "its network leads nowhere");
    return w.n;
}
