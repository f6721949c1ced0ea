/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SBPL_RULES_H
#define BK_SBPL_RULES_H

#include "graph/build.h"
#include "sbpl/value.h"

/* Rules, filters and modifiers as the evaluator collects them (rule-form.c, filter.c, import.c,
 * entitle.c, lower.c). */

struct call;
struct machine;

/* A rule as evaluated; lower.c passes it to the builder. */
struct sbpl_rule {
    bool allow;
    uint16_t *ops;
    size_t nops;
    const struct graph_expr *when;
    uint32_t flags;
    struct graph_mod *mods; /* num of a message filter is an index into machine.policies */
    size_t nmods;
    src_pos pos, top;
    const struct source *text; /* NULL: position not computed yet, else: */
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

struct val *rule_apply(struct machine *m, bool allow, const struct call *c);
void policy_add(struct sbpl_policy *p, struct sbpl_rule *r);
struct val *filter_make(struct machine *m, struct val *maker, const struct call *c);
struct val *filter_combine(struct machine *m, enum graph_expr_kind kind, const struct call *c);
struct val *filter_wrap(struct machine *m, enum graph_expr_kind kind, struct val *const *kids,
                        size_t n);
struct val *filter_literal_path(struct machine *m, const char *s, size_t n);
struct val *filter_from_test(struct machine *m, const struct graph_test *test);
/* Rejects a path filter that matches every file because its text, or a parameter in it, is empty.
 * Warns about one that matches none (empty-names.c). */
bool path_is_given(struct machine *m, src_pos pos, const struct val *v, const struct graph_test *t);
/* Records that the string is the value of the unit's parameter with that number. */
void string_of_param(struct val *v, size_t param);
struct val *modifier_make(struct machine *m, const struct call *c);
struct val *modifier_of_policy(struct machine *m, struct sbpl_policy *policy);

/* A condition with its filters and its size as a tree (shared parts count each time), so that
 * checks need not walk it. V_FILTER points to its expr. */
struct condition {
    struct graph_expr expr;
    uint64_t uses[(FILTER_COUNT + 63) / 64];
    uint64_t size;
};

/* A profile for the processes that these tests name (command-profile.c). */
struct command_profile {
    const char *name, *text; /* a text without bytes: the shipped profile of this name */
    size_t n;
    const struct graph_test *tests;
    size_t ntests;
    src_pos pos;
    struct command_profile *next;
};
/* Replaces the graph by a narrower one. On failure it is still the caller's. */
int command_profiles_apply(struct machine *m, struct graph **g, struct bk_err *err);

/* Evaluates the unit's texts and collects their rules. */
int machine_load(struct machine *m, struct bk_err *err);
/* Computes a rule's position, without its text. */
void rule_origin(struct machine *m, const struct sbpl_rule *r, struct graph_origin *o);
int sbpl_lower(struct machine *m, struct graph **out, struct bk_err *err);

struct val *import_apply(struct machine *m, const struct call *c);
struct val *entitlements_load(struct machine *m, src_pos pos); /* association list, or NULL */

#endif
