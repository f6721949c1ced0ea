/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The table behind the summary. Its size is fixed, so a million denials take no more memory than
 * three. Events with the same operation, path and rule form one group with a count. If the table is
 * full, a new group replaces the one that was silent longest; that one's count goes to the total
 * and to "and N others".
 *
 * Groups are in hash chains, and in one list ordered by their last event.
 */

#include <stdlib.h>
#include <string.h>

#include "report/report-int.h"

struct report *report_new(size_t groups)
{
    size_t cap = groups ? groups : REPORT_GROUPS;
    struct report *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->cap = cap;
    r->newest = r->oldest = GROUP_NONE;
    r->groups = cap < GROUP_NONE ? calloc(cap, sizeof(*r->groups)) : NULL;
    r->heads = calloc(cap, sizeof(*r->heads));
    r->rows = calloc(cap, sizeof(*r->rows));
    if (!r->groups || !r->heads || !r->rows) {
        report_free(r);
        return NULL;
    }
    memset(r->heads, 0xff, cap * sizeof(*r->heads)); /* GROUP_NONE */
    return r;
}

void report_free(struct report *r)
{
    if (!r)
        return;
    free(r->groups);
    free(r->heads);
    free(r->rows);
    free(r);
}

const struct graph *policies_graph(const struct policies *p, uint32_t policy)
{
    return policy < p->n ? p->at[policy] : NULL;
}

uint64_t report_total(const struct report *r)
{
    return r->total;
}

/* ---- chains ---- */

static uint32_t hash_bytes(uint32_t h, const void *bytes, size_t n)
{
    const unsigned char *b = bytes;
    for (size_t i = 0; i < n; i++)
        h = (h ^ b[i]) * 16777619u;
    return h;
}

static uint32_t *chain_of(const struct report *r, uint16_t op, uint32_t rule, const char *path,
                          size_t len)
{
    uint32_t h = hash_bytes(2166136261u, &op, sizeof(op));
    h = hash_bytes(h, &rule, sizeof(rule));
    return &r->heads[hash_bytes(h, path, len) % r->cap];
}

static uint32_t find_group(const struct report *r, const struct event *e, uint32_t at)
{
    for (; at != GROUP_NONE; at = r->groups[at].chain) {
        const struct group *g = &r->groups[at];
        if (g->op == e->op && g->rule == e->rule && g->policy == e->policy &&
            g->path_len == e->path_len && memcmp(g->path, e->path, e->path_len) == 0 &&
            strcmp(g->detail, e->detail) == 0)
            return at;
    }
    return GROUP_NONE;
}

static void unchain(struct report *r, uint32_t gone)
{
    const struct group *g = &r->groups[gone];
    uint32_t *link = chain_of(r, g->op, g->rule, g->path, g->path_len);
    while (*link != gone)
        link = &r->groups[*link].chain;
    *link = g->chain;
}

/* ---- order of events ---- */

static void unlink_group(struct report *r, uint32_t at)
{
    struct group *g = &r->groups[at];
    *(g->newer == GROUP_NONE ? &r->newest : &r->groups[g->newer].older) = g->older;
    *(g->older == GROUP_NONE ? &r->oldest : &r->groups[g->older].newer) = g->newer;
}

static void put_newest(struct report *r, uint32_t at)
{
    struct group *g = &r->groups[at];
    g->newer = GROUP_NONE;
    g->older = r->newest;
    *(r->newest == GROUP_NONE ? &r->oldest : &r->groups[r->newest].newer) = at;
    r->newest = at;
}

/* ---- adding ---- */

static bool is_git(const char *exe)
{
    const char *slash = strrchr(exe, '/'), *name = slash ? slash + 1 : exe;
    return strcmp(name, "git") == 0 || strncmp(name, "git-", 4) == 0;
}

/* A free group, in no chain and no list. */
static uint32_t make_room(struct report *r)
{
    if (r->used < r->cap)
        return (uint32_t)r->used++;
    uint32_t at = r->oldest;
    unlink_group(r, at);
    unchain(r, at);
    r->forgotten += r->groups[at].count;
    return at;
}

void report_add(struct report *r, const struct event *e)
{
    if (e->allow || e->path_len >= EVENT_PATH)
        return;
    uint32_t at = find_group(r, e, *chain_of(r, e->op, e->rule, e->path, e->path_len));
    if (at == GROUP_NONE) {
        at = make_room(r);
        struct group *g = &r->groups[at];
        uint32_t *head = chain_of(r, e->op, e->rule, e->path, e->path_len);
        g->count = 0;
        g->first = r->total;
        g->policy = e->policy;
        g->rule = e->rule;
        g->op = e->op;
        g->failure = event_is_failure(e);
        g->by_git = is_git(e->exe);
        g->path_len = e->path_len;
        memcpy(g->detail, e->detail, sizeof(g->detail));
        memcpy(g->path, e->path, e->path_len);
        g->path[e->path_len] = '\0';
        g->chain = *head;
        *head = at;
    } else {
        unlink_group(r, at);
    }
    put_newest(r, at);
    r->groups[at].last = r->total;
    r->groups[at].pid = e->pid;
    r->groups[at].count += e->count;
    r->total += e->count;
}

void report_denied_to_git(const struct report *r, const struct policies *policies,
                          report_path_fn *each, void *arg)
{
    for (size_t i = 0; i < r->used; i++) {
        const struct group *g = &r->groups[i];
        bool makes = g->op == OP_FILE_WRITE_CREATE || g->op == OP_FILE_WRITE_DATA;
        if (g->by_git && makes && !g->failure &&
            rule_protects(policies_graph(policies, g->policy), g->rule))
            each(arg, g->path, g->path_len);
    }
}
