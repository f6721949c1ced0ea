/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Rules as SBPL: a fixed start that every program needs, a comment and a form for each rule, then
 * the base's denials. Paths and programs come from the command, so they are quoted in forms, and
 * comments show nothing that could end a line.
 */

#include <string.h>

#include "base/own.h"
#include "learn/learned.h"

enum { HEADING = 200 }; /* bytes of the command */

static const char *const params[ANCHORS] = {"", "HOME", "CWD", "TMPDIR"};

static const char start[] = "(version 1)\n"
                            "(deny default)\n"
                            "(import \"system.sb\")\n"
                            "(import \"learned.sb\")\n";

static const char denials[] = "\n"
                              ";; What the base denies wins.\n"
                              "(import \"protected.sb\")\n"
                              "(import \"disks.sb\")\n"
                              "(import \"secrets.sb\")\n";

/* ---- one rule ---- */

static void put_path(const struct learned_rule *r, struct buf *out)
{
    if (r->in == ANCHOR_ROOT) {
        buf_sbpl(out, r->text, r->len);
    } else if (r->len == 0) {
        buf_fmt(out, "(param \"%s\")", params[r->in]);
    } else {
        buf_fmt(out, "(string-append (param \"%s\") ", params[r->in]);
        buf_sbpl(out, r->text, r->len);
        buf_chr(out, ')');
    }
}

static void put_pattern(const struct learned_rule *r, struct buf *out)
{
    OWN(buf) struct buf whole = {0};
    if (r->in != ANCHOR_ROOT) {
        buf_fmt(out, "(string-append \"^\" (regex-quote (param \"%s\")) ", params[r->in]);
        buf_sbpl(out, r->text, r->len);
        buf_chr(out, ')');
        return;
    }
    buf_chr(&whole, '^');
    buf_add(&whole, r->text, r->len);
    buf_sbpl(out, whole.s ? whole.s : "^", whole.s ? whole.n : 1);
}

static void put_filter(const struct learned_rule *r, struct buf *out)
{
    static const char *const forms[] = {[LEARNED_LITERAL] = "literal",
                                        [LEARNED_SUBPATH] = "subpath",
                                        [LEARNED_REGEX] = "regex",
                                        [LEARNED_DOMAIN] = "domain",
                                        [LEARNED_ADDRESS] = "remote ip"};
    const char *extension = r->own_socket ? "created-socket" : r->layer ? "private-layer" : NULL;
    if (extension)
        buf_str(out, "(require-all ");
    buf_fmt(out, "(%s ", forms[r->kind]);
    if (r->kind >= LEARNED_DOMAIN)
        buf_sbpl(out, r->text, r->len);
    else if (r->kind == LEARNED_REGEX)
        put_pattern(r, out);
    else
        put_path(r, out);
    buf_chr(out, ')');
    if (extension)
        buf_fmt(out, " (extension \"buckle.%s\"))", extension);
}

static bool is_device(const struct learned_rule *r)
{
    return r->in == ANCHOR_ROOT && r->kind < LEARNED_DOMAIN && strncmp(r->text, "/dev/", 5) == 0;
}

static void put_operations(const struct learned_rule *r, enum learn_how how, struct buf *out)
{
    static const char *const words[USE_CLASSES] = {"file-read*", "file-write*", "process-exec*",
                                                   "network-bind network-inbound",
                                                   "network-outbound"};
    const char *space = "";
    bool mknod = false;
    for (size_t i = 0; i < use_op_count; i++)
        mknod |= r->ops >> i & 1 && use_ops[i] == OP_FILE_MKNOD;
    for (int c = 0; c < USE_CLASSES; c++) {
        uint32_t used = r->ops & use_class_bits((enum use_class)c);
        /* a name that could not be created was about to be written and read */
        bool both = how == LEARN_EXACT ? r->ops & USE_CREATED : r->reads;
        if (c == USE_READ && both)
            used |= 1;
        if (c == USE_WRITE && how == LEARN_EXACT && both)
            used |= USE_WRITTEN;
        /* file-write* always: a rule for one of its kinds would win over the base's denials of all
         */
        bool exact = how == LEARN_EXACT || (how == LEARN_TIGHT && c == USE_READ);
        if (used && !exact)
            buf_fmt(out, "%s%s", space, words[c]), space = " ";
        for (size_t i = 0; exact && i < use_op_count; i++)
            if (used >> i & 1)
                buf_fmt(out, "%s%s", space, vocab_ops[use_ops[i]].name), space = " ";
    }
    if (mknod && how != LEARN_EXACT)
        buf_str(out, " file-mknod");
    if (is_device(r))
        buf_str(out, " file-ioctl");
}

void learned_rule_text(const struct learned_rule *r, enum learn_how how, struct buf *out)
{
    buf_str(out, "(allow ");
    put_operations(r, how, out);
    buf_chr(out, ' ');
    put_filter(r, out);
    buf_str(out, ")\n");
}

/* ---- comments ---- */

static const char *verb(const struct learned_rule *r)
{
    if (r->kind >= LEARNED_DOMAIN || r->ops & use_class_bits(USE_CONNECT))
        return "connected to by";
    if (r->ops & use_class_bits(USE_EXEC))
        return "run by";
    if (r->ops & use_class_bits(USE_SERVE))
        return "served by";
    if (!(r->ops & use_class_bits(USE_WRITE)))
        return "read by";
    return r->ops & use_class_bits(USE_READ) ? "read and written by" : "written by";
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* buf_safe() leaves no byte that ends a comment. */
static void put_comment(const struct learned_rule *r, const struct trace *t, struct buf *out)
{
    OWN(buf) struct buf path = {0};
    const char *program = base_name(trace_program(t, r->program));
    size_t others = learned_programs(r);
    buf_fmt(out, "\n; %s ", verb(r));
    if (program[0])
        buf_safe(out, program, strlen(program));
    else
        buf_str(out, "a program");
    if (others > 1)
        buf_fmt(out, " and %zu other%s", others - 1, plural(others - 1));
    buf_fmt(out, ", %llu time%s", (unsigned long long)r->count, plural(r->count));
    if (r->kind != LEARNED_LITERAL && r->witness != UINT32_MAX) {
        trace_path(t, r->witness, &path);
        buf_fmt(out, ", %u path%s, e.g. ", r->files, plural(r->files));
        buf_safe(out, path.s ? path.s : "", path.n);
    }
    buf_chr(out, '\n');
}

/* ---- all of it ---- */

static uint32_t lines_from(const struct buf *b, size_t from)
{
    uint32_t n = 0;
    for (size_t i = from; i < b->n; i++)
        n += b->s[i] == '\n';
    return n;
}

static void put_heading(const struct learned_words *w, struct buf *out)
{
    buf_str(out, ";; Learned by Buckle");
    if (w->command) {
        buf_str(out, " from: ");
        size_t n = strlen(w->command);
        buf_safe(out, w->command, n < HEADING ? n : HEADING);
        buf_str(out, n < HEADING ? "" : "…");
    }
    buf_str(out, "\n");
    if (w->base) {
        buf_str(out, ";; Base: ");
        buf_safe(out, w->base, strlen(w->base));
        buf_str(out, "\n");
    }
}

void learned_text(struct learned *l, const struct trace *t, const struct learned_words *w,
                  struct buf *out)
{
    put_heading(w, out);
    if (!w->addition)
        buf_str(out, start);
    else if (w->no_denials)
        buf_str(out, "(version 1)\n(deny default)\n");
    if (w->notes)
        buf_str(out, w->notes);
    uint32_t line = 1;
    size_t counted = 0;
    for (size_t i = 0; i < l->n; i++) {
        struct learned_rule *r = &l->rules[i];
        if (r->dropped)
            continue;
        put_comment(r, t, out);
        line += lines_from(out, counted);
        counted = out->n;
        r->line = line;
        learned_rule_text(r, l->how, out);
    }
    if (!w->no_denials && !w->addition)
        buf_str(out, denials);
    if (l->closed.n && !w->no_denials)
        buf_fmt(out, "\n;; The base does not allow these.\n%s", l->closed.s);
    if (w->include && w->include[0])
        buf_fmt(out, "\n;; Included on request.\n%s", w->include);
}
