/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The part of the plan about processes: signals, scheduling, starting programs, code in memory, and
 * communication between processes. Most profiles let members of the sandbox do as they like with
 * one another. The namespaces keep them from reaching further, so nothing needs judging. A stricter
 * profile makes these calls judged.
 */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>

#include "graph/command.h"
#include "kernel/host/kabi.h"
#include "kernel/plan/judged-calls.h"
#include "kernel/plan/plan-int.h"

/* ---- possible outcomes ---- */

/* Modifiers with a meaning only on macOS, or only for users. */
static bool is_silent(const struct graph *g, const struct graph_node *d)
{
    for (uint32_t i = 0; i < d->nmods; i++) {
        uint16_t id = graph_mod_at(g, d->mods + i)->id;
        if (id != MOD_MESSAGE && id != MOD_DEFAULT_SANDBOX)
            return false;
    }
    return !(d->flags & VOCAB_FLAG_REPORT);
}

static unsigned outcome_of(const struct graph *g, const struct graph_node *d)
{
    return !d->allow ? OUTCOME_DENY : is_silent(g, d) ? OUTCOME_ALLOW : OUTCOME_REPORTED;
}

unsigned plan_outcomes_where(struct plan *p, const struct graph *g, enum vocab_op op,
                             plan_decided_fn *decided, void *arg)
{
    uint32_t entry = graph_entry(g, op);
    const struct graph_node *first = graph_node_at(g, entry);
    if (first->kind == GRAPH_NODE_DECISION) /* as in most operations */
        return outcome_of(g, first);
    uint8_t *reached = arena_alloc(&p->arena, (size_t)entry + 1);
    unsigned seen = 0;
    if (!reached)
        return OUTCOME_ALLOW | OUTCOME_DENY;
    reached[entry] = 1;
    /* edges lead to smaller numbers */
    for (uint32_t i = entry + 1; i-- > 0;) {
        const struct graph_node *node = graph_node_at(g, i);
        bool holds = false;
        if (!reached[i])
            continue;
        if (node->kind == GRAPH_NODE_DECISION) {
            seen |= outcome_of(g, node);
            continue;
        }
        bool sure = decided(arg, graph_test_at(g, node->test), &holds);
        if (!sure || holds)
            reached[node->match] = 1;
        if (!sure || !holds)
            reached[node->unmatch] = 1;
    }
    return seen;
}

struct knowledge {
    const struct plan_known *list;
    size_t n;
};

static bool is_known(void *arg, const struct graph_test *t, bool *holds)
{
    const struct knowledge *k = arg;
    for (size_t i = 0; i < k->n; i++)
        if (t->filter == k->list[i].filter && t->how == GRAPH_INT && t->num == k->list[i].num) {
            *holds = k->list[i].holds;
            return true;
        }
    return false;
}

unsigned plan_outcomes(struct plan *p, const struct graph *g, enum vocab_op op,
                       const struct plan_known *known, size_t n)
{
    return plan_outcomes_where(p, g, op, is_known, &(struct knowledge){known, n});
}

struct sought {
    enum vocab_filter filter;
    bool looked, met;
};

static bool note_sought(void *arg, const struct graph_test *t, bool *holds)
{
    struct sought *s = arg;
    (void)holds;
    s->looked = true;
    s->met |= t->filter == s->filter;
    return false;
}

bool plan_asks_about(struct plan *p, const struct graph *g, enum vocab_op op,
                     enum vocab_filter filter)
{
    struct sought s = {.filter = filter};
    bool unsure = plan_outcomes_where(p, g, op, note_sought, &s) == (OUTCOME_ALLOW | OUTCOME_DENY);
    return s.met || (unsure && !s.looked); /* out of memory */
}

/* ---- tiers ---- */

static bool is_free(struct plan *p, const struct graph *g, enum vocab_op op)
{
    return !p->opt.updatable && plan_outcomes(p, g, op, NULL, 0) == OUTCOME_ALLOW;
}

static void judge_op(struct plan *p, const struct graph *g, enum vocab_op op, enum vocab_op because,
                     const char *note)
{
    struct plan_op *o = &p->ops[op];
    *o = (struct plan_op){.tier = TIER_JUDGED, .rule = plan_rule_against(g, because), .note = note};
    o->refused = plan_outcomes(p, g, op, NULL, 0) == OUTCOME_DENY;
}

static void free_or_judged(struct plan *p, const struct graph *g, enum vocab_op op,
                           const char *note)
{
    if (is_free(p, g, op))
        p->ops[op] = (struct plan_op){.tier = TIER_FREE, .rule = GRAPH_NO_RULE};
    else
        judge_op(p, g, op, op, note);
}

/* A process that can be reached at all is in the same sandbox, and is not its init. */
const struct plan_known plan_among_us[PLAN_AMONG_US] = {
    {FILTER_TARGET, 5 /* same-sandbox */, true},
    {FILTER_TARGET, 6 /* initproc */, false},
};

static void tier_by_target(struct plan *p, const struct graph *g, enum vocab_op op,
                           const char *wall)
{
    free_or_judged(p, g, op, NULL);
    struct plan_op *o = &p->ops[op];
    if (o->tier == TIER_FREE || !wall || p->opt.updatable)
        return;
    o->wall = wall;
    if (plan_outcomes(p, g, op, plan_among_us, PLAN_AMONG_US) != OUTCOME_ALLOW)
        return;
    o->tier = TIER_WALLED;
    if (op == OP_SIGNAL && p->host.landlock < 6)
        o->note = "kill(0, …) alone is judged: the command is in its parent's process group";
}

/* Named objects: the family as a whole is free, or its calls are judged one by one. */
static void tier_of_family(struct plan *p, const struct graph *g, enum vocab_op family,
                           const uint16_t *members, size_t n, const char *note)
{
    for (size_t i = 0; i < n; i++)
        if (!is_free(p, g, members[i])) {
            judge_op(p, g, family, members[i], note);
            return;
        }
    p->ops[family] = (struct plan_op){.tier = TIER_FREE, .rule = GRAPH_NO_RULE};
}

/* A policy that restricts writing has a judge anyway. Without an ipc namespace the judge denies the
 * command other users' objects (handle-sysv.c). */
static void tier_of_sysv(struct plan *p, const struct graph *g, enum vocab_op op)
{
    free_or_judged(p, g, op, NULL);
    if (p->ops[op].tier == TIER_FREE && !p->ipc_ns && !plan_set_is_free(p, SET_CREATES))
        p->ops[op] = (struct plan_op){.tier = TIER_JUDGED,
                                      .rule = GRAPH_NO_RULE,
                                      .note = "its own objects, for want of an ipc namespace"};
}

/* A queue's name is in memory, which can change after the judge has read it. Without an ipc
 * namespace it would name one of the host's. */
static void tier_of_queues(struct plan *p, const struct graph *g)
{
    struct plan_op *o = &p->ops[OP_IPC_POSIX];
    free_or_judged(p, g, OP_IPC_POSIX, "message queues");
    bool restricts = o->tier == TIER_JUDGED || !plan_set_is_free(p, SET_CREATES);
    if (o->tier == TIER_JUDGED)
        o->wall = "ipc namespace";
    if (p->ipc_ns || !restricts)
        return;
    o->tier = TIER_DENIED;
    o->wall = "filter";
    if (!o->refused)
        o->note = "permits less: message queues, for want of an ipc namespace";
}

static void tiers_of_ipc(struct plan *p, const struct graph *g)
{
    static const uint16_t shm[] = {OP_IPC_POSIX_SHM_READ_DATA, OP_IPC_POSIX_SHM_WRITE_CREATE,
                                   OP_IPC_POSIX_SHM_WRITE_DATA, OP_IPC_POSIX_SHM_WRITE_UNLINK};
    static const uint16_t sem[] = {OP_IPC_POSIX_SEM_CREATE, OP_IPC_POSIX_SEM_OPEN,
                                   OP_IPC_POSIX_SEM_UNLINK};
    tier_of_sysv(p, g, OP_IPC_SYSV_SHM);
    tier_of_sysv(p, g, OP_IPC_SYSV_SEM);
    tier_of_sysv(p, g, OP_IPC_SYSV_MSG);
    tier_of_queues(p, g);
    if (p->ops[OP_IPC_POSIX].tier == TIER_FREE && !p->ipc_ns)
        plan_note(p, "permits more: System V objects and message queues of others, for want of an "
                     "ipc namespace");
    tier_of_family(p, g, OP_IPC_POSIX_SHM, shm, sizeof(shm) / sizeof(shm[0]),
                   "objects are files in /dev/shm, and judged as such as well; reading one is "
                   "judged where reading is");
    tier_of_family(
        p, g, OP_IPC_POSIX_SEM, sem, sizeof(sem) / sizeof(sem[0]),
        "objects are files in /dev/shm, and judged as such as well; a process that has one open "
        "posts and waits unseen");
}

/* plan-net.c handles Internet and Unix sockets. */
static void tier_of_sockets(struct plan *p, const struct graph *g)
{
    struct plan_op *o = &p->ops[OP_SYSTEM_SOCKET];
    free_or_judged(p, g, OP_SYSTEM_SOCKET, NULL);
    if (o->tier != TIER_JUDGED || plan_may_widen(p))
        return;
    if (o->refused) {
        o->tier = TIER_DENIED;
        o->wall = "filter";
        o->note = "permits more: netlink, by which libraries ask for addresses and routes";
    }
}

/* Modifiers that Linux has no equivalent for. */
static void note_modifiers(struct plan *p, const struct graph *g, enum vocab_op op)
{
    enum { NO_SANDBOX = 8 };
    uint32_t entry = graph_entry(g, op);
    for (uint32_t i = 0; i <= entry; i++) {
        const struct graph_node *d = graph_node_at(g, i);
        bool leaves = d->kind == GRAPH_NODE_DECISION && d->allow && (d->flags & NO_SANDBOX);
        if (!leaves || d->rule >= graph_rule_count(g))
            continue;
        const struct graph_rule_info *r = graph_rule_at(g, d->rule);
        plan_note(p, "permits less: line %u: (with no-sandbox) is ignored, programs stay inside",
                  r->origin.line);
        return;
    }
}

/* Once a program runs, the process that executed it is no longer known. */
static void note_callers(struct plan *p, const struct graph *g)
{
    static const uint16_t about[] = {FILTER_PROCESS_PATH, FILTER_UID, FILTER_GID};
    for (size_t i = 0; i < sizeof(about) / sizeof(about[0]); i++)
        p->exec_by_caller |= plan_asks_about(p, g, OP_PROCESS_EXEC, about[i]) ||
                             plan_asks_about(p, g, OP_PROCESS_EXEC_INTERPRETER, about[i]);
    if (p->exec_by_caller)
        plan_note(
            p, "permits more: rules about the executing process apply at the call; a program that "
               "starts by a race continues");
}

/* Without rules about commands: no test of a command holds. */
static bool is_no_command(void *arg, const struct graph_test *t, bool *holds)
{
    (void)arg;
    *holds = false;
    return t->filter == FILTER_PROCESS_COMMAND;
}

/* Rules about commands. To know what a process was started as, every start is judged; to know whom
 * a process comes from, so is what would hide it (filter_prctl). */
static void note_commands(struct plan *p, const struct graph *g)
{
    static const uint16_t starts[] = {OP_PROCESS_EXEC, OP_PROCESS_EXEC_INTERPRETER};
    struct graph_commands all;
    graph_commands_find(g, &all);
    p->commands = p->commands_only = all.n != 0;
    p->commands_narrow = all.narrowing != 0;
    p->commands_many = all.n > GRAPH_COMMANDS;
    if (!p->commands)
        return;
    for (size_t i = 0; i < 2; i++) {
        p->commands_only &=
            plan_outcomes_where(p, g, starts[i], is_no_command, NULL) == OUTCOME_ALLOW;
        if (p->ops[starts[i]].tier == TIER_FREE)
            judge_op(p, g, starts[i], starts[i], "to know which command a process is");
    }
    p->commands_net = plan_asks_about(p, g, OP_NETWORK_OUTBOUND, FILTER_PROCESS_COMMAND);
}

void plan_process_tiers(struct plan *p, const struct graph *g)
{
    static const char code_note[] =
        "permits more: judged at the call; a program can replace the file descriptor meanwhile";
    bool scoped = p->host.landlock >= 6;
    tier_by_target(p, g, OP_SIGNAL, p->pid_ns ? "pid namespace" : scoped ? "Landlock" : NULL);
    tier_by_target(p, g, OP_SYSTEM_SCHED, p->pid_ns ? "pid namespace" : NULL);
    free_or_judged(p, g, OP_PROCESS_FORK, NULL);
    free_or_judged(p, g, OP_PROCESS_EXEC, NULL);
    free_or_judged(p, g, OP_PROCESS_EXEC_INTERPRETER, NULL);
    free_or_judged(p, g, OP_FILE_MAP_EXECUTABLE, code_note);
    free_or_judged(p, g, OP_DYNAMIC_CODE_GENERATION, NULL);
    note_modifiers(p, g, OP_PROCESS_EXEC);
    note_callers(p, g);
    note_commands(p, g);
    tiers_of_ipc(p, g);
    tier_of_sockets(p, g);
}

/* ---- the wall around programs ---- */

/* The kernel itself executes these for every program that names them, so they need the right too.
 * The judge denies starting them by name where the policy does. */
static const char *const loaders[][2] = {
    [PLAN_X86_64] = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"},
    [PLAN_ARM64] = {"/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-aarch64.so.1"},
    [PLAN_RISCV64] = {"/lib/ld-linux-riscv64-lp64d.so.1", "/lib/ld-musl-riscv64.so.1"},
};

bool plan_exec_wall(struct plan *p, const struct graph *g)
{
    static const uint16_t ops[] = {OP_PROCESS_EXEC, OP_PROCESS_EXEC_INTERPRETER};
    struct bound_path list[PLAN_WALLS / 4];
    size_t before = p->nwalls;
    bool fits = true, everywhere;
    for (size_t i = 0; fits && i < 2; i++) {
        if (p->ops[ops[i]].tier == TIER_FREE)
            return p->nwalls = before, false;
        size_t n =
            plan_bound(g, ops[i], list, sizeof(list) / sizeof(list[0]), &everywhere, &p->arena);
        fits = !everywhere;
        for (size_t j = 0; fits && j < n; j++)
            fits = plan_add_wall(p, &list[j], KABI_LL_EXECUTE) == 0;
    }
    for (size_t i = 0; fits && p->nwalls > before && i < 2; i++) {
        const char *path = loaders[p->opt.arch][i];
        struct bound_path b = {path, (uint32_t)strlen(path), true, GRAPH_NO_RULE, 0};
        fits = plan_add_wall(p, &b, KABI_LL_EXECUTE) == 0;
        if (fits && strcmp(p->walls[p->nwalls - 1].path, path) == 0)
            p->walls[p->nwalls - 1].loader = true;
    }
    if (!fits) {
        p->nwalls = before;
        p->ops[OP_PROCESS_EXEC].note =
            "no folder bounds what may be executed: what starts by a race is killed once it runs";
        return false;
    }
    p->ops[OP_PROCESS_EXEC].wall = p->ops[OP_PROCESS_EXEC_INTERPRETER].wall = "Landlock";
    return true;
}

/* Landlock treats a message queue as a file of its file system, wherever that is mounted. Without
 * this grant it would refuse to open the sandbox's own queues for writing. */
void plan_queue_wall(struct plan *p)
{
    static const struct bound_path queues = {"/dev/mqueue", 11, true, GRAPH_NO_RULE, 0};
    uint64_t rights = p->handled_fs & (KABI_LL_READ_FILE | KABI_LL_WRITE_FILE);
    const struct plan_op *o = &p->ops[OP_IPC_POSIX];
    if (rights && p->ipc_ns && p->mount_ns && !o->refused &&
        (o->tier == TIER_FREE || o->tier == TIER_JUDGED))
        plan_add_wall(p, &queues, rights);
}

/* A semaphore is a file in /dev/shm. A policy that allows it need not allow the file as such; which
 * files there are semaphores, the judge knows. */
void plan_semaphore_wall(struct plan *p, const struct graph *g)
{
    static const uint16_t ops[] = {OP_IPC_POSIX_SEM_CREATE, OP_IPC_POSIX_SEM_OPEN,
                                   OP_IPC_POSIX_SEM_UNLINK};
    static const struct bound_path folder = {"/dev/shm", 8, false, GRAPH_NO_RULE, 0};
    uint64_t rights = p->handled_fs & (KABI_LL_READ_FILE | KABI_LL_WRITE_FILE | KABI_LL_TRUNCATE |
                                       KABI_LL_MAKE_REG | KABI_LL_REMOVE_FILE);
    bool allowed = false;
    for (size_t i = 0; rights && i < sizeof(ops) / sizeof(ops[0]); i++)
        allowed |= plan_outcomes(p, g, ops[i], NULL, 0) != OUTCOME_DENY;
    if (allowed)
        plan_add_wall(p, &folder, rights);
}

/* ---- the filter ---- */

static const struct sys_action allow = {SYS_ALLOW, 0};

static struct sys_action refuse(int err)
{
    return (struct sys_action){SYS_ERRNO, (uint16_t)err};
}

/* Where everything is denied, the filter needs no judge, but then it reports nothing. */
struct sys_action plan_ask(const struct plan *p, unsigned set)
{
    bool refused = set >= SET_SIGNAL;
    if (set == SET_QUEUE && p->ops[OP_IPC_POSIX].tier == TIER_DENIED)
        return refuse(EPERM);
    for (size_t i = 0; i < SET_OPS && judged_sets[set][i] != OP_NONE; i++)
        refused &= p->ops[judged_sets[set][i]].refused;
    return (struct sys_action){SYS_NOTIFY, refused ? EPERM : 0};
}

static void add_test(struct sys_rule *r, uint8_t arg, enum sys_how how, uint32_t mask,
                     uint32_t value, struct sys_action then)
{
    r->tests[r->ntests++] = (struct sys_test){arg, (uint8_t)how, mask, value, then};
}

static bool asks(const struct plan *p, enum vocab_op op)
{
    return p->ops[op].tier == TIER_JUDGED;
}

/* Threads are not processes. An exiting process can send its parent any signal that it was created
 * with. */
void filter_clone_processes(const struct plan *p, struct sys_rule *r)
{
    if (asks(p, OP_SIGNAL))
        add_test(r, 0, SYS_EQUAL, CLONE_PARENT | CLONE_THREAD, CLONE_PARENT, refuse(EPERM));
    if (!asks(p, OP_PROCESS_FORK))
        return;
    add_test(r, 0, SYS_ANY, CLONE_THREAD, 0, allow);
    r->otherwise = plan_ask(p, SET_FORK);
}

/* The command shares the process group of the process that started it, and group 0 is the caller's
 * own. A namespace stops neither signals nor priorities there; Landlock stops signals. */
bool plan_own_group(const struct plan *p, const struct judged_call *c, struct sys_rule *r)
{
    bool kills = strcmp(c->name, "kill") == 0, nice = strcmp(c->name, "setpriority") == 0;
    bool walled = p->ops[judged_sets[c->set][0]].tier == TIER_WALLED;
    if (!walled || (!kills && !nice && strcmp(c->name, "ioprio_set") != 0) ||
        (kills && p->host.landlock >= 6))
        return false;
    r->otherwise = allow;
    if (kills) {
        add_test(r, 0, SYS_EQUAL, 0xffffffff, 0, (struct sys_action){SYS_NOTIFY, 0});
        return true;
    }
    add_test(r, 0, SYS_DIFFERS, 0xffffffff, nice ? PRIO_PGRP : 2 /* IOPRIO_WHO_PGRP */, allow);
    add_test(r, 1, SYS_EQUAL, 0xffffffff, 0, refuse(EPERM));
    return true;
}

/* What mmap() is judged for: code from files, and executable memory that has no file or is
 * writable. */
void filter_mmap(const struct plan *p, struct sys_rule *r)
{
    bool files = asks(p, OP_FILE_MAP_EXECUTABLE), code = asks(p, OP_DYNAMIC_CODE_GENERATION);
    struct sys_action ask = {SYS_NOTIFY, p->ops[OP_DYNAMIC_CODE_GENERATION].refused ? EPERM : 0};
    if (!files && !code)
        return;
    add_test(r, 2, SYS_EQUAL, PROT_EXEC, 0, allow);
    if (code)
        add_test(r, 2, SYS_ANY, PROT_WRITE, 0, ask);
    add_test(r, 3, SYS_ANY, MAP_ANONYMOUS, 0, code ? ask : allow);
    if (files)
        r->otherwise =
            (struct sys_action){SYS_NOTIFY, p->ops[OP_FILE_MAP_EXECUTABLE].refused ? EPERM : 0};
}

void filter_mprotect(const struct plan *p, struct sys_rule *r)
{
    if (!asks(p, OP_FILE_MAP_EXECUTABLE) && !asks(p, OP_DYNAMIC_CODE_GENERATION))
        return;
    add_test(r, 2, SYS_EQUAL, PROT_EXEC, 0, allow);
    r->otherwise =
        (struct sys_action){SYS_NOTIFY, p->ops[OP_DYNAMIC_CODE_GENERATION].refused ? EPERM : 0};
}

void filter_pkey_mprotect(const struct plan *p, struct sys_rule *r)
{
    filter_mprotect(p, r);
}

/* It can make everything that is readable executable. */
void filter_personality(const struct plan *p, struct sys_rule *r)
{
    if (!asks(p, OP_FILE_MAP_EXECUTABLE) && !asks(p, OP_DYNAMIC_CODE_GENERATION))
        return;
    add_test(r, 0, SYS_EQUAL, 0xffffffff, 0xffffffff, allow);
    add_test(r, 0, SYS_ANY, READ_IMPLIES_EXEC, 0, refuse(EPERM));
}

void filter_shmat(const struct plan *p, struct sys_rule *r)
{
    if (asks(p, OP_DYNAMIC_CODE_GENERATION))
        add_test(r, 2, SYS_ANY, SHM_EXEC, 0, refuse(EPERM));
    if (asks(p, OP_IPC_SYSV_SHM))
        r->otherwise = plan_ask(p, SET_SHM);
}

/* A file descriptor's owner gets a signal when something happens to it. The caller chooses the
 * signal and the owner. Arguments in memory are refused; those in a register are judged. */
void filter_fcntl(const struct plan *p, struct sys_rule *r)
{
    filter_fcntl_lock(p, r);
    filter_fcntl_lease(p, r);
    if (!asks(p, OP_SIGNAL))
        return;
    add_test(r, 1, SYS_EQUAL, 0xffffffff, F_SETOWN, plan_ask(p, SET_SIGNAL));
    add_test(r, 1, SYS_EQUAL, 0xffffffff, F_SETOWN_EX, refuse(EINVAL));
    add_test(r, 1, SYS_EQUAL, 0xffffffff, F_SETSIG, refuse(EPERM));
}

void filter_ioctl_owner(const struct plan *p, struct sys_rule *r)
{
    if (!asks(p, OP_SIGNAL))
        return;
    add_test(r, 1, SYS_EQUAL, 0xffffffff, KABI_FIOSETOWN, refuse(EPERM));
    add_test(r, 1, SYS_EQUAL, 0xffffffff, KABI_SIOCSPGRP, refuse(EPERM));
}

/* Its target is a file descriptor, which another thread can replace; and a signal sent by the judge
 * would not name its sender. Libraries fall back to kill(). */
void filter_pidfd_send_signal(const struct plan *p, struct sys_rule *r)
{
    if (asks(p, OP_SIGNAL))
        r->otherwise = refuse(ENOSYS);
}

/* The judge connects only TCP: other Internet protocols get no socket. */
static void filter_dialled(const struct plan *p, struct sys_rule *r)
{
    enum { APART = AF_INET ^ AF_INET6 };
    bool judged = p->ops[OP_SYSTEM_SOCKET].tier == TIER_JUDGED;
    struct sys_action make =
        p->makes_sockets || p->commands_net ? (struct sys_action){SYS_NOTIFY, 0} : allow;
    add_test(r, 0, SYS_EQUAL, 0xffffffff, AF_NETLINK,
             judged ? (struct sys_action){SYS_NOTIFY, 0} : make);
    r->tests[r->ntests++] = plan_is_datagram; /* of any family, which the judge inspects */
    add_test(r, 0, SYS_EQUAL, 0xffffffff, AF_UNIX, make);
    add_test(r, 0, SYS_DIFFERS, ~(uint32_t)APART, AF_INET & AF_INET6, refuse(EAFNOSUPPORT));
    add_test(r, 1, SYS_DIFFERS, 0xf, SOCK_STREAM, refuse(ESOCKTNOSUPPORT));
    add_test(r, 2, SYS_EQUAL, 0xffffffff, 0, make);
    add_test(r, 2, SYS_EQUAL, 0xffffffff, IPPROTO_TCP, make);
    r->otherwise = refuse(EPROTONOSUPPORT);
}

/* Unix datagram sockets take an address with every message, which is in memory. So they are judged
 * when they are created. Where the policy denies the network, families that bypass the network
 * namespace do not exist. */
void filter_socket(const struct plan *p, struct sys_rule *r)
{
    bool withheld = !plan_set_is_free(p, SET_SOCKETS);
    enum plan_tier tier = p->ops[OP_SYSTEM_SOCKET].tier;
    struct sys_action others = tier == TIER_JUDGED && !withheld ? (struct sys_action){SYS_NOTIFY, 0}
                                                                : refuse(EAFNOSUPPORT);
    if (!withheld && tier == TIER_FREE)
        return;
    if (p->dials) {
        filter_dialled(p, r);
        return;
    }
    struct sys_action ip = p->no_ip          ? refuse(EPERM)
                           : p->commands_net ? (struct sys_action){SYS_NOTIFY, 0}
                                             : allow;
    add_test(r, 0, SYS_EQUAL, 0xffffffff, AF_INET, ip);
    add_test(r, 0, SYS_EQUAL, 0xffffffff, AF_INET6, ip);
    add_test(r, 0, SYS_EQUAL, 0xffffffff, AF_NETLINK,
             tier == TIER_JUDGED || p->makes_sockets ? (struct sys_action){SYS_NOTIFY, 0} : allow);
    add_test(r, 0, SYS_DIFFERS, 0xffffffff, AF_UNIX, others);
    if (p->makes_sockets)
        r->otherwise = (struct sys_action){SYS_NOTIFY, 0};
    else if (withheld)
        r->tests[r->ntests++] = plan_is_datagram;
}
