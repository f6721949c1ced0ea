/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The part of the plan that becomes the BPF filter: one rule for each system call, sorted by
 * number. */

#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "kernel/host/kabi.h"
#include "command/capabilities.h"
#include "kernel/plan/judged-calls.h"
#include "kernel/plan/plan-int.h"

static const struct sys_action allow = {SYS_ALLOW, 0}, notify = {SYS_NOTIFY, 0};

static struct sys_action refuse(int err)
{
    return (struct sys_action){SYS_ERRNO, (uint16_t)err};
}

/* CLONE_NEW… except for the time namespace, whose bit means something else to clone(). */
#define NEW_NAMESPACES 0x7e020000u
#define NEW_TIME 0x00000080u

static struct sys_test equal(uint8_t arg, uint32_t value, struct sys_action then)
{
    return (struct sys_test){arg, SYS_EQUAL, 0xffffffff, value, then};
}

static struct sys_test differs(uint8_t arg, uint32_t value, struct sys_action then)
{
    return (struct sys_test){arg, SYS_DIFFERS, 0xffffffff, value, then};
}

static struct sys_test any(uint8_t arg, uint32_t mask, struct sys_action then)
{
    return (struct sys_test){arg, SYS_ANY, mask, 0, then};
}

/* To a Unix socket SOCK_RAW is another name of SOCK_DGRAM: the mask ignores their difference. */
const struct sys_test plan_is_datagram = {
    1, SYS_EQUAL, 0xf & ~(SOCK_DGRAM ^ SOCK_RAW), SOCK_DGRAM &SOCK_RAW, {SYS_NOTIFY, 0}};

static void filter_socketpair(const struct plan *p, struct sys_rule *r)
{
    if (plan_set_is_free(p, SET_SOCKETS))
        return;
    r->tests[r->ntests++] = differs(0, AF_UNIX, allow);
    r->tests[r->ntests++] = plan_is_datagram;
}

/* The first message of a connection can replace connect(). Refused, programs fall back to that. */
static void filter_fast_open(const struct plan *p, uint8_t flags, struct sys_rule *r)
{
    if (p->dials)
        r->tests[r->ntests++] = any(flags, MSG_FASTOPEN, refuse(EOPNOTSUPP));
}

/* Without an address the message goes to the connected peer. */
static void filter_sendto(const struct plan *p, struct sys_rule *r)
{
    filter_fast_open(p, 3, r);
    if (!plan_set_is_free(p, SET_SOCKETS))
        r->tests[r->ntests++] = any(5, 0xffffffff, notify);
}

static void filter_sendmsg(const struct plan *p, struct sys_rule *r)
{
    filter_fast_open(p, 2, r);
    if (!plan_set_is_free(p, SET_SOCKETS))
        r->otherwise = notify;
}

static void filter_sendmmsg(const struct plan *p, struct sys_rule *r)
{
    filter_fast_open(p, 3, r);
    if (!plan_set_is_free(p, SET_SOCKETS))
        r->otherwise = notify;
}

/* In its own network namespace nobody outside reaches a listening process, unless it is published.
 */
static void filter_listen(const struct plan *p, struct sys_rule *r)
{
    if (p->dials || p->publish_all || p->session)
        r->otherwise = notify;
}

/* Whether the judge creates files, with their callers' umasks. */
static bool takes_umasks(const struct plan *p)
{
    return p->unjudged || !plan_set_is_free(p, SET_OPENS);
}

/* Threads of one process with separate umasks: thread-cache.c must know. */
static const struct sys_test is_odd_thread = {
    0, SYS_EQUAL, CLONE_THREAD | CLONE_FS, CLONE_THREAD, {SYS_NOTIFY, 0}};

/* The user allows user namespaces, so a denial must be reported. A separate mount namespace would
 * miss later mounts in the sandbox's, and nothing can be mounted in it. */
static void filter_spaces(const struct plan *p, struct sys_rule *r, uint32_t all)
{
    struct sys_action reported = p->judge ? (struct sys_action){SYS_NOTIFY, EPERM} : refuse(EPERM);
    if (p->opt.keep_userns) {
        r->tests[r->ntests++] = any(0, CLONE_NEWNS, reported);
        return;
    }
    const uint32_t shown = CLONE_NEWUSER | CLONE_NEWNS;
    r->tests[r->ntests++] = any(0, shown, reported);
    r->tests[r->ntests++] = any(0, all & ~shown, refuse(EPERM));
}

static void filter_clone(const struct plan *p, struct sys_rule *r)
{
    filter_spaces(p, r, NEW_NAMESPACES);
    if (takes_umasks(p))
        r->tests[r->ntests++] = is_odd_thread;
    filter_clone_processes(p, r);
}

static void filter_unshare(const struct plan *p, struct sys_rule *r)
{
    filter_spaces(p, r, NEW_NAMESPACES | NEW_TIME);
    if (takes_umasks(p))
        r->tests[r->ntests++] = any(0, CLONE_FS | NEW_NAMESPACES, notify);
}

/* A process that hides its memory cannot be judged. The call reports success and changes nothing.
 * The other option is ours: a run inside asks for its own sandbox. */
static void filter_prctl(const struct plan *p, struct sys_rule *r)
{
    if (!p->judge)
        return;
    r->tests[r->ntests++] = equal(0, PR_SET_DUMPABLE, refuse(0));
    r->tests[r->ntests++] = equal(0, KABI_PRCTL_NEST, notify);
    if (p->commands)
        r->tests[r->ntests++] = equal(0, PR_SET_CHILD_SUBREAPER, notify);
}

/* With its own listener a command could answer for itself once ours is gone. */
static void filter_seccomp(const struct plan *p, struct sys_rule *r)
{
    (void)p;
    r->tests[r->ntests++] = any(1, SECCOMP_FILTER_FLAG_NEW_LISTENER, refuse(EPERM));
}

/* A limit on processor time kills a process as surely as a signal. In a pid namespace only the
 * sandbox's own processes have a number. */
static void filter_prlimit64(const struct plan *p, struct sys_rule *r)
{
    if (!p->pid_ns)
        r->tests[r->ntests++] = differs(0, 0, refuse(EPERM));
    if (p->opt.core_dumps)
        return;
    r->tests[r->ntests++] = differs(1, RLIMIT_CORE, allow);
    r->tests[r->ntests++] = any(2, 0xffffffff, refuse(0));
    r->tests[r->ntests++] = any(2 | SYS_HIGH, 0xffffffff, refuse(0));
}

/* The limit keeps the kernel from writing a process's memory when it crashes (start-command.c), and
 * stays fixed. Programs that hold secrets set it to 0 and exit if they cannot, so the call reports
 * success. */
static void filter_setrlimit(const struct plan *p, struct sys_rule *r)
{
    if (!p->opt.core_dumps)
        r->tests[r->ntests++] = equal(0, RLIMIT_CORE, refuse(0));
}

/* Landlock keeps a domain from tracing outside processes, and a pid namespace from naming them
 * (with the first Landlock ABI we do not always have a domain: plan_domain). Without either, a
 * process can trace only children that ask for it, such as those that a debugger starts. */
static void filter_ptrace(const struct plan *p, struct sys_rule *r)
{
    if (p->pid_ns || p->host.landlock >= 2)
        return;
    r->tests[r->ntests++] = equal(0, PTRACE_ATTACH, refuse(EPERM));
    r->tests[r->ntests++] = equal(0, PTRACE_SEIZE, refuse(EPERM));
}

/* A process that changes its credentials is watched from then on (creds.c). */
static void filter_creds(const struct plan *p, struct sys_rule *r)
{
    if (p->judge && p->host.root)
        r->otherwise = notify;
}

/* In a container a process may change its root or its mounts, and nobody tells. */
bool plan_reports_folders(const struct plan *p)
{
    return p->judge && !plan_set_is_free(p, SET_CREATES) && !p->opt.container &&
           !p->opt.keep_userns && !p->opt.caps;
}

/* So that the judge can keep the folder (caller-folder.c). */
static void filter_fchdir(const struct plan *p, struct sys_rule *r)
{
    if (plan_reports_folders(p))
        r->otherwise = notify;
}

static void filter_chdir(const struct plan *p, struct sys_rule *r)
{
    filter_fchdir(p, r);
    if (r->otherwise.verdict == SYS_NOTIFY)
        r->tests[r->ntests++] = equal(5 | SYS_HIGH, KABI_CHDIR_UNREPORTED, allow);
}

#define filter_setuid filter_creds
#define filter_setgid filter_creds
#define filter_setreuid filter_creds
#define filter_setregid filter_creds
#define filter_setresuid filter_creds
#define filter_setresgid filter_creds
#define filter_setfsuid filter_creds
#define filter_setfsgid filter_creds
#define filter_setgroups filter_creds
#define filter_capset filter_creds

static const struct {
    const char *name;
    int16_t nr[PLAN_ARCHES];
    void (*fill)(const struct plan *p, struct sys_rule *r);
} tested[] = {
#define TESTED(name, x86, arm, handler) {#name, CALL_NUMBERS(x86, arm), filter_##name},
#include "kernel/plan/syscalls.def"
};

enum { TESTED_COUNT = sizeof(tested) / sizeof(tested[0]) };

static bool is_free(const struct plan *p, enum vocab_op op)
{
    return !plan_is_asked(p->ops[op].tier);
}

enum { SET_IDS = S_ISUID | S_ISGID };

/* Where creating files is free, only set-id programs are at stake. */
static bool modes_ask(const struct plan *p, uint8_t mode, struct sys_rule *r)
{
    bool asks = !is_free(p, OP_FILE_WRITE_SETUGID);
    if (asks)
        r->tests[r->ntests++] = any(mode, SET_IDS, notify);
    return asks;
}

/* The mode counts only where a file can be created. */
static bool new_modes_ask(const struct plan *p, uint8_t flags, struct sys_rule *r)
{
    static const uint32_t makes = O_CREAT | KABI_OPEN_UNNAMED;
    r->tests[r->ntests++] = (struct sys_test){flags, SYS_EQUAL, makes, 0, r->otherwise};
    return modes_ask(p, flags + 1, r);
}

/* The walls bound opening for writing. These truncate without that (leave_truncating_to_judge):
 * opening for reading, and the access mode that is neither. */
static void unwalled_asks(uint8_t flags, struct sys_rule *r)
{
    r->tests[r->ntests++] =
        (struct sys_test){flags, SYS_EQUAL, O_TRUNC | O_ACCMODE, O_TRUNC, notify};
    r->tests[r->ntests++] = (struct sys_test){flags, SYS_EQUAL, O_ACCMODE, O_ACCMODE, notify};
}

/* Whether opening is judged: for a path only (O_PATH), for writing, for reading. */
static bool opens_ask(const struct plan *p, uint8_t flags, struct sys_rule *r)
{
    bool names = !plan_set_is_free(p, SET_METADATA), writes = !plan_set_is_free(p, SET_OPENS);
    bool reads = !is_free(p, OP_FILE_READ_DATA) || !is_free(p, OP_PROCESS_INFO) ||
                 !is_free(p, OP_SYSCTL_READ);
    r->otherwise = reads ? notify : allow;
    /* a file descriptor that only names a file reads and writes nothing */
    if (names || writes)
        r->tests[r->ntests++] = any(flags, O_PATH, names ? notify : allow);
    if (writes && !reads)
        r->tests[r->ntests++] = any(flags, KABI_OPEN_WRITES, notify);
    if (p->unjudged)
        unwalled_asks(flags, r);
    return (!writes && new_modes_ask(p, flags, r)) || names || writes;
}

/* Existence is a different operation from access. */
static void tests_ask(const struct plan *p, uint8_t mode, struct sys_rule *r)
{
    bool there = is_free(p, OP_FILE_TEST_EXISTENCE), may = is_free(p, OP_FILE_READ_METADATA);
    if (!there && !may)
        return;
    r->otherwise = allow;
    r->tests[r->ntests++] = there ? any(mode, 0xffffffff, notify) : equal(mode, 0, notify);
}

/* A rename can leave a whiteout device, which no wall covers. */
static bool filter_whiteout(const struct plan *p, const struct judged_call *c, struct sys_rule *r)
{
    bool asks = strcmp(c->name, "renameat2") == 0 && !is_free(p, OP_FILE_MKNOD);
    if (asks)
        r->tests[r->ntests++] =
            any(4, KABI_RENAME_WHITEOUT, (struct sys_action){SYS_NOTIFY, EPERM});
    return asks;
}

/* What a call can do besides its free operations. */
static bool free_asks(const struct plan *p, const struct judged_call *c, struct sys_rule *r)
{
    bool at = strcmp(c->name, "mknodat") == 0;
    if (c->handler == HANDLE_MKNOD)
        return modes_ask(p, at ? 2 : 1, r);
    if (c->handler == HANDLE_OPEN) /* creat */
        return modes_ask(p, 1, r);
    if (c->handler == HANDLE_UMASK && p->unjudged)
        return r->otherwise = notify, true;
    return c->handler == HANDLE_RENAME ? filter_whiteout(p, c, r) : plan_own_group(p, c, r);
}

static bool is_judged(const struct plan *p, const struct judged_call *c, struct sys_rule *r)
{
    if (c->when == WHEN_OPENS)
        return opens_ask(p, c->arg, r);
    if (plan_set_is_free(p, c->set))
        return free_asks(p, c, r);
    filter_whiteout(p, c, r);
    r->otherwise = plan_ask(p, c->set);
    r->passable = c->handler == HANDLE_EXEC;
    if (c->when == WHEN_TESTS)
        tests_ask(p, c->arg, r);
    /* where modes are otherwise free, only set-id programs are at stake */
    if (c->set == SET_MODE && is_free(p, OP_FILE_WRITE_MODE)) {
        bool at = strncmp(c->name, "fchmodat", 8) == 0;
        r->otherwise = allow;
        r->tests[r->ntests++] = any(at ? 2 : 1, SET_IDS, notify);
    }
    return true;
}

/* A call that is refused only because its arguments cannot be seen may pass where nothing is
 * judged. So may one that only a capability makes dangerous, if the user asked for that capability.
 */
static bool is_harmless(const struct plan *p, const struct refused_call *c)
{
    static const struct {
        const char *name;
        uint8_t set;
    } hidden[] = {{"openat2", SET_OPENS},          {"openat2", SET_METADATA},
                  {"openat2", SET_MODE},           {"getxattrat", SET_READ_XATTR},
                  {"listxattrat", SET_READ_XATTR}, {"setxattrat", SET_XATTR},
                  {"removexattrat", SET_XATTR},    {"file_getattr", SET_METADATA},
                  {"file_setattr", SET_FLAGS}};
    bool known = false;
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        if (strcmp(c->name, hidden[i].name) != 0)
            continue;
        known = true;
        if (!plan_set_is_free(p, hidden[i].set))
            return false;
    }
    if (strncmp(c->name, "landlock_", 9) == 0)
        return !p->judge;
    if (known || caps_lift(p->opt.caps, c->name))
        return true;
    /* Chromium's sandbox changes its root to an empty folder */
    return p->opt.keep_userns && strcmp(c->name, "chroot") == 0;
}

static struct sys_rule rule_of(const char *name, int nr, struct sys_action otherwise)
{
    return (struct sys_rule){.name = name, .nr = nr, .otherwise = otherwise};
}

static void add_judged(struct plan *p, const struct judged_call *c)
{
    struct sys_rule *r = &p->calls[p->ncalls];
    *r = rule_of(c->name, c->nr[p->opt.arch], allow);
    p->ncalls += is_judged(p, c, r);
}

/* Measures the command's own processes, but not a processor, on which others run. */
static struct sys_rule perf_rule(const struct plan *p, const struct refused_call *c)
{
    enum { PID = 1 };
    struct sys_rule r = rule_of(c->name, c->nr[p->opt.arch], allow);
    r.tests[r.ntests++] = (struct sys_test){PID, SYS_EQUAL, 0xffffffff, 0xffffffff, refuse(c->err)};
    return r;
}

static void add_refused(struct plan *p, const struct refused_call *c)
{
    if (p->opt.perf && strcmp(c->name, "perf_event_open") == 0) {
        p->calls[p->ncalls++] = perf_rule(p, c);
        return;
    }
    if (!is_harmless(p, c))
        p->calls[p->ncalls++] = rule_of(c->name, c->nr[p->opt.arch], refuse(c->err));
}

static void add_tested(struct plan *p, size_t i)
{
    struct sys_rule *r = &p->calls[p->ncalls];
    *r = rule_of(tested[i].name, tested[i].nr[p->opt.arch], allow);
    tested[i].fill(p, r);
    p->ncalls += r->ntests || r->nmore || r->otherwise.verdict != SYS_ALLOW;
}

/* The index of each number in the three tables, plus one. Rules are large, so we make them in the
 * order of their numbers instead of sorting them. */
struct tables {
    uint16_t judged[KABI_LAST_SYSCALL + 1], refused[KABI_LAST_SYSCALL + 1],
        tested[KABI_LAST_SYSCALL + 1];
};

static void index_calls(struct tables *t, enum plan_arch arch)
{
    memset(t, 0, sizeof(*t));
    for (size_t i = 0; i < judged_call_count; i++)
        if (judged_calls[i].nr[arch] >= 0)
            t->judged[judged_calls[i].nr[arch]] = (uint16_t)(i + 1);
    for (size_t i = 0; i < refused_call_count; i++)
        if (refused_calls[i].nr[arch] >= 0)
            t->refused[refused_calls[i].nr[arch]] = (uint16_t)(i + 1);
    for (size_t i = 0; i < TESTED_COUNT; i++)
        if (tested[i].nr[arch] >= 0)
            t->tested[tested[i].nr[arch]] = (uint16_t)(i + 1);
}

int plan_calls(struct plan *p, struct bk_err *err)
{
    size_t cap = judged_call_count + refused_call_count + TESTED_COUNT + 1;
    p->calls = arena_array(&p->arena, cap, sizeof(*p->calls));
    if (!p->calls)
        return err_nomem(err);
    for (unsigned set = 0; set < SET_COUNT; set++)
        p->judge |= !plan_set_is_free(p, set);
    p->judge |= p->ops[OP_SYSTEM_SOCKET].tier == TIER_JUDGED;
    p->judge |= p->ops[OP_SIGNAL].tier == TIER_WALLED && p->host.landlock < 6;
    struct tables t;
    index_calls(&t, p->opt.arch);
    for (int nr = 0; nr <= KABI_LAST_SYSCALL; nr++) {
        if (t.judged[nr])
            add_judged(p, &judged_calls[t.judged[nr] - 1]);
        if (t.refused[nr])
            add_refused(p, &refused_calls[t.refused[nr] - 1]);
        if (t.tested[nr])
            add_tested(p, t.tested[nr] - 1);
    }
    return 0;
}
