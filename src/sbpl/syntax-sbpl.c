/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Special forms that only SBPL has: scopes around rules, and rules about messages. */

#include "sbpl/syntax.h"

/* (debug deny): what the system log shows on macOS. Stored as a note. */
int syn_debug(struct machine *m, struct val *form)
{
    struct val *args = syntax_arguments(m, form, 0, -1, "(debug deny)");
    if (!args)
        return -1;
    m->debug = args->type == V_PAIR && args->car->type == V_SYMBOL ? args->car->s : "";
    machine_return(m, &val_void);
    return 0;
}

/* What a scope adds, for checking its first argument. */
enum scope_kind { SCOPE_FILTER, SCOPE_MODIFIER, SCOPE_OPERATIONS };

static int open_scope(struct machine *m, struct val *form, enum scope_kind kind, const char *usage)
{
    static struct val kinds[] = {{.type = V_INT, .num = SCOPE_FILTER},
                                 {.type = V_INT, .num = SCOPE_MODIFIER},
                                 {.type = V_INT, .num = SCOPE_OPERATIONS}};
    struct val *args = syntax_arguments(m, form, 1, -1, usage);
    if (!args)
        return -1;
    struct frame f = {.kind = FRAME_OPEN_SCOPE,
                      .pos = args->pos,
                      .env = m->env,
                      .a = args->cdr,
                      .b = &kinds[kind]};
    if (machine_push(m, f) < 0)
        return -1;
    machine_eval(m, args->car, args->pos, m->env);
    return 0;
}

int syn_with_filter(struct machine *m, struct val *form)
{
    return open_scope(m, form, SCOPE_FILTER, "(with-filter filter rule …)");
}

int syn_with_modifier(struct machine *m, struct val *form)
{
    return open_scope(m, form, SCOPE_MODIFIER, "(with-modifier (with modifier) rule …)");
}

int syn_with_operations(struct machine *m, struct val *form)
{
    return open_scope(m, form, SCOPE_OPERATIONS, "(with-operations (list operation …) rule …)");
}

static bool fits_scope(const struct val *v, enum scope_kind kind)
{
    if (kind == SCOPE_FILTER)
        return v->type == V_FILTER;
    if (kind == SCOPE_MODIFIER)
        return v->type == V_MODIFIER;
    if (val_length(v) < 0)
        return false;
    for (; v->type == V_PAIR; v = v->cdr)
        if (v->car->type != V_OP)
            return false;
    return true;
}

/* Copied, because the profile could change the list of operations while the scope is open. */
static struct val *copy_list(struct machine *m, struct val *list)
{
    struct listing out = {0};
    for (; list->type == V_PAIR; list = list->cdr)
        if (listing_add(m, &out, list->car, list->pos) < 0)
            return NULL;
    return listing_end(&out, &val_nil);
}

static int resume_open_scope(struct machine *m, const struct frame *f)
{
    static const char *const wants[] = {"a filter", "a modifier", "a list of operations"};
    enum scope_kind kind = (enum scope_kind)f->b->num;
    if (!fits_scope(m->value, kind)) {
        machine_error(m, f->pos, "bad-scope", "expected %s here, not %s", wants[kind],
                      val_type_words(m->value));
        return -1;
    }
    struct val *extra = kind == SCOPE_OPERATIONS ? copy_list(m, m->value) : m->value;
    struct scope *s = extra ? arena_new(m->arena, struct scope) : NULL;
    if (!s)
        return extra ? (machine_no_memory(m), -1) : -1;
    *s = (struct scope){extra, m->scope};
    m->scope = s;
    if (machine_push(m, (struct frame){.kind = FRAME_CLOSE_SCOPE, .pos = f->pos}) < 0)
        return -1;
    return machine_sequence(m, f->a, f->env);
}

/* (apply-message-filter [(with modifier)] rule …): rules about messages, attached to the rule that
 * contains them. Its parts are evaluated one by one, with a nested policy for their rules. */
static int next_policy_part(struct machine *m, struct val *cells, struct env *env, src_pos pos)
{
    if (cells->type != V_PAIR) {
        struct sbpl_policy *policy = m->policy;
        m->policy = policy->outer;
        m->scope = policy->outer_scope;
        struct val *v = modifier_of_policy(m, policy);
        if (!v)
            return -1;
        machine_return(m, v);
        return 0;
    }
    struct frame f = {.kind = FRAME_POLICY_PARTS, .pos = pos, .env = env, .a = cells->cdr};
    if (machine_push(m, f) < 0)
        return -1;
    machine_eval(m, cells->car, cells->pos, env);
    return 0;
}

int syn_apply_message_filter(struct machine *m, struct val *form)
{
    struct val *args = syntax_arguments(m, form, 0, -1, "(apply-message-filter rule …)");
    if (!args)
        return -1;
    if (m->policy != &m->profile) {
        machine_error(m, m->pos, "nested-message-filter",
                      "a message filter cannot contain another");
        return -1;
    }
    struct sbpl_policy *p = arena_new(m->arena, struct sbpl_policy);
    if (!p)
        return machine_no_memory(m), -1;
    p->outer = m->policy;
    p->outer_scope = m->scope; /* the scopes of the outer rule do not apply to messages */
    m->scope = NULL;
    p->number = ++m->npolicies;
    p->next = m->policies;
    m->policies = m->policy = p;
    return next_policy_part(m, args, m->env, m->pos);
}

int syntax_resume_scope(struct machine *m, const struct frame *f)
{
    switch (f->kind) {
    case FRAME_OPEN_SCOPE:
        return resume_open_scope(m, f);
    case FRAME_CLOSE_SCOPE:
        m->scope = m->scope ? m->scope->up : NULL;
        return 0;
    case FRAME_POLICY_PARTS:
        return next_policy_part(m, f->a, f->env, f->pos);
    default:
        machine_error(m, f->pos, "bug", "unknown frame %d", f->kind);
        return -1;
    }
}
