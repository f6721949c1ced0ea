/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A tool that is kept from its cache and its registry is denied dozens of paths and hosts, and one
 * preset allows them all. Those denials become one line:
 *
 *     npm needs its cache and registry: --preset npm
 */

#include <string.h>

#include "base/path.h"
#include "graph/net.h"
#include "report/report-int.h"

enum { HINTS = 32 };

void report_set_hints(struct report *r, const struct preset_hint *hints, size_t n)
{
    r->hints = hints;
    r->nhints = n < HINTS ? n : HINTS;
}

/* Whether a preset can lift the denial: neither a flag nor settings said it, and no name is
 * protected. */
static bool is_open_to_presets(const struct policies *p, const struct group *group)
{
    const struct graph *g = policies_graph(p, group->policy);
    const struct graph_rule_info *info = rule_info(g, group->rule);
    if (group->failure || !info || info->origin.source == SOURCE_FLAG ||
        info->origin.source == SOURCE_OWN || info->origin.source == SOURCE_MACHINE ||
        info->origin.source == SOURCE_PLATFORM || info->origin.source == SOURCE_COMMAND)
        return false;
    return group->op == OP_NETWORK_OUTBOUND || !rule_protects(g, group->rule);
}

/* exact: not the folders on the way to a cache. */
static bool has_path(const struct preset_hint *h, const struct group *group, bool exact)
{
    bool creates = group->op == OP_FILE_WRITE_CREATE;
    for (size_t i = 0; i < h->npaths; i++) {
        size_t n = strlen(h->paths[i]);
        if (path_is_at_or_below(group->path, group->path_len, h->paths[i], n) ||
            (!exact && creates &&
             path_is_at_or_below(h->paths[i], n, group->path, group->path_len)))
            return true;
    }
    return false;
}

/* Without any host in the policy, names are not even looked up: then the command says whose
 * registry is meant. */
static bool has_host(const struct preset_hint *h, const struct group *group)
{
    const char *host = group->path;
    if (host[0] == '/' || host[0] == '@' || !h->nhosts)
        return false;
    if (strchr(host, ' '))
        return h->called && strstr(host, "looked up");
    for (size_t i = 0; i < h->nhosts; i++) {
        const char *port = strchr(host, ':') ? NULL : strrchr(h->hosts[i], ':');
        size_t n = port ? (size_t)(port - h->hosts[i]) : strlen(h->hosts[i]);
        if (net_domain_match(h->hosts[i], n, host, strlen(host)))
            return true;
    }
    return false;
}

static bool fits(const struct preset_hint *h, const struct group *group, bool exact)
{
    if (group->op == OP_NETWORK_OUTBOUND)
        return has_host(h, group);
    return vocab_op_is_within(group->op, OP_FILE_WRITE) && has_path(h, group, exact);
}

/* Those for the command itself come first. A tool makes the folders on the way to its cache, too,
 * but ~/.cache is on the way to many. */
static size_t find_hint(const struct report *r, const struct group *group)
{
    size_t near = HINTS, count = 0;
    for (int called = 1; called >= 0; called--)
        for (size_t i = 0; i < r->nhints; i++)
            if (r->hints[i].called == called && fits(&r->hints[i], group, !called))
                return i;
    for (size_t i = 0; i < r->nhints; i++)
        if (fits(&r->hints[i], group, false)) {
            near = i;
            count++;
        }
    return count == 1 ? near : HINTS;
}

void report_preset_rows(const struct report *r, const struct policies *p, struct buf *out)
{
    bool fitting[HINTS] = {false};
    for (size_t i = 0; i < r->used; i++) {
        struct group *group = &r->groups[i];
        size_t hint = is_open_to_presets(p, group) ? find_hint(r, group) : HINTS;
        group->by_preset = hint < HINTS;
        if (group->by_preset)
            fitting[hint] = true;
    }
    for (size_t i = 0; i < r->nhints; i++)
        if (fitting[i])
            buf_fmt(out, "%s needs its %s: %s %s\n", r->hints[i].name,
                    !r->hints[i].nhosts   ? "cache"
                    : !r->hints[i].npaths ? "registry"
                                          : "cache and registry",
                    remedy_words(REMEDY_PRESET), r->hints[i].name);
}
