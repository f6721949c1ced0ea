/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The filter as OCI's runtime specification has it. Its rules for one call are not ordered, and a
 * rule allows or refuses by a conjunction of tests. So refusals are written where no test before
 * them decides otherwise; what needs the order, or the judge, is lost.
 */

#include <string.h>

#include "base/own.h"
#include "export/on-linux/export-int.h"

static const char *const archs[] = {
    [PLAN_X86_64] = "SCMP_ARCH_X86_64",
    [PLAN_ARM64] = "SCMP_ARCH_AARCH64",
    [PLAN_RISCV64] = "SCMP_ARCH_RISCV64",
};

static void put_head(struct buf *out, const char *name, unsigned errnum, bool *later)
{
    buf_str(out, *later ? ",\n    " : "\n    ");
    buf_fmt(out, "{\"names\": [\"%s\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": %u", name,
            errnum);
    *later = true;
}

static void put_test(struct buf *out, const struct sys_rule *r, unsigned errnum, unsigned arg,
                     uint32_t mask, uint32_t value, bool *later)
{
    put_head(out, r->name, errnum, later);
    buf_fmt(out,
            ", \"args\": [{\"index\": %u, \"value\": %u, \"valueTwo\": %u, \"op\": "
            "\"SCMP_CMP_MASKED_EQ\"}]}",
            arg, mask, value);
}

/* Whether two tests of one argument cannot both hold. */
static bool apart(const struct sys_test *a, const struct sys_test *b)
{
    uint32_t both = a->mask & b->mask;
    return a->arg == b->arg && a->how == SYS_EQUAL && b->how == SYS_EQUAL &&
           (a->value & both) != (b->value & both);
}

/* Refusals by argument, if no earlier test can decide otherwise. Returns whether all of it is
 * said. */
static bool put_tests(struct buf *out, const struct sys_rule *r, bool *later)
{
    bool whole = plan_without_judge(r->otherwise).verdict == SYS_ALLOW;
    size_t n = (size_t)r->ntests + r->nmore;
    for (size_t i = 0; i < n; i++) {
        const struct sys_test *t = sys_test_at(r, i);
        struct sys_action then = plan_without_judge(t->then);
        bool first = t->how != SYS_DIFFERS && !(t->arg & SYS_HIGH);
        whole &= t->then.verdict != SYS_NOTIFY;
        if (then.verdict != SYS_ERRNO || !then.err)
            continue;
        for (size_t j = 0; j < i; j++) {
            const struct sys_test *before = sys_test_at(r, j);
            struct sys_action a = plan_without_judge(before->then);
            bool same = a.verdict == SYS_ERRNO && a.err == then.err;
            first &= same || apart(before, t);
        }
        whole &= first;
        if (!first)
            continue;
        if (t->how == SYS_EQUAL)
            put_test(out, r, then.err, t->arg, t->mask, t->value, later);
        for (unsigned bit = 0; t->how == SYS_ANY && bit < 32; bit++)
            if (t->mask >> bit & 1)
                put_test(out, r, then.err, t->arg, 1U << bit, 1U << bit, later);
    }
    return whole && r->otherwise.verdict != SYS_NOTIFY;
}

int export_seccomp(struct exporter *e, struct bk_err *err)
{
    struct buf *out = &e->out->text;
    bool later = false;
    (void)err;
    buf_fmt(out,
            "{\n  \"defaultAction\": \"SCMP_ACT_ALLOW\",\n  \"architectures\": [\"%s\"],\n"
            "  \"syscalls\": [",
            archs[e->plan.opt.arch]);
    for (size_t i = 0; i < e->plan.ncalls; i++) {
        const struct sys_rule *r = &e->plan.calls[i];
        struct sys_action a = plan_without_judge(r->otherwise);
        if (r->ntests + r->nmore == 0 && a.verdict == SYS_ERRNO && a.err && !r->passable) {
            put_head(out, r->name, a.err, &later);
            buf_chr(out, '}');
        } else if (!put_tests(out, r, &later)) {
            export_lost(e, r->name, "judged, or refused by tests that need an order");
        }
    }
    buf_str(out, "\n  ]\n}\n");
    export_lost(e, "paths", "a filter does not see them");
    return 0;
}
