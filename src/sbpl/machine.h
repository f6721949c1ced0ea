/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SBPL_MACHINE_H
#define BK_SBPL_MACHINE_H

#include "sbpl/rules.h"
#include "sbpl/sbpl.h"
#include "sbpl/value.h"

/*
 * The evaluator is a machine with registers and a stack of frames, so that no program reaches the C
 * stack and every step can be counted. It is always in one of three modes:
 *
 *   EVAL    evaluate expr in env
 *   APPLY   call fn with args
 *   RETURN  pass value to the top frame
 *
 * Special forms (syntax.c) and procedures (prim-*.c) only set registers and frames.
 */
struct binding {
    struct symbol *name;
    struct val *value;
    struct binding *next;
};

struct env { /* NULL is the global environment; symbols hold its values */
    struct env *up;
    struct binding *bindings;
};

enum { PARAMETERS_MAX = 10000 }; /* of one procedure */

enum machine_mode { MODE_EVAL, MODE_APPLY, MODE_RETURN };

enum frame_kind {
    FRAME_SEQUENCE,
    FRAME_IF,
    FRAME_OR,
    FRAME_COND,
    FRAME_COND_ARROW,
    FRAME_CASE,
    FRAME_DEFINE,
    FRAME_SET,
    FRAME_ARGS,
    FRAME_MACRO,
    FRAME_MAP,
    FRAME_QUOTE_ELEMENT,
    FRAME_QUOTE_SPLICE,
    FRAME_QUOTE_TAIL,
    FRAME_OPEN_SCOPE,
    FRAME_CLOSE_SCOPE,
    FRAME_POLICY_PARTS,
    FRAME_TOP_FORMS,
    FRAME_END_IMPORT,
    FRAME_KINDS,
};

struct frame {
    uint8_t kind; /* enum frame_kind */
    src_pos pos;
    struct env *env;
    struct val *a, *b, *c; /* meaning depends on the kind: see machine.c */
};

struct import {
    const struct source *source;
    src_pos from;
    struct import *up;
};

struct call {
    struct val *args;
    src_pos pos;
    struct val *exprs; /* cells of the argument expressions, NULL when called indirectly */
};

struct syntax {
    const char *name;
    int (*fn)(struct machine *m, struct val *form); /* returns -1 after reporting an error */
};

struct machine {
    struct sbpl_unit *unit;
    struct arena *arena;
    struct symtab syms;
    struct symbol *allow, *deny;
    struct diags *diags;

    enum machine_mode mode;
    struct val *expr; /* EVAL */
    src_pos pos;      /* of expr, or of the call */
    struct env *env;
    struct val *fn, *args, *arg_exprs; /* APPLY */
    struct val *value;                 /* RETURN */

    struct frame *stack;
    size_t depth, cap, max_depth;
    uint64_t steps, max_steps;
    bool fatal;  /* a budget is exhausted: stop altogether */
    bool unread; /* parts of a text could not be read */

    src_pos rule_pos; /* the (allow …) or (deny …) being applied */
    src_pos top_pos;  /* the top-level form being evaluated */
    struct scope *scope;
    struct import *import;
    const struct source *main;           /* the text whose top-level forms are being evaluated */
    struct sbpl_policy profile, *policy; /* policy: where rules go now */
    struct sbpl_policy *policies;        /* nested ones, newest first */
    int64_t npolicies;
    struct command_profile *commands;
    const char *agreed[GRAPH_AGREED]; /* (allow-command …) */
    size_t nagreed;
    size_t nimports;
    src_pos extent_of, extent; /* lower.c: the last top-level form examined, and its length */

    int version; /* 0 until declared */
    src_pos version_pos;
    struct val *entitlements;  /* association list, made on first use */
    struct val *classes;       /* names of (define-storage-class …), newest first; or NULL */
    const char *missing_param; /* the last (param …) that had no value */
    const char *trace, *debug;
    src_pos trace_pos;
    unsigned lifted, kept;   /* classes: (allow-protected …), (keep-protected …) */
    bool no_inference;       /* (disable-syscall-inference) */
    bool no_inferred;        /* (disable-rule-inference) */
    bool unchecked;          /* (disable-rule-checks) */
    bool altered;            /* a text that is not shipped has defined something */
    size_t loop_names;       /* counter for names made by the machine */
    struct val *apply, *cdr; /* used by special forms, whatever a profile defines */
};

extern struct val machine_control; /* returned by prims that changed the machine's mode */

int machine_init(struct machine *m, struct sbpl_unit *unit);
void machine_free(struct machine *m);

/* Evaluates one top-level form, or calls a procedure without arguments. Returns -1 after an error;
 * if m->fatal is set, stop altogether. */
int machine_run_form(struct machine *m, struct val *form, src_pos pos);
int machine_run_call(struct machine *m, struct val *fn);
/* Evaluates an expression of a shipped text in the middle of another evaluation. Returns NULL after
 * reporting an error. */
struct val *machine_value_of(struct machine *m, struct val *expr, src_pos pos);

/* ---- for special forms and procedures ---- */

/* Reports an error. Always returns NULL, for `return machine_error(…)`. */
void *machine_error(struct machine *m, src_pos pos, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void machine_hint(struct machine *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void *machine_no_memory(struct machine *m);
void *machine_no_steps(struct machine *m);

/* For procedures whose work grows with their data: charges this many elements or bytes. The loop
 * notices an exhausted budget at the next step. */
void machine_charge(struct machine *m, size_t work);

int machine_push(struct machine *m, struct frame frame);
void machine_eval(struct machine *m, struct val *expr, src_pos pos, struct env *env);
void machine_apply(struct machine *m, struct val *fn, struct val *args, src_pos pos);
void machine_return(struct machine *m, struct val *value);
int machine_sequence(struct machine *m, struct val *cells, struct env *env);

int machine_define(struct machine *m, struct symbol *name, struct val *value, struct env *env);
/* Changes an existing binding. Returns -1 after reporting an error. */
int machine_assign(struct machine *m, struct symbol *name, struct val *value, struct env *env,
                   src_pos pos);
/* Reports an unbound name and suggests a similar one. */
void machine_unbound(struct machine *m, struct symbol *name);
/* Returns NULL when unbound. */
struct val *machine_lookup(struct machine *m, struct symbol *name, struct env *env);
/* Returns what a name means until a program defines it: vocabulary, built-ins, library. */
struct val *machine_builtin(struct machine *m, struct symbol *name);
/* The protected classes that are allowed, once all texts have run. */
static inline unsigned machine_lifted(const struct machine *m)
{
    return m->lifted & ~m->kept;
}
bool machine_in_shipped(const struct machine *m); /* the text being evaluated is a shipped one */
/* Returns the value of a parameter, NULL when it was not given. */
const char *machine_param(const struct machine *m, const char *key);

/* Returns the position of a call's i-th argument, or of the call. */
src_pos call_arg_pos(const struct call *c, int i);

/* The call without its first argument. Variadic procedures use it to walk their arguments in linear
 * time. */
static inline struct call call_rest(const struct call *c)
{
    bool placed = c->exprs && c->exprs->type == V_PAIR;
    return (struct call){c->args->cdr, c->pos, placed ? c->exprs->cdr : NULL};
}

struct val *machine_cons(struct machine *m, struct val *car, struct val *cdr, src_pos pos);
struct val *machine_list(struct machine *m, src_pos pos, size_t n, struct val *const *items);

/* A list built front to back. It ends in &val_nil unless listing_end() gets another tail. */
struct listing {
    struct val *head, *tail;
};
int listing_add(struct machine *m, struct listing *l, struct val *v, src_pos pos);
struct val *listing_end(struct listing *l, struct val *tail);
/* Reverses a list in place, in front of tail. */
struct val *list_reverse_onto(struct val *list, struct val *tail);

int name_compare(const char *name, size_t n, const char *known); /* as strcmp() would order them */
struct val *syntax_find(const char *name, size_t n);             /* NULL when there is none */

/* Resumes the frame of a special form, which has already been popped. */
int syntax_resume(struct machine *m, const struct frame *f);

#endif
