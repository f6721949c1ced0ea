/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Patterns in the working folder. A rule such as (deny file-read-data (glob "/work/.../.env"))
 * denies few names in a folder that everything reads. Judging each open would cost every reader,
 * and so would a sentry on the folder. So the launch searches the folder for such names and puts a
 * sentry on each, and the judge has another one mounted whenever it creates one.
 *
 * That needs an ordinary folder: without other names, with one spelling for each name, and without
 * private layers. And only contents may be denied: a sentry on a symlink is not possible.
 */

#include "kernel/plan/plan-int.h"

static bool folds_case_in(const struct plan *p, const struct bound_path *b)
{
    const struct mounts *m = p->opt.mounts ? &p->opt.mounts->now : NULL;
    if (!m)
        return true;
    const struct mount_at *on = mounts_find(m, b->path, b->len);
    bool folds = !on || on->folds;
    for (size_t i = 0; i < m->n && !folds; i++) {
        struct bound_path at = {.path = m->list[i].at, .len = m->list[i].at_len};
        folds = bound_covers(b, &at) && (m->list[i].folds || m->list[i].kind == MOUNT_KERNEL);
    }
    return folds;
}

/* Whether anything but contents is denied there. */
static bool denies_more(struct plan *p, const struct graph *g, const struct bound_path *b)
{
    static const uint16_t others[] = {OP_FILE_READ_METADATA, OP_FILE_TEST_EXISTENCE,
                                      OP_FILE_READ_XATTR};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct bound_path one;
        bool all;
        uint32_t rule;
        size_t n = plan_denied(g, others[i], BOUND_FILES, b, &one, 1, &all, &rule, &p->arena);
        if (n > 0 || all)
            return true;
    }
    return false;
}

/* Whether part of it may be read, and written: the command works there. Elsewhere a sentry on the
 * folder is better, because it has no gap when a name appears. */
static bool is_worked_in(struct plan *p, const struct graph *g, const struct bound_path *b)
{
    struct bound_memory memory;
    return bound_remember(&memory, g, &p->arena) == 0 &&
           plan_allows_within(g, OP_FILE_READ_DATA, b, &memory, &p->arena) &&
           plan_allows_within(g, OP_FILE_WRITE_CREATE, b, &memory, &p->arena);
}

static bool is_possible(const struct plan *p)
{
    return !p->opt.no_search && p->opt.cwd && p->host.fuse && plan_can_judge(&p->host);
}

static bool is_searched(struct plan *p, const struct graph *g, const struct bound_path *b)
{
    struct bound_path cwd = {.path = p->opt.cwd, .len = (uint32_t)strlen(p->opt.cwd)};
    return !b->exact && bound_covers(&cwd, b) && b->len > 1 && !plan_is_out_of_place(b) &&
           is_worked_in(p, g, b) && !folds_case_in(p, b) && !plan_is_aliased(p, b) &&
           !denies_more(p, g, b) && !plan_asks_about(p, g, OP_FILE_READ_DATA, FILTER_FILE_MODE);
}

int plan_take_searches(struct plan *p, const struct graph *g, struct bound_path *list, size_t n)
{
    size_t kept = 0;
    if (!is_possible(p))
        return (int)n;
    for (size_t i = 0; i < n; i++) {
        if (p->nsearches == PLAN_SEARCHES || !is_searched(p, g, &list[i])) {
            list[kept++] = list[i];
            continue;
        }
        if (!p->searches)
            p->searches = arena_array(&p->arena, PLAN_SEARCHES, sizeof(*p->searches));
        char *path = p->searches ? arena_strndup(&p->arena, list[i].path, list[i].len) : NULL;
        if (!path)
            return -1;
        p->searches[p->nsearches++] = (struct plan_search){path, list[i].len, list[i].rule};
    }
    return (int)kept;
}

bool plan_has_layer_in_search(const struct plan *p)
{
    for (size_t i = 0; i < p->nsearches; i++)
        for (size_t k = 0; k < p->nlayers; k++) {
            struct bound_path in = {.path = p->searches[i].path, .len = p->searches[i].len};
            struct bound_path layer = {.path = p->layers[k].path, .len = p->layers[k].len};
            if (bound_covers(&in, &layer))
                return true;
        }
    return false;
}
