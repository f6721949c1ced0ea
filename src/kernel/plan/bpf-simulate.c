/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Classic BPF as seccomp runs it, for tests. A program is verified as the kernel verifies it, then
 * interpreted. A program that fails verification counts as one that kills.
 */

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <string.h>

#include "kernel/plan/plan.h"

/* The accumulator, the index register and the scratch memory. */
struct machine {
    struct seccomp_data data;
    uint32_t a, x;
    uint32_t mem[BPF_MEMWORDS];
};

static bool is_jump(const struct sock_filter *i)
{
    return BPF_CLASS(i->code) == BPF_JMP;
}

static const bool known_codes[256] = {
    [BPF_LD | BPF_W | BPF_ABS] = true,
    [BPF_LD | BPF_W | BPF_LEN] = true,
    [BPF_LD | BPF_IMM] = true,
    [BPF_LD | BPF_MEM] = true,
    [BPF_LDX | BPF_W | BPF_LEN] = true,
    [BPF_LDX | BPF_IMM] = true,
    [BPF_LDX | BPF_MEM] = true,
    [BPF_ST] = true,
    [BPF_STX] = true,
    [BPF_RET | BPF_K] = true,
    [BPF_RET | BPF_A] = true,
    [BPF_MISC | BPF_TAX] = true,
    [BPF_MISC | BPF_TXA] = true,
    [BPF_ALU | BPF_NEG] = true,
    [BPF_ALU | BPF_ADD | BPF_K] = true,
    [BPF_ALU | BPF_SUB | BPF_K] = true,
    [BPF_ALU | BPF_MUL | BPF_K] = true,
    [BPF_ALU | BPF_AND | BPF_K] = true,
    [BPF_ALU | BPF_OR | BPF_K] = true,
    [BPF_ALU | BPF_XOR | BPF_K] = true,
    [BPF_ALU | BPF_LSH | BPF_K] = true,
    [BPF_ALU | BPF_RSH | BPF_K] = true,
    [BPF_ALU | BPF_ADD | BPF_X] = true,
    [BPF_ALU | BPF_SUB | BPF_X] = true,
    [BPF_ALU | BPF_MUL | BPF_X] = true,
    [BPF_ALU | BPF_AND | BPF_X] = true,
    [BPF_ALU | BPF_OR | BPF_X] = true,
    [BPF_ALU | BPF_XOR | BPF_X] = true,
    [BPF_JMP | BPF_JA] = true,
    [BPF_JMP | BPF_JEQ | BPF_K] = true,
    [BPF_JMP | BPF_JGE | BPF_K] = true,
    [BPF_JMP | BPF_JGT | BPF_K] = true,
    [BPF_JMP | BPF_JSET | BPF_K] = true,
    [BPF_JMP | BPF_JEQ | BPF_X] = true,
    [BPF_JMP | BPF_JGE | BPF_X] = true,
    [BPF_JMP | BPF_JGT | BPF_X] = true,
    [BPF_JMP | BPF_JSET | BPF_X] = true,
};

/* left: instructions after this one. */
static bool is_sound(const struct sock_filter *i, size_t left)
{
    uint16_t code = i->code;
    if (code > 0xff || !known_codes[code])
        return false;
    if (code == (BPF_JMP | BPF_JA))
        return i->k < left;
    if (is_jump(i))
        return i->jt < left && i->jf < left;
    if (code == (BPF_LD | BPF_W | BPF_ABS))
        return i->k % 4 == 0 && i->k < sizeof(struct seccomp_data);
    if (code == (BPF_LD | BPF_MEM) || code == (BPF_LDX | BPF_MEM) || code == BPF_ST ||
        code == BPF_STX)
        return i->k < BPF_MEMWORDS;
    if (code == (BPF_ALU | BPF_LSH | BPF_K) || code == (BPF_ALU | BPF_RSH | BPF_K))
        return i->k < 32;
    return true;
}

static bool is_program(const struct sock_filter *prog, size_t n)
{
    if (n == 0 || n > BPF_MAXINSNS || BPF_CLASS(prog[n - 1].code) != BPF_RET)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_sound(&prog[i], n - i - 1))
            return false;
    return true;
}

static void calculate(struct machine *m, uint16_t code, uint32_t v)
{
    switch (BPF_OP(code)) {
    case BPF_ADD:
        m->a += v;
        break;
    case BPF_SUB:
        m->a -= v;
        break;
    case BPF_MUL:
        m->a *= v;
        break;
    case BPF_AND:
        m->a &= v;
        break;
    case BPF_OR:
        m->a |= v;
        break;
    case BPF_XOR:
        m->a ^= v;
        break;
    case BPF_LSH:
        m->a <<= v;
        break;
    case BPF_RSH:
        m->a >>= v;
        break;
    case BPF_NEG:
        m->a = -m->a;
        break;
    }
}

static uint32_t load(const struct machine *m, const struct sock_filter *i)
{
    uint32_t word;
    switch (BPF_MODE(i->code)) {
    case BPF_IMM:
        return i->k;
    case BPF_MEM:
        return m->mem[i->k];
    case BPF_LEN:
        return sizeof(m->data);
    }
    memcpy(&word, (const char *)&m->data + i->k, sizeof(word));
    return word;
}

static bool holds(const struct machine *m, const struct sock_filter *i)
{
    uint32_t v = BPF_SRC(i->code) == BPF_X ? m->x : i->k;
    switch (BPF_OP(i->code)) {
    case BPF_JEQ:
        return m->a == v;
    case BPF_JGT:
        return m->a > v;
    case BPF_JGE:
        return m->a >= v;
    }
    return (m->a & v) != 0;
}

/* Everything except jumps and returns. */
static void perform(struct machine *m, const struct sock_filter *i)
{
    switch (BPF_CLASS(i->code)) {
    case BPF_LD:
        m->a = load(m, i);
        break;
    case BPF_LDX:
        m->x = load(m, i);
        break;
    case BPF_ST:
        m->mem[i->k] = m->a;
        break;
    case BPF_STX:
        m->mem[i->k] = m->x;
        break;
    case BPF_ALU:
        calculate(m, i->code, BPF_SRC(i->code) == BPF_X ? m->x : i->k);
        break;
    case BPF_MISC:
        if (BPF_MISCOP(i->code) == BPF_TAX)
            m->x = m->a;
        else
            m->a = m->x;
        break;
    }
}

uint32_t bpf_simulate(const struct sock_filter *prog, size_t n, uint32_t arch, uint32_t nr,
                      const uint64_t args[6])
{
    struct machine m = {.data = {.nr = (int)nr, .arch = arch}};
    memcpy(m.data.args, args, sizeof(m.data.args));
    if (!is_program(prog, n))
        return SECCOMP_RET_KILL_PROCESS;
    for (const struct sock_filter *i = prog;; i++) {
        if (BPF_CLASS(i->code) == BPF_RET)
            return BPF_RVAL(i->code) == BPF_A ? m.a : i->k;
        if (i->code == (BPF_JMP | BPF_JA))
            i += i->k;
        else if (is_jump(i))
            i += holds(&m, i) ? i->jt : i->jf;
        else
            perform(&m, i);
    }
}
