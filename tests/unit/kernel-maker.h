/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TESTS_KERNEL_MAKER_H
#define BK_TESTS_KERNEL_MAKER_H

/* Profiles and hosts for the tests of the planner: a text becomes a graph, and that a plan. */

#include "kernel/plan/plan.h"
#include "sbpl-maker.h"

/* A host that can do everything, as an ordinary user; `changes` as host_pretend() takes them. */
static inline struct host make_host(const char *changes)
{
    static const char everything[] =
        "root=0,landlock=7,seccomp_notify=1,notify_addfd=1,notify_killable=1,notify_sync=1,"
        "listener_taken=0,read_memory=1,pidfd_getfd=1,user_ns=1,mount_ns=1,nodev=1,disks=1,pid_ns="
        "1,"
        "mount_proc=1,net_ns=1,ipc_ns=1,uts_ns=1,fuse=1,nftables=1,nft_tproxy=1,cgroup=1,kernel=6."
        "18.0";
    struct host h = {0};
    struct bk_err err;
    if (host_pretend(&h, everything, &err) < 0 || host_pretend(&h, changes, &err) < 0)
        printf("Bail out! host: %s\n", err.msg);
    return h;
}

struct planned {
    struct program program;
    struct plan plan;
    bool made;
    struct bk_err err;
};

static inline void planned_close(struct planned *p)
{
    if (p->made)
        plan_free(&p->plan);
    program_close(&p->program);
}
#define OWN_planned planned_close

static inline bool planned_make(struct planned *p, const char *profile,
                                const struct plan_options *opt, const char *changes)
{
    struct host h = make_host(changes);
    memset(p, 0, sizeof(*p));
    if (!program_load(&p->program, profile, &sbpl_any)) {
        printf("Bail out! %s: %s\n", profile, p->program.err.msg);
        return false;
    }
    p->made = plan_make(p->program.graph, opt, &h, &p->plan, &p->err) == 0;
    return p->made;
}

static inline const struct sys_rule *find_call(const struct plan *p, const char *name)
{
    for (size_t i = 0; i < p->ncalls; i++)
        if (strcmp(p->calls[i].name, name) == 0)
            return &p->calls[i];
    return NULL;
}

static inline const char *tier_of(const struct plan *p, enum vocab_op op)
{
    static const char *const names[] = {"free",   "judged", "walled", "sentry",
                                        "masked", "denied", "absent"};
    return names[p->ops[op].tier];
}

#endif
