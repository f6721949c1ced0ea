/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_API_COMMAND_OPTIONS_H
#define BK_API_COMMAND_OPTIONS_H

#include "api/api.h"
#include "policy/assemble.h"
#include "run/spec.h"

/* A command as the caller described it. */
struct api_pair {
    const char *key, *value;
    size_t n; /* bytes of the value */
};

struct api_pairs {
    struct api_pair *at;
    size_t n;
};

struct buckle_command {
    struct arena arena;
    const char **argv; /* ends in NULL; NULL: none */
    const char *profile, *settings, *directory, *tmpdir, *text;
    size_t nsettings;
    struct api_pairs texts, rules, params, env;
    struct words keep_env;
    int *keep_fds;
    size_t nkeep_fds;
    int stdio[3];
    uint32_t timeout_ms, max_procs, ask_ms;
    uint64_t max_memory;
    bool flags[BUCKLE_WHOLE_ENV + 1]; /* by enum buckle_flag */
    bool found;
    buckle_event_fn *on_event;
    buckle_question_fn *on_question;
    void *event_arg, *question_arg;
    struct buckle_store *store;
    uint64_t id;
    struct buckle_manager *manager; /* to notify of its runs, or NULL */
};

struct api_policy {
    struct assembly assembly;
    struct buf rules, links; /* made from the command's rules */
};

/* p is zeroed. c, cwd and tmpdir (which may be NULL) have to outlive it. Free with
 * api_policy_free() whatever happened. */
int api_policy_make(struct api_policy *p, const struct buckle_command *c, const char *cwd,
                    const char *tmpdir, struct bk_err *err);
void api_policy_free(struct api_policy *p);
#define OWN_api_policy api_policy_free

/* Fills in everything except callbacks, with memory of the arena. */
int api_spec(const struct buckle_command *c, const struct api_policy *p, struct arena *a,
             const char *cwd, struct run_spec *out, struct bk_err *err);

/* manager.c: adds a run that has started, or forgets it. */
int manager_add_run(struct buckle_manager *m, struct buckle_run *run);
void manager_drop_run(struct buckle_manager *m, struct buckle_run *run);

#endif
