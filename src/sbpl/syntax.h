/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SBPL_SYNTAX_H
#define BK_SBPL_SYNTAX_H

#include <string.h>

#include "sbpl/machine.h"

/* Shared by the files of special forms: the table of forms, and helpers to take forms apart and
 * build new ones. */

/* id, name, handler; sorted by name for syntax_find(). */
#define SYNTAXES(X)                                                                                \
    X(AND, "and", syn_and)                                                                         \
    X(APPLY_MESSAGE_FILTER, "apply-message-filter", syn_apply_message_filter)                      \
    X(BEGIN, "begin", syn_begin)                                                                   \
    X(CASE, "case", syn_case)                                                                      \
    X(COND, "cond", syn_cond)                                                                      \
    X(DEBUG, "debug", syn_debug)                                                                   \
    X(DEFINE, "define", syn_define)                                                                \
    X(DEFINE_MACRO, "define-macro", syn_define_macro)                                              \
    X(DO, "do", syn_do)                                                                            \
    X(HTTP_REQUEST, "http-request", syn_http_request)                                              \
    X(IF, "if", syn_if)                                                                            \
    X(LAMBDA, "lambda", syn_lambda)                                                                \
    X(LET, "let", syn_let)                                                                         \
    X(LET_STAR, "let*", syn_let_star)                                                              \
    X(LETREC, "letrec", syn_letrec)                                                                \
    X(LETREC_STAR, "letrec*", syn_letrec)                                                          \
    X(MACRO, "macro", syn_macro)                                                                   \
    X(OR, "or", syn_or)                                                                            \
    X(QUASIQUOTE, "quasiquote", syn_quasiquote)                                                    \
    X(QUOTE, "quote", syn_quote)                                                                   \
    X(SET, "set!", syn_set)                                                                        \
    X(UNLESS, "unless", syn_unless)                                                                \
    X(WHEN, "when", syn_when)                                                                      \
    X(WITH_FILTER, "with-filter", syn_with_filter)                                                 \
    X(WITH_MODIFIER, "with-modifier", syn_with_modifier)                                           \
    X(WITH_OPERATIONS, "with-operations", syn_with_operations)

enum syntax_id {
#define X(id, name, fn) SYN_##id,
    SYNTAXES(X)
#undef X
        SYN_COUNT,
};

#define X(id, name, fn) int fn(struct machine *m, struct val *form);
SYNTAXES(X)
#undef X

/* A special form as the head of a rewritten form. */
struct val *syntax_head(enum syntax_id id);

/* Reports how the form should be written. Always returns -1. */
int syntax_malformed(struct machine *m, const char *usage);

/* Returns the form's arguments if it is a proper list with at least min (and at most max) of
 * them. */
struct val *syntax_arguments(struct machine *m, struct val *form, int min, int max,
                             const char *usage);

/* Evaluates the list of these items in place of the current form. */
int syntax_rewrite(struct machine *m, size_t n, struct val *const *items, struct val *tail);

static inline bool syntax_is_word(const struct val *v, const char *word)
{
    return v->type == V_SYMBOL && strcmp(v->s, word) == 0;
}

/* Frames of (or …), (cond …) and (case …); of quasiquotations; of scopes and message filters. */
int syntax_resume_choice(struct machine *m, const struct frame *f);
int syntax_resume_quote(struct machine *m, const struct frame *f);
int syntax_resume_scope(struct machine *m, const struct frame *f);

#endif
