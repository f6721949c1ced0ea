/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_PLAN_FILTER_H
#define BK_KERNEL_PLAN_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* The seccomp filter as data (one rule a system call), and as a BPF program (bpf.c). */

struct plan;

enum sys_verdict { SYS_ALLOW, SYS_NOTIFY, SYS_ERRNO };

struct sys_action {
    uint8_t verdict; /* enum sys_verdict */
    uint16_t err;    /* SYS_ERRNO: the errno; 0 pretends success. SYS_NOTIFY: the errno without a
                        judge; 0 passes */
};

/* A test of one half of an argument: the low 32 bits, or with SYS_HIGH the others. */
enum sys_how {
    SYS_EQUAL,   /* (argument & mask) == value */
    SYS_DIFFERS, /* (argument & mask) != value */
    SYS_ANY,     /* (argument & mask) != 0 */
};

enum { SYS_HIGH = 8 };

struct sys_test {
    uint8_t arg; /* its number, and SYS_HIGH */
    uint8_t how; /* enum sys_how */
    uint32_t mask, value;
    struct sys_action then;
};

enum { SYS_TESTS = 20 };

struct sys_rule {
    const char *name;
    int nr;
    uint8_t ntests;
    struct sys_test tests[SYS_TESTS]; /* the first that matches decides */
    struct sys_action otherwise;
    bool passable;               /* passes if it carries the run's pass; see plan.pass */
    const struct sys_test *more; /* checked after the others; the same in every plan */
    uint8_t nmore;
};

/* The test with that index, among both lists. */
static inline const struct sys_test *sys_test_at(const struct sys_rule *r, size_t i)
{
    return i < r->ntests ? &r->tests[i] : &r->more[i - r->ntests];
}

/* The action in a plan that has no judge. */
struct sys_action plan_without_judge(struct sys_action a);

/* ---- the filter as a program (bpf.c) ---- */

struct sock_filter;

/* Assembles the calls into a search tree of at most cap instructions. Returns -1 if they do not
 * fit. */
int bpf_assemble(const struct plan *p, struct sock_filter *out, size_t cap, size_t *n,
                 struct bk_err *err);
/* Runs a program on one call as the kernel would. Returns the 32-bit value. For tests. */
uint32_t bpf_simulate(const struct sock_filter *prog, size_t n, uint32_t arch, uint32_t nr,
                      const uint64_t args[6]);

#endif
