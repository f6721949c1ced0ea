/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The filter as a program. Every call number belongs to one span of numbers with the same
 * treatment. Calls without a rule share spans that pass, and neighbours with the same refusal share
 * one too. A balanced tree of comparisons finds the span. Most spans end in a shared return; a call
 * whose arguments matter ends in its chain of tests.
 *
 * Classic BPF jumps only forward, and conditional jumps reach at most 255 instructions. So we write
 * the program from its end to its beginning: when we write a jump, its targets exist already. A
 * target that is too far gets a stepping stone, an unconditional jump, which has 32 bits. Positions
 * count from the end, so they stay valid while the program grows.
 *
 * A program of another architecture could reach the same kernel through other numbers (int 0x80 on
 * x86-64). So the filter tests the architecture first and refuses other ones. The same applies to
 * numbers above the last known one, including x32's: ENOSYS makes libraries fall back, where EPERM
 * would make them give up.
 *
 * The kernel works out in advance which numbers a filter allows without looking at arguments, and
 * skips the filter for them. It understands only comparisons with constants there, so we use
 * nothing else.
 */

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>

#include "kernel/host/kabi.h"
#include "kernel/plan/plan.h"

static const struct sys_action pass = {SYS_ALLOW, 0}, absent = {SYS_ERRNO, ENOSYS};

/* Conditional jumps carry eight bits. */
enum { NEAR = 255, RETURNS = 8 };

struct assembler {
    struct sock_filter *out;
    size_t cap, n; /* the last n of cap instructions are written */
    bool full;
    struct {
        uint32_t value;
        size_t at;
    } returns[RETURNS]; /* returns that others may share */
    size_t nreturns;
    uint64_t pass;
    bool judge;
};

/* Writes in front of everything else. Returns its position. */
static size_t emit(struct assembler *a, struct sock_filter insn)
{
    if (a->n == a->cap) {
        a->full = true;
        return a->n;
    }
    a->n++;
    a->out[a->cap - a->n] = insn;
    return a->n;
}

static size_t emit_statement(struct assembler *a, uint16_t code, uint32_t k)
{
    return emit(a, (struct sock_filter)BPF_STMT(code, k));
}

/* Instructions between the next one to be written and a position. */
static size_t distance(const struct assembler *a, size_t to)
{
    return a->n - to;
}

static size_t emit_jump(struct assembler *a, size_t to)
{
    return emit_statement(a, BPF_JMP | BPF_JA, (uint32_t)distance(a, to));
}

/* room: instructions that may still be written between the branch and its target. */
static size_t within_reach(struct assembler *a, size_t to, size_t room)
{
    return distance(a, to) + room > NEAR ? emit_jump(a, to) : to;
}

static size_t emit_branch(struct assembler *a, uint16_t test, uint32_t k, size_t yes, size_t no)
{
    if (yes == no)
        return yes;
    yes = within_reach(a, yes, 1);
    no = within_reach(a, no, 0);
    return emit(a,
                (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | BPF_K | test), k,
                                             (uint8_t)distance(a, yes), (uint8_t)distance(a, no)));
}

static uint32_t return_value(struct sys_action action)
{
    static const uint32_t values[] = {
        [SYS_ALLOW] = SECCOMP_RET_ALLOW,
        [SYS_NOTIFY] = SECCOMP_RET_USER_NOTIF,
        [SYS_ERRNO] = SECCOMP_RET_ERRNO,
    };
    uint32_t data = action.verdict == SYS_ERRNO ? action.err & SECCOMP_RET_DATA : 0;
    return values[action.verdict] | data;
}

/* A return near enough for a branch that we write soon. A second one costs no more than a stepping
 * stone to the first. */
static size_t emit_return(struct assembler *a, struct sys_action action)
{
    uint32_t value = return_value(action);
    size_t i = 0;
    while (i < a->nreturns && a->returns[i].value != value)
        i++;
    if (i < a->nreturns && distance(a, a->returns[i].at) + 8 <= NEAR)
        return a->returns[i].at;
    size_t at = emit_statement(a, BPF_RET | BPF_K, value);
    if (i < RETURNS) {
        a->returns[i].value = value;
        a->returns[i].at = at;
        if (i == a->nreturns)
            a->nreturns++;
    }
    return at;
}

/* ---- one call ---- */

static size_t emit_load(struct assembler *a, size_t offset)
{
    return emit_statement(a, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset);
}

/* One half of an argument; both architectures are little-endian. */
static size_t argument_offset(uint8_t arg)
{
    return offsetof(struct seccomp_data, args) + (arg & ~SYS_HIGH) * sizeof(uint64_t) +
           (arg & SYS_HIGH ? sizeof(uint32_t) : 0);
}

static bool masks(const struct sys_test *t)
{
    return t->how != SYS_ANY && t->mask != 0xffffffff;
}

static size_t emit_test(struct assembler *a, const struct sys_test *t, size_t next)
{
    size_t then = emit_return(a, t->then);
    if (t->how == SYS_ANY)
        return emit_branch(a, BPF_JSET, t->mask, then, next);
    size_t yes = t->how == SYS_EQUAL ? then : next, no = t->how == SYS_EQUAL ? next : then;
    return emit_branch(a, BPF_JEQ, t->value, yes, no);
}

/* Whether a test looks at what the previous one left in the accumulator. */
static bool is_there(const struct sys_test *t, const struct sys_test *before)
{
    if (!before || before->arg != t->arg)
        return false;
    return !masks(before) || (masks(t) && before->mask == t->mask);
}

/* The chain of a call's tests. It does not load or mask again what the previous test has. */
static size_t emit_rule(struct assembler *a, const struct sys_rule *r)
{
    size_t at = emit_return(a, r->otherwise);
    for (size_t i = (size_t)r->ntests + r->nmore; i-- > 0;) {
        struct sys_test t = *sys_test_at(r, i);
        const struct sys_test *before = i ? sys_test_at(r, i - 1) : NULL;
        size_t next = at;
        if (i >= r->ntests && !a->judge)
            t.then = plan_without_judge(t.then);
        at = emit_test(a, &t, next);
        if (at == next)
            continue; /* and so were all the later ones */
        bool there = is_there(&t, before);
        if (masks(&t) && !(there && masks(before)))
            at = emit_statement(a, BPF_ALU | BPF_AND | BPF_K, t.mask);
        if (!there)
            at = emit_load(a, argument_offset(t.arg));
    }
    return at;
}

/* A call that carries the run's pass in two arguments that the kernel ignores goes through. The
 * filter compares the low halves of both, 64 bits together. */
static size_t emit_pass(struct assembler *a, size_t at)
{
    enum { LOW = 4, HIGH = 5 };
    size_t through = emit_return(a, pass);
    emit_branch(a, BPF_JEQ, (uint32_t)(a->pass >> 32), through, at);
    size_t high = emit_load(a, argument_offset(HIGH));
    emit_branch(a, BPF_JEQ, (uint32_t)a->pass, high, at);
    return emit_load(a, argument_offset(LOW));
}

/* ---- all calls ---- */

/* Numbers from first up to the next span's first, all treated by rule (NULL: they pass). */
struct span {
    uint32_t first;
    const struct sys_rule *rule;
};

enum { SPANS = 2 * (KABI_LAST_SYSCALL + 1) + 1 };

static bool same_treatment(const struct sys_rule *a, const struct sys_rule *b)
{
    if (!a || !b)
        return a == b;
    return a->ntests + a->nmore == 0 && b->ntests + b->nmore == 0 && !a->passable && !b->passable &&
           return_value(a->otherwise) == return_value(b->otherwise);
}

static void add_span(struct span *spans, size_t *n, uint32_t first, const struct sys_rule *rule)
{
    if (*n > 0 && spans[*n - 1].first == first)
        spans[*n - 1].rule = rule; /* the passing span after the previous call is empty */
    else
        spans[(*n)++] = (struct span){first, rule};
    if (*n > 1 && same_treatment(spans[*n - 1].rule, spans[*n - 2].rule))
        --*n;
}

static size_t make_spans(const struct plan *p, struct span *spans)
{
    size_t n = 0;
    add_span(spans, &n, 0, NULL);
    for (size_t i = 0; i < p->ncalls; i++) {
        add_span(spans, &n, (uint32_t)p->calls[i].nr, &p->calls[i]);
        add_span(spans, &n, (uint32_t)p->calls[i].nr + 1, NULL);
    }
    return n;
}

static size_t emit_span(struct assembler *a, const struct span *s)
{
    if (!s->rule)
        return emit_return(a, pass);
    size_t at = emit_rule(a, s->rule);
    return s->rule->passable && a->pass ? emit_pass(a, at) : at;
}

/* Its depth is the logarithm of the number of spans: about eight. */
static size_t emit_tree(struct assembler *a, const struct span *spans, size_t n)
{
    if (n == 1)
        return emit_span(a, spans);
    size_t half = n / 2;
    size_t above = emit_tree(a, spans + half, n - half);
    size_t below = emit_tree(a, spans, half);
    return emit_branch(a, BPF_JGE, spans[half].first, above, below);
}

/* Checks what the spans rely on. */
static int check_calls(const struct plan *p, struct bk_err *err)
{
    int last = -1;
    for (size_t i = 0; i < p->ncalls; i++) {
        const struct sys_rule *r = &p->calls[i];
        bool sound = r->nr > last && r->nr <= KABI_LAST_SYSCALL && r->ntests <= SYS_TESTS &&
                     r->otherwise.verdict <= SYS_ERRNO;
        for (size_t k = 0; sound && k < (size_t)r->ntests + r->nmore; k++) {
            const struct sys_test *t = sys_test_at(r, k);
            sound = (t->arg & ~SYS_HIGH) < 6 && t->how <= SYS_ANY && t->then.verdict <= SYS_ERRNO;
        }
        if (!sound)
            return err_set(err, BK_E_BUG, "the filter's rule for %s (%d) is out of order", r->name,
                           r->nr);
        last = r->nr;
    }
    return 0;
}

int bpf_assemble(const struct plan *p, struct sock_filter *out, size_t cap, size_t *n,
                 struct bk_err *err)
{
    static const uint32_t arches[] = {
        [PLAN_X86_64] = AUDIT_ARCH_X86_64,
        [PLAN_ARM64] = AUDIT_ARCH_AARCH64,
        [PLAN_RISCV64] = AUDIT_ARCH_RISCV64,
    };
    struct span spans[SPANS];
    struct assembler a = {.out = out, .cap = cap, .pass = p->pass, .judge = p->judge};
    if (check_calls(p, err) < 0)
        return -1;
    size_t known = emit_tree(&a, spans, make_spans(p, spans));
    emit_branch(&a, BPF_JGT, KABI_LAST_SYSCALL, emit_return(&a, absent), known);
    size_t native = emit_load(&a, offsetof(struct seccomp_data, nr));
    emit_branch(&a, BPF_JEQ, arches[p->opt.arch], native, emit_return(&a, absent));
    emit_load(&a, offsetof(struct seccomp_data, arch));
    if (a.full)
        return err_set(err, BK_E_LIMIT, "the filter has more than %zu instructions", cap);
    memmove(out, out + cap - a.n, a.n * sizeof(*out));
    *n = a.n;
    return 0;
}
