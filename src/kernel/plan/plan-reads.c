/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * How the plan denies reading. Judging every open is the most expensive thing Buckle does, so it is
 * the last resort:
 *
 *   free     the policy allows it whatever the argument;
 *   sentry   certain folders contain all that is denied: our own file system is mounted over them,
 *            checks the same policy and passes on what it allows; elsewhere nothing is checked;
 *   masked   without FUSE: an empty mount hides it, or what is denied in it;
 *   judged   no folder bounds a pattern, or the user wants it so.
 *
 * Folders inside a guarded one that are wholly allowed are listed to be put back over it. The
 * launch finds out whether any of them exists: nothing here looks at the file system.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/plan/judged-calls.h"
#include "kernel/plan/plan-int.h"

static const uint16_t reading[] = {OP_FILE_READ_DATA, OP_FILE_READ_METADATA, OP_FILE_TEST_EXISTENCE,
                                   OP_FILE_READ_XATTR};
enum { READING = sizeof(reading) / sizeof(reading[0]) };

enum { SENTRY_SLOTS = 4 * PLAN_SENTRIES }; /* a power of two */

/* Where one operation is denied. */
struct denied {
    struct bound_path *list;
    size_t n;
    bool guarded;     /* by sentries; else judged */
    const char *why;  /* why it is not guarded */
    uint32_t culprit; /* the responsible rule, or GRAPH_NO_RULE */
};

struct reads {
    struct plan *p;
    const struct graph *g;
    struct denied ops[READING];
    struct plan_sentry sentries[PLAN_SENTRIES];
    size_t nsentries;
    uint16_t
        index[SENTRY_SLOTS]; /* by the mark of a path: the index of a sentry plus one; 0: none */
};

/* ---- what rules out a sentry ---- */

/* Every program reads these, or they are no plain file systems. A sentry on or above one would be
 * slower than judging, or wrong. */
static const char *const unguarded[] = {"/usr", "/bin", "/lib", "/lib64", "/proc", "/dev", "/sys"};
/* these cannot be guarded in part either: the sandbox itself creates their contents */
static const char *const made_inside[] = {"/proc", "/dev"};

static struct bound_path folder(const char *path)
{
    return (struct bound_path){path, (uint32_t)strlen(path), false, GRAPH_NO_RULE, 0};
}

static bool is_out_of_place(const struct bound_path *bound)
{
    struct bound_path all = {bound->path, bound->len, false, bound->rule, 0};
    for (size_t i = 0; i < sizeof(unguarded) / sizeof(unguarded[0]); i++) {
        struct bound_path f = folder(unguarded[i]);
        if (bound_covers(&all, &f))
            return true;
    }
    for (size_t i = 0; i < sizeof(made_inside) / sizeof(made_inside[0]); i++) {
        struct bound_path f = folder(made_inside[i]);
        if (bound_covers(&f, &all))
            return true;
    }
    return bound->len >= PLAN_SENTRY_PATH;
}

static void ask_instead(struct denied *d, const char *why, uint32_t culprit)
{
    d->guarded = false;
    d->why = why;
    d->culprit = culprit;
    d->n = 0;
}

/* Where a wall closes device files, sentries ignore them. */
static enum bound_type type_of(const struct plan *p)
{
    return p->no_device_tests ? BOUND_FILES : BOUND_ANY;
}

/* ---- sentries ---- */

/* The slot of a path: its sentry's, or an empty one. */
static size_t slot_of(const struct reads *r, const char *path, size_t n)
{
    size_t at = path_mark(path, n) % SENTRY_SLOTS;
    for (; r->index[at]; at = (at + 1) % SENTRY_SLOTS) {
        const struct plan_sentry *g = &r->sentries[r->index[at] - 1];
        if (g->len == n && memcmp(g->path, path, n) == 0)
            break;
    }
    return at;
}

static void index_sentry(struct reads *r, size_t i)
{
    const struct plan_sentry *g = &r->sentries[i];
    size_t at = slot_of(r, g->path, g->len);
    if (!r->index[at])
        r->index[at] = (uint16_t)(i + 1);
}

/* The innermost indexed sentry above a path. A file's sentry counts as a folder's, because it may
 * be one. There are hundreds of sentries, and everything is looked up. */
static const struct plan_sentry *innermost(const struct reads *r, const char *path, size_t n)
{
    const struct plan_sentry *found = NULL;
    for (size_t len = 0; len < n;) {
        const char *slash = memchr(path + len + 1, '/', n - len - 1);
        len = slash ? (size_t)(slash - path) : n;
        size_t at = slot_of(r, path, len);
        if (r->index[at])
            found = &r->sentries[r->index[at] - 1];
    }
    return found;
}

static bool add_sentry(struct reads *r, const struct bound_path *b, bool open)
{
    char *path = arena_strndup(&r->p->arena, b->path, b->len);
    if (!path || r->nsentries == PLAN_SENTRIES)
        return false;
    r->sentries[r->nsentries++] =
        (struct plan_sentry){path, b->len, b->rule, b->exact, open, false};
    return true;
}

static int by_length(const void *a, const void *b)
{
    const struct plan_sentry *x = a, *y = b;
    return x->len != y->len ? (x->len > y->len) - (x->len < y->len) : strcmp(x->path, y->path);
}

/* Shorter ones first; what an outer one guards needs no sentry. */
static bool add_sentries(struct reads *r, const struct bound_path *list, size_t n)
{
    size_t from = r->nsentries, kept = from;
    for (size_t i = 0; i < n; i++)
        if (!add_sentry(r, &list[i], false))
            return false;
    size_t end = r->nsentries;
    qsort(r->sentries + from, end - from, sizeof(r->sentries[0]), by_length);
    for (size_t i = from; i < end; i++) {
        struct plan_sentry one = r->sentries[i];
        r->nsentries = kept;
        const struct plan_sentry *outer = innermost(r, one.path, one.len);
        if (outer && !outer->open)
            continue;
        r->sentries[kept] = one;
        index_sentry(r, kept++);
    }
    r->nsentries = kept;
    return true;
}

/* Lists where guarded operations are denied inside a folder. Returns false for all of it, or if
 * unknown. */
static bool denied_within(struct reads *r, const struct bound_path *in, struct bound_path *list,
                          size_t *n)
{
    *n = 0;
    for (size_t i = 0; i < READING; i++) {
        bool all;
        uint32_t rule;
        if (!r->ops[i].guarded)
            continue;
        *n += plan_denied(r->g, reading[i], type_of(r->p), in, list + *n, PLAN_SENTRIES - *n, &all,
                          &rule, &r->p->arena);
        if (all)
            return false;
    }
    return true;
}

static int shorter_test(const void *a, const void *b)
{
    const struct graph_test *const *x = a, *const *y = b;
    return ((*x)->len > (*y)->len) - ((*x)->len < (*y)->len);
}

/* Folders that rules name, inside guarded ones, outer ones first. */
static const struct graph_test **inner_folders(struct reads *r, size_t *n)
{
    uint32_t count = graph_test_count(r->g);
    const struct graph_test **list =
        arena_array(&r->p->arena, count + 1, sizeof(struct graph_test *));
    *n = 0;
    for (uint32_t i = 0; list && i < count; i++) {
        const struct graph_test *t = graph_test_at(r->g, i);
        bool named = t->filter == FILTER_PATH && t->how == GRAPH_SUBPATH && t->len > 1 &&
                     t->str[0] == '/' && t->len < PLAN_SENTRY_PATH;
        const struct plan_sentry *in = named ? innermost(r, t->str, t->len) : NULL;
        if (in && in->len < t->len)
            list[(*n)++] = t;
    }
    if (list && *n)
        qsort(list, *n, sizeof(*list), shorter_test);
    return list;
}

/* A folder that has other names may be denied by one of them: then the sentry checks it. */
static bool is_aliased(const struct reads *r, const struct bound_path *f)
{
    const struct mounts *m = r->p->opt.mounts ? &r->p->opt.mounts->now : NULL;
    if (!m || !m->aliased)
        return false;
    struct mount_names *names = arena_alloc(&r->p->arena, sizeof(*names));
    return !names || mounts_places(m, f->path, f->len, names) < 0 || names->n > 0;
}

static bool open_inner_folders(struct reads *r)
{
    struct bound_path denied[PLAN_SENTRIES];
    size_t n, inside;
    const struct graph_test **list = inner_folders(r, &n);
    if (!list)
        return false;
    for (size_t i = 0; i < n; i++) {
        struct bound_path f = {list[i]->str, list[i]->len, false, GRAPH_NO_RULE, 0};
        const struct plan_sentry *in = innermost(r, f.path, f.len);
        if (!in || in->open || in->len == f.len || is_aliased(r, &f) ||
            !denied_within(r, &f, denied, &inside))
            continue;
        if (!add_sentry(r, &f, true))
            return false;
        index_sentry(r, r->nsentries - 1);
        if (!add_sentries(r, denied, inside))
            return false;
    }
    return true;
}

/* Makes all sentries for the operations to guard. Returns false if there would be too many. */
static bool build_sentries(struct reads *r)
{
    struct bound_path all[READING * PLAN_SENTRIES];
    size_t n = 0;
    r->nsentries = 0;
    memset(r->index, 0, sizeof(r->index));
    for (size_t i = 0; i < READING; i++) {
        if (!r->ops[i].guarded)
            continue;
        /* most operations are denied where others are; the paths of one do not cover each other */
        for (size_t k = 0, others = n; k < r->ops[i].n; k++) {
            bool known = false;
            for (size_t m = 0; m < others && !known; m++)
                known = bound_covers(&all[m], &r->ops[i].list[k]);
            if (!known)
                all[n++] = r->ops[i].list[k];
        }
    }
    if (n > PLAN_SENTRIES || !add_sentries(r, all, n))
        return false;
    size_t outer = r->nsentries;
    if (!open_inner_folders(r))
        return false;
    if (r->nsentries == outer)
        return true; /* they are in order */
    qsort(r->sentries, r->nsentries, sizeof(r->sentries[0]), by_length);
    memset(r->index, 0, sizeof(r->index));
    for (size_t i = 0; i < r->nsentries; i++)
        index_sentry(r, i);
    return true;
}

/* ---- choosing ---- */

static bool is_silent(const struct graph *g, enum vocab_op op)
{
    uint32_t node;
    if (!graph_uniform(g, op, &node))
        return false;
    const struct graph_node *d = graph_node_at(g, node);
    return d->allow && d->flags == 0 && d->nmods == 0;
}

/* What rules out sentries for all reading, in words; NULL: nothing. */
static const char *no_sentries(const struct plan *p)
{
    const struct host *h = &p->host;
    if (p->opt.strict_reads)
        return "strict reads are on";
    if (p->opt.updatable)
        return "the policy can be updated";
    if (!host_spaces(h).mount)
        return "there is no mount namespace for a sentry";
    if (p->opt.no_masks && !h->fuse)
        return "there is no FUSE for a sentry, and a mask would hide names as well";
    return NULL;
}

/* Whether a folder cannot be listed although something in it can be read. To reach that, the folder
 * would have to stay open. */
static bool hides_allowed(struct reads *r, const struct plan_sentry *one)
{
    struct graph_fact facts[] = {{.filter = FILTER_PATH, .str = one->path, .len = one->len},
                                 {.filter = FILTER_VNODE_TYPE, .num = 2}};
    struct graph_query q = {.op = OP_FILE_READ_DATA, .facts = facts, .nfacts = 2};
    struct graph_cache *cache = one->whole ? NULL : graph_cache_new(r->g);
    bool denied = cache && !graph_eval(r->g, cache, &q).allow;
    graph_cache_free(cache);
    return denied;
}

/* A mask can cover a folder or single files in it, but not a folder that has another to put back.
 */
static int choose_masks(struct reads *r)
{
    struct bound_memory memory;
    bool open = false;
    if (r->p->host.fuse || r->nsentries == 0)
        return 0;
    if (bound_remember(&memory, r->g, &r->p->arena) < 0)
        return -1;
    for (size_t i = 0; i < r->nsentries; i++) {
        struct plan_sentry *one = &r->sentries[i];
        struct bound_path in = {one->path, (uint32_t)strlen(one->path), one->exact, one->rule, 0};
        open |= one->open;
        one->whole =
            one->exact || !plan_allows_within(r->g, OP_FILE_READ_DATA, &in, &memory, &r->p->arena);
        open |= hides_allowed(r, one);
    }
    r->p->masked = !open;
    if (!open)
        return 0;
    for (size_t i = 0; i < READING; i++)
        if (r->ops[i].guarded)
            ask_instead(&r->ops[i], "there is no FUSE for a sentry", GRAPH_NO_RULE);
    r->nsentries = 0;
    return 0;
}

/* Adds sentries where the same denied files are visible elsewhere. */
static int add_aliases(struct reads *r, struct denied *d)
{
    const struct mounts *m = r->p->opt.mounts ? &r->p->opt.mounts->now : NULL;
    if (!m || !m->aliased)
        return 0;
    struct mount_names *names = arena_alloc(&r->p->arena, sizeof(*names));
    if (!names)
        return -1;
    for (size_t k = 0, n = d->n; k < n; k++) {
        int err = mounts_places(m, d->list[k].path, d->list[k].len, names);
        if (err < 0 || names->n > PLAN_SENTRIES - d->n)
            return ask_instead(d, "it is visible at too many paths", d->list[k].rule), 0;
        for (size_t i = 0; i < names->n; i++) {
            struct bound_path *b = &d->list[d->n++];
            *b = d->list[k];
            b->len = (uint32_t)names->at[i].len;
            b->path = arena_strndup(&r->p->arena, names->at[i].path, b->len);
            if (!b->path)
                return -1;
        }
    }
    return 0;
}

/* A mount covers one spelling of a file's name. */
static bool folds_case(const struct reads *r, const struct bound_path *b)
{
    const struct mounts *m = r->p->opt.mounts ? &r->p->opt.mounts->now : NULL;
    const struct mount_at *on = m && m->folds ? mounts_find(m, b->path, b->len) : NULL;
    return on && on->folds;
}

static int find_denied(struct reads *r, size_t i, const char *against)
{
    struct denied *d = &r->ops[i];
    bool everywhere;
    uint32_t rule;
    *d = (struct denied){.why = against, .culprit = GRAPH_NO_RULE};
    if (is_silent(r->g, reading[i]))
        return 0;
    d->list = arena_array(&r->p->arena, PLAN_SENTRIES, sizeof(*d->list));
    if (!d->list)
        return -1;
    if (against && !r->p->no_device_tests)
        return 0;
    d->n = plan_denied(r->g, reading[i], type_of(r->p), NULL, d->list, PLAN_SENTRIES, &everywhere,
                       &rule, &r->p->arena);
    if (r->p->no_device_tests && d->n == 0 && !everywhere) {
        *d = (struct denied){.culprit = GRAPH_NO_RULE}; /* of devices only */
        return 0;
    }
    d->guarded = !against;
    if (against)
        d->n = 0;
    else if (everywhere)
        ask_instead(d, "no folder bounds what this rule denies", rule);
    else if (plan_asks_about(r->p, r->g, reading[i], FILTER_PROCESS_PATH) ||
             plan_asks_about(r->p, r->g, reading[i], FILTER_PROCESS_COMMAND))
        ask_instead(d, "a sentry does not know which program reads", rule);
    if (add_aliases(r, d) < 0)
        return -1;
    for (size_t k = 0; k < d->n; k++)
        if (is_out_of_place(&d->list[k]))
            ask_instead(d, "a sentry would cover system folders", d->list[k].rule);
    for (size_t k = 0; k < d->n; k++)
        if (folds_case(r, &d->list[k]))
            ask_instead(d, "its file system ignores case in names", d->list[k].rule);
    return 0;
}

/* A sentry on the command's own working folder would cost more than judging. */
static bool covers_work(struct reads *r)
{
    const char *cwd = r->p->opt.cwd;
    const struct plan_sentry *in = cwd ? innermost(r, cwd, strlen(cwd)) : NULL;
    if (!in || in->open)
        return false;
    struct bound_path here = folder(cwd);
    for (size_t i = 0; i < READING; i++)
        for (size_t k = 0; k < r->ops[i].n; k++) {
            struct bound_path bound = r->ops[i].list[k];
            bound.exact = false;
            if (bound_covers(&bound, &here))
                ask_instead(&r->ops[i], "a sentry would cover the working directory",
                            r->ops[i].list[k].rule);
        }
    return true;
}

static void choose_sentries(struct reads *r)
{
    for (size_t tries = 0; tries < READING; tries++) {
        if (!build_sentries(r))
            break;
        if (!covers_work(r)) /* otherwise guard one operation less */
            return;
    }
    for (size_t i = 0; i < READING; i++)
        if (r->ops[i].guarded)
            ask_instead(&r->ops[i], "there would be too many sentries", GRAPH_NO_RULE);
    r->nsentries = 0;
}

/* ---- tiers ---- */

static bool can_be_judged(enum vocab_op op)
{
    for (size_t set = 0; set < SET_COUNT; set++)
        for (size_t i = 0; i < SET_OPS; i++)
            if (judged_sets[set][i] == op)
                return true;
    return false;
}

/* What judging costs; docs/performance.md has the figures. */
static const char *cost_of(enum vocab_op op)
{
    return op == OP_FILE_READ_DATA
               ? "each open waits for the judge: builds take about 1.2 times as "
                 "long, find, grep -r and rg 3 to 5 times"
               : "each look at a file waits for the judge: builds take about "
                 "1.3 times as long, find and rg 3 to 4 times";
}

static int set_judged(struct plan *p, enum vocab_op op, const struct denied *d)
{
    struct plan_op *o = &p->ops[op];
    char note[256];
    if (!can_be_judged(op)) {
        o->tier = TIER_ABSENT;
        return 0;
    }
    o->tier = TIER_JUDGED;
    if (d->culprit != GRAPH_NO_RULE)
        o->rule = d->culprit;
    snprintf(note, sizeof(note), "%s, so %s", d->why ? d->why : "a rule wants a report",
             cost_of(op));
    o->note = arena_strndup(&p->arena, note, strlen(note));
    return o->note ? 0 : -1;
}

static int set_tier(struct reads *r, size_t i)
{
    struct plan_op *o = &r->p->ops[reading[i]];
    const struct denied *d = &r->ops[i];
    *o = (struct plan_op){.tier = TIER_FREE, .rule = GRAPH_NO_RULE};
    /* what a later policy could change is judged, if it can be */
    bool later = r->p->opt.updatable && can_be_judged(reading[i]);
    if (!d->list && !later)
        return 0;
    o->rule = plan_rule_against(r->g, reading[i]);
    if (!d->guarded)
        return set_judged(r->p, reading[i], d);
    o->tier = r->p->masked ? TIER_MASKED : TIER_SENTRY;
    if (r->p->masked) {
        o->note = "there is no FUSE for a sentry: hidden as if it were empty, and not reported";
        o->remedy = REMEDY_STRICT_READS_JUDGE;
    }
    return 0;
}

/* A sentry passes on reading and nothing else. The judge performs writes there, on the real folder.
 * So everything that writes is judged, if there is a judge. */
static void ask_about_writing(struct plan *p)
{
    static const uint16_t writing[] = {
        OP_FILE_WRITE_DATA,  OP_FILE_WRITE_CREATE, OP_FILE_WRITE_UNLINK, OP_FILE_WRITE_MODE,
        OP_FILE_WRITE_OWNER, OP_FILE_WRITE_TIMES,  OP_FILE_WRITE_XATTR,  OP_FILE_WRITE_FLAGS,
        OP_FILE_LINK,        OP_FILE_MKNOD,        OP_FILE_WRITE_SETUGID};
    const struct host *h = &p->host;
    bool judge = h->seccomp_notify && h->notify_addfd && !h->listener_taken && h->pidfd_getfd &&
                 h->read_memory;
    if (!judge)
        plan_note(p, "permits less: without a judge nothing can be written beneath a sentry");
    for (size_t i = 0; judge && i < sizeof(writing) / sizeof(writing[0]); i++)
        if (p->ops[writing[i]].tier == TIER_FREE)
            p->ops[writing[i]] = (struct plan_op){
                .tier = TIER_JUDGED,
                .rule = GRAPH_NO_RULE,
                .note = "allowed; the judge performs it, because a sentry passes on only reading"};
}

int plan_reads(struct plan *p, const struct graph *g, struct bk_err *err)
{
    struct reads r = {.p = p, .g = g};
    const char *against = no_sentries(p);
    for (size_t i = 0; i < READING; i++)
        if (find_denied(&r, i, against) < 0)
            return err_nomem(err);
    choose_sentries(&r);
    if (choose_masks(&r) < 0)
        return err_nomem(err);
    for (size_t i = 0; i < READING; i++)
        if (set_tier(&r, i) < 0)
            return err_nomem(err);
    p->sentries = arena_dup(&p->arena, r.sentries, r.nsentries * sizeof(r.sentries[0]));
    if (!p->sentries)
        return err_nomem(err);
    p->nsentries = r.nsentries;
    if (p->masked)
        plan_note(p, "permits less: nothing can be written beneath a mask");
    else if (p->nsentries)
        ask_about_writing(p);
    return 0;
}
