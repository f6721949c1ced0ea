/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Planning. Nothing here touches the system: the same graph, options and host always give the same
 * plan. First each operation gets its tier, then the calls follow from the tiers, then the walls.
 */

#include "kernel/plan/plan.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graph/command.h"
#include "kernel/host/kabi.h"
#include "command/capabilities.h"
#include "kernel/plan/judged-calls.h"
#include "kernel/plan/plan-int.h"

enum { PLAN_BYTES = 64 << 20, PLAN_USUAL = 256 << 10, PLAN_NOTES = 32 };

int plan_note(struct plan *p, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    char *copy = arena_strndup(&p->arena, text, strlen(text));
    if (!copy || p->nnotes == PLAN_NOTES)
        return -1;
    p->notes[p->nnotes++] = copy;
    return 0;
}

/* ---- tiers ---- */

/* What Linux can do about an operation in this version. */
enum coverage { COVER_JUDGE, COVER_NET, COVER_EXEC };

static const struct {
    uint16_t op;
    uint8_t cover;
} covered[] = {
    {OP_FILE_WRITE_DATA, COVER_JUDGE},    {OP_FILE_WRITE_CREATE, COVER_JUDGE},
    {OP_FILE_WRITE_UNLINK, COVER_JUDGE},  {OP_FILE_WRITE_MODE, COVER_JUDGE},
    {OP_FILE_WRITE_OWNER, COVER_JUDGE},   {OP_FILE_WRITE_TIMES, COVER_JUDGE},
    {OP_FILE_WRITE_XATTR, COVER_JUDGE},   {OP_FILE_WRITE_FLAGS, COVER_JUDGE},
    {OP_FILE_WRITE_SETUGID, COVER_JUDGE}, {OP_FILE_MKNOD, COVER_JUDGE},
    {OP_FILE_LINK, COVER_JUDGE},          {OP_PROCESS_EXEC, COVER_EXEC},
    {OP_NETWORK_OUTBOUND, COVER_NET},     {OP_NETWORK_INBOUND, COVER_NET},
    {OP_NETWORK_BIND, COVER_NET},
};

uint32_t plan_rule_against(const struct graph *g, enum vocab_op op)
{
    uint32_t entry = graph_entry(g, op), worst = GRAPH_NO_RULE;
    const struct graph_node *node = graph_node_at(g, entry);
    for (uint32_t left = graph_node_count(g); left > 0; left--) {
        if (node->kind == GRAPH_NODE_DECISION)
            return node->allow ? worst : node->rule;
        const struct graph_node *match = graph_node_at(g, node->match);
        if (match->kind == GRAPH_NODE_DECISION && !match->allow && worst == GRAPH_NO_RULE)
            worst = match->rule;
        node = graph_node_at(g, node->unmatch);
    }
    return worst;
}

/* Allowed whatever the argument, and not reported. */
static bool is_free(const struct graph *g, enum vocab_op op)
{
    uint32_t node;
    if (!graph_uniform(g, op, &node))
        return false;
    const struct graph_node *d = graph_node_at(g, node);
    return d->allow && d->flags == 0 && d->nmods == 0;
}

static bool is_refused(const struct graph *g, enum vocab_op op)
{
    uint32_t node;
    return graph_uniform(g, op, &node) && !graph_node_at(g, node)->allow;
}

bool plan_may_widen(const struct plan *p)
{
    return p->opt.updatable || p->opt.grantable;
}

static void set_tier(struct plan *p, const struct graph *g, enum vocab_op op, uint8_t cover)
{
    struct plan_op *o = &p->ops[op];
    o->rule = GRAPH_NO_RULE;
    if (!p->opt.updatable && is_free(g, op)) {
        o->tier = TIER_FREE;
        return;
    }
    o->rule = plan_rule_against(g, op);
    o->tier = TIER_JUDGED;
    if (cover == COVER_NET) {
        o->tier = is_refused(g, op) && !plan_may_widen(p) ? TIER_DENIED : TIER_JUDGED;
        o->wall = "network namespace";
    }
}

static void set_tiers(struct plan *p, const struct graph *g)
{
    for (size_t op = 0; op < OP_COUNT; op++)
        p->ops[op] = (struct plan_op){.tier = TIER_ABSENT, .rule = GRAPH_NO_RULE};
    for (size_t i = 0; i < sizeof(covered) / sizeof(covered[0]); i++)
        set_tier(p, g, covered[i].op, covered[i].cover);
}

bool plan_is_asked(enum plan_tier tier)
{
    return tier == TIER_JUDGED || tier == TIER_DENIED;
}

bool plan_set_is_free(const struct plan *p, unsigned set)
{
    if (plan_world_frees(p, set))
        return true;
    for (size_t i = 0; i < SET_OPS && judged_sets[set][i] != OP_NONE; i++)
        if (plan_is_asked(p->ops[judged_sets[set][i]].tier))
            return false;
    return true;
}

/* ---- the Landlock wall ---- */

static const struct {
    uint16_t op;
    uint64_t rights;
} landlock_rights[] = {
    {OP_FILE_READ_DATA, KABI_LL_READ_FILE | KABI_LL_READ_DIR},
    {OP_FILE_WRITE_DATA, KABI_LL_WRITE_FILE | KABI_LL_TRUNCATE},
    {OP_FILE_WRITE_CREATE, KABI_LL_MAKE_REG | KABI_LL_MAKE_DIR | KABI_LL_MAKE_SYM |
                               KABI_LL_MAKE_FIFO | KABI_LL_MAKE_SOCK | KABI_LL_REFER},
    {OP_FILE_WRITE_UNLINK, KABI_LL_REMOVE_FILE | KABI_LL_REMOVE_DIR | KABI_LL_REFER},
    {OP_FILE_MKNOD, KABI_LL_MAKE_CHAR | KABI_LL_MAKE_BLOCK},
};

uint64_t plan_wall_rights(enum vocab_op op)
{
    for (size_t i = 0; i < sizeof(landlock_rights) / sizeof(landlock_rights[0]); i++)
        if (landlock_rights[i].op == op)
            return landlock_rights[i].rights;
    return 0;
}

/* Rights that an ABI knows: REFER came with 2, TRUNCATE with 3. */
static uint64_t known_rights(int abi)
{
    uint64_t known = KABI_LL_REFER - 1;
    if (abi >= 2)
        known |= KABI_LL_REFER;
    if (abi >= 3)
        known |= KABI_LL_TRUNCATE;
    return known;
}

int plan_add_wall(struct plan *p, const struct bound_path *b, uint64_t rights)
{
    for (size_t i = 0; i < p->nwalls; i++)
        if (strlen(p->walls[i].path) == b->len && memcmp(p->walls[i].path, b->path, b->len) == 0) {
            p->walls[i].rights |= rights;
            return 0;
        }
    char *path = arena_strndup(&p->arena, b->path, b->len);
    if (!path || p->nwalls == PLAN_WALLS)
        return -1;
    p->walls[p->nwalls++] = (struct wall_path){path, rights, b->rule, !b->exact, false};
    return 0;
}

/* One operation's part of the wall. Returns false if nothing bounds it, so that there is no wall.
 */
static bool wall_for(struct plan *p, const struct graph *g, enum vocab_op op, uint64_t rights)
{
    struct bound_path list[PLAN_WALLS / 4];
    bool everywhere;
    if (!plan_is_asked(p->ops[op].tier) || p->ops[op].tier == TIER_ABSENT)
        return false;
    size_t n = plan_bound(g, op, list, sizeof(list) / sizeof(list[0]), &everywhere, &p->arena);
    if (everywhere)
        return false;
    size_t before = p->nwalls;
    for (size_t i = 0; i < n; i++)
        if (plan_add_wall(p, &list[i], rights) < 0) {
            p->nwalls = before;
            return false;
        }
    p->ops[op].wall = "Landlock";
    return true;
}

/* Under any wall, Landlock refuses to move files between folders, even if the wall does not cover
 * that. Where the policy allows it, it has to be granted, or cannot be. */
static void refer_everywhere(struct plan *p, uint64_t known)
{
    static const struct bound_path root = {"/", 1, false, GRAPH_NO_RULE, 0};
    if (!p->handled_fs || (p->handled_fs & KABI_LL_REFER))
        return;
    if (known & KABI_LL_REFER && plan_add_wall(p, &root, KABI_LL_REFER) == 0)
        p->handled_fs |= KABI_LL_REFER;
    else
        plan_note(p, "permits less: nothing can be moved or linked between folders (Linux 5.19)");
}

/* Removing or moving a folder is a right on its parent, which the wall denies. */
static void note_fixed_folders(struct plan *p, const struct graph *g)
{
    struct graph_cache *cache = graph_cache_new(g);
    for (size_t i = 0; cache && i < p->nwalls; i++) {
        const struct wall_path *w = &p->walls[i];
        struct graph_fact facts[] = {
            {.filter = FILTER_PATH, .str = w->path, .len = (uint32_t)strlen(w->path)},
            {.filter = FILTER_VNODE_TYPE, .num = 2 /* DIRECTORY */}};
        struct graph_query q = {.op = OP_FILE_WRITE_UNLINK, .facts = facts, .nfacts = 2};
        bool removes = (w->rights & KABI_LL_REMOVE_DIR) && w->folder && w->path[1];
        if (removes && graph_eval(g, cache, &q).allow)
            plan_note(p, "permits less: %s itself can be neither removed nor renamed", w->path);
    }
    graph_cache_free(cache);
}

/* Path bounds of files. They could not be widened later, so a grantable plan does without. */
static void plan_file_walls(struct plan *p, const struct graph *g, uint64_t known)
{
    for (size_t i = 0; i < sizeof(landlock_rights) / sizeof(landlock_rights[0]); i++) {
        uint64_t rights = landlock_rights[i].rights & known;
        if (wall_for(p, g, landlock_rights[i].op, rights))
            p->handled_fs |= rights;
    }
    if (plan_exec_wall(p, g))
        p->handled_fs |= KABI_LL_EXECUTE;
    if (plan_device_wall(p, g))
        p->handled_fs |= KABI_LL_IOCTL_DEV;
    plan_queue_wall(p);
    plan_semaphore_wall(p, g);
    refer_everywhere(p, known);
    if (!p->opt.terse)
        note_fixed_folders(p, g);
}

/* A process in a Landlock domain cannot trace or read processes outside it: init and the judge hold
 * what the command must not inherit. So there is always a domain, if only one that grants
 * everything it handles. Root's judge reads processes that have changed their credentials. It must
 * be in a domain too, or it could read any process. */
static void plan_domain(struct plan *p, const struct graph *g, uint64_t known)
{
    static const struct bound_path root = {"/", 1, false, GRAPH_NO_RULE, 0};
    bool scopes = p->host.landlock >= 6, looks = p->host.root && p->judge;
    bool signals_out = p->opt.leaves && !p->pid_ns && !p->opt.updatable && is_free(g, OP_SIGNAL);
    /* the judge performs what the command asks for */
    if (p->dials && p->host.landlock >= 4)
        p->handled_net = KABI_LL_BIND_TCP | KABI_LL_CONNECT_TCP;
    if (scopes)
        p->scoped = (signals_out ? 0 : KABI_LL_SCOPE_SIGNAL) | KABI_LL_SCOPE_ABSTRACT_UNIX;
    if ((!scopes || looks) && !p->handled_fs && (known & KABI_LL_REFER) &&
        plan_add_wall(p, &root, KABI_LL_REFER) == 0)
        p->handled_fs = KABI_LL_REFER;
}

static void plan_walls(struct plan *p, const struct graph *g)
{
    uint64_t known = known_rights(p->host.landlock);
    if (!p->host.landlock)
        return;
    if (!plan_may_widen(p))
        plan_file_walls(p, g, known);
    plan_domain(p, g, known);
}

/* ---- namespaces and needs ---- */

static void plan_namespaces(struct plan *p, const struct graph *g)
{
    struct host_spaces s = host_spaces(&p->host);
    p->user_ns = s.user;
    p->mount_ns = s.mount;
    p->pid_ns = s.pid;
    p->ipc_ns = s.ipc;
    p->uts_ns = s.uts;
    plan_network(p, g, s.net || p->opt.pod_gate);
}

/* Something the policy needs and the host lacks: an error, or a note if the user accepts it. */
static int need(struct plan *p, bool have, const char *what, const char *lost, struct bk_err *err)
{
    if (have)
        return 0;
    if (p->opt.accept_weaker) {
        plan_note(p, "weaker: no %s, so %s", what, lost);
        return 0;
    }
    err_set(err, BK_E_SYSTEM, "this host has no %s: %s", what, lost);
    err_remedy(err, REMEDY_ACCEPT_WEAKER);
    return -1;
}

struct sys_action plan_without_judge(struct sys_action a)
{
    if (a.verdict != SYS_NOTIFY)
        return a;
    return (struct sys_action){a.err ? SYS_ERRNO : SYS_ALLOW, a.err};
}

/* Without a judge only the walls are left: judged calls pass where there is no wall. */
static void dismiss_judge(struct plan *p)
{
    p->judge = false;
    for (size_t i = 0; i < p->ncalls; i++) {
        struct sys_rule *r = &p->calls[i];
        r->passable = r->passable && !plan_without_judge(r->otherwise).err;
        r->otherwise = plan_without_judge(r->otherwise);
        for (size_t t = 0; t < r->ntests; t++)
            r->tests[t].then = plan_without_judge(r->tests[t].then);
    }
    for (size_t op = 0; op < OP_COUNT; op++)
        if (p->ops[op].tier == TIER_JUDGED) {
            p->ops[op].tier = p->ops[op].wall      ? TIER_WALLED
                              : p->ops[op].refused ? TIER_DENIED
                                                   : TIER_ABSENT;
            if (p->ops[op].tier == TIER_DENIED)
                p->ops[op].wall = "filter";
            p->ops[op].note = "weaker: no judge, so only the wall decides and nothing is reported";
        }
}

static bool restricts(const struct graph *g)
{
    static const uint16_t ops[] = {OP_FILE_READ_DATA,  OP_FILE_WRITE_DATA, OP_NETWORK_OUTBOUND,
                                   OP_NETWORK_INBOUND, OP_PROCESS_EXEC,    OP_SIGNAL};
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        if (!is_free(g, ops[i]))
            return true;
    return false;
}

/* The kernel lets a process write to the memory of others of the same user, through /proc. The
 * judge refuses that, where it judges opening for writing (procfs.c). */
static bool is_out_of_reach(const struct plan *p)
{
    bool domain = p->handled_fs || p->scoped || p->handled_net;
    return p->pid_ns || domain || (p->judge && !plan_set_is_free(p, SET_OPENS));
}

/* What separates outside processes from the command. */
static int need_apart(struct plan *p, const struct graph *g, struct bk_err *err)
{
    bool judged = p->judge && p->ops[OP_SIGNAL].tier == TIER_JUDGED;
    bool apart = p->pid_ns || (p->scoped & KABI_LL_SCOPE_SIGNAL) || judged;
    if (!is_free(g, OP_SIGNAL) &&
        need(p, apart, "pid namespace, no Landlock for signals, nor a judge",
             "processes outside can be signalled, Buckle's own included", err) < 0)
        return -1;
    if (!restricts(g))
        return 0;
    return need(p, is_out_of_reach(p), "pid namespace and no Landlock to replace it",
                "processes outside can be written to, and do what the command may not", err);
}

static int plan_needs(struct plan *p, const struct graph *g, struct bk_err *err)
{
    const struct host *h = &p->host;
    bool walls = !plan_may_widen(p) &&
                 (!plan_set_is_free(p, SET_OPENS) || !plan_set_is_free(p, SET_RENAMES));
    bool notify = h->seccomp_notify && h->notify_addfd && !h->listener_taken;
    bool look_in = h->read_memory;
    const char *listener = h->listener_taken ? "seccomp listener to itself (another sandbox, "
                                               "a container or WSL has it)"
                                             : "seccomp notification";
    if (p->judge && (need(p, notify, listener, "nothing can be judged or reported", err) < 0 ||
                     need(p, look_in, "access to child processes",
                          "judged calls cannot be performed", err) < 0))
        return -1;
    if (p->judge && !(notify && look_in))
        dismiss_judge(p);
    if (walls && need(p, h->landlock > 0, "Landlock",
                      "only the judge protects your files from the command", err) < 0)
        return -1;
    plan_network_notes(p);
    if (p->judge && p->makes_sockets)
        plan_note(p, "descriptors cannot be taken from a child here: the judge makes its sockets, "
                     "and knows them until they are connected");
    bool looks_in = p->user_ns || (h->caps & cap_bit(cap_find("sys_ptrace")));
    if (p->judge && h->root && !looks_in)
        plan_note(p,
                  "permits less: processes that change their credentials can make no judged call, "
                  "because root cannot read them without CAP_SYS_PTRACE");
    if (need_apart(p, g, err) < 0)
        return -1;
    if (!p->pid_ns)
        plan_note(p, "no pid namespace: the command's processes are tracked and killed one by one");
    if (p->opt.keep_userns)
        plan_note(
            p, "programs may create user namespaces, but mount nothing in them, and a process that "
               "changes its root can make no judged call by an absolute name");
    if (p->judge && !h->notify_killable)
        plan_note(p, "an interrupted call may be judged twice (kernel older than 5.19)");
    return 0;
}

/* ---- all of it ---- */

/* The kernel checks this right at every open, even for reading, on the way from the file up to the
 * rule that grants it: a third of the cost of an open. The judge truncates through a file
 * descriptor opened for writing, which the wall denies as well. */
static void leave_truncating_to_judge(struct plan *p)
{
    if (p->judge && p->ops[OP_FILE_WRITE_DATA].tier == TIER_JUDGED)
        p->handled_fs &= ~(uint64_t)KABI_LL_TRUNCATE;
}

static int fill(struct plan *p, const struct graph *g, struct bk_err *err)
{
    p->notes = arena_array(&p->arena, PLAN_NOTES, sizeof(*p->notes));
    p->walls = arena_array(&p->arena, PLAN_WALLS, sizeof(*p->walls));
    if (!p->notes || !p->walls)
        return err_nomem(err);
    set_tiers(p, g);
    plan_namespaces(p, g);
    plan_process_tiers(p, g);
    if (p->commands_many)
        return err_set(err, BK_E_LIMIT, "the policy has more than %d patterns of commands",
                       GRAPH_COMMANDS);
    plan_devices(p, g);
    if (plan_reads(p, g, err) < 0 || plan_open_devices(p, g, err) < 0 || plan_caps(p, err) < 0)
        return -1;
    plan_kernel_tiers(p, g);
    plan_layers(p, g);
    plan_world(p, g);
    if (plan_calls(p, err) < 0)
        return -1;
    plan_walls(p, g);
    if (plan_needs(p, g, err) < 0)
        return -1;
    leave_truncating_to_judge(p);
    if (p->unjudged)
        plan_world_walls(p);
    return 0;
}

int plan_make(const struct graph *g, const struct plan_options *opt, const struct host *host,
              struct plan *out, struct bk_err *err)
{
    struct plan p = {.opt = *opt, .host = *host};
    arena_init(&p.arena, PLAN_BYTES);
    arena_reserve(&p.arena, PLAN_USUAL);
    if (fill(&p, g, err) < 0) {
        plan_free(&p);
        return -1;
    }
    if (plan_has_layer_in_search(&p)) {
        struct plan_options judged = *opt;
        judged.no_search = true;
        plan_free(&p);
        return plan_make(g, &judged, host, out, err);
    }
    *out = p;
    return 0;
}

void plan_free(struct plan *p)
{
    arena_free(&p->arena);
    memset(p, 0, sizeof(*p));
}
