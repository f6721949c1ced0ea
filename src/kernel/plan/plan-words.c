/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Words for the parts of a plan. */

#include "kernel/plan/plan-words.h"

#include "kernel/host/kabi.h"

const char *plan_tier_word(enum plan_tier tier)
{
    static const char *const words[] = {
        [TIER_FREE] = "free",     [TIER_JUDGED] = "judged", [TIER_WALLED] = "walled",
        [TIER_SENTRY] = "sentry", [TIER_MASKED] = "masked", [TIER_DENIED] = "denied",
        [TIER_ABSENT] = "absent",
    };
    return words[tier];
}

const char *plan_arch_word(enum plan_arch arch)
{
    static const char *const words[PLAN_ARCHES] = {
        [PLAN_X86_64] = "x86_64",
        [PLAN_ARM64] = "aarch64",
        [PLAN_RISCV64] = "riscv64",
    };
    return words[arch];
}

size_t plan_namespace_names(const struct plan *p, const char *names[PLAN_NAMESPACES])
{
    const struct {
        bool on;
        const char *name;
    } all[PLAN_NAMESPACES] = {
        {p->user_ns, "user"},   {p->mount_ns, "mount"}, {p->pid_ns, "pid"},
        {p->net_ns, "network"}, {p->ipc_ns, "ipc"},     {p->uts_ns, "uts"},
    };
    size_t n = 0;
    for (size_t i = 0; i < PLAN_NAMESPACES; i++)
        if (all[i].on)
            names[n++] = all[i].name;
    return n;
}

/* Wider sets first, so that what they name is not named again. */
static const struct {
    uint64_t rights;
    const char *words;
} right_words[] = {
    {KABI_LL_READ_FILE | KABI_LL_READ_DIR, "read"},
    {KABI_LL_READ_FILE, "read files"},
    {KABI_LL_READ_DIR, "list folders"},
    {KABI_LL_WRITE_FILE | KABI_LL_TRUNCATE, "write"},
    {KABI_LL_WRITE_FILE, "write"},
    {KABI_LL_TRUNCATE, "truncate"},
    {KABI_LL_MAKE_REG | KABI_LL_MAKE_DIR | KABI_LL_MAKE_SYM | KABI_LL_MAKE_FIFO | KABI_LL_MAKE_SOCK,
     "create"},
    {KABI_LL_MAKE_REG, "create files"},
    {KABI_LL_MAKE_DIR, "create folders"},
    {KABI_LL_MAKE_SYM, "create symlinks"},
    {KABI_LL_MAKE_FIFO, "create pipes"},
    {KABI_LL_MAKE_SOCK, "create sockets"},
    {KABI_LL_REMOVE_FILE | KABI_LL_REMOVE_DIR, "remove"},
    {KABI_LL_REMOVE_FILE, "remove files"},
    {KABI_LL_REMOVE_DIR, "remove folders"},
    {KABI_LL_REFER, "move between folders"},
    {KABI_LL_MAKE_CHAR | KABI_LL_MAKE_BLOCK, "create devices"},
    {KABI_LL_MAKE_CHAR, "create character devices"},
    {KABI_LL_MAKE_BLOCK, "create block devices"},
    {KABI_LL_EXECUTE, "execute"},
    {KABI_LL_IOCTL_DEV, "control devices"},
};

size_t plan_right_words(uint64_t rights, const char *words[PLAN_RIGHTS])
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof(right_words) / sizeof(right_words[0]); i++) {
        if ((rights & right_words[i].rights) != right_words[i].rights)
            continue;
        words[n++] = right_words[i].words;
        rights &= ~right_words[i].rights;
    }
    return n;
}

enum call_group plan_call_group(const struct sys_rule *r)
{
    bool asks = r->otherwise.verdict == SYS_NOTIFY;
    for (size_t i = 0; i < r->ntests; i++)
        asks |= r->tests[i].then.verdict == SYS_NOTIFY;
    if (asks)
        return CALLS_JUDGED;
    if (r->ntests + r->nmore)
        return CALLS_TESTED;
    return r->otherwise.verdict == SYS_ERRNO ? CALLS_REFUSED : CALLS_PASSED;
}

const char *plan_group_word(enum call_group group)
{
    static const char *const words[] = {
        [CALLS_JUDGED] = "judged",
        [CALLS_TESTED] = "by argument",
        [CALLS_REFUSED] = "refused",
        [CALLS_PASSED] = "passed",
    };
    return words[group];
}

/* Operations without a meaning on Linux are left out. Others that nothing enforces have a note that
 * says why. */
bool plan_is_unenforced(const struct plan *p, enum vocab_op op)
{
    return p->ops[op].tier == TIER_ABSENT && p->ops[op].note;
}

void plan_op_note(const struct plan_op *o, struct buf *out)
{
    if (o->note)
        buf_str(out, o->note);
    if (o->remedy)
        buf_fmt(out, "; %s", remedy_words(o->remedy));
}
