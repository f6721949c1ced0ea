/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Rules for ioctl() and fcntl(): numbers that change files, terminals or signal targets. */

#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>

#include "kernel/host/kabi.h"
#include "kernel/plan/judged-calls.h"
#include "kernel/plan/plan-int.h"

enum { TYPE = 0xff00 };

static const struct sys_test families[] = {
#define PASS                                                                                       \
    {                                                                                              \
        SYS_ALLOW, 0                                                                               \
    }
#define ASKS(number) {1, SYS_EQUAL, 0xffffffff, number, PASS},
#define FILES(type, whose) {1, SYS_EQUAL, TYPE, (type) << 8, {SYS_NOTIFY, ENOTTY}},
#define DEVICES(type, whose) {1, SYS_EQUAL, TYPE, (type) << 8, PASS},
#include "kernel/plan/ioctls.def"
};

bool plan_ioctl_is_of_files(uint32_t request)
{
    static const uint8_t types[] = {
#define ASKS(number)
#define FILES(type, whose) type,
#define DEVICES(type, whose)
#include "kernel/plan/ioctls.def"
    };
    for (size_t i = 0; i < sizeof(types); i++)
        if ((request & TYPE) >> 8 == types[i])
            return true;
    return false;
}

static void add_test(struct sys_rule *r, uint32_t mask, uint32_t value, struct sys_action then)
{
    r->tests[r->ntests++] = (struct sys_test){1, SYS_EQUAL, mask, value, then};
}

static bool restricts_writing(const struct plan *p)
{
    return !plan_set_is_free(p, SET_FLAGS) || !plan_set_is_free(p, SET_DATA) ||
           !plan_set_is_free(p, SET_CREATES);
}

/* btrfs creates and removes whole subvolumes, which is refused under any policy. Sharing blocks
 * between files needs a writable file descriptor, except for files that are equal already. */
void filter_ioctl(const struct plan *p, struct sys_rule *r)
{
    static const struct sys_action pass = {SYS_ALLOW, 0}, ask = {SYS_NOTIFY, 0},
                                   refuse = {SYS_ERRNO, EPERM}, reported = {SYS_NOTIFY, EPERM};
    const uint32_t all = 0xffffffff;
    add_test(r, all, KABI_TIOCSTI, refuse);
    add_test(r, all, KABI_TIOCLINUX, refuse);
    if (p->judge)
        add_test(r, all, KABI_TIOCSPGRP, reported);
    add_test(r, TYPE, 'T' << 8, pass);
    filter_ioctl_owner(p, r);
    add_test(r, TYPE, 0x89 << 8, pass);
    filter_ioctl_clone(p, r);
    if (!restricts_writing(p)) {
        add_test(r, all, KABI_FIDEDUPERANGE, pass);
        add_test(r, TYPE, KABI_BTRFS_TYPE, refuse);
        return;
    }
    add_test(r, all, KABI_FS_IOC_SETFLAGS, ask);
    add_test(r, all, KABI_FS_IOC_FSSETXATTR, ask);
    r->more = families;
    r->nmore = sizeof(families) / sizeof(families[0]);
    r->otherwise = ask;
}

/* A lease or a delegation makes other processes that open the file wait for its holder. That
 * includes outside processes that want to write what the command may only read. */
void filter_fcntl_lease(const struct plan *p, struct sys_rule *r)
{
    static const uint32_t leases[] = {KABI_F_SETLEASE, KABI_F_SETDELEG};
    for (size_t i = 0; restricts_writing(p) && i < 2; i++)
        add_test(r, 0xffffffff, leases[i], (struct sys_action){SYS_NOTIFY, EPERM});
}
