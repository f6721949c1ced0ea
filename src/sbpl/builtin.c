/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What a name means before a profile defines it. No table is filled at start: the first use of a
 * name looks it up among special forms, procedures, the vocabulary, and a few definitions written
 * in the language itself.
 */

#include "sbpl/machine.h"

#include <string.h>

#include "graph/net.h"
#include "sbpl/prim.h"
#include "sbpl/read.h"
#include "vocab/os.h"

/* Names that Apple's own library defines, as expressions without free variables. */
static const struct {
    const char *name, *text;
} library[] = {
    {"tty", "(lambda () (vnode-type TTY))"},
    {"debug-mode", "(lambda () (system-attribute sandbox-debug-mode))"},
    {"process-is-plugin", "(lambda () (process-attribute is-plugin))"},
    {"process-is-installer", "(lambda () (process-attribute is-installer))"},
    {"rootless-file-filter", "(lambda () (file-attribute sip-protected))"},
    {"datavault-file-filter", "(lambda () (file-attribute datavault))"},
    {"container", "(lambda () (extension \"com.apple.sandbox.container\"))"},
    {"executable-bundle", "(lambda () (extension \"com.apple.sandbox.executable\"))"},
    {"application-group", "(lambda () (extension \"com.apple.sandbox.application-group\"))"},
    {"system-container", "(lambda () (extension \"com.apple.sandbox.system-container\"))"},
    {"system-group", "(lambda () (extension \"com.apple.sandbox.system-group\"))"},
    {"*ios-sandbox-container*", "\"com.apple.sandbox.container\""},
    {"*sandbox-executable-bundle*", "\"com.apple.sandbox.executable\""},
    {"*ios-sandbox-application-group*", "\"com.apple.sandbox.application-group\""},
    {"*ios-sandbox-system-container*", "\"com.apple.sandbox.system-container\""},
    {"*ios-sandbox-system-group*", "\"com.apple.sandbox.system-group\""},
};

static bool same(const char *known, const struct symbol *name)
{
    return name_compare(name->v.s, name->v.n, known) == 0;
}

static struct val *library_value(struct machine *m, const char *text)
{
    struct reader r = {.arena = m->arena,
                       .syms = &m->syms,
                       .diags = m->diags,
                       .s = text,
                       .n = strlen(text),
                       .max_depth = 100,
                       .unplaced = true};
    struct val *datum, *closure;
    src_pos pos;
    if (read_datum(&r, &datum, &pos) != READ_DATUM || datum->type != V_PAIR)
        return r.exhausted ? NULL : datum;
    closure = arena_new(m->arena, struct val);
    if (closure) {
        closure->type = V_CLOSURE;
        closure->lambda = datum->cdr;
    }
    return closure;
}

static struct val *library_find(struct machine *m, const struct symbol *name)
{
    for (size_t i = 0; i < sizeof(library) / sizeof(library[0]); i++)
        if (same(library[i].name, name))
            return checked(m, library_value(m, library[i].text));
    return NULL;
}

/* Words that evaluate to themselves as arguments of network and target filters: tcp*, unix-socket,
 * port, pid, and port ranges such as 1024-65535, which the reader sees as a symbol. */
static bool is_self_evaluating(const struct symbol *name)
{
    uint16_t proto;
    if (name->v.n > 16)
        return false;
    if (net_proto_find(name->v.s, name->v.n, &proto))
        return true;
    if (same("port", name) || same("pid", name) || same("unix", name))
        return true;
    size_t digits = strspn(name->v.s, "0123456789");
    return digits && name->v.s[digits] == '-' &&
           digits + 1 + strspn(name->v.s + digits + 1, "0123456789") == name->v.n;
}

static struct val *word_value(struct machine *m, const struct vocab_word *w)
{
    static const uint8_t types[] = {[WORD_OP] = V_OP,
                                    [WORD_FILTER] = V_MAKER,
                                    [WORD_MODIFIER] = V_MODNAME,
                                    [WORD_CONSTANT] = V_INT};
    struct val *v = arena_new(m->arena, struct val);
    if (!v)
        return machine_no_memory(m);
    v->type = types[w->kind];
    if (w->kind == WORD_CONSTANT) {
        v->num = vocab_constants[w->id].value;
    } else {
        v->id = w->id;
        v->form = w->form;
    }
    return v;
}

/* If an OS version is selected, operations that it lacks do not exist. */
static bool in_chosen_os(const struct machine *m, const struct vocab_word *w)
{
    enum vocab_os os = m->unit->opt.os;
    return os == VOCAB_OS_ANY || w->kind != WORD_OP || vocab_ops[w->id].ids[os] >= 0 ||
           vocab_ops[w->id].extension;
}

struct val *machine_builtin(struct machine *m, struct symbol *name)
{
    const char *s = name->v.s;
    size_t n = name->v.n;
    struct val *v = syntax_find(s, n);
    if (v)
        return v;
    const struct prim *p = prim_find(s, n);
    if (p)
        return checked(m, prim_value(m, p->name));
    if (same("*entitlements*", name))
        return entitlements_load(m, m->pos);
    if (is_self_evaluating(name))
        return &name->v;
    struct vocab_word w = vocab_find(s, n, WORD_NONE);
    if (w.kind == WORD_OP)
        w.id = (uint16_t)vocab_op_meant(&w, s, n, m->unit->opt.os);
    if (w.kind != WORD_NONE && in_chosen_os(m, &w))
        return word_value(m, &w);
    return library_find(m, name);
}
