/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_PLAN_PLAN_WORDS_H
#define BK_KERNEL_PLAN_PLAN_WORDS_H

#include "kernel/plan/plan.h"

/* A plan in words: what the text and the JSON printer share. */

const char *plan_tier_word(enum plan_tier tier);
const char *plan_arch_word(enum plan_arch arch);

/* The names of the namespaces that the plan makes; at most PLAN_NAMESPACES. */
enum { PLAN_NAMESPACES = 6, PLAN_RIGHTS = 16 };
size_t plan_namespace_names(const struct plan *p, const char *names[PLAN_NAMESPACES]);

/* Landlock rights in words: "read", "write"; at most PLAN_RIGHTS. */
size_t plan_right_words(uint64_t rights, const char *words[PLAN_RIGHTS]);

/* What the filter does with a call: "judged", "refused", "by argument". */
enum call_group { CALLS_JUDGED, CALLS_TESTED, CALLS_REFUSED, CALLS_PASSED, CALL_GROUPS };
enum call_group plan_call_group(const struct sys_rule *r);
const char *plan_group_word(enum call_group group);

/* Whether the policy restricts an operation that exists on Linux and that nothing here enforces. */
bool plan_is_unenforced(const struct plan *p, enum vocab_op op);

/* Appends the note on an operation with its remedy: "note; remedy". Appends nothing if there is
 * none. */
void plan_op_note(const struct plan_op *o, struct buf *out);

#endif
