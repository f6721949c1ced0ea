/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The filter as an OCI runtime takes it: calls by name, and rules that have no order. Calls that
 * nothing here knows fail with ENOSYS. A call that the plan decides by its arguments goes to the
 * judge as a whole, which applies the plan's tests in their order; where a single mask tells which
 * ones pass, the runtime's filter passes those.
 *
 * The first execve() of a container goes to the judge in any case: until then the process is the
 * runtime's own (judge-container.c).
 */

#include "node/spec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/sha256.h"
#include "kernel/plan/plan-int.h"
#include "kernel/plan/plan-words.h"

static const char *const passed[] = {
#define CALL(name) #name,
#include "kernel/plan/passed-calls.def"
};

/* Also those that are in the plan only under some policies. */
static const char *const planned[] = {
#define JUDGED(name, x86, arm, handler, operations, when) #name,
#define TESTED(name, x86, arm, handler) #name,
#define REFUSED(name, x86, arm, err, why) #name,
#include "kernel/plan/syscalls.def"
};

static const struct sys_rule *rule_of(const struct plan *p, const char *name)
{
    for (size_t i = 0; i < p->ncalls; i++)
        if (strcmp(p->calls[i].name, name) == 0)
            return &p->calls[i];
    return NULL;
}

/* Bits of which one is set in every argument that the test is about; 0: there are none. */
static uint32_t telling_bits(const struct sys_test *t)
{
    uint32_t bits = t->value & t->mask;
    if (t->how == SYS_ANY)
        return t->mask;
    return t->how == SYS_EQUAL && bits ? 1u << (31 - __builtin_clz(bits)) : 0;
}

/* Whether all that does not pass has one bit or more of one mask set. What passes by an earlier
 * test is judged as well then, and passes there; so does what has a bit, but not the value. */
static bool split(const struct sys_rule *r, struct spec_call *c)
{
    bool any = false;
    if (r->otherwise.verdict != SYS_ALLOW)
        return false;
    for (size_t i = 0; i < (size_t)r->ntests + r->nmore; i++) {
        const struct sys_test *t = sys_test_at(r, i);
        if (t->then.verdict == SYS_ALLOW)
            continue;
        if (!telling_bits(t) || (t->arg & SYS_HIGH) || (any && t->arg != c->arg))
            return false;
        c->arg = t->arg;
        c->any |= telling_bits(t);
        any = true;
    }
    c->whole = c->any == UINT32_MAX;
    return any;
}

static struct spec_call call_of(const struct plan *p, const char *name)
{
    const struct sys_rule *r = rule_of(p, name);
    struct spec_call c = {.name = name, .action = SPEC_ALLOW};
    if (strcmp(name, "execve") == 0 || strcmp(name, "execveat") == 0)
        c.action = SPEC_NOTIFY;
    else if (r && r->ntests + r->nmore)
        c.action = split(r, &c) ? SPEC_SPLIT : SPEC_NOTIFY;
    else if (r && r->otherwise.verdict == SYS_NOTIFY)
        c.action = SPEC_NOTIFY;
    else if (r && r->otherwise.verdict == SYS_ERRNO) {
        c.action = SPEC_ERRNO;
        c.err = r->otherwise.err;
    }
    return c;
}

size_t spec_calls(const struct plan *p, struct spec_call *out, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]) && n < cap; i++)
        out[n++] = call_of(p, passed[i]);
    for (size_t i = 0; i < sizeof(planned) / sizeof(planned[0]) && n < cap; i++)
        out[n++] = call_of(p, planned[i]);
    return n;
}

void spec_digest(const struct plan *p, char out[SPEC_DIGEST])
{
    static struct spec_call calls[SPEC_CALLS];
    size_t n = spec_calls(p, calls, SPEC_CALLS);
    struct sha256 hash;
    char hex[SHA256_HEX + 1], line[128];
    sha256_begin(&hash);
    for (size_t i = 0; i < n; i++) {
        const struct spec_call *c = &calls[i];
        if (c->action == SPEC_ALLOW)
            continue;
        int len = snprintf(line, sizeof(line), "%.60s %d %d %d %u\n", c->name, c->action, c->err,
                           c->arg, c->any);
        sha256_add(&hash, line, (size_t)len);
    }
    sha256_end_hex(&hash, hex);
    snprintf(out, SPEC_DIGEST, "%.16s", hex);
}

/* ---- JSON ---- */

static const char *const archs[] = {
    [PLAN_X86_64] = "SCMP_ARCH_X86_64",
    [PLAN_ARM64] = "SCMP_ARCH_AARCH64",
    [PLAN_RISCV64] = "SCMP_ARCH_RISCV64",
};

struct writer {
    struct buf *out;
    const char *comma;
    size_t col;
};

static void begin_rule(struct writer *w)
{
    buf_fmt(w->out, "%s      {\"names\": [", w->comma);
    w->comma = ",\n";
}

/* All calls of one action in one rule. */
static void put_group(struct writer *w, const struct spec_call *calls, size_t n,
                      enum spec_action action, int err)
{
    static const char *const words[] = {
        [SPEC_ALLOW] = "ALLOW", [SPEC_NOTIFY] = "NOTIFY", [SPEC_ERRNO] = "ERRNO"};
    size_t col = 0;
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        const struct spec_call *c = &calls[i];
        if (c->action != action || (action == SPEC_ERRNO && c->err != err))
            continue;
        if (!any)
            begin_rule(w);
        if (any)
            buf_str(w->out, col > 70 ? ",\n        " : ", ");
        col = col > 70 ? 0 : col + strlen(c->name) + 4;
        buf_fmt(w->out, "\"%s\"", c->name);
        any = true;
    }
    if (!any)
        return;
    buf_fmt(w->out, "], \"action\": \"SCMP_ACT_%s\"", words[action]);
    if (action == SPEC_ERRNO)
        buf_fmt(w->out, ", \"errnoRet\": %d", err);
    buf_chr(w->out, '}');
}

static void put_test(struct writer *w, const struct spec_call *c, const char *action,
                     const char *test)
{
    begin_rule(w);
    buf_fmt(w->out, "\"%s\"], \"action\": \"SCMP_ACT_%s\", \"args\": [{\"index\": %u, %s}]}",
            c->name, action, c->arg, test);
}

static void put_split(struct writer *w, const struct spec_call *c)
{
    OWN(buf) struct buf test = {0};
    if (c->whole) {
        put_test(w, c, "ALLOW", "\"value\": 0, \"op\": \"SCMP_CMP_EQ\"");
        put_test(w, c, "NOTIFY", "\"value\": 0, \"op\": \"SCMP_CMP_NE\"");
        return;
    }
    buf_fmt(&test, "\"value\": %u, \"valueTwo\": 0, \"op\": \"SCMP_CMP_MASKED_EQ\"", c->any);
    put_test(w, c, "ALLOW", buf_ok(&test) ? test.s : "");
    for (unsigned bit = 0; bit < 32; bit++) {
        OWN(buf) struct buf one = {0};
        if (!(c->any >> bit & 1))
            continue;
        buf_fmt(&one, "\"value\": %u, \"valueTwo\": %u, \"op\": \"SCMP_CMP_MASKED_EQ\"", 1u << bit,
                1u << bit);
        put_test(w, c, "NOTIFY", buf_ok(&one) ? one.s : "");
    }
}

static void put_seccomp(const struct plan *p, const struct spec_options *o, struct buf *out)
{
    static struct spec_call calls[SPEC_CALLS];
    size_t n = spec_calls(p, calls, SPEC_CALLS);
    struct writer w = {.out = out, .comma = "\n"};
    char digest[SPEC_DIGEST];
    spec_digest(p, digest);
    buf_fmt(out,
            "{\n    \"defaultAction\": \"SCMP_ACT_ERRNO\",\n    \"defaultErrnoRet\": %d,\n"
            "    \"architectures\": [\"%s\"],\n    \"listenerPath\": ",
            ENOSYS, archs[p->opt.arch]);
    buf_json(out, o->socket, strlen(o->socket));
    buf_str(out, ",\n    \"listenerMetadata\": ");
    buf_fmt(out, "\"%s@%s\"", o->profile, digest); /* names of profiles need no escapes */
    buf_str(out, ",\n    \"syscalls\": [");
    put_group(&w, calls, n, SPEC_ALLOW, 0);
    put_group(&w, calls, n, SPEC_NOTIFY, 0);
    for (int err = 0; err < 134; err++)
        put_group(&w, calls, n, SPEC_ERRNO, err);
    for (size_t i = 0; i < n; i++)
        if (calls[i].action == SPEC_SPLIT)
            put_split(&w, &calls[i]);
    buf_str(out, "\n    ]\n  }");
}

/* ---- masked and read-only paths ---- */

/* A wall that the runtime can mount: folders in which nothing at all is allowed. The judge refuses
 * the same; the mounts hold whatever the judge does. */
static void put_paths(const struct plan *p, const struct graph *g, enum vocab_op op,
                      const char *key, struct buf *out)
{
    static const struct bound_path root = {"/", 1, false, GRAPH_NO_RULE, 0};
    static struct bound_path list[PLAN_SENTRIES];
    struct arena arena;
    struct bound_memory memory;
    bool everywhere = false;
    const char *comma = "";
    arena_init(&arena, 64 << 20);
    size_t n = plan_forbidden(g, op, &root, list, PLAN_SENTRIES, &everywhere, &arena);
    bool known = !everywhere && n <= PLAN_SENTRIES && bound_remember(&memory, g, &arena) == 0;
    buf_fmt(out, ",\n  \"%s\": [", key);
    for (size_t i = 0; known && plan_is_asked(p->ops[op].tier) && i < n; i++) {
        if (list[i].len < 2 || plan_allows_within(g, op, &list[i], &memory, &arena))
            continue;
        buf_str(out, comma);
        buf_json(out, list[i].path, list[i].len);
        comma = ", ";
    }
    buf_chr(out, ']');
    arena_free(&arena);
}

/* ---- operations by how they are decided ---- */

enum how { JUDGED_CALL, JUDGED_REFUSED, FILTER_REFUSED, FILTERED, UNAVAILABLE, HOWS };

static const struct {
    const char *words, *key;
} hows[HOWS] = {
    [JUDGED_CALL] = {"judged", "judged"},
    [JUDGED_REFUSED] = {"judged: refused", "judgedRefused"},
    [FILTER_REFUSED] = {"refused by the filter", "refused"},
    [FILTERED] = {"filter", "filtered"},
    [UNAVAILABLE] = {"cannot be had", "unavailable"},
};

/* HOWS: it is free. */
static enum how how(const struct plan *p, enum vocab_op op)
{
    const struct plan_op *o = &p->ops[op];
    if (o->tier == TIER_JUDGED)
        return o->refused ? JUDGED_REFUSED : JUDGED_CALL;
    if (o->tier == TIER_DENIED)
        return FILTER_REFUSED;
    if (o->tier == TIER_WALLED)
        return FILTERED;
    return plan_is_unenforced(p, op) ? UNAVAILABLE : HOWS;
}

static void put_operations(const struct plan *p, struct buf *out)
{
    const char *between = "";
    buf_str(out, "  \"operations\": {\n");
    for (int h = 0; h < HOWS; h++) {
        const char *comma = "";
        buf_fmt(out, "%s    \"%s\": [", between, hows[h].key);
        for (size_t op = 0; op < OP_COUNT; op++) {
            if (how(p, (enum vocab_op)op) != (enum how)h)
                continue;
            buf_fmt(out, "%s\"%s\"", comma, vocab_ops[op].name);
            comma = ", ";
        }
        buf_chr(out, ']');
        between = ",\n";
    }
    buf_str(out, "\n  }");
}

static void put_all(const struct plan *p, const struct graph *g, const struct spec_options *o,
                    struct buf *out)
{
    buf_str(out, "{\n  \"linux\": {\n  \"seccomp\": ");
    put_seccomp(p, o, out);
    put_paths(p, g, OP_FILE_READ_DATA, "maskedPaths", out);
    put_paths(p, g, OP_FILE_WRITE_DATA, "readonlyPaths", out);
    buf_str(out, "\n  },\n");
    if (o->landlock)
        buf_fmt(out, "  \"landlock\": %.*s,\n", (int)o->nlandlock, o->landlock);
    put_operations(p, out);
    buf_str(out, "\n}");
}

int spec_print(const struct graph *g, const struct spec_options *o, struct buf *out,
               struct bk_err *err)
{
    struct plan p;
    if (plan_for_container(g, o->gate, &p, err) < 0)
        return -1;
    if (o->seccomp_only)
        put_seccomp(&p, o, out);
    else
        put_all(&p, g, o, out);
    buf_chr(out, '\n');
    plan_free(&p);
    return buf_ok(out) ? 0 : err_nomem(err);
}

int spec_print_plan(const struct graph *g, bool gate, struct buf *out, struct bk_err *err)
{
    struct plan p;
    if (plan_for_container(g, gate, &p, err) < 0)
        return -1;
    for (size_t op = 0; op < OP_COUNT; op++) {
        enum how h = how(&p, (enum vocab_op)op);
        OWN(buf) struct buf note = {0};
        if (h == HOWS)
            continue;
        plan_op_note(&p.ops[op], &note);
        buf_fmt(out, "%-32s %s%s%s\n", vocab_ops[op].name, hows[h].words, note.n ? "; " : "",
                buf_ok(&note) && note.n ? note.s : "");
    }
    if (!out->n)
        buf_str(out, "everything is allowed: nothing is judged\n");
    plan_free(&p);
    return buf_ok(out) ? 0 : err_nomem(err);
}
