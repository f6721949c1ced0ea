/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Writes in a world that need no judge. Nothing that is written to a place reaches the real folder,
 * so the walls can decide alone: they open the places, other private layers and TMPDIR, and nothing
 * else. The kernel then performs opening, creating and removing without asking anybody. Protected
 * names are written like others; keeping them needs their class (world/keep.h).
 *
 * What needs a look at names or objects stays judged: renaming and linking, because a rule about
 * reading is about names; modes, owners, times and attributes, which no wall covers; truncating by
 * path.
 *
 * Only a simple policy can be enforced so. It must allow everything in each place except
 * protected names, and open nothing real besides TMPDIR, devices and /proc.
 */

#include "kernel/host/kabi.h"
#include "kernel/plan/judged-calls.h"
#include "kernel/plan/plan-int.h"

static const uint16_t writing[] = {OP_FILE_WRITE_DATA, OP_FILE_WRITE_CREATE, OP_FILE_WRITE_UNLINK};
static const uint8_t freed[] = {SET_OPENS, SET_CREATES, SET_UNLINKS};

enum {
    WRITING = sizeof(writing) / sizeof(writing[0]),
    FREED = sizeof(freed) / sizeof(freed[0]),
    LANDLOCK_REFERS = 2 /* the ABI from which files can be moved under a wall */
};

bool plan_world_frees(const struct plan *p, unsigned set)
{
    for (size_t i = 0; p->unjudged && i < FREED; i++)
        if (freed[i] == set)
            return true;
    return false;
}

static struct bound_path folder(const char *path)
{
    return (struct bound_path){.path = path, .len = (uint32_t)strlen(path)};
}

static bool is_in(const struct bound_path *b, const char *path)
{
    struct bound_path outer = folder(path), inner = *b;
    inner.exact = false;
    return bound_covers(&outer, &inner);
}

/* No rule but those about writing may need a look at these calls. Variables of the kernel are
 * written by opening files in /proc, which the walls close. */
static bool others_are_free(const struct plan *p)
{
    for (size_t s = 0; s < FREED; s++)
        for (size_t i = 0; i < SET_OPS && judged_sets[freed[s]][i] != OP_NONE; i++) {
            uint16_t op = judged_sets[freed[s]][i];
            bool writes = op == OP_SYSCTL_WRITE;
            for (size_t k = 0; k < WRITING; k++)
                writes |= op == writing[k];
            if (!writes && plan_is_asked(p->ops[op].tier))
                return false;
        }
    return true;
}

/* What the policy opens without a layer. */
static bool opens_little(struct plan *p, const struct graph *g)
{
    for (size_t i = 0; i < WRITING; i++) {
        struct bound_path list[PLAN_LAYER_REALS];
        bool everywhere;
        size_t n = plan_bound(g, writing[i], list, PLAN_LAYER_REALS, &everywhere, &p->arena);
        if (everywhere)
            return false;
        for (size_t k = 0; k < n; k++)
            if (!is_in(&list[k], "/dev") && !is_in(&list[k], "/proc") &&
                !is_in(&list[k], p->opt.tmpdir))
                return false;
    }
    return true;
}

/* The place itself is a mount, which nothing inside can remove. */
static bool allows_all(struct plan *p, const struct graph *g, const struct plan_layer *l)
{
    const struct bound_path within = folder(l->path);
    for (size_t i = 0; i < WRITING; i++) {
        struct bound_path list[PLAN_LAYER_REALS];
        bool everywhere;
        size_t n = plan_denied_in_layer(g, writing[i], plan_layer_extensions[l->kind], &within,
                                        list, PLAN_LAYER_REALS, &everywhere, &p->arena);
        if (everywhere || n > 1 || (n == 1 && !(list[0].exact && list[0].len == l->len)))
            return false;
    }
    return true;
}

/* A folder inside a guarded one is put back over its sentry, and is the real one. */
static bool has_open_sentry(const struct plan *p, const struct plan_layer *l)
{
    for (size_t i = 0; i < p->nsentries; i++) {
        const struct bound_path one = folder(p->sentries[i].path);
        if (p->sentries[i].open && is_in(&one, l->path))
            return true;
    }
    return false;
}

/* Buckle's own files and folders, which no command may reach, not even in a layer. */
static bool has_own_file(const struct graph *g, const struct plan_layer *l)
{
    for (uint32_t i = 0; i < graph_node_count(g); i++) {
        const struct graph_node *node = graph_node_at(g, i);
        if (node->kind != GRAPH_NODE_FILTER || node->rule >= graph_rule_count(g) ||
            graph_rule_at(g, node->rule)->origin.source != SOURCE_OWN)
            continue;
        const struct graph_test *t = graph_test_at(g, node->test);
        bool names = t->how == GRAPH_LITERAL || t->how == GRAPH_SUBPATH || t->how == GRAPH_PREFIX;
        const struct bound_path one = {.path = t->str, .len = t->len};
        if (t->filter == FILTER_PATH && names && is_in(&one, l->path))
            return true;
    }
    return false;
}

static bool is_simple(struct plan *p, const struct graph *g, const struct plan_layer *l)
{
    if (l->kind == LAYER_KEPT || l->shown || has_open_sentry(p, l))
        return false;
    for (size_t i = 0; i < l->nopened; i++) {
        const struct bound_path one = folder(l->real[i]);
        if (l->kind == LAYER_TRY && !is_in(&one, p->opt.tmpdir))
            return false;
    }
    return l->kind != LAYER_TRY || (!has_own_file(g, l) && allows_all(p, g, l));
}

void plan_world(struct plan *p, const struct graph *g)
{
    const struct plan_options *o = &p->opt;
    bool asked = o->unjudged && p->world && o->tmpdir;
    if (!asked || o->updatable || o->grantable || o->keep_userns || !p->mount_ns || !p->pid_ns ||
        p->host.landlock < LANDLOCK_REFERS || !others_are_free(p) || !opens_little(p, g))
        return;
    for (size_t i = 0; i < p->nlayers; i++)
        if (!is_simple(p, g, &p->layers[i]))
            return;
    p->unjudged = p->nlayers > 0;
}

void plan_world_walls(struct plan *p)
{
    static const char note[] = "in the world's folders and in TMPDIR; denials are not listed",
                      judged[] = "only renaming, linking and special files are judged";
    for (size_t i = 0; i < p->nwalls; i++) {
        const struct bound_path one = folder(p->walls[i].path);
        if (is_in(&one, "/proc"))
            p->walls[i].rights &= KABI_LL_READ_FILE | KABI_LL_READ_DIR | KABI_LL_EXECUTE;
    }
    p->ops[OP_FILE_WRITE_DATA].tier = TIER_WALLED;
    p->ops[OP_FILE_WRITE_DATA].note = note;
    p->ops[OP_FILE_WRITE_CREATE].note = p->ops[OP_FILE_WRITE_UNLINK].note = judged;
}
