/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Plans for file metadata, /proc, devices and the machine: the tiers, and what the filter does with
 * the calls. */

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <unistd.h>

#include "kernel-maker.h"
#include "kernel/plan/judged-calls.h"
#include "kernel/host/kabi.h"
#include "kernel/plan/plan-words.h"
#include "kernel/launch/kernel-files.h"

#define CLOSED "(version 1)(deny default)"
#define OPEN "(version 1)(allow default)(allow file-write-setugid)"
#define PATTERN "(regex #\"/secret$\")"

static const struct plan_options plain = {.arch = PLAN_X86_64, .accept_weaker = true};
static const struct plan_options strict = {
    .arch = PLAN_X86_64, .accept_weaker = true, .strict_reads = true};

/* ---- tiers ---- */

static void check_tiers(void)
{
    static const struct {
        const char *profile;
        enum vocab_op op;
        const char *host, *tier;
        const struct plan_options *opt;
    } rows[] = {
        /* no other process is visible */
        {OPEN "(deny process-info*)(allow process-info* (target same-sandbox))", OP_PROCESS_INFO,
         "", "walled", &plain},
        {OPEN "(deny process-info* (target others))(allow process-info* (target same-sandbox))",
         OP_PROCESS_INFO, "", "walled", &plain},
        {OPEN, OP_PROCESS_INFO, "", "free", &plain},
        /* the policy distinguishes processes */
        {OPEN "(deny process-info*)(allow process-info* (target self))", OP_PROCESS_INFO, "",
         "judged", &plain},
        {OPEN "(deny process-info-pidfdinfo)", OP_PROCESS_INFO, "", "judged", &plain},
        /* rules without a meaning on Linux change nothing */
        {OPEN "(deny process-info-codesignature)", OP_PROCESS_INFO, "", "free", &plain},
        /* without a namespace, judging every open would cost too much */
        {OPEN "(deny process-info*)(allow process-info* (target same-sandbox))", OP_PROCESS_INFO,
         "pid_ns=0", "absent", &plain},
        {OPEN "(deny process-info*)(allow process-info* (target same-sandbox))", OP_PROCESS_INFO,
         "pid_ns=0", "judged", &strict},
        {OPEN, OP_SYSCTL_READ, "", "free", &plain},
        {OPEN "(deny sysctl-read)", OP_SYSCTL_READ, "", "masked", &plain},
        {OPEN "(deny sysctl-read)", OP_SYSCTL_READ, "", "judged", &strict},
        {OPEN "(deny sysctl-read)", OP_SYSCTL_READ, "pid_ns=0", "absent", &plain},
        {OPEN "(deny sysctl-read (sysctl-name \"kernel.version\"))", OP_SYSCTL_READ, "", "judged",
         &plain},
        {OPEN "(deny sysctl-write)", OP_SYSCTL_WRITE, "", "judged", &plain},
        {OPEN "(deny pseudo-tty)", OP_PSEUDO_TTY, "", "judged", &plain},
        {OPEN, OP_FILE_IOCTL, "", "free", &plain},
        {CLOSED "(allow file-ioctl (subpath \"/dev/pts\"))", OP_FILE_IOCTL, "", "walled", &plain},
        {CLOSED "(allow file-ioctl (subpath \"/dev/pts\"))", OP_FILE_IOCTL, "landlock=4", "absent",
         &plain},
        {OPEN "(deny file-ioctl (literal \"/dev/null\"))", OP_FILE_IOCTL, "", "absent", &plain},
        {OPEN "(deny file-lock)", OP_FILE_LOCK, "", "denied", &plain},
        {OPEN "(deny file-lock (literal \"/a\"))", OP_FILE_LOCK, "", "absent", &plain},
        {OPEN "(deny file-clone)", OP_FILE_CLONE, "", "denied", &plain},
        /* whatever the policy allows */
        {OPEN, OP_FILE_CHROOT, "", "denied", &plain},
        {OPEN, OP_SYSTEM_REBOOT, "root=1", "denied", &plain},
        {CLOSED, OP_FILE_MOUNT, "", "denied", &plain},
        {OPEN "(deny file-read-metadata " PATTERN ")", OP_FILE_READ_METADATA, "", "judged", &plain},
        {OPEN "(deny file-read-xattr " PATTERN ")", OP_FILE_READ_XATTR, "", "judged", &plain},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OWN(planned) struct planned p;
        if (!ok(planned_make(&p, rows[i].profile, rows[i].opt, rows[i].host), "planned"))
            continue;
        const struct plan_op *o = &p.plan.ops[rows[i].op];
        is_str(plan_tier_word(o->tier), rows[i].tier, "%s", rows[i].profile);
        ok(o->tier != TIER_ABSENT || o->note, "%s: what is left open says why",
           vocab_ops[rows[i].op].name);
    }
}

/* ---- calls ---- */

enum { ASKS = 'n', PASSES = 'p' };

/* The filter's answer: n, p, or an errno. */
static int answer(const struct plan *p, const char *name, const uint64_t args[6])
{
    struct sock_filter prog[4096];
    struct bk_err err;
    size_t n;
    int nr = -1;
    for (size_t i = 0; i < judged_call_count; i++)
        if (strcmp(judged_calls[i].name, name) == 0)
            nr = judged_calls[i].nr[PLAN_X86_64];
    if (find_call(p, name))
        nr = find_call(p, name)->nr;
    if (nr < 0)
        return PASSES;
    if (bpf_assemble(p, prog, 4096, &n, &err) < 0)
        return -1;
    uint32_t got = bpf_simulate(prog, n, AUDIT_ARCH_X86_64, (uint32_t)nr, args);
    uint32_t action = got & SECCOMP_RET_ACTION_FULL;
    return action == SECCOMP_RET_ALLOW        ? PASSES
           : action == SECCOMP_RET_USER_NOTIF ? ASKS
                                              : (int)(got & SECCOMP_RET_DATA);
}

static void check_calls(void)
{
    static const char metadata[] = OPEN "(deny file-read-metadata " PATTERN ")";
    static const char existence[] = OPEN "(deny file-test-existence " PATTERN ")";
    static const char attributes[] = OPEN "(deny file-read-xattr " PATTERN ")";
    static const char data[] = OPEN "(deny file-read-data " PATTERN ")";
    static const char variables[] = OPEN "(deny sysctl-read (sysctl-name \"a.b\"))";
    static const char writing[] = OPEN "(deny sysctl-write)";
    static const char locks[] = OPEN "(deny file-lock file-clone)";
    static const char processes[] = OPEN "(deny process-info*)(allow process-info* (target self))";
    static const struct {
        const char *profile, *call;
        uint64_t args[6];
        int want;
    } rows[] = {
        /* allowed everywhere: not judged */
        {OPEN, "stat", {0}, PASSES},
        {OPEN, "fstat", {0}, PASSES},
        {OPEN, "access", {0, R_OK}, PASSES},
        {OPEN, "getxattr", {0}, PASSES},
        {OPEN, "openat", {0, 0, O_PATH}, PASSES},
        {OPEN, "inotify_add_watch", {0}, PASSES},
        {OPEN, "file_getattr", {0}, PASSES},
        /* one judged operation does not make another one judged */
        {metadata, "stat", {0}, ASKS},
        {metadata, "lstat", {0}, ASKS},
        {metadata, "fstat", {0}, ASKS},
        {metadata, "newfstatat", {0}, ASKS},
        {metadata, "statx", {0}, ASKS},
        {metadata, "statfs", {0}, ASKS},
        {metadata, "readlink", {0}, ASKS},
        {metadata, "readlinkat", {0}, ASKS},
        {metadata, "access", {0, F_OK}, PASSES},
        {metadata, "access", {0, W_OK}, ASKS},
        {metadata, "faccessat", {0, 0, X_OK}, ASKS},
        {metadata, "faccessat2", {0, 0, F_OK}, PASSES},
        {metadata, "openat", {0, 0, O_PATH | O_CLOEXEC}, ASKS},
        {metadata, "openat", {0, 0, O_RDONLY}, PASSES},
        {metadata, "openat", {0, 0, O_RDWR | O_CREAT}, PASSES},
        {metadata, "openat2", {0}, ENOSYS},
        {metadata, "file_getattr", {0}, ENOSYS},
        {metadata, "getxattr", {0}, PASSES},
        {metadata, "chdir", {0}, PASSES},
        {existence, "access", {0, F_OK}, ASKS},
        {existence, "access", {0, R_OK}, PASSES},
        {existence, "faccessat2", {0, 0, F_OK}, ASKS},
        {existence, "stat", {0}, PASSES},
        {attributes, "getxattr", {0}, ASKS},
        {attributes, "flistxattr", {0}, ASKS},
        {attributes, "getxattrat", {0}, ENOSYS},
        {attributes, "listxattrat", {0}, ENOSYS},
        {attributes, "stat", {0}, PASSES},
        {data, "inotify_add_watch", {0}, ASKS},
        {data, "openat", {0, 0, O_RDONLY}, ASKS},
        {data, "openat", {0, 0, O_PATH}, PASSES},
        {data, "stat", {0}, PASSES},
        /* only the path decides */
        {variables, "openat", {0, 0, O_RDONLY}, ASKS},
        {variables, "stat", {0}, PASSES},
        {writing, "openat", {0, 0, O_RDONLY}, PASSES},
        {writing, "openat", {0, 0, O_WRONLY}, ASKS},
        {processes, "openat", {0, 0, O_RDONLY}, ASKS},
        {processes, "stat", {0}, ASKS},
        {processes, "readlinkat", {0}, ASKS},
        {OPEN, "flock", {0}, PASSES},
        {locks, "flock", {0}, EPERM},
        {locks, "fcntl", {0, F_SETLK}, EPERM},
        {locks, "fcntl", {0, F_SETLKW}, EPERM},
        {locks, "fcntl", {0, F_GETFL}, PASSES},
        {locks, "ioctl", {0, KABI_FICLONE}, EOPNOTSUPP},
        {locks, "ioctl", {0, KABI_FICLONERANGE}, EOPNOTSUPP},
        {OPEN, "ioctl", {0, KABI_FICLONE}, PASSES},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OWN(planned) struct planned p;
        if (!ok(planned_make(&p, rows[i].profile, &plain, ""), "planned"))
            continue;
        is_int(answer(&p.plan, rows[i].call, rows[i].args), rows[i].want, "%s", rows[i].call);
    }
}

/* ---- seals ---- */

static bool is_read_only_file(const struct plan *p, const char *path)
{
    const char *names[32];
    size_t n = kernel_files_list(p, names, 32);
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], path) == 0)
            return true;
    return false;
}

static void check_read_only_files(void)
{
    OWN(planned) struct planned open, closed, person, some, bare;
    /* all of them, because all are denied */
    bool made = planned_make(&open, OPEN, &plain, "root=1");
    made = planned_make(&closed, CLOSED, &plain, "root=1") && made;
    made = planned_make(&person, CLOSED, &plain, "") && made;
    made = planned_make(&some, CLOSED "(allow sysctl-write (sysctl-name \"a.b\"))", &plain,
                        "root=1") &&
           made;
    made = planned_make(&bare, CLOSED, &plain, "root=1,mount_ns=0") && made;
    if (!ok(made, "planned"))
        return;
    ok(is_read_only_file(&open.plan, "/sys") &&
           is_read_only_file(&open.plan, "/proc/sysrq-trigger") &&
           is_read_only_file(&open.plan, "/proc/sys/kernel/core_pattern") &&
           !is_read_only_file(&open.plan, "/proc/sys"),
       "root may write variables, but none that runs programs");
    ok(is_read_only_file(&closed.plan, "/proc/sys"), "where none may be written all are read-only");
    ok(!is_read_only_file(&some.plan, "/proc/sys") &&
           is_read_only_file(&some.plan, "/proc/sys/kernel/core_pattern"),
       "where one may be, the judge decides about the others");
    ok(!is_read_only_file(&person.plan, "/proc/sys") && !is_read_only_file(&person.plan, "/sys"),
       "others cannot write them anyway");
    ok(!is_read_only_file(&bare.plan, "/sys"), "there is no sealing the host's own mounts");
}

int main(void)
{
    check_tiers();
    check_calls();
    check_read_only_files();
    return done_testing();
}
