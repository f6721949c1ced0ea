/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The plan for processes: which rules cost nothing, which are judged, and the filter's treatment of
 * the calls' arguments. */

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>

#include "kernel-maker.h"
#include "kernel/plan/judged-calls.h"
#include "kernel/host/kabi.h"

#define CLOSED "(version 1)(deny default)"
#define OPEN "(version 1)(allow default)(allow file-write-setugid)"

static const struct plan_options x86 = {.arch = PLAN_X86_64};
static const struct plan_options weaker = {.arch = PLAN_X86_64, .accept_weaker = true};

/* ---- tiers ---- */

static void check_tiers(void)
{
    static const struct {
        const char *profile;
        enum vocab_op op;
        const char *host, *tier, *wall;
    } rows[] = {
        /* only members of the sandbox can be reached: what they may do to each other is free */
        {CLOSED "(allow signal (target same-sandbox))", OP_SIGNAL, "", "walled", "pid namespace"},
        {CLOSED "(allow signal (target self))(allow signal (target same-sandbox))", OP_SIGNAL, "",
         "walled", "pid namespace"},
        {CLOSED "(allow signal (target same-sandbox))(deny signal (target initproc))", OP_SIGNAL,
         "", "walled", "pid namespace"},
        {CLOSED "(allow signal (target same-sandbox))", OP_SIGNAL, "pid_ns=0", "walled",
         "Landlock"},
        {CLOSED "(allow signal)", OP_SIGNAL, "", "free", NULL},
        /* and what distinguishes them is not */
        {CLOSED "(allow signal (target children))", OP_SIGNAL, "", "judged", "pid namespace"},
        {CLOSED "(allow signal (target same-sandbox))(deny signal (target others))", OP_SIGNAL, "",
         "judged", "pid namespace"},
        {CLOSED "(allow signal (target same-sandbox))(deny signal (signal-number SIGKILL))",
         OP_SIGNAL, "", "judged", "pid namespace"},
        {CLOSED "(allow signal (target same-sandbox) (with report))", OP_SIGNAL, "", "judged",
         "pid namespace"},
        {CLOSED, OP_SIGNAL, "", "judged", "pid namespace"},
        {CLOSED "(allow system-sched (target same-sandbox))", OP_SYSTEM_SCHED, "", "walled",
         "pid namespace"},
        {CLOSED "(allow system-sched (target same-sandbox))", OP_SYSTEM_SCHED, "pid_ns=0", "judged",
         NULL},
        /* programs */
        {CLOSED "(allow process-exec (subpath \"/usr/bin\"))", OP_PROCESS_EXEC, "", "judged",
         "Landlock"},
        {CLOSED "(allow process-exec)", OP_PROCESS_EXEC, "", "free", NULL},
        {CLOSED "(allow process-exec (subpath \"/usr/bin\"))(allow process-exec-interpreter)",
         OP_PROCESS_EXEC, "", "judged", NULL},
        {OPEN "(deny process-exec (literal \"/usr/bin/sudo\"))", OP_PROCESS_EXEC, "", "judged",
         NULL},
        {OPEN "(allow process-exec (with no-sandbox))", OP_PROCESS_EXEC, "", "free", NULL},
        {CLOSED "(allow process-exec (subpath \"/usr/bin\"))", OP_PROCESS_EXEC, "landlock=0",
         "judged", NULL},
        {CLOSED "(allow process-exec (subpath \"/usr/bin\"))", OP_PROCESS_EXEC, "seccomp_notify=0",
         "walled", "Landlock"},
        {OPEN "(deny process-exec (literal \"/usr/bin/sudo\"))", OP_PROCESS_EXEC,
         "seccomp_notify=0", "absent", NULL},
        {OPEN "(deny process-fork)", OP_PROCESS_FORK, "", "judged", NULL},
        {OPEN "(deny process-fork)", OP_PROCESS_FORK, "seccomp_notify=0", "denied", "filter"},
        {OPEN "(deny process-fork (uid 5))", OP_PROCESS_FORK, "seccomp_notify=0", "absent", NULL},
        {OPEN "(deny file-map-executable (subpath \"/home\"))", OP_FILE_MAP_EXECUTABLE, "",
         "judged", NULL},
        {OPEN "(deny dynamic-code-generation)", OP_DYNAMIC_CODE_GENERATION, "", "judged", NULL},
        /* objects */
        {OPEN "(deny ipc-sysv-shm)", OP_IPC_SYSV_SHM, "", "judged", NULL},
        {OPEN "(deny ipc-sysv-shm)", OP_IPC_SYSV_SEM, "", "free", NULL},
        {OPEN, OP_IPC_SYSV_SHM, "ipc_ns=0", "free", NULL},
        {OPEN "(deny file-write*)", OP_IPC_SYSV_SHM, "ipc_ns=0", "judged", NULL},
        {OPEN "(deny file-write*)", OP_IPC_SYSV_MSG, "", "free", NULL},
        {OPEN "(deny file-write*)", OP_IPC_POSIX, "ipc_ns=0", "denied", "filter"},
        {OPEN "(deny ipc-posix-sem-unlink)", OP_IPC_POSIX_SEM, "", "judged", NULL},
        {OPEN "(deny ipc-posix-sem-unlink)", OP_IPC_POSIX_SHM, "", "free", NULL},
        {OPEN "(deny ipc-posix*)", OP_IPC_POSIX, "", "judged", "ipc namespace"},
        {OPEN "(deny ipc-posix* (ipc-posix-name \"/a\"))", OP_IPC_POSIX, "ipc_ns=0", "denied",
         "filter"},
        {CLOSED, OP_SYSTEM_SOCKET, "", "denied", "filter"},
        {CLOSED "(allow system-socket (socket-domain AF_ROUTE))", OP_SYSTEM_SOCKET, "", "judged",
         NULL},
        {OPEN, OP_SYSTEM_SOCKET, "", "free", NULL},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OWN(planned) struct planned p;
        if (!ok(planned_make(&p, rows[i].profile, &weaker, rows[i].host), "planned"))
            continue;
        const char *wall = p.plan.ops[rows[i].op].wall;
        is_str(tier_of(&p.plan, rows[i].op), rows[i].tier, "%s: %s %s", vocab_ops[rows[i].op].name,
               rows[i].profile, rows[i].host);
        is_str(wall ? wall : "none", rows[i].wall ? rows[i].wall : "none", "its wall");
    }
}

/* ---- the filter ---- */

enum { ASK = SECCOMP_RET_USER_NOTIF, PASS = SECCOMP_RET_ALLOW, NOWHERE = -1 };

static uint32_t refused(int err)
{
    return SECCOMP_RET_ERRNO | (uint32_t)err;
}

static uint32_t filter_result(const struct plan *p, int nr, const uint64_t args[6])
{
    static struct sock_filter prog[4096];
    struct bk_err err;
    size_t n;
    if (bpf_assemble(p, prog, 4096, &n, &err) < 0)
        return 0;
    return bpf_simulate(prog, n, AUDIT_ARCH_X86_64, (uint32_t)nr, args);
}

/* Numbers are x86-64's, whatever this runs on. */
enum {
    MMAP = 9,
    MPROTECT = 10,
    SHMAT = 30,
    SOCKET = 41,
    CLONE = 56,
    FORK = 57,
    VFORK = 58,
    EXECVE = 59,
    KILL = 62,
    FCNTL = 72,
    PERSONALITY = 135,
    SETPRIORITY = 141,
    IOPRIO_SET = 251,
    PIDFD_SEND_SIGNAL = 424,
    CLONE3 = 435,
};

static void check_arguments(void)
{
    static const char fork[] = OPEN "(deny process-fork)";
    static const char sig[] = OPEN "(deny signal (target others))";
    static const char map[] = OPEN "(deny file-map-executable (subpath \"/home\"))";
    static const char code[] = OPEN "(deny dynamic-code-generation)";
    static const char sock[] = OPEN "(deny system-socket)(allow system-socket (socket-type 3))";
    static const char none[] = OPEN;
    const struct {
        const char *profile;
        int nr;
        uint64_t args[6];
        uint32_t want;
    } rows[] = {
        {fork, CLONE, {SIGCHLD}, ASK},
        {fork, CLONE, {CLONE_VM | CLONE_VFORK | SIGCHLD}, ASK},
        {fork, CLONE, {CLONE_VM | CLONE_SIGHAND | CLONE_THREAD}, PASS},
        {fork, CLONE, {CLONE_NEWNET | CLONE_THREAD}, refused(EPERM)},
        {fork, FORK, {0}, ASK},
        {fork, VFORK, {0}, ASK},
        {fork, EXECVE, {0}, PASS},
        {none, CLONE, {SIGCHLD}, PASS},
        {none, FORK, {0}, PASS},
        {sig, KILL, {1, 9}, ASK},
        {none, KILL, {1, 9}, PASS},
        {sig, PIDFD_SEND_SIGNAL, {0}, refused(ENOSYS)},
        {none, PIDFD_SEND_SIGNAL, {0}, PASS},
        {sig, FCNTL, {0, F_SETOWN, 1}, ASK},
        {sig, FCNTL, {0, F_SETOWN_EX, 1}, refused(EINVAL)},
        {sig, FCNTL, {0, F_SETSIG, 9}, refused(EPERM)},
        {sig, FCNTL, {0, F_SETFL, 0}, PASS},
        {sig, CLONE, {CLONE_PARENT | SIGKILL}, refused(EPERM)},
        {sig, CLONE, {CLONE_PARENT | CLONE_THREAD | CLONE_VM | CLONE_SIGHAND}, PASS},
        {map, MMAP, {0, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, 3}, ASK},
        {map, MMAP, {0, 1, PROT_READ, MAP_PRIVATE, 3}, PASS},
        {map, MMAP, {0, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS}, PASS},
        {map, MPROTECT, {0, 1, PROT_READ | PROT_EXEC}, ASK},
        {map, MPROTECT, {0, 1, PROT_READ | PROT_WRITE}, PASS},
        {map, PERSONALITY, {READ_IMPLIES_EXEC}, refused(EPERM)},
        {map, PERSONALITY, {0xffffffff}, PASS},
        {map, PERSONALITY, {ADDR_NO_RANDOMIZE}, PASS},
        {code, MMAP, {0, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, 3}, PASS},
        {code, MMAP, {0, 1, PROT_WRITE | PROT_EXEC, MAP_SHARED, 3}, ASK},
        {code, MMAP, {0, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS}, ASK},
        {code, MMAP, {0, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS}, PASS},
        {code, SHMAT, {0, 0, SHM_EXEC}, refused(EPERM)},
        {code, SHMAT, {0, 0, 0}, PASS},
        {none, MMAP, {0, 1, PROT_WRITE | PROT_EXEC, MAP_SHARED, 3}, PASS},
        {none, PERSONALITY, {READ_IMPLIES_EXEC}, PASS},
        {sock, SOCKET, {AF_VSOCK, SOCK_STREAM}, ASK},
        {sock, SOCKET, {AF_NETLINK, SOCK_RAW}, ASK},
        {sock, SOCKET, {AF_INET, SOCK_STREAM}, PASS},
        {sock, SOCKET, {AF_UNIX, SOCK_DGRAM}, PASS},
        {CLOSED, SOCKET, {AF_VSOCK, SOCK_STREAM}, refused(EAFNOSUPPORT)},
        {OPEN "(deny system-socket)", SOCKET, {AF_VSOCK, SOCK_STREAM}, refused(EAFNOSUPPORT)},
        {OPEN "(deny system-socket)", SOCKET, {AF_NETLINK, SOCK_RAW}, PASS},
        {none, SOCKET, {AF_VSOCK, SOCK_STREAM}, PASS},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OWN(planned) struct planned p;
        if (ok(planned_make(&p, rows[i].profile, &x86, ""), "planned"))
            is_int(filter_result(&p.plan, rows[i].nr, rows[i].args), rows[i].want,
                   "call %d (%#llx, %#llx, %#llx) under %s", rows[i].nr,
                   (unsigned long long)rows[i].args[0], (unsigned long long)rows[i].args[1],
                   (unsigned long long)rows[i].args[2], rows[i].profile);
    }
    /* without a judge, what is wholly denied still is */
    OWN(planned) struct planned p;
    if (ok(planned_make(&p, fork, &weaker, "seccomp_notify=0"), "planned")) {
        is_int(filter_result(&p.plan, FORK, (uint64_t[6]){0}), refused(EPERM), "fork, unjudged");
        is_int(filter_result(&p.plan, CLONE, (uint64_t[6]){CLONE_THREAD}), PASS,
               "thread, unjudged");
    }
    /* user namespaces bring back clone3(), whose flags the filter cannot see */
    OWN(planned) struct planned q;
    struct plan_options nested = {.arch = PLAN_X86_64, .keep_userns = true};
    if (ok(planned_make(&q, fork, &nested, ""), "planned"))
        is_int(filter_result(&q.plan, CLONE3, (uint64_t[6]){0}), refused(ENOSYS),
               "clone3 stays away where processes are judged");
}

/* The command is in its parent's process group, whatever the namespace. */
static void check_own_group(void)
{
    static const char profile[] =
        CLOSED "(allow signal system-sched (target same-sandbox))(allow process*)";
    static const struct {
        const char *host;
        int nr;
        uint64_t args[6];
        uint32_t want;
    } rows[] = {
        {"", KILL, {0, SIGTERM}, PASS},
        {"landlock=5", KILL, {0, SIGTERM}, ASK},
        {"landlock=5", KILL, {5, SIGTERM}, PASS},
        {"landlock=5", KILL, {(uint64_t)-1, SIGTERM}, PASS},
        {"", SETPRIORITY, {PRIO_PGRP, 0, 5}, SECCOMP_RET_ERRNO | EPERM},
        {"", SETPRIORITY, {PRIO_PGRP, 7, 5}, PASS},
        {"", SETPRIORITY, {PRIO_PROCESS, 0, 5}, PASS},
        {"", IOPRIO_SET, {2, 0, 5}, SECCOMP_RET_ERRNO | EPERM},
        {"", IOPRIO_SET, {1, 0, 5}, PASS},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OWN(planned) struct planned p;
        if (ok(planned_make(&p, profile, &x86, rows[i].host), "planned"))
            is_int(filter_result(&p.plan, rows[i].nr, rows[i].args), rows[i].want,
                   "call %d (%d, %d) on a host with %s", rows[i].nr, (int)rows[i].args[0],
                   (int)rows[i].args[1], rows[i].host);
    }
}

/* The command's own start passes with the pass, and nothing else does. */
static void check_pass(void)
{
    OWN(planned) struct planned p;
    if (!ok(planned_make(&p, OPEN "(deny process-fork)(deny process-exec (literal \"/a\"))", &x86,
                         ""),
            "planned"))
        return;
    is_int((intmax_t)p.plan.pass, 0, "a plan has no pass");
    is_int(filter_result(&p.plan, EXECVE, (uint64_t[6]){0}), ASK,
           "without one everything is asked");
    p.plan.pass = UINT64_C(0x123456789abcdef0);
    const struct {
        uint64_t low, high;
        uint32_t want;
    } rows[] = {
        {0x9abcdef0, 0x12345678, PASS}, {0x9abcdef0, 0, ASK}, {0, 0x12345678, ASK},
        {0x12345678, 0x9abcdef0, ASK},  {0, 0, ASK},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t args[6] = {1, 2, 3, 0, rows[i].low, rows[i].high};
        is_int(filter_result(&p.plan, EXECVE, args), rows[i].want, "pass %zu", i);
        is_int(filter_result(&p.plan, FORK, args), ASK, "is for executing only");
    }
}

/* ---- the wall around programs ---- */

static void check_wall(void)
{
    OWN(planned) struct planned some, all, none;
    if (!ok(planned_make(&some,
                         CLOSED "(allow process-exec (subpath \"/usr/bin\"))"
                                "(allow process-exec-interpreter (literal \"/bin/sh\"))",
                         &x86, ""),
            "some programs") ||
        !ok(planned_make(&all, CLOSED "(allow process-exec)", &x86, ""), "all programs") ||
        !ok(planned_make(&none, CLOSED, &x86, ""), "no programs"))
        return;
    int programs = 0, shells = 0, loaders = 0, no_loaders = 0;
    for (size_t i = 0; i < some.plan.nwalls; i++) {
        const struct wall_path *w = &some.plan.walls[i];
        programs += strcmp(w->path, "/usr/bin") == 0 && (w->rights & KABI_LL_EXECUTE);
        shells += strcmp(w->path, "/bin/sh") == 0 && (w->rights & KABI_LL_EXECUTE);
        loaders += w->loader && w->rights == KABI_LL_EXECUTE && !w->folder;
    }
    for (size_t i = 0; i < none.plan.nwalls; i++)
        no_loaders += none.plan.walls[i].loader;
    is_int(programs, 1, "the folder may be executed from");
    is_int(shells, 1, "and so may an interpreter elsewhere");
    is_int(loaders, 2, "and the loaders");
    is_int(no_loaders, 0, "which nobody needs when nothing runs");
    ok(none.plan.handled_fs & KABI_LL_EXECUTE, "nothing may be executed then");
    ok(!(all.plan.handled_fs & KABI_LL_EXECUTE), "no wall where everything may be executed");
}

/* What costs nothing must keep costing nothing. */
static void check_free(void)
{
    static const char *const calls[] = {"kill", "tgkill", "execve", "clone3",  "fork",
                                        "mmap", "shmget", "semget", "mprotect"};
    OWN(planned) struct planned p;
    if (!ok(planned_make(&p,
                         CLOSED "(allow process* file-read* file-map-executable ipc*)"
                                "(allow signal system-sched (target same-sandbox))",
                         &x86, ""),
            "planned"))
        return;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        const struct sys_rule *r = find_call(&p.plan, calls[i]);
        ok(!r || (r->otherwise.verdict == SYS_ERRNO && r->ntests == 0), "%s is not asked about",
           calls[i]);
    }
    const struct sys_rule *r = find_call(&p.plan, "fcntl");
    bool leases = r && r->otherwise.verdict == SYS_ALLOW;
    for (size_t i = 0; leases && i < r->ntests; i++)
        leases = r->tests[i].value == KABI_F_SETLEASE || r->tests[i].value == KABI_F_SETDELEG;
    ok(leases, "of fcntl only leases are asked about");
}

int main(void)
{
    check_tiers();
    check_arguments();
    check_own_group();
    check_pass();
    check_wall();
    check_free();
    return done_testing();
}
