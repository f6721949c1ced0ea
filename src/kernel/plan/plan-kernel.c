/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The part of the plan about the kernel's own objects: processes and variables in /proc, terminals,
 * devices, locks, and what affects the whole machine.
 *
 * Only the path shows whether a call is about one of these, and judging every open is the most
 * expensive thing Buckle does. So we prefer a wall: the pid namespace shows only processes of the
 * sandbox, and a mask hides /proc/sys where nothing there may be read. Opening for writing is cheap
 * to judge.
 */

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "kernel/host/kabi.h"
#include "command/capabilities.h"
#include "kernel/plan/judged-calls.h"
#include "kernel/plan/plan-int.h"

static bool is_free(struct plan *p, const struct graph *g, enum vocab_op op)
{
    return !p->opt.updatable && plan_outcomes(p, g, op, NULL, 0) == OUTCOME_ALLOW;
}

static struct plan_op *set_tier(struct plan *p, const struct graph *g, enum vocab_op op,
                                enum plan_tier tier, const char *wall, const char *note)
{
    p->ops[op] = (struct plan_op){
        .tier = (uint8_t)tier, .rule = plan_rule_against(g, op), .wall = wall, .note = note};
    return &p->ops[op];
}

static bool set_free(struct plan *p, const struct graph *g, enum vocab_op op)
{
    if (is_free(p, g, op))
        p->ops[op] = (struct plan_op){.tier = TIER_FREE, .rule = GRAPH_NO_RULE};
    return p->ops[op].tier == TIER_FREE;
}

/* Whether reading is judged anyway, so that judging this as well costs nothing. */
static bool reads_are_asked(const struct plan *p)
{
    return p->opt.updatable || p->opt.strict_reads ||
           (plan_is_asked(p->ops[OP_FILE_READ_DATA].tier) &&
            plan_is_asked(p->ops[OP_FILE_READ_METADATA].tier));
}

static const char costs[] =
    "only the path shows whether it applies, so each open and look waits for the judge: builds "
    "take about 1.3 times as long, find, grep -r and rg 3 to 5 times";

/* ---- processes ---- */

static void tier_of_processes(struct plan *p, const struct graph *g)
{
    static const uint16_t members[] = {OP_PROCESS_INFO_LISTPIDS, OP_PROCESS_INFO_PIDINFO,
                                       OP_PROCESS_INFO_PIDFDINFO, OP_PROCESS_INFO_RUSAGE,
                                       OP_PROCESS_INFO_SETCONTROL};
    enum vocab_op against = OP_NONE;
    bool among_us = true;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (is_free(p, g, members[i]))
            continue;
        against = members[i];
        among_us &= plan_outcomes(p, g, against, plan_among_us, PLAN_AMONG_US) == OUTCOME_ALLOW;
    }
    struct plan_op *o = &p->ops[OP_PROCESS_INFO];
    *o = (struct plan_op){.tier = TIER_FREE, .rule = GRAPH_NO_RULE};
    if (against == OP_NONE)
        return;
    o->rule = plan_rule_against(g, against);
    o->wall = p->pid_ns ? "pid namespace" : NULL;
    if (p->pid_ns && among_us && !p->opt.updatable) {
        o->tier = TIER_WALLED;
    } else if (reads_are_asked(p)) {
        o->tier = TIER_JUDGED;
    } else if (among_us) {
        o->tier = TIER_ABSENT;
        o->note =
            "without a pid namespace other processes of yours are visible as far as the kernel "
            "shows them to all processes";
        o->remedy = REMEDY_STRICT_READS_ASK;
    } else {
        o->tier = TIER_JUDGED;
        o->note = costs;
    }
}

/* ---- variables ---- */

static void tier_of_variables(struct plan *p, const struct graph *g)
{
    if (!set_free(p, g, OP_SYSCTL_WRITE))
        set_tier(p, g, OP_SYSCTL_WRITE, TIER_JUDGED, NULL, NULL);
    p->readonly_sysctl = plan_outcomes(p, g, OP_SYSCTL_WRITE, NULL, 0) == OUTCOME_DENY;
    if (set_free(p, g, OP_SYSCTL_READ))
        return;
    bool refused = plan_outcomes(p, g, OP_SYSCTL_READ, NULL, 0) == OUTCOME_DENY;
    if (reads_are_asked(p)) {
        set_tier(p, g, OP_SYSCTL_READ, TIER_JUDGED, NULL, NULL);
    } else if (!refused) {
        set_tier(p, g, OP_SYSCTL_READ, TIER_JUDGED, NULL, costs);
    } else if (p->pid_ns) {
        set_tier(p, g, OP_SYSCTL_READ, TIER_MASKED, NULL, "nothing is below /proc/sys");
        p->mask_sysctl = true;
    } else {
        set_tier(p, g, OP_SYSCTL_READ, TIER_ABSENT, NULL,
                 "without a /proc of its own the sandbox cannot mask /proc/sys")
            ->remedy = REMEDY_STRICT_READS_ASK;
    }
}

/* ---- devices and locks ---- */

static void tiers_of_devices(struct plan *p, const struct graph *g)
{
    if (!set_free(p, g, OP_PSEUDO_TTY))
        set_tier(p, g, OP_PSEUDO_TTY, TIER_JUDGED, NULL, NULL);
    if (!set_free(p, g, OP_FILE_IOCTL))
        set_tier(p, g, OP_FILE_IOCTL, TIER_ABSENT, NULL,
                 p->host.landlock < 5 ? "ioctl on devices can be denied from Linux 6.10 on"
                                      : "no folder bounds which devices accept ioctl");
    if (!set_free(p, g, OP_FILE_CLONE))
        set_tier(p, g, OP_FILE_CLONE, TIER_DENIED, "filter",
                 "whatever the path; programs copy instead");
    if (set_free(p, g, OP_FILE_LOCK))
        return;
    if (plan_outcomes(p, g, OP_FILE_LOCK, NULL, 0) == OUTCOME_DENY)
        set_tier(p, g, OP_FILE_LOCK, TIER_DENIED, "filter", NULL);
    else
        set_tier(
            p, g, OP_FILE_LOCK, TIER_ABSENT, NULL,
            "only a file descriptor shows which file is locked, and waiting for a lock may take "
            "for ever");
}

bool plan_device_wall(struct plan *p, const struct graph *g)
{
    struct bound_path list[PLAN_WALLS / 4];
    bool everywhere;
    struct plan_op *o = &p->ops[OP_FILE_IOCTL];
    if (o->tier != TIER_ABSENT || p->host.landlock < 5)
        return false;
    size_t n =
        plan_bound(g, OP_FILE_IOCTL, list, sizeof(list) / sizeof(list[0]), &everywhere, &p->arena);
    if (everywhere)
        return false;
    size_t before = p->nwalls;
    for (size_t i = 0; i < n; i++)
        if (plan_add_wall(p, &list[i], KABI_LL_IOCTL_DEV) < 0) {
            p->nwalls = before;
            return false;
        }
    o->tier = TIER_WALLED;
    o->wall = "Landlock";
    o->note = "devices that are opened inside; inherited ones, such as a terminal, are not "
              "affected";
    return true;
}

/* ---- the machine ---- */

/* Refused whatever the policy says, unless the user asked for the capability for it. */
static const struct {
    uint16_t op;
    const char *call;
} refused[] = {
    {OP_FILE_CHROOT, "chroot"},
    {OP_FILE_MOUNT, "mount"},
    {OP_FILE_MOUNT_UPDATE, "mount_setattr"},
    {OP_FILE_UNMOUNT, "umount2"},
    {OP_SYSTEM_ACCT, "acct"},
    {OP_SYSTEM_KEXT_LOAD, "init_module"},
    {OP_SYSTEM_KEXT_UNLOAD, "delete_module"},
    {OP_SYSTEM_NFSSVC, "nfsservctl"},
    {OP_SYSTEM_REBOOT, "reboot"},
    {OP_SYSTEM_SET_TIME, "settimeofday"},
    {OP_SYSTEM_SWAP, "swapon"},
};

static void tiers_of_machine(struct plan *p, const struct graph *g)
{
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        unsigned outcomes = plan_outcomes(p, g, refused[i].op, NULL, 0);
        if (caps_lift(p->opt.caps, refused[i].call)) {
            if (!set_free(p, g, refused[i].op))
                set_tier(p, g, refused[i].op, TIER_ABSENT, NULL,
                         "a capability that was asked for gives it to the command");
            continue;
        }
        bool less = outcomes != OUTCOME_DENY;
        p->ops[refused[i].op] = (struct plan_op){
            .tier = TIER_DENIED,
            .rule = less ? GRAPH_NO_RULE : plan_rule_against(g, refused[i].op),
            .wall = "filter",
            .note = less ? "permits less: refused whatever the policy says" : NULL};
    }
}

void plan_kernel_tiers(struct plan *p, const struct graph *g)
{
    tier_of_processes(p, g);
    tier_of_variables(p, g);
    tiers_of_devices(p, g);
    tiers_of_machine(p, g);
}

/* ---- the filter ---- */

static bool is_denied(const struct plan *p, enum vocab_op op)
{
    return p->ops[op].tier == TIER_DENIED;
}

void filter_ioctl_clone(const struct plan *p, struct sys_rule *r)
{
    static const uint32_t clones[] = {KABI_FICLONE, KABI_FICLONERANGE};
    struct sys_action then = {is_denied(p, OP_FILE_CLONE) ? SYS_ERRNO : SYS_ALLOW,
                              is_denied(p, OP_FILE_CLONE) ? EOPNOTSUPP : 0};
    for (size_t i = 0; i < 2; i++)
        r->tests[r->ntests++] = (struct sys_test){1, SYS_EQUAL, 0xffffffff, clones[i], then};
}

void filter_fcntl_lock(const struct plan *p, struct sys_rule *r)
{
    static const uint32_t locks[] = {F_SETLK, F_SETLKW, 37 /* F_OFD_SETLK */, 38 /* …LKW */};
    for (size_t i = 0; is_denied(p, OP_FILE_LOCK) && i < 4; i++)
        r->tests[r->ntests++] =
            (struct sys_test){1, SYS_EQUAL, 0xffffffff, locks[i], {SYS_ERRNO, EPERM}};
}

void filter_flock(const struct plan *p, struct sys_rule *r)
{
    if (is_denied(p, OP_FILE_LOCK))
        r->otherwise = (struct sys_action){SYS_ERRNO, EPERM};
}
