/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Names and their values: bindings in environments, globals in the symbols themselves, and errors
 * about unbound names. */

#include <string.h>

#include "sbpl/machine.h"
#include "sbpl/precompiled.h"

/* Finds the name's binding in one environment. A program can make both the list of bindings and the
 * chain of environments long, so the walk is counted and charged. */
static struct binding *find_here(struct symbol *name, const struct env *env, size_t *walked)
{
    struct binding *b = env->bindings;
    for (++*walked; b && b->name != name; b = b->next)
        ++*walked;
    return b;
}

static struct binding *find_binding(struct machine *m, struct symbol *name, struct env *env)
{
    size_t walked = 0;
    struct binding *b = NULL;
    for (; env && !b; env = env->up)
        b = find_here(name, env, &walked);
    machine_charge(m, walked);
    return b;
}

struct val *machine_lookup(struct machine *m, struct symbol *name, struct env *env)
{
    struct binding *b = find_binding(m, name, env);
    if (b)
        return b->value;
    if (!name->global)
        name->global = machine_builtin(m, name);
    return name->global && name->global->type == V_UNREAD ? precompiled_value(m, name)
                                                          : name->global;
}

static void define_global(struct machine *m, struct symbol *name, struct val *value)
{
    name->global = value;
    m->altered = m->altered || !machine_in_shipped(m);
}

int machine_define(struct machine *m, struct symbol *name, struct val *value, struct env *env)
{
    if (!env) {
        define_global(m, name, value);
        return 0;
    }
    size_t walked = 0;
    struct binding *b = find_here(name, env, &walked);
    machine_charge(m, walked);
    if (b) {
        b->value = value;
        return 0;
    }
    b = arena_new(m->arena, struct binding);
    if (!b) {
        machine_no_memory(m);
        return -1;
    }
    *b = (struct binding){name, value, env->bindings};
    env->bindings = b;
    return 0;
}

int machine_assign(struct machine *m, struct symbol *name, struct val *value, struct env *env,
                   src_pos pos)
{
    struct binding *b = find_binding(m, name, env);
    if (b) {
        b->value = value;
        return 0;
    }
    if (!machine_lookup(m, name, NULL)) {
        machine_error(m, pos, "unbound", "%s is not defined, so set! cannot change it", name->v.s);
        machine_hint(m, "write (define %s …) first", name->v.s);
        return -1;
    }
    define_global(m, name, value);
    return 0;
}

/* Whether some text defines this name. If so, it is only missing because the definition could not
 * be read, which has been reported. */
static bool defined_in_text(struct machine *m, const struct symbol *name)
{
    if (name->v.n == 0)
        return false;
    machine_charge(m, m->unit->map.next);
    static const char *const openings[] = {"(define ", "(define (", "(macro (", "(define-macro ("};
    for (const struct source *s = m->unit->map.first; s; s = s->next)
        for (const char *p = s->text; (p = strstr(p, name->v.s)); p++)
            for (size_t i = 0; i < sizeof(openings) / sizeof(openings[0]); i++) {
                size_t n = strlen(openings[i]);
                if ((size_t)(p - s->text) >= n && memcmp(p - n, openings[i], n) == 0)
                    return true;
            }
    return false;
}

/* Reports an unbound name and suggests a similar one. */
void machine_unbound(struct machine *m, struct symbol *name)
{
    if (m->unread && defined_in_text(m, name))
        return;
    machine_error(m, m->pos, "unbound", "%.80s%s is not defined", name->v.s,
                  name->v.n > 80 ? "…" : "");
    const char *near = vocab_suggest(name->v.s, name->v.n,
                                     1u << WORD_OP | 1u << WORD_FILTER | 1u << WORD_MODIFIER |
                                         1u << WORD_CONSTANT);
    if (near)
        machine_hint(m, "did you mean %s?", near);
    else
        machine_hint(m, "not an operation, filter or procedure; `buckle vocab` lists the names");
}
