/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_RUN_POLICY_H
#define BK_RUN_RUN_POLICY_H

#include <limits.h>

#include "git/gitdir.h"
#include "policy/assemble.h"
#include "run/link-targets.h"
#include "run/spec.h"

/* A profile by its name (profile/profile.h has the rule). */
struct run_source run_named_profile(const char *name);

/* Words for a folder that is too much to open as a whole ("your home directory"); NULL for an
 * ordinary one. */
const char *run_place_is_all(const char *cwd);

/* The policy of one run: the spec's sources and parameters as one program, compiled when needed. */
struct run_policy {
    struct sbpl_unit unit;
    struct sbpl_param *params;
    char home[PATH_MAX], gnupg[PATH_MAX];
    struct git_outside git;
    bool shipped; /* made of shipped and given texts only, so it can be compiled at any time */
    struct graph *graph;
    bool worded; /* the graph has the texts of its rules */

    /* run-stack.c: what is around the profile */
    const struct run_spec *stack;
    struct buf entitlements; /* as JSON */
    struct graph *around;    /* what platform profiles allow, or NULL */
    bool owns_around, fold;
};

/* Whether a run has more than texts: entitlements, extensions, platform profiles. */
bool run_is_stacked(const struct run_spec *spec);
/* Reads what is around the profile; run_policy_free() frees it. */
int run_stack_read(struct run_policy *p, const struct run_spec *spec, struct sbpl_options *opt,
                   struct bk_err *err);
/* The same for an update, from the run's first policy. */
void run_stack_share(struct run_policy *p, const struct run_policy *first,
                     struct sbpl_options *opt);
/* Applies it to the graph. */
int run_stack_apply(struct run_policy *p, struct bk_err *err);
void run_stack_free(struct run_policy *p);

/* Takes an assembled policy, and what settings say about how to enforce it. The assembly has to
 * outlive the spec. */
void run_spec_use(struct run_spec *spec, const struct assembly *a);

/* Finds where built-in names lead for this spec. Free with link_targets_free() whatever happened.
 */
int run_policy_link_targets(struct link_targets *targets, const struct run_spec *spec,
                            struct bk_err *err);

/* Gathers the texts of a policy; compiling reads the files that they import. own: own_rules(),
 * which end it, or empty. Free with run_policy_free() whatever happened. */
int run_policy_gather(struct run_policy *p, const struct run_spec *spec, const char *tmpdir,
                      const struct buf *own, struct bk_err *err);
/* The same for an update, with the parameters of the run's first policy, which outlives it: what
 * they name may have changed since, or may not be visible where the update is compiled. */
int run_policy_gather_again(struct run_policy *p, const struct run_policy *first,
                            const struct run_spec *spec, const struct buf *own, struct bk_err *err);
/* Adds link targets before the policy is compiled. They have to outlive it. */
void run_policy_add_link_targets(struct run_policy *p, struct link_targets *targets);
/* Compiles it unless that is done. Findings are in unit.diags. */
int run_policy_compile(struct run_policy *p, struct bk_err *err);
/* The same with the rules' texts, for reports. */
int run_policy_word(struct run_policy *p, struct bk_err *err);
void run_policy_free(struct run_policy *p);
#define OWN_run_policy run_policy_free

#endif
