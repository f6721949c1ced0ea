/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Procedures that only SBPL has. */

#include "base/spelling.h"
#include "graph/build.h"
#include "sbpl/prim.h"
#include "vocab/protected-classes.h"

#include <string.h>

struct val *prim_allow(struct machine *m, const struct call *c)
{
    return rule_apply(m, true, c);
}

struct val *prim_deny(struct machine *m, const struct call *c)
{
    return rule_apply(m, false, c);
}

struct val *prim_with(struct machine *m, const struct call *c)
{
    return modifier_make(m, c);
}

struct val *prim_require_any(struct machine *m, const struct call *c)
{
    return filter_combine(m, GRAPH_ANY, c);
}

struct val *prim_require_all(struct machine *m, const struct call *c)
{
    return filter_combine(m, GRAPH_ALL, c);
}

struct val *prim_require_not(struct machine *m, const struct call *c)
{
    return filter_combine(m, GRAPH_NOT, c);
}

struct val *prim_import(struct machine *m, const struct call *c)
{
    return import_apply(m, c);
}

struct val *prim_version(struct machine *m, const struct call *c)
{
    struct val *v = want(m, c, 0, V_INT);
    if (!v)
        return NULL;
    if (v->num < 1 || v->num > VOCAB_PROFILE_VERSIONS)
        return machine_error(m, call_arg_pos(c, 0), "bad-version",
                             "unknown language version %lld; write (version 1)", (long long)v->num);
    if (m->version && m->version != v->num) {
        struct source_place p = source_find(&m->unit->map, m->version_pos);
        return machine_error(m, c->pos, "bad-version", "the version was already set to %d in %s:%u",
                             m->version, p.source ? p.source->name : "?", p.line);
    }
    if (!m->version)
        m->version_pos = c->pos;
    m->version = (int)v->num;
    return &val_void;
}

/* If a key occurs several times, the last one counts. */
static const struct sbpl_param *find_param(const struct machine *m, const char *key)
{
    for (size_t i = m->unit->opt.nparams; i-- > 0;)
        if (strcmp(m->unit->opt.params[i].key, key) == 0)
            return &m->unit->opt.params[i];
    return NULL;
}

const char *machine_param(const struct machine *m, const char *key)
{
    const struct sbpl_param *p = find_param(m, key);
    return p ? p->value : NULL;
}

struct val *prim_param(struct machine *m, const struct call *c)
{
    struct val *k = want(m, c, 0, V_STRING);
    if (!k)
        return NULL;
    const struct sbpl_param *p = find_param(m, k->s);
    if (!p) {
        m->missing_param = k->s;
        return &val_false;
    }
    struct val *v = val_string_take(m->arena, p->value, strlen(p->value));
    string_of_param(v, (size_t)(p - m->unit->opt.params));
    return checked(m, v);
}

struct val *prim_trace(struct machine *m, const struct call *c)
{
    struct val *v = want(m, c, 0, V_STRING);
    if (!v)
        return NULL;
    if (m->trace)
        return machine_error(m, c->pos, "bad-trace", "only one trace file may be named");
    m->trace = v->s;
    m->trace_pos = c->pos;
    return &val_void;
}

static struct val *unknown_class(struct machine *m, const struct call *c, const struct val *v)
{
    const char *names[PROTECTED_CLASSES];
    for (size_t i = 0; i < PROTECTED_CLASSES; i++)
        names[i] = protected_classes[i].name;
    const char *near = spelling_nearest(v->s, names, PROTECTED_CLASSES);
    machine_error(m, call_arg_pos(c, 0), "bad-class", "there is no class of protected names %.80s",
                  v->s);
    if (near)
        machine_hint(m, "did you mean %s?", near);
    return NULL;
}

static struct val *add_classes(struct machine *m, const struct call *c, unsigned *set)
{
    for (struct call at = *c; at.args->type == V_PAIR; at = call_rest(&at)) {
        struct val *v = want(m, &at, 0, V_STRING);
        enum protected_class class = v ? protected_class_find(v->s, v->n) : PROTECTED_NO_CLASS;
        if (class == PROTECTED_NO_CLASS)
            return v ? unknown_class(m, &at, v) : NULL;
        *set |= 1u << class;
    }
    return &val_void;
}

/* (allow-protected "editors"): names of this class are not protected, wherever the rules about them
 * are. What else the program denies stays denied. */
struct val *prim_allow_protected(struct machine *m, const struct call *c)
{
    return add_classes(m, c, &m->lifted);
}

/* Wins over allow-protected, also over one that comes later. */
struct val *prim_keep_protected(struct machine *m, const struct call *c)
{
    return add_classes(m, c, &m->kept);
}

struct val *prim_disable_syscall_inference(struct machine *m, const struct call *c)
{
    (void)c;
    m->no_inference = true;
    return &val_void;
}

/* For decompiled profiles of systems that infer nothing. */
struct val *prim_disable_rule_inference(struct machine *m, const struct call *c)
{
    (void)c;
    m->no_inferred = true;
    return &val_void;
}

/* For decompiled profiles of systems whose tables we do not have: what their rules accept is
 * unknown. */
struct val *prim_disable_rule_checks(struct machine *m, const struct call *c)
{
    (void)c;
    m->unchecked = true;
    return &val_void;
}

/* (defined? 'name), and "name" too */
struct val *prim_is_defined(struct machine *m, const struct call *c)
{
    struct val *v = arg(c, 0);
    if (v->type != V_SYMBOL && v->type != V_STRING)
        return val_bool(true); /* an operation or filter evaluated to itself, so it exists */
    machine_charge(m, v->n);
    struct symbol *name = symbol_intern(&m->syms, v->s, v->n);
    return name ? val_bool(machine_lookup(m, name, NULL) != NULL) : machine_no_memory(m);
}

struct val *prim_entitlement(struct machine *m, const struct call *c)
{
    struct val *k = want(m, c, 0, V_STRING);
    if (!k)
        return NULL;
    if (!m->entitlements && !(m->entitlements = entitlements_load(m, c->pos)))
        return NULL;
    for (struct val *l = m->entitlements; l->type == V_PAIR; l = l->cdr)
        if (l->car->car->n == k->n && memcmp(l->car->car->s, k->s, k->n) == 0)
            return l->car->cdr;
    return &val_false;
}

struct val *prim_regex_quote(struct machine *m, const struct call *c)
{
    struct val *s = want(m, c, 0, V_STRING);
    char *text = s ? arena_array(m->arena, s->n + 1, 2) : NULL, *to = text;
    if (!text)
        return s ? machine_no_memory(m) : NULL;
    for (size_t i = 0; i < s->n; i++) {
        if (s->s[i] && strchr(".^$*+?()[]{}|\\", s->s[i]))
            *to++ = '\\';
        *to++ = s->s[i];
    }
    return checked_string(m, val_string_take(m->arena, text, (size_t)(to - text)), s);
}

/* (path-ancestors "/a/b/c"): the folders above it, "/", "/a" and "/a/b". As at Apple's, a path may
 * begin with a variable of a compiled profile, ${NAME}. */
struct val *prim_path_ancestors(struct machine *m, const struct call *c)
{
    struct val *found[256];
    size_t n = 0;
    for (struct call at = *c; at.args->type == V_PAIR; at = call_rest(&at)) {
        struct val *p = want(m, &at, 0, V_STRING);
        if (!p)
            return NULL;
        bool variable = p->n > 1 && p->s[0] == '$' && p->s[1] == '{';
        if (!variable && (p->n == 0 || p->s[0] != '/'))
            return wrong_type(m, &at, 0, "an absolute path");
        size_t len = p->n;
        while (len > 1 && p->s[len - 1] == '/')
            len--;
        for (size_t k = 0; k < len && len > 1; k++) {
            if (p->s[k] != '/')
                continue;
            if (n == sizeof(found) / sizeof(found[0]))
                return machine_error(m, c->pos, "argument-count", "more than 256 ancestors");
            if (!(found[n++] = filter_literal_path(m, p->s, k ? k : 1)))
                return NULL;
        }
    }
    return filter_wrap(m, GRAPH_ANY, found, n);
}

/* (define-storage-class "name" filter): files that the filter accepts belong to the class. As at
 * Apple's, a name is defined once. */
struct val *prim_define_storage_class(struct machine *m, const struct call *c)
{
    struct val *name = want(m, c, 0, V_STRING), *filter = name ? want(m, c, 1, V_FILTER) : NULL;
    if (!filter)
        return NULL;
    for (struct val *l = m->classes; l && l->type == V_PAIR; l = l->cdr) {
        machine_charge(m, 1);
        if (l->car->n == name->n && memcmp(l->car->s, name->s, name->n) == 0)
            return machine_error(m, call_arg_pos(c, 0), "storage-class",
                                 "the storage class %.80s is already defined", name->s);
    }
    struct val *op = arena_new(m->arena, struct val), *with = arena_new(m->arena, struct val);
    struct graph_mod *mod = arena_new(m->arena, struct graph_mod);
    if (!op || !with || !mod)
        return machine_no_memory(m);
    *op = (struct val){.type = V_OP, .id = OP_STORAGE_CLASS_MAP};
    *mod = (struct graph_mod){.id = MOD_ASSIGN_STORAGE_CLASS, .str = name->s};
    *with = (struct val){.type = V_MODIFIER, .mod = mod};
    struct val *parts[] = {with, op, filter};
    struct call rule = {.args = machine_list(m, c->pos, 3, parts), .pos = c->pos};
    m->classes = machine_cons(m, name, m->classes ? m->classes : &val_nil, c->pos);
    return rule.args && m->classes ? rule_apply(m, true, &rule) : NULL;
}

/* (_IO "h" 47): the number of an ioctl or fsctl command. */
struct val *prim_io(struct machine *m, const struct call *c)
{
    struct val *group = want(m, c, 0, V_STRING), *n = group ? want(m, c, 1, V_INT) : NULL;
    if (!n)
        return NULL;
    if (group->n != 1 || n->num < 0 || n->num > 255)
        return machine_error(m, c->pos, "out-of-range",
                             "_IO takes one letter and a number below 256");
    return checked(m, val_int(m->arena, (unsigned char)group->s[0] * 256 + n->num));
}
