/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A list of comparisons would do for so few calls. But at installation the kernel tries every call
 * number: a hundred comparisons take it an eighth of a millisecond, a tree almost nothing.
 */

#include "kernel/shared/own-filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define NATIVE AUDIT_ARCH_RISCV64
#else
#error "system calls of this processor are in no table here"
#endif

struct writer {
    const struct own_filter *f;
    struct sock_filter *out;
    size_t n;
};

static void put(struct writer *w, struct sock_filter step)
{
    w->out[w->n++] = step;
}

static void answer(struct writer *w, uint32_t value)
{
    put(w, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value));
}

/* Every path through it ends in an answer. */
static void put_tree(struct writer *w, const int *numbers, size_t n)
{
    if (n == 0) {
        answer(w, w->f->others);
        return;
    }
    if (n == 1) {
        put(w, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)numbers[0], 0, 1));
        answer(w, w->f->listed);
        answer(w, w->f->others);
        return;
    }
    /* the lower half follows; an unconditional jump reaches as far as it must */
    size_t here = w->n, half = n / 2;
    put(w, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)numbers[half], 0, 1));
    w->n++;
    put_tree(w, numbers, half);
    w->out[here + 1] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(w->n - here - 2));
    put_tree(w, numbers + half, n - half);
}

/* The low half of an argument comes first on both architectures. */
static void put_call(struct writer *w, const struct own_call *c)
{
    uint8_t n = c->nchecks;
    put(w, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)c->nr, 0,
                                        (uint8_t)(2 * n + 2)));
    for (uint8_t i = 0; i < n; i++) {
        uint16_t test = c->checks[i].how == OWN_ANY ? BPF_JSET : BPF_JEQ;
        put(w, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                            (uint32_t)(offsetof(struct seccomp_data, args) +
                                                       c->checks[i].arg * sizeof(uint64_t))));
        put(w, (struct sock_filter)BPF_JUMP((uint16_t)(BPF_JMP | BPF_K | test), c->checks[i].value,
                                            0, (uint8_t)(2 * (n - 1 - i) + 1)));
    }
    answer(w, c->then);
    answer(w, c->else_);
}

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

size_t own_filter_make(const struct own_filter *f, struct sock_filter out[OWN_FILTER_MAX])
{
    struct writer w = {f, out, 0};
    int sorted[OWN_FILTER_CALLS];
    size_t n = 0;
    for (size_t l = 0; l < 2; l++)
        for (size_t i = 0; i < f->lists[l].n; i++) {
            if (n == OWN_FILTER_CALLS)
                return 0;
            sorted[n++] = f->lists[l].numbers[i];
        }
    qsort(sorted, n, sizeof(sorted[0]), by_number);
    put(&w, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                         offsetof(struct seccomp_data, arch)));
    put(&w, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0));
    answer(&w, SECCOMP_RET_KILL_PROCESS);
    put(&w,
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    for (size_t i = 0; i < f->nbut; i++)
        put_call(&w, &f->but[i]);
    put_tree(&w, sorted, n);
    return w.n;
}

int own_filter_install(const struct own_filter *f)
{
    struct sock_filter program[OWN_FILTER_MAX];
    size_t n = own_filter_make(f, program);
    struct sock_fprog prog = {(unsigned short)n, program};
    if (n == 0)
        return -E2BIG;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0 ? -errno : 0;
}
