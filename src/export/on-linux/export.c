/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * One plan for a host that can do everything, so that the result does not depend on this one. The
 * planner knows which folders bound an operation, and which calls are refused whatever their
 * arguments. TCP ports are asked one by one, for an address that no rule is about.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "export/on-linux/export-int.h"
#include "graph/eval.h"
#include "kernel/plan/plan-words.h"

enum { ARENA = 64 << 20, PORTS = 65536, FACTS = 8 };

static const char everything[] =
    "root=0,landlock=7,seccomp_notify=1,notify_addfd=1,notify_killable=1,notify_sync=1,"
    "listener_taken=0,read_memory=1,pidfd_getfd=1,user_ns=1,mount_ns=1,nodev=1,disks=1,pid_ns=1,"
    "mount_proc=1,net_ns=1,ipc_ns=1,uts_ns=1,fuse=1,nftables=1,nft_tproxy=1,cgroup=1,kernel=6.18.0";

void export_bounds(struct exporter *e, enum vocab_op op, struct bounds *out)
{
    *out = (struct bounds){.everywhere = e->plan.ops[op].tier == TIER_FREE};
    if (!out->everywhere)
        out->n = plan_bound(e->g, op, out->at, BOUNDS, &out->everywhere, &e->arena);
    if (out->n > BOUNDS)
        out->everywhere = true;
    if (out->everywhere)
        out->n = 0;
}

void export_lost(struct exporter *e, const char *what, const char *why)
{
    buf_fmt(&e->out->lost, "%s: %s\n", what, why);
    e->out->nlost++;
}

static bool asks(struct exporter *e, struct graph_cache *cache, enum vocab_op op, unsigned port)
{
    char text[40];
    const char *const args[] = {text};
    struct graph_fact facts[FACTS];
    size_t n = FACTS;
    struct bk_err err;
    snprintf(text, sizeof(text), "tcp:203.0.113.7:%u", port); /* documentation's own address */
    if (graph_facts_parse(op, args, 1, facts, &n, &err) < 0)
        return false;
    struct graph_query q = {.op = (uint16_t)op, .facts = facts, .nfacts = n};
    return graph_eval(e->g, cache, &q).allow;
}

static int find_ports(struct exporter *e, struct bk_err *err)
{
    struct graph_cache *cache = graph_cache_new(e->g);
    unsigned open = 0;
    if (!cache)
        return err_nomem(err);
    for (unsigned port = 1; port < PORTS; port++) {
        bool to = asks(e, cache, OP_NETWORK_OUTBOUND, port);
        bool own = asks(e, cache, OP_NETWORK_BIND, port);
        e->ports[port / 8] |= (uint8_t)(to << port % 8);
        e->own[port / 8] |= (uint8_t)(own << port % 8);
        e->connects |= to;
        e->listens |= own;
        open += to && own;
    }
    graph_cache_free(cache);
    e->all_ports = open == PORTS - 1;
    return 0;
}

/* Operations that Buckle decides call by call, or not at all. */
static void list_judged(struct exporter *e)
{
    for (size_t op = 0; op < OP_COUNT; op++) {
        const struct plan_op *o = &e->plan.ops[op];
        bool judged = o->tier == TIER_JUDGED || o->tier == TIER_SENTRY || o->tier == TIER_MASKED;
        if (judged && !o->refused)
            export_lost(e, vocab_ops[op].name,
                        "patterns, and denials inside of what is allowed, need Buckle's judge");
        else if (plan_is_unenforced(&e->plan, (enum vocab_op)op))
            export_lost(e, vocab_ops[op].name, "nothing enforces it");
    }
}

int export_graph(const struct graph *g, enum export_to to, struct exported *out, struct bk_err *err)
{
    static int (*const make[])(struct exporter *, struct bk_err *) = {
        [EXPORT_LANDLOCK] = export_landlock,
        [EXPORT_SECCOMP] = export_seccomp,
        [EXPORT_SYSTEMD] = export_systemd,
    };
    OWN(mem) struct exporter *e = calloc(1, sizeof(*e));
    struct host host = {0};
    struct plan_options options = {.accept_weaker = true, .arch = PLAN_NATIVE};
    if (!e)
        return err_nomem(err);
    e->g = g;
    e->out = out;
    arena_init(&e->arena, ARENA);
    if (host_pretend(&host, everything, err) < 0 ||
        plan_make(g, &options, &host, &e->plan, err) < 0)
        return -1; /* nothing is in the arena yet */
    int failed = find_ports(e, err) < 0 || make[to](e, err) < 0 ? -1 : 0;
    if (!failed)
        list_judged(e);
    plan_free(&e->plan);
    arena_free(&e->arena);
    return !failed && (!buf_ok(&out->text) || !buf_ok(&out->lost)) ? err_nomem(err) : failed;
}
