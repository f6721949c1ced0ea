/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Layers. A rule that asks for an extension of layers, (extension "buckle.private-layer"), allows
 * writing in a folder as long as nothing of the host changes. So the folder gets a layer: an
 * overlay whose upper side only the sandbox has. What can be written without that extension is the
 * real thing, and is put back over the layer.
 *
 * There is no layer, and the rule allows nothing, where a layer would show something else than the
 * policy says: inside a guarded folder, where the policy opens all of the folder or a pattern in
 * it, and where connections to sockets are not judged, because an overlay's sockets are not those
 * below it. What is guarded inside a layer stays real, so that nothing copies it into the layer.
 */

#include "kernel/host/kabi.h"
#include "kernel/plan/plan-int.h"

const char *const plan_layer_extensions[LAYER_KINDS] = {
    [LAYER_RUN] = "buckle.private-layer",
    [LAYER_KEPT] = "buckle.kept-layer",
    [LAYER_TRY] = "buckle.try-layer",
};

bool plan_is_layer_test(const struct graph_test *t)
{
    if (t->filter != FILTER_EXTENSION || t->how != GRAPH_LITERAL || !t->str)
        return false;
    for (size_t i = 0; i < LAYER_KINDS; i++)
        if (strcmp(t->str, plan_layer_extensions[i]) == 0)
            return true;
    return false;
}

static bool wants_layers(const struct graph *g)
{
    for (uint32_t i = 0; i < graph_test_count(g); i++)
        if (plan_is_layer_test(graph_test_at(g, i)))
            return true;
    return false;
}

static bool is_possible(const struct plan *p)
{
    /* overlays in user namespaces came with 5.11 */
    return p->mount_ns && !p->opt.no_layers && version_at_least(p->host.kernel, "5.11") &&
           plan_is_asked(p->ops[OP_FILE_WRITE_CREATE].tier) &&
           plan_is_asked(p->ops[OP_NETWORK_OUTBOUND].tier);
}

static struct bound_path bound_of(const char *path, bool exact)
{
    return (struct bound_path){.path = path, .len = (uint32_t)strlen(path), .exact = exact};
}

static bool is_guarded(const struct plan *p, const struct bound_path *b)
{
    for (size_t i = 0; i < p->nsentries; i++) {
        struct bound_path one = bound_of(p->sentries[i].path, false);
        if (bound_covers(&one, b))
            return true;
    }
    return false;
}

/* What the policy opens without a layer: of each operation that writes. */
struct opened {
    struct bound_path list[PLAN_LAYER_REALS * 4];
    size_t n;
    bool everywhere;
};

static void find_opened(struct plan *p, const struct graph *g, struct opened *o)
{
    static const uint16_t ops[] = {OP_FILE_WRITE_DATA, OP_FILE_WRITE_CREATE, OP_FILE_WRITE_UNLINK,
                                   OP_FILE_WRITE_MODE};
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]) && !o->everywhere; i++)
        o->n += plan_bound(g, ops[i], o->list + o->n, sizeof(o->list) / sizeof(o->list[0]) - o->n,
                           &o->everywhere, &p->arena);
}

static bool is_listed(const struct plan_layer *l, const struct bound_path *b)
{
    for (size_t i = 0; i < l->nreal; i++)
        if (strlen(l->real[i]) == b->len && memcmp(l->real[i], b->path, b->len) == 0)
            return true;
    return false;
}

static bool add_real(struct plan *p, const struct bound_path *b, const struct bound_path *one,
                     struct plan_layer *l)
{
    if (!bound_covers(b, one) || is_listed(l, one))
        return true;
    char *path = arena_strndup(&p->arena, one->path, one->len);
    if (!path || l->nreal == PLAN_LAYER_REALS)
        return false;
    l->real[l->nreal++] = path;
    return true;
}

/* Lists what stays real in a layer. Returns false if there can be no layer. */
static bool list_real(struct plan *p, const struct opened *o, const struct bound_path *b,
                      struct plan_layer *l)
{
    l->real = arena_array(&p->arena, PLAN_LAYER_REALS, sizeof(*l->real));
    if (!l->real)
        return false;
    for (size_t i = 0; i < o->n; i++) {
        struct bound_path one = o->list[i];
        one.exact = false;
        if (bound_covers(&one, b) || !add_real(p, b, &one, l))
            return false;
    }
    l->nopened = l->nreal;
    /* nobody expects what is written in the working folder to vanish, unless that was asked for */
    struct bound_path cwd = bound_of(p->opt.cwd ? p->opt.cwd : "/nonexistent", false);
    if (l->kind != LAYER_TRY && (bound_covers(&cwd, b) || !add_real(p, b, &cwd, l)))
        return false;
    p->layers_first |= p->nsearches && bound_covers(b, &cwd);
    size_t before = l->nreal;
    for (size_t i = 0; i < p->nsentries; i++) {
        struct bound_path one = bound_of(p->sentries[i].path, false);
        if (!add_real(p, b, &one, l))
            return false;
    }
    l->guarded = l->nreal > before;
    p->layers_first |= l->guarded;
    return true;
}

/* Where reading is judged there are no sentries, and a kept layer has files that another path leads
 * to. So what is denied stays real there, too. Returns false if no path bounds it. */
static bool list_denied(struct plan *p, const struct graph *g, const struct bound_path *b,
                        struct plan_layer *l)
{
    struct bound_path list[PLAN_LAYER_REALS];
    bool everywhere;
    if (l->kind == LAYER_RUN || !plan_is_asked(p->ops[OP_FILE_READ_DATA].tier))
        return true;
    size_t n =
        plan_forbidden(g, OP_FILE_READ_DATA, b, list, PLAN_LAYER_REALS, &everywhere, &p->arena);
    for (size_t i = 0; i < n && !everywhere; i++)
        if (!add_real(p, b, &list[i], l))
            return false;
    return !everywhere;
}

/* A layer of a world is mounted on what other layers leave real. */
static bool has_layer_at(const struct plan *p, const struct bound_path *b,
                         enum plan_layer_kind kind)
{
    for (size_t i = 0; i < p->nlayers; i++) {
        if (kind == LAYER_TRY && p->layers[i].kind != LAYER_TRY)
            continue;
        struct bound_path other = bound_of(p->layers[i].path, false);
        if (bound_covers(&other, b) || bound_covers(b, &other))
            return true;
    }
    return false;
}

/* A preset's layer, which is kept, takes the place of one that the profile has there. */
static bool takes_place(struct plan *p, const struct plan_layer *l, const struct bound_path *b)
{
    for (size_t i = 0; i < p->nlayers && l->kind == LAYER_KEPT; i++) {
        struct plan_layer *other = &p->layers[i];
        if (other->len == b->len && memcmp(other->path, b->path, b->len) == 0) {
            const char *path = other->path;
            *other = *l;
            other->path = path;
            return true;
        }
    }
    return false;
}

static void add_layer(struct plan *p, const struct graph *g, const struct opened *o,
                      const struct bound_path *b, enum plan_layer_kind kind)
{
    struct plan_layer l = {.len = b->len, .kind = (uint8_t)kind, .rule = b->rule};
    if (b->exact || b->len < 2 || is_guarded(p, b) || !list_real(p, o, b, &l) ||
        !list_denied(p, g, b, &l))
        return;
    if (takes_place(p, &l, b) || has_layer_at(p, b, kind))
        return;
    l.path = arena_strndup(&p->arena, b->path, b->len);
    if (!l.path || p->nlayers == PLAN_LAYERS)
        return;
    p->layers[p->nlayers++] = l;
}

static bool wants_kind(const struct graph *g, enum plan_layer_kind kind)
{
    for (uint32_t i = 0; i < graph_test_count(g); i++) {
        const struct graph_test *t = graph_test_at(g, i);
        if (plan_is_layer_test(t) && strcmp(t->str, plan_layer_extensions[kind]) == 0)
            return true;
    }
    return false;
}

/* What other layers must leave real, so that a world's layers can be mounted there. */
static void open_world(struct plan *p, const struct graph *g, struct opened *o)
{
    bool everywhere;
    size_t room = sizeof(o->list) / sizeof(o->list[0]) - o->n;
    o->n += plan_bound_layers(g, OP_FILE_WRITE_CREATE, plan_layer_extensions[LAYER_TRY],
                              o->list + o->n, room, &everywhere, &p->arena);
    o->everywhere |= everywhere;
}

void plan_layers(struct plan *p, const struct graph *g)
{
    struct bound_path list[PLAN_LAYERS * 4];
    struct opened o = {.n = 0}, all;
    if (!wants_layers(g) || !is_possible(p))
        return;
    p->layers = arena_array(&p->arena, PLAN_LAYERS, sizeof(*p->layers));
    find_opened(p, g, &o);
    all = o;
    p->world = wants_kind(g, LAYER_TRY);
    if (p->world)
        open_world(p, g, &all);
    for (size_t k = 0; k < LAYER_KINDS && p->layers && !all.everywhere; k++) {
        bool everywhere;
        if (k == LAYER_TRY && !p->world)
            break;
        size_t n = plan_bound_layers(g, OP_FILE_WRITE_CREATE, plan_layer_extensions[k], list,
                                     sizeof(list) / sizeof(list[0]), &everywhere, &p->arena);
        for (size_t i = 0; i < n && !everywhere; i++)
            add_layer(p, g, k == LAYER_TRY ? &o : &all, &list[i], (enum plan_layer_kind)k);
    }
    static const uint16_t ops[] = {OP_FILE_WRITE_DATA, OP_FILE_WRITE_CREATE, OP_FILE_WRITE_UNLINK};
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        p->layer_rights |= plan_wall_rights(ops[i]);
}

/* ---- a sandbox inside another one ---- */

static bool is_at_or_below(const char *path, const char *folder)
{
    const struct bound_path one = bound_of(path, false), in = bound_of(folder, false);
    return bound_covers(&in, &one);
}

bool plan_has_in_layer(const struct plan *p, const char *path)
{
    for (size_t i = 0; i < p->nlayers; i++) {
        const struct plan_layer *l = &p->layers[i];
        bool real = !is_at_or_below(path, l->path);
        for (size_t k = 0; k < l->nreal && !real; k++)
            real = is_at_or_below(path, l->real[k]);
        if (!real)
            return true;
    }
    return false;
}

/* What is real in the outer sandbox is real in this one. */
static bool add_outer_reals(struct plan *p, const struct plan_layer *outer, struct plan_layer *l)
{
    const struct bound_path b = bound_of(outer->path, false);
    for (size_t i = 0; i < outer->nreal; i++) {
        const struct bound_path one = bound_of(outer->real[i], false);
        if (!add_real(p, &b, &one, l))
            return false;
    }
    return true;
}

/* The inner policy may open only a part of the outer layer: that is no layer of its own. */
static bool drop_layers_below(struct plan *p, const struct bound_path *b)
{
    size_t n = 0;
    for (size_t i = 0; i < p->nlayers; i++) {
        const struct bound_path one = bound_of(p->layers[i].path, false);
        if (!bound_covers(b, &one) || one.len == b->len)
            p->layers[n++] = p->layers[i];
    }
    bool dropped = n < p->nlayers;
    p->nlayers = n;
    return dropped;
}

static void show_layer(struct plan *p, const struct plan_layer *outer)
{
    const struct bound_path b = bound_of(outer->path, false);
    const struct opened none = {.n = 0};
    struct plan_layer l = {.len = b.len, .kind = outer->kind, .rule = outer->rule};
    for (size_t i = 0; i < p->nlayers; i++)
        if (strcmp(p->layers[i].path, outer->path) == 0)
            p->layers[i].guarded |= !add_outer_reals(p, outer, &p->layers[i]);
    l.shown = !drop_layers_below(p, &b);
    if (p->nlayers == PLAN_LAYERS || has_layer_at(p, &b, outer->kind) || is_guarded(p, &b) ||
        !list_real(p, &none, &b, &l) || !add_outer_reals(p, outer, &l))
        return;
    l.path = arena_strndup(&p->arena, b.path, b.len);
    if (l.path && !l.guarded)
        p->layers[p->nlayers++] = l;
}

void plan_show_layers(struct plan *p, const struct plan *outer)
{
    if (!is_possible(p))
        return;
    if (!p->layers)
        p->layers = arena_array(&p->arena, PLAN_LAYERS, sizeof(*p->layers));
    for (size_t i = 0; i < outer->nlayers && p->layers; i++)
        show_layer(p, &outer->layers[i]);
}
