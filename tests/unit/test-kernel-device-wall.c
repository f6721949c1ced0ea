/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Device files: when a wall closes them, and what it leaves open. Also the filter's treatment of
 * calls whose arguments matter more than their names. */

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "kernel-maker.h"
#include "kernel/host/kabi.h"

static const struct plan_options plain = {.arch = PLAN_X86_64};
static const struct plan_options strict = {.arch = PLAN_X86_64, .strict_reads = true};
static const struct plan_options later = {.arch = PLAN_X86_64, .updatable = true};
static const struct plan_options dumps = {.arch = PLAN_X86_64, .core_dumps = true};
static const struct plan_options weaker = {.arch = PLAN_X86_64, .accept_weaker = true};

#define OPEN "(version 1)(allow default)"
#define DISKS OPEN "(deny file-read-data (vnode-type BLOCK-DEVICE))"
#define LISTED                                                                                     \
    DISKS "(deny file-read-data (require-all (vnode-type CHARACTER-DEVICE)"                        \
          " (require-not (literal \"/dev/null\") (subpath \"/dev/dri\") (literal \"/x/y\"))))"
#define SECRET "(deny file-read-data (subpath \"/secret\"))"

/* ---- the wall ---- */

static void check_wall(void)
{
    static const struct {
        const char *what, *profile;
        const struct plan_options *opt;
        const char *host, *tier;
        bool wall, scan;
        size_t devices, sentries;
    } rows[] = {
        {"no rule about devices", OPEN, &plain, "", "free", false, false, 0, 0},
        {"a folder", OPEN SECRET, &plain, "", "sentry", false, false, 0, 1},
        {"disks", DISKS, &plain, "", "free", true, true, 0, 0},
        {"disks and a folder", DISKS SECRET, &plain, "", "sentry", true, true, 0, 1},
        {"all but some", LISTED, &plain, "", "free", true, false, 2, 0},
        {"all but some, and a folder", LISTED SECRET, &plain, "", "sentry", true, false, 2, 1},
        {"another type", OPEN "(deny file-read-data (vnode-type FIFO))", &plain, "", "judged",
         false, false, 0, 0},
        {"no mount namespace", LISTED, &weaker, "mount_ns=0", "judged", false, false, 0, 0},
        {"an old kernel", LISTED, &plain, "nodev=0", "judged", false, false, 0, 0},
        {"no disk to be read", LISTED, &weaker, "mount_ns=0,disks=0", "free", false, false, 0, 0},
        {"no disk, but a folder", LISTED SECRET, &weaker, "mount_ns=0,disks=0", "judged", false,
         false, 0, 0},
        {"a disk that a wall closes", LISTED, &plain, "disks=0", "free", true, false, 2, 0},
        {"--strict-reads", LISTED, &strict, "", "judged", false, false, 0, 0},
        {"--updatable", LISTED, &later, "", "judged", false, false, 0, 0},
        {"a pattern", LISTED "(deny file-read-data (regex #\"/\\.env$\"))", &plain, "", "judged",
         false, false, 0, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OWN(planned) struct planned p;
        if (!ok(planned_make(&p, rows[i].profile, rows[i].opt, rows[i].host), "planned: %s",
                rows[i].what))
            continue;
        is_str(tier_of(&p.plan, OP_FILE_READ_DATA), rows[i].tier, "reading");
        is_int(p.plan.device_wall, rows[i].wall, "a wall");
        is_int(p.plan.device_scan, rows[i].scan, "whether /dev is looked at");
        is_int((intmax_t)p.plan.ndevices, (intmax_t)rows[i].devices, "what is left open");
        is_int((intmax_t)p.plan.nsentries, (intmax_t)rows[i].sentries, "what is guarded");
    }
}

static void check_waits(void)
{
    OWN(planned) struct planned now, same, more;
    bool made = planned_make(&now, LISTED, &plain, "");
    made = planned_make(&same, LISTED, &plain, "") && made;
    made =
        planned_make(&more, LISTED "(allow file-read-data (literal \"/dev/kvm\"))", &plain, "") &&
        made;
    OWN(buf) struct buf out = {0};
    if (!ok(made, "planned"))
        return;
    is_int((intmax_t)plan_waits(&now.plan, &same.plan, &out), 0, "nothing waits");
    is_int((intmax_t)plan_waits(&now.plan, &more.plan, &out), 1, "another device does");
}

/* ---- the filter ---- */

enum { PASSES = -1, ASKS = -2, PROGRAM = 4096 };

static int answer(const struct plan *p, int nr, const uint64_t args[6])
{
    struct sock_filter prog[PROGRAM];
    struct bk_err err;
    size_t n;
    if (bpf_assemble(p, prog, PROGRAM, &n, &err) < 0)
        return -3;
    uint32_t got = bpf_simulate(prog, n, AUDIT_ARCH_X86_64, (uint32_t)nr, args);
    if (got == SECCOMP_RET_ALLOW)
        return PASSES;
    return got == SECCOMP_RET_USER_NOTIF ? ASKS : (int)(got & SECCOMP_RET_DATA);
}

enum { OPENAT = 257, CREAT = 85, MKNOD = 133, MKNODAT = 259, IOCTL = 16, FCNTL = 72 };
enum { RENAMEAT2 = 316, SETRLIMIT = 160, PRLIMIT = 302, OPENAT2 = 437 };

#define CLOSED "(version 1)(deny default)(allow file-read*)(allow process*)"
#define MAKES (O_CREAT | O_RDWR)
#define HIGH (UINT64_C(1) << 36)

static void check_calls(void)
{
    static const struct {
        const char *profile, *host;
        const struct plan_options *opt;
        int call;
        uint64_t args[6];
        int want;
    } rows[] = {
        /* where creating files is free, set-id bits are not */
        {OPEN, "", &plain, OPENAT, {0, 0, MAKES, 0755}, PASSES},
        {OPEN, "", &plain, OPENAT, {0, 0, MAKES, 04755}, ASKS},
        {OPEN, "", &plain, OPENAT, {0, 0, O_TMPFILE | O_RDWR, 02755}, ASKS},
        {OPEN, "", &plain, OPENAT, {0, 0, O_RDONLY, 06000}, PASSES},
        {OPEN, "", &plain, OPENAT, {0, 0, O_RDONLY | O_DIRECTORY, 06000}, PASSES},
        {OPEN, "", &plain, CREAT, {0, 04755}, ASKS},
        {OPEN, "", &plain, MKNOD, {0, S_IFREG | 04755}, ASKS},
        {OPEN, "", &plain, MKNODAT, {0, 0, 02755}, ASKS},
        {OPEN, "", &plain, MKNODAT, {0, 0, S_IFIFO | 0755}, PASSES},
        {OPEN, "", &plain, OPENAT2, {0}, ENOSYS},
        {OPEN "(allow file-write-setugid)", "", &plain, OPENAT, {0, 0, MAKES, 04755}, PASSES},
        {OPEN "(allow file-write-setugid)", "", &plain, OPENAT2, {0}, PASSES},
        /* a whiteout device that a rename leaves */
        {OPEN, "", &plain, RENAMEAT2, {0, 0, 0, 0, 4}, PASSES},
        {OPEN "(deny file-mknod)", "", &plain, RENAMEAT2, {0, 0, 0, 0, 4}, ASKS},
        {OPEN "(deny file-mknod)", "", &plain, RENAMEAT2, {0, 0, 0, 0, 1}, PASSES},
        {CLOSED, "seccomp_notify=0", &weaker, RENAMEAT2, {0, 0, 0, 0, 4}, EPERM},
        /* ioctl on devices */
        {CLOSED, "", &plain, IOCTL, {0, 0x5401}, PASSES},
        {CLOSED, "", &plain, IOCTL, {0, 0x5401 | HIGH}, PASSES},
        {CLOSED, "", &plain, IOCTL, {0, KABI_TIOCSTI}, EPERM},
        {CLOSED, "", &plain, IOCTL, {0, KABI_TIOCSPGRP}, ASKS},
        {CLOSED, "seccomp_notify=0", &weaker, IOCTL, {0, KABI_TIOCSPGRP}, EPERM},
        {CLOSED, "", &plain, IOCTL, {0, 0x8913 /* SIOCGIFFLAGS */}, PASSES},
        {CLOSED, "", &plain, IOCTL, {0, _IOR('f', 1, long)}, PASSES},
        {CLOSED, "", &plain, IOCTL, {0, _IOW('f', 2, long)}, ASKS},
        {CLOSED, "", &plain, IOCTL, {0, _IO('f', 9)}, ASKS},
        {CLOSED, "", &plain, IOCTL, {0, _IO('f', 9) | HIGH}, ASKS},
        {CLOSED, "", &plain, IOCTL, {0, _IOW('r', 0x11, int)}, ASKS},
        {CLOSED, "", &plain, IOCTL, {0, 0x5000940e}, ASKS},
        {CLOSED, "", &plain, IOCTL, {0, KABI_FIDEDUPERANGE}, ASKS},
        {CLOSED, "", &plain, IOCTL, {0, 0xae80 /* KVM_RUN */}, PASSES},
        {CLOSED, "", &plain, IOCTL, {0, 0x4004db07}, ASKS},
        {CLOSED, "seccomp_notify=0", &weaker, IOCTL, {0, _IO('f', 9)}, ENOTTY},
        {OPEN, "", &plain, IOCTL, {0, _IO('f', 9)}, PASSES},
        {OPEN, "", &plain, IOCTL, {0, 0x5000940e}, EPERM},
        /* leases */
        {CLOSED, "", &plain, FCNTL, {0, 1024}, ASKS},
        {CLOSED, "", &plain, FCNTL, {0, 1040}, ASKS},
        {CLOSED, "", &plain, FCNTL, {0, 1025}, PASSES},
        {OPEN, "", &plain, FCNTL, {0, 1024}, PASSES},
        /* core dumps: the limit can be read but not set, whatever the address */
        {OPEN, "", &plain, SETRLIMIT, {RLIMIT_CORE}, 0},
        {OPEN, "", &plain, SETRLIMIT, {RLIMIT_CORE | HIGH}, 0},
        {OPEN, "", &plain, SETRLIMIT, {RLIMIT_NOFILE}, PASSES},
        {OPEN, "", &plain, PRLIMIT, {0, RLIMIT_CORE, 4096}, 0},
        {OPEN, "", &plain, PRLIMIT, {0, RLIMIT_CORE, HIGH}, 0},
        {OPEN, "", &plain, PRLIMIT, {0, RLIMIT_CORE, 0, 4096}, PASSES},
        {OPEN, "", &plain, PRLIMIT, {0, RLIMIT_NOFILE, 4096}, PASSES},
        {OPEN, "", &dumps, PRLIMIT, {0, RLIMIT_CORE, 4096}, PASSES},
        {OPEN, "", &dumps, SETRLIMIT, {RLIMIT_CORE}, PASSES},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OWN(planned) struct planned p;
        if (!ok(planned_make(&p, rows[i].profile, rows[i].opt, rows[i].host), "planned"))
            continue;
        is_int(answer(&p.plan, rows[i].call, rows[i].args), rows[i].want, "row %zu: call %d", i,
               rows[i].call);
    }
}

int main(void)
{
    check_wall();
    check_waits();
    check_calls();
    return done_testing();
}
