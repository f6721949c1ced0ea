/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Compares the filter with three references: the plan's rules read one by one, libseccomp's
 * compilation of the same rules, and the kernel itself.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifdef HAVE_SECCOMP
#include <seccomp.h>
#endif

#include "kernel-maker.h"
#include "kernel/plan/judged-calls.h"
#include "kernel/host/kabi.h"
#include "kernel/shared/own-filter.h"

enum { PROGRAM = 4096, X32 = 0x40000000 };

static const char typical[] = "(version 1)(deny default)(allow file-read*)(allow process*)"
                              "(allow file-write* (subpath \"/w\"))";
static const uint32_t arches[PLAN_ARCHES] = {[PLAN_X86_64] = AUDIT_ARCH_X86_64,
                                             [PLAN_ARM64] = AUDIT_ARCH_AARCH64,
                                             [PLAN_RISCV64] = AUDIT_ARCH_RISCV64};
static const char *const arch_names[PLAN_ARCHES] = {"x86-64", "arm64", "riscv64"};

/* ---- the rules, read one by one ---- */

static uint32_t action_value(struct sys_action a)
{
    if (a.verdict == SYS_ALLOW)
        return SECCOMP_RET_ALLOW;
    return a.verdict == SYS_NOTIFY ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | a.err;
}

static bool test_holds(const struct sys_test *t, const uint64_t args[6])
{
    uint64_t whole = args[t->arg & ~SYS_HIGH];
    uint32_t half = (uint32_t)(t->arg & SYS_HIGH ? whole >> 32 : whole) & t->mask;
    return t->how == SYS_EQUAL ? half == t->value : t->how == SYS_DIFFERS ? half != t->value : half;
}

static uint32_t expected(const struct plan *p, uint32_t arch, uint32_t nr, const uint64_t args[6])
{
    if (arch != arches[p->opt.arch] || nr > KABI_LAST_SYSCALL)
        return SECCOMP_RET_ERRNO | ENOSYS;
    for (size_t i = 0; i < p->ncalls; i++) {
        const struct sys_rule *r = &p->calls[i];
        if ((uint32_t)r->nr != nr)
            continue;
        for (size_t t = 0; t < r->ntests; t++)
            if (test_holds(&r->tests[t], args))
                return action_value(r->tests[t].then);
        for (size_t t = 0; t < r->nmore; t++)
            if (test_holds(&r->more[t], args))
                return action_value(p->judge ? r->more[t].then
                                             : plan_without_judge(r->more[t].then));
        return action_value(r->otherwise);
    }
    return SECCOMP_RET_ALLOW;
}

/* ---- arguments worth trying ---- */

struct samples {
    uint64_t args[8192][6];
    size_t n;
};

static void sample(struct samples *s, unsigned arg, uint64_t value, const struct sys_rule *r)
{
    if (s->n == sizeof(s->args) / sizeof(s->args[0]))
        return;
    uint64_t *a = s->args[s->n++];
    /* half the time, the other tests' arguments get values that let this one be reached */
    for (unsigned i = 0; i < 6; i++)
        a[i] = rand() % 2 ? 0 : (uint64_t)rand() * 65537;
    for (size_t t = 0; r && rand() % 2 && t < r->ntests; t++)
        a[r->tests[t].arg & ~SYS_HIGH] = r->tests[t].value;
    a[arg & ~SYS_HIGH] = arg & SYS_HIGH ? value << 32 | value >> 32 : value;
}

/* Values around the limits of each test, with and without bits above the low half. */
static void gather(struct samples *s, const struct sys_rule *r)
{
    s->n = 0;
    sample(s, 0, 0, r);
    sample(s, 0, UINT64_MAX, r);
    for (size_t i = 0; r && i < (size_t)r->ntests + r->nmore; i++) {
        const struct sys_test *t = sys_test_at(r, i);
        const uint64_t edges[] = {t->value, t->value + 1, t->value - 1,        t->mask,    ~t->mask,
                                  0,        0xffffffff,   t->value | ~t->mask, t->mask + 1};
        for (size_t e = 0; e < sizeof(edges) / sizeof(edges[0]); e++) {
            sample(s, t->arg, edges[e] & 0xffffffff, r);
            sample(s, t->arg, edges[e] | 0x5a00000000000000, r);
        }
        for (unsigned bit = 0; bit < 32; bit++)
            sample(s, t->arg, UINT64_C(1) << bit, r);
    }
}

static const struct sys_rule *rule_of(const struct plan *p, uint32_t nr)
{
    for (size_t i = 0; i < p->ncalls; i++)
        if ((uint32_t)p->calls[i].nr == nr)
            return &p->calls[i];
    return NULL;
}

/* Compares over all numbers. Returns how many calls were compared, or 0 after a difference. */
static size_t compare_all(const struct plan *p, const struct sock_filter *prog, size_t n)
{
    static struct samples s;
    const uint32_t odd[] = {1u << 31, X32, X32 + 2, X32 + 257, UINT32_MAX, 4096};
    const uint32_t foreign[] = {AUDIT_ARCH_I386, AUDIT_ARCH_ARM, 0, ~0u,
                                arches[p->opt.arch == PLAN_X86_64 ? PLAN_ARM64 : PLAN_X86_64]};
    size_t done = 0;
    for (uint32_t i = 0; i < 1024 + sizeof(odd) / sizeof(odd[0]); i++) {
        uint32_t nr = i < 1024 ? i : odd[i - 1024];
        gather(&s, rule_of(p, nr));
        for (size_t k = 0; k < s.n; k++)
            for (size_t f = 0; f <= sizeof(foreign) / sizeof(foreign[0]); f++) {
                uint32_t arch = f ? foreign[f - 1] : arches[p->opt.arch];
                uint32_t got = bpf_simulate(prog, n, arch, nr, s.args[k]);
                uint32_t want = expected(p, arch, nr, s.args[k]);
                done++;
                if (got == want)
                    continue;
                printf("# call %u arch %x sample %zu: got %x, want %x\n", nr, arch, k, got, want);
                return 0;
            }
    }
    return done;
}

static void check_profile(const char *profile, const struct plan_options *opt, const char *what)
{
    OWN(planned) struct planned p;
    struct sock_filter prog[PROGRAM];
    struct bk_err err;
    size_t n = 0;
    if (!ok(planned_make(&p, profile, opt, ""), "%s, %s: planned", what, arch_names[opt->arch]))
        return;
    ok(bpf_assemble(&p.plan, prog, PROGRAM, &n, &err) == 0, "%s: assembled", what);
    ok(compare_all(&p.plan, prog, n) > 5000, "%s, %s: as the rules say", what,
       arch_names[opt->arch]);
    ok(n < 3 * p.plan.ncalls, "%s: %zu instructions for %zu calls", what, n, p.plan.ncalls);
}

static void check_profiles(void)
{
    for (int arch = 0; arch < PLAN_ARCHES; arch++) {
        const struct plan_options plain = {.arch = arch},
                                  open = {.arch = arch, .keep_userns = true},
                                  later = {.arch = arch, .updatable = true};
        check_profile("(version 1)(allow default)", &plain, "allow default");
        check_profile("(version 1)(allow default)", &open, "user namespaces kept");
        check_profile("(version 1)(deny default)", &plain, "deny default");
        check_profile(typical, &plain, "typical");
        check_profile(typical, &later, "updatable");
    }
}

/* ---- programs that no profile produces ---- */

/* Every call with every kind of test, so that jumps get long. */
static void check_long(void)
{
    static struct sys_rule rules[KABI_LAST_SYSCALL + 1];
    struct plan p = {.opt = {.arch = PLAN_X86_64}, .calls = rules};
    struct sock_filter prog[PROGRAM * 2];
    struct bk_err err;
    size_t n = 0;
    srand(7);
    for (int step = 1; step <= 7; step += 3) {
        p.ncalls = 0;
        for (int nr = step == 7 ? 3 : 0; nr <= KABI_LAST_SYSCALL; nr += step) {
            struct sys_rule *r = &rules[p.ncalls++];
            *r = (struct sys_rule){.name = "call", .nr = nr};
            r->otherwise = (struct sys_action){(uint8_t)(rand() % 3), (uint16_t)(rand() % 50)};
            r->ntests = step == 1 ? (uint8_t)(rand() % 2) : (uint8_t)(rand() % (SYS_TESTS + 1));
            for (size_t t = 0; t < r->ntests; t++)
                r->tests[t] =
                    (struct sys_test){.arg = (uint8_t)(rand() % 3 + SYS_HIGH * (rand() % 8 == 0)),
                                      .how = (uint8_t)(rand() % 3),
                                      .mask = rand() % 2 ? 0xffffffff : (uint32_t)rand() % 64,
                                      .value = (uint32_t)rand() % 8,
                                      .then = {(uint8_t)(rand() % 3), (uint16_t)(rand() % 50)}};
        }
        ok(bpf_assemble(&p, prog, PROGRAM * 2, &n, &err) == 0, "every %dth call: assembled", step);
        size_t far = 0;
        for (size_t i = 0; i < n; i++)
            far += prog[i].code == (BPF_JMP | BPF_JA);
        ok(n > 255 && n <= BPF_MAXINSNS && far > 0,
           "long program: %zu instructions, %zu stepping stones", n, far);
        ok(compare_all(&p, prog, n) > 5000, "every %dth call: as the rules say", step);
    }
}

/* Programs of growing size, so that jumps of every length around the limit occur. */
static void check_sizes(void)
{
    static struct sys_rule rules[KABI_LAST_SYSCALL + 1];
    static struct samples s;
    struct plan p = {.opt = {.arch = PLAN_ARM64}, .calls = rules};
    struct sock_filter prog[PROGRAM];
    struct bk_err err;
    size_t n = 0, wrong = 0, longest = 0, done = 0;
    for (size_t size = 1900; size < 2450; size++) {
        size_t calls = size / 7;
        p.ncalls = calls;
        for (size_t i = 0; i < calls; i++) {
            rules[i] =
                (struct sys_rule){.name = "call", .nr = (int)(i + i / 3), .ntests = i % 7 == 0};
            rules[i].otherwise = (struct sys_action){(uint8_t)(i % 3), EPERM};
            for (size_t t = 0; t < SYS_TESTS; t++)
                rules[i].tests[t] =
                    (struct sys_test){0, SYS_EQUAL, ~0u, (uint32_t)(i + t), {SYS_ERRNO, ENOENT}};
        }
        rules[0].ntests = (uint8_t)(size % 7);
        if (bpf_assemble(&p, prog, PROGRAM, &n, &err) < 0)
            wrong++;
        for (size_t i = 0; i < n; i++)
            if (BPF_CLASS(prog[i].code) == BPF_JMP && prog[i].code != (BPF_JMP | BPF_JA))
                longest = prog[i].jt > longest ? prog[i].jt : longest;
        for (uint32_t nr = 0; nr <= (uint32_t)rules[calls - 1].nr + 1; nr++) {
            gather(&s, rule_of(&p, nr));
            for (size_t k = 0; k < s.n && k < 3; k++, done++)
                wrong += bpf_simulate(prog, n, arches[PLAN_ARM64], nr, s.args[k]) !=
                         expected(&p, arches[PLAN_ARM64], nr, s.args[k]);
        }
    }
    ok(longest >= 254, "branches as long as they can be: %zu", longest);
    ok(done > 100000 && wrong == 0, "%zu decisions of programs of all sizes", done);
}

static void check_refusals(void)
{
    struct sys_rule rules[] = {{.name = "a", .nr = 5}, {.name = "b", .nr = 5}};
    struct plan p = {.calls = rules, .ncalls = 2};
    struct sock_filter prog[64];
    struct bk_err err;
    size_t n = 77;
    ok(bpf_assemble(&p, prog, 64, &n, &err) < 0 && err.code == BK_E_BUG, "a call twice is refused");
    rules[1].nr = KABI_LAST_SYSCALL + 1;
    ok(bpf_assemble(&p, prog, 64, &n, &err) < 0, "a call beyond the tables is refused");
    rules[1] = (struct sys_rule){.name = "b", .nr = 6, .ntests = SYS_TESTS + 1};
    ok(bpf_assemble(&p, prog, 64, &n, &err) < 0, "too many tests are refused");
    rules[1] = (struct sys_rule){.name = "b", .nr = 6, .ntests = 1, .tests = {{.arg = 6}}};
    ok(bpf_assemble(&p, prog, 64, &n, &err) < 0, "a seventh argument is refused");
    is_int((intmax_t)n, 77, "the length is untouched on failure");
    rules[1] = (struct sys_rule){.name = "b", .nr = 6, .otherwise = {SYS_ERRNO, EPERM}};
    size_t enough = 0;
    ok(bpf_assemble(&p, prog, 64, &enough, &err) == 0, "two calls are fine");
    ok(bpf_assemble(&p, prog, enough, &n, &err) == 0 && n == enough, "exactly enough room");
    for (size_t cap = 0; cap < enough; cap++)
        if (bpf_assemble(&p, prog, cap, &n, &err) == 0)
            ok(false, "room for %zu of %zu instructions is not enough", cap, enough);
    is_int(err.code, BK_E_LIMIT, "a program that does not fit says so");
}

/* ---- the simulator ---- */

static uint32_t run2(struct sock_filter first, struct sock_filter second)
{
    const struct sock_filter prog[] = {first, second};
    const uint64_t args[6] = {0x1122334455667788};
    return bpf_simulate(prog, 2, 7, 9, args);
}

static void check_simulator(void)
{
    const struct sock_filter ret = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_filter ret_a = BPF_STMT(BPF_RET | BPF_A, 0);
    const uint32_t bad = SECCOMP_RET_KILL_PROCESS;
    const uint64_t args[6] = {0};
#define STMT(code, k) ((struct sock_filter)BPF_STMT(code, k))
#define JUMP(code, k, t, f) ((struct sock_filter)BPF_JUMP(code, k, t, f))
    is_int(run2(STMT(BPF_LD | BPF_W | BPF_ABS, 0), ret_a), 9, "loads the number");
    is_int(run2(STMT(BPF_LD | BPF_W | BPF_ABS, 4), ret_a), 7, "loads the architecture");
    is_int(run2(STMT(BPF_LD | BPF_W | BPF_ABS, 16), ret_a), 0x55667788, "loads a low half");
    is_int(run2(STMT(BPF_LD | BPF_W | BPF_ABS, 20), ret_a), 0x11223344, "loads a high half");
    is_int(run2(STMT(BPF_LD | BPF_W | BPF_ABS, 64), ret_a), bad, "a load beyond the data");
    is_int(run2(STMT(BPF_LD | BPF_W | BPF_ABS, 2), ret_a), bad, "a load that is not aligned");
    is_int(run2(STMT(BPF_LD | BPF_B | BPF_ABS, 0), ret_a), bad, "a load of one byte");
    is_int(run2(STMT(BPF_JMP | BPF_JA, 0), ret), SECCOMP_RET_ALLOW, "a jump to the next one");
    is_int(run2(STMT(BPF_JMP | BPF_JA, 1), ret), bad, "a jump beyond the end");
    is_int(run2(STMT(BPF_JMP | BPF_JA, UINT32_MAX), ret), bad, "a jump backwards");
    is_int(run2(JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 1), ret), bad, "a branch beyond the end");
    is_int(run2(ret, STMT(BPF_LD | BPF_W | BPF_ABS, 0)), bad, "no return at the end");
    is_int(run2(STMT(BPF_ST, BPF_MEMWORDS), ret), bad, "a store beyond the memory");
    is_int(run2(STMT(BPF_ALU | BPF_LSH | BPF_K, 32), ret), bad, "a shift of 32");
    is_int(run2(STMT(0xffff, 0), ret), bad, "an unknown code");
    is_int(bpf_simulate(&ret, 0, 0, 0, args), bad, "an empty program");
#undef STMT
#undef JUMP
}

/* ---- libseccomp ---- */

#ifdef HAVE_SECCOMP

/* A call's arguments restricted to (argument & mask) == value, each. */
struct region {
    uint32_t mask[6], value[6];
};

static bool restrict_to(struct region *r, unsigned arg, uint32_t mask, uint32_t value)
{
    if ((r->value[arg] ^ value) & r->mask[arg] & mask)
        return false;
    r->mask[arg] |= mask;
    r->value[arg] |= value;
    return true;
}

static int add_region(scmp_filter_ctx ctx, const struct sys_rule *rule, struct sys_action then,
                      const struct region *r)
{
    struct scmp_arg_cmp cmp[6];
    unsigned n = 0;
    uint32_t action = then.verdict == SYS_NOTIFY ? SCMP_ACT_NOTIFY : SCMP_ACT_ERRNO(then.err);
    for (unsigned i = 0; i < 6; i++)
        if (r->mask[i])
            cmp[n++] = SCMP_CMP64(i, SCMP_CMP_MASKED_EQ, r->mask[i], r->value[i]);
    if (then.verdict == SYS_ALLOW)
        return 0; /* the default */
    return seccomp_rule_add_array(ctx, action, seccomp_syscall_resolve_name(rule->name), n, cmp);
}

/* Turns "the first matching test" into disjoint regions, as libseccomp needs them. It takes one
 * comparison per argument, so it cannot express "none of these values": -1. */
static int add_rule(scmp_filter_ctx ctx, const struct sys_rule *rule)
{
    struct region rest = {{0}, {0}};
    if (rule->nmore)
        return -1;
    for (size_t i = 0; i < rule->ntests; i++) {
        const struct sys_test *t = &rule->tests[i];
        struct region here = rest;
        if (t->arg & SYS_HIGH)
            return -1;
        if (t->how == SYS_ANY) {
            for (unsigned bit = 0; bit < 32; bit++) {
                struct region one = rest;
                if ((t->mask >> bit & 1) && restrict_to(&one, t->arg, 1u << bit, 1u << bit) &&
                    add_region(ctx, rule, t->then, &one) < 0)
                    return -1;
            }
            if (!restrict_to(&rest, t->arg, t->mask, 0))
                return -1;
        } else if (t->how == SYS_EQUAL) {
            bool last = i + 1 == rule->ntests && rule->otherwise.verdict == SYS_ALLOW;
            if (restrict_to(&here, t->arg, t->mask, t->value) &&
                add_region(ctx, rule, t->then, &here) < 0)
                return -1;
            /* no need to exclude values that no other test of this argument shares */
            for (size_t k = i + 1; !last && k < rule->ntests; k++)
                if (rule->tests[k].arg != t->arg || rule->tests[k].how != SYS_EQUAL ||
                    rule->tests[k].mask != t->mask)
                    return -1;
            if (rule->otherwise.verdict != SYS_ALLOW)
                return -1;
        } else {
            if (t->then.verdict != SYS_ALLOW)
                return -1;
            if (!restrict_to(&rest, t->arg, t->mask, t->value))
                return -1;
        }
    }
    return add_region(ctx, rule, rule->otherwise, &rest);
}

static size_t export(scmp_filter_ctx ctx, struct sock_filter *prog)
{
    OWN(fd) int fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd < 0 || seccomp_export_bpf(ctx, fd) < 0)
        return 0;
    ssize_t n = pread(fd, prog, PROGRAM * sizeof(*prog), 0);
    return n > 0 ? (size_t)n / sizeof(*prog) : 0;
}

/* Compares both programs' decisions over the calls that libseccomp knows and those without a rule.
 */
static size_t compare_both(const struct plan *p, const bool *reported,
                           const struct sock_filter *ours, size_t n,
                           const struct sock_filter *theirs, size_t m)
{
    static struct samples s;
    size_t done = 0;
    const uint32_t foreign = AUDIT_ARCH_I386;
    for (uint32_t nr = 0; nr <= KABI_LAST_SYSCALL; nr++) {
        const struct sys_rule *r = rule_of(p, nr);
        if (r && !reported[r - p->calls])
            continue;
        gather(&s, r);
        for (size_t k = 0; k < s.n * 3; k++) {
            uint32_t number = k % 3 == 2 && p->opt.arch == PLAN_X86_64 ? nr | X32 : nr;
            uint32_t arch = k % 3 == 1 ? foreign : arches[p->opt.arch];
            uint32_t a = bpf_simulate(ours, n, arch, number, s.args[k / 3]);
            uint32_t b = bpf_simulate(theirs, m, arch, number, s.args[k / 3]);
            done++;
            if (a == b)
                continue;
            printf("# call %u: ours %x, libseccomp's %x\n", number, a, b);
            return 0;
        }
    }
    return done;
}

static const uint32_t tokens[PLAN_ARCHES] = {SCMP_ARCH_X86_64, SCMP_ARCH_AARCH64,
                                             SCMP_ARCH_RISCV64};

static scmp_filter_ctx new_filter(enum plan_arch arch)
{
    scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
    if (!ctx)
        return NULL;
    if (seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)) < 0 ||
        (seccomp_arch_exist(ctx, tokens[arch]) < 0 && seccomp_arch_add(ctx, tokens[arch]) < 0) ||
        (seccomp_arch_native() != tokens[arch] &&
         seccomp_arch_remove(ctx, seccomp_arch_native()) < 0)) {
        seccomp_release(ctx);
        return NULL;
    }
    return ctx;
}

/* riscv64 has arm64's numbers, but not this call, whose rule libseccomp silently drops. */
static bool is_lacking(enum plan_arch arch, const char *name)
{
    return arch == PLAN_RISCV64 && strcmp(name, "renameat") == 0;
}

static void check_oracle(const char *profile, enum plan_arch arch)
{
    OWN(planned) struct planned p;
    const struct plan_options opt = {.arch = arch};
    struct sock_filter ours[PROGRAM], theirs[PROGRAM];
    struct bk_err err;
    bool reported[512] = {false};
    size_t n = 0, count = 0;
    bool planned = planned_make(&p, profile, &opt, "");
    scmp_filter_ctx ctx = new_filter(arch);
    if (!ok(ctx && planned, "%s: ready", arch_names[arch]))
        return;
    for (size_t i = 0; i < p.plan.ncalls; i++) {
        reported[i] = !is_lacking(arch, p.plan.calls[i].name) &&
                      seccomp_syscall_resolve_name(p.plan.calls[i].name) != __NR_SCMP_ERROR &&
                      add_rule(ctx, &p.plan.calls[i]) == 0;
        count += reported[i];
        if (!reported[i])
            printf("# not told to libseccomp: %s\n", p.plan.calls[i].name);
    }
    size_t m = export(ctx, theirs);
    seccomp_release(ctx);
    ok(bpf_assemble(&p.plan, ours, PROGRAM, &n, &err) == 0 && m > 0, "both assembled");
    ok(count * 10 > p.plan.ncalls * 9, "libseccomp knows %zu of %zu calls", count, p.plan.ncalls);
    ok(compare_both(&p.plan, reported, ours, n, theirs, m) > 3000,
       "%s: libseccomp's filter decides alike", arch_names[arch]);
    printf("# instructions: ours %zu, libseccomp's %zu\n", n, m);
}

static void check_numbers(void)
{
    size_t known = 0, wrong = 0;
    for (size_t i = 0; i < judged_call_count + refused_call_count; i++) {
        bool judged = i < judged_call_count;
        size_t k = judged ? i : i - judged_call_count;
        const char *name = judged ? judged_calls[k].name : refused_calls[k].name;
        const int16_t *nr = judged ? judged_calls[k].nr : refused_calls[k].nr;
        for (int arch = 0; arch < PLAN_ARCHES; arch++) {
            int theirs = seccomp_syscall_resolve_name_arch(tokens[arch], name);
            if (theirs == __NR_SCMP_ERROR || is_lacking(arch, name)) /* CALL_NUMBERS */
                continue;
            known++;
            if ((theirs < 0 ? -1 : theirs) != nr[arch]) {
                printf("# %s on %s: %d, libseccomp says %d\n", name, arch_names[arch], nr[arch],
                       theirs);
                wrong++;
            }
        }
    }
    ok(known > 150 && wrong == 0, "%zu call numbers agree with libseccomp's", known);
}

static void check_libseccomp(void)
{
    seccomp_api_set(6); /* notification, whatever the running kernel offers */
    check_numbers();
    for (int arch = 0; arch < PLAN_ARCHES; arch++) {
        check_oracle(typical, arch);
        check_oracle("(version 1)(deny default)", arch);
    }
}

#else

static void check_libseccomp(void)
{
    skip("libseccomp-dev is not installed");
}

#endif

/* ---- the kernel ---- */

static int errno_of(long result)
{
    return result < 0 ? errno : 0;
}

/* int 0x80 reaches the table of 32-bit calls, where 20 is getpid. */
static int legacy_call(void)
{
#if defined(__x86_64__)
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "0"(20L) : "memory", "r8", "r9", "r10", "r11");
    return result < 0 && result > -4096 ? (int)-result : 0;
#else
    return ENOSYS;
#endif
}

enum { TRIED = 9 };

static void try_calls(const struct sock_filter *prog, size_t n, int got[TRIED])
{
    struct sock_fprog program = {.len = (unsigned short)n, .filter = (struct sock_filter *)prog};
    memset(got, 0xff, TRIED * sizeof(*got));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        return;
    char args[88] = {0};
    got[0] = errno_of(syscall(SYS_getpid));
    got[1] = errno_of(syscall(SYS_mount, "none", "/nowhere", "tmpfs", 0, NULL));
    got[2] = errno_of(syscall(SYS_clone3, args, sizeof(args)));
    got[3] = errno_of(syscall(SYS_io_uring_setup, 1, args));
    got[4] = errno_of(syscall(1000));
    got[5] = errno_of(syscall(SYS_unshare, 0x10000000 /* CLONE_NEWUSER */));
    got[6] = errno_of(
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program));
    got[7] = legacy_call();
    got[8] = errno_of(syscall(SYS_getpid | X32));
}

static void check_kernel(void)
{
    static const struct {
        const char *name;
        int want;
    } rows[TRIED] = {
        {"the filter is accepted, getpid passes", 0},
        {"mount", EPERM},
        {"clone3", ENOSYS},
        {"io_uring_setup", EPERM},
        {"an unknown number", ENOSYS},
        {"a user namespace", ENOSYS}, /* judged, and nobody answers */
        {"a listener of its own", EPERM},
        {"int 0x80", ENOSYS},
        {"an x32 number", ENOSYS},
    };
    OWN(planned) struct planned p;
    const struct plan_options opt = {.arch = PLAN_NATIVE};
    struct sock_filter prog[PROGRAM];
    struct bk_err err;
    size_t n = 0;
    int *got = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!ok(planned_make(&p, typical, &opt, "") && got != MAP_FAILED &&
                bpf_assemble(&p.plan, prog, PROGRAM, &n, &err) == 0,
            "ready for the kernel"))
        return;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        try_calls(prog, n, got);
        _exit(0);
    }
    int status = -1;
    ok(child > 0 && waitpid(child, &status, 0) == child && status == 0, "the child ends normally");
    for (size_t i = 0; i < TRIED; i++)
        is_int(got[i], rows[i].want, "kernel: %s", rows[i].name);
    munmap(got, 4096);
}

/* ---- filters of our own processes ---- */

static bool lists(const struct own_filter *f, uint32_t nr)
{
    for (size_t l = 0; l < 2; l++)
        for (size_t i = 0; i < f->lists[l].n; i++)
            if ((uint32_t)f->lists[l].numbers[i] == nr)
                return true;
    return false;
}

static uint32_t own_expected(const struct own_filter *f, uint32_t nr, uint64_t flags)
{
    bool opens = nr == SYS_openat;
#ifdef SYS_open
    opens = opens || nr == SYS_open;
#endif
    if (f->nbut > 0 && opens)
        return flags & KABI_OPEN_WRITES ? SECCOMP_RET_ERRNO | EPERM : SECCOMP_RET_ALLOW;
    if (f->nbut > OWN_NREADS && nr == SYS_kill)
        return flags == 1 ? SECCOMP_RET_ALLOW : SECCOMP_RET_ERRNO | ENODEV;
    return lists(f, nr) ? f->listed : f->others;
}

static void check_own(void)
{
    static int many[OWN_FILTER_CALLS];
    static const int few[] = {400, 3, 61, 0};
    static struct sock_filter prog[OWN_FILTER_MAX];
    for (int i = 0; i < OWN_FILTER_CALLS; i++)
        many[i] = (i * 37) % 400;
    for (size_t n = 0; n <= OWN_FILTER_CALLS - 4; n += n < 5 ? 1 : 41) {
        struct own_filter f = {.lists = {{few, n % 2 ? 4 : 0}, {many, n}},
                               .listed = SECCOMP_RET_ERRNO | ENOTTY,
                               .others = SECCOMP_RET_KILL_PROCESS,
                               .but = {OWN_READS,
                                       {SYS_kill,
                                        2,
                                        {{0, OWN_EQUAL, 5}, {2, OWN_EQUAL, 1}},
                                        SECCOMP_RET_ALLOW,
                                        SECCOMP_RET_ERRNO | ENODEV}},
                               .nbut = n % 3 ? OWN_NREADS + n % 3 - 1 : 0};
        size_t len = own_filter_make(&f, prog), wrong = 0;
        for (uint32_t nr = 0; nr < 600; nr++)
            for (uint64_t flags = 0; flags <= O_RDWR; flags++) {
                uint64_t args[6] = {5, flags, flags};
                uint32_t got = bpf_simulate(prog, len, arches[PLAN_NATIVE], nr, args);
                wrong += got != own_expected(&f, nr, flags);
            }
        ok(len > 0 && wrong == 0, "a filter of our own with %zu calls", n);
        const uint64_t none[6] = {0};
        ok(bpf_simulate(prog, len, 7, 0, none) == SECCOMP_RET_KILL_PROCESS, "another architecture");
    }
    struct own_filter f = {.lists = {{few, 1}, {many, OWN_FILTER_CALLS}}};
    ok(own_filter_make(&f, prog) == 0, "too many calls");
}

int main(void)
{
    check_simulator();
    check_own();
    check_refusals();
    check_profiles();
    check_long();
    check_sizes();
    check_libseccomp();
    check_kernel();
    return done_testing();
}
