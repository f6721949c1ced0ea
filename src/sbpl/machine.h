/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SBPL_MACHINE_H
#define BK_SBPL_MACHINE_H

#include "sbpl/sbpl.h"
#include "sbpl/value.h"

/*
 * The evaluator is a machine with registers and a stack of frames, so that no program reaches the C
 * stack and every step can be counted. It is always in one of three modes:
 *
 *   EVAL    look at expr in env
 *   APPLY   call fn with args
 *   RETURN  hand value to the frame on top
 *
 * Special forms (syntax.c) and procedures (prim-*.c) only arrange registers and frames.
 */
struct binding {
    struct symbol *name;
    struct val *value;
    struct binding *next;
};

struct env { /* NULL is the global environment, whose values live in the symbols */
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

/* A rule as evaluated; lower.c turns it into the builder's. */
struct sbpl_rule {
    bool allow;
    uint16_t *ops;
    size_t nops;
    const struct graph_expr *when;
    uint32_t flags;
    struct graph_mod *mods; /* num of a message filter is an index into machine.policies */
    size_t nmods;
    src_pos pos, top;
    const struct source *text; /* NULL: where it stands is not worked out yet, else: */
    uint32_t line, col, via_line;
    struct sbpl_rule *next;
};

/* Rules of the profile itself, or of one (apply-message-filter …). */
struct sbpl_policy {
    struct sbpl_rule *first, *last;
    struct sbpl_policy *outer; /* while it is being collected */
    struct scope *outer_scope;
    struct sbpl_policy *next;
    int64_t number; /* of a nested one, from 1 */
};

/* What with-filter, with-modifier and with-operations add to every rule inside them. */
struct scope {
    struct val *extra; /* a filter, a modifier, or a list of operations */
    struct scope *up;
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

struct prim {
    const char *name;
    int min, max; /* number of arguments; max -1: any */
    /* The value; NULL after an error was reported; machine_control when it set up the machine. */
    struct val *(*fn)(struct machine *m, const struct call *c);
};

struct syntax {
    const char *name;
    int (*fn)(struct machine *m, struct val *form); /* -1 after an error was reported */
};

struct machine {
    struct sbpl_unit *unit;
    struct arena *arena;
    struct symtab syms;
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
    size_t nimports;
    src_pos extent_of, extent; /* lower.c: the top-level form looked at last, and its length */

    int version; /* 0 until declared */
    src_pos version_pos;
    struct val *entitlements;  /* association list, made on first use */
    const char *missing_param; /* the last (param …) that had no value */
    const char *trace, *debug;
    bool no_inference; /* (disable-syscall-inference) */
    bool unchecked;    /* (disable-rule-checks) */
    bool altered;      /* a text that is not shipped has defined something */
    size_t loop_names; /* counter for names made by the machine */
    struct val *cons, *append, *apply,
        *cdr; /* what special forms call, whatever a profile defines */
};

extern struct val machine_control; /* returned by prims that changed the machine's mode */

int machine_init(struct machine *m, struct sbpl_unit *unit);
void machine_free(struct machine *m);

/* Evaluates one top-level form, or calls a procedure without arguments, to the end. -1 after an
 * error; m->fatal says whether going on makes sense. */
int machine_run_form(struct machine *m, struct val *form, src_pos pos);
int machine_run_call(struct machine *m, struct val *fn);
/* Evaluates an expression of a shipped text while something else is being evaluated. NULL after an
 * error was reported. */
struct val *machine_value_of(struct machine *m, struct val *expr, src_pos pos);

/* ---- for special forms and procedures ---- */

/* Reports an error. Always returns NULL, for `return machine_error(…)`. */
void *machine_error(struct machine *m, src_pos pos, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void machine_hint(struct machine *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void *machine_no_memory(struct machine *m);
void *machine_no_steps(struct machine *m);

/* For procedures whose work grows with their data: so many elements or bytes were looked at. The
 * loop notices an exhausted budget at the next step. */
void machine_charge(struct machine *m, size_t work);

int machine_push(struct machine *m, struct frame frame);
void machine_eval(struct machine *m, struct val *expr, src_pos pos, struct env *env);
void machine_apply(struct machine *m, struct val *fn, struct val *args, src_pos pos);
void machine_return(struct machine *m, struct val *value);
int machine_sequence(struct machine *m, struct val *cells, struct env *env);

int machine_define(struct machine *m, struct symbol *name, struct val *value, struct env *env);
/* Changes a binding that exists. -1 after an error was reported. */
int machine_assign(struct machine *m, struct symbol *name, struct val *value, struct env *env,
                   src_pos pos);
/* Reports a name that stands for nothing, and the one that was perhaps meant. */
void machine_unbound(struct machine *m, struct symbol *name);
/* NULL when unbound. */
struct val *machine_lookup(struct machine *m, struct symbol *name, struct env *env);
/* What a name means when no program defined it: vocabulary, built-ins, library. */
struct val *machine_builtin(struct machine *m, struct symbol *name);
bool machine_in_shipped(const struct machine *m); /* the text being evaluated is a shipped one */
/* Value of a parameter, NULL when it was not given. */
const char *machine_param(const struct machine *m, const char *key);

/* Place of the i-th argument of a call, or of the call itself. */
src_pos call_arg_pos(const struct call *c, int i);

/* The call without its first argument: how procedures that take any number of them look at one
 * after the other without counting from the start each time. */
static inline struct call call_rest(const struct call *c)
{
    bool placed = c->exprs && c->exprs->type == V_PAIR;
    return (struct call){c->args->cdr, c->pos, placed ? c->exprs->cdr : NULL};
}

struct val *machine_cons(struct machine *m, struct val *car, struct val *cdr, src_pos pos);
struct val *machine_list(struct machine *m, src_pos pos, size_t n, struct val *const *items);

/* A list built front to back. Ends are &val_nil unless listing_end() is given another tail. */
struct listing {
    struct val *head, *tail;
};
int listing_add(struct machine *m, struct listing *l, struct val *v, src_pos pos);
struct val *listing_end(struct listing *l, struct val *tail);

int name_compare(const char *name, size_t n, const char *known); /* as strcmp() would order them */
struct val *syntax_find(const char *name, size_t n);             /* NULL when it is none */
const struct prim *prim_find(const char *name, size_t n);
struct val *prim_value(struct machine *m, const char *name); /* of a procedure that exists */

/* machine frames that belong to special forms; the frame has been popped already. */
int syntax_resume(struct machine *m, const struct frame *f);

/* ---- rules and filters (rule.c, filter.c) ---- */

struct val *rule_apply(struct machine *m, bool allow, const struct call *c);
void policy_add(struct sbpl_policy *p, struct sbpl_rule *r);
struct val *filter_make(struct machine *m, struct val *maker, const struct call *c);
struct val *filter_combine(struct machine *m, enum graph_expr_kind kind, const struct call *c);
struct val *filter_wrap(struct machine *m, enum graph_expr_kind kind, struct val *const *kids,
                        size_t n);
struct val *filter_literal_path(struct machine *m, const char *s, size_t n);
/* Refuses a path filter that matches every file because its text, or a parameter in it, is empty;
 * warns of one that matches none (empty-names.c). */
bool path_is_given(struct machine *m, src_pos pos, const struct val *v, const struct graph_test *t);
/* Notes that the string is the value of the unit's parameter of that number. */
void string_of_param(struct val *v, size_t param);
struct val *modifier_make(struct machine *m, const struct call *c);
struct val *modifier_of_policy(struct machine *m, struct sbpl_policy *policy);

/* A condition with what is needed to judge it quickly: which filters it uses, how large it is as a
 * tree (shared parts counted each time). Its expr is what V_FILTER points to. */
struct condition {
    struct graph_expr expr;
    uint64_t uses[(FILTER_COUNT + 63) / 64];
    uint64_t size;
};

/* Evaluates the unit's texts; then the machine has its rules. */
int machine_load(struct machine *m, struct bk_err *err);
/* Where a rule stands, without its words. */
void rule_origin(struct machine *m, const struct sbpl_rule *r, struct graph_origin *o);
int sbpl_lower(struct machine *m, struct graph **out, struct bk_err *err);

/* ---- import.c, entitle.c ---- */
struct val *import_apply(struct machine *m, const struct call *c);
struct val *entitlements_load(struct machine *m, src_pos pos); /* association list, or NULL */

#endif
