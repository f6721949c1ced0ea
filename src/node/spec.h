/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NODE_SPEC_H
#define BK_NODE_SPEC_H

#include "base/buf.h"
#include "base/err.h"
#include "graph/graph.h"
#include "kernel/plan/plan.h"

/* What an OCI runtime is given for a policy, and what the node agent does about the rest. */

/* What becomes of a call in the runtime's filter. */
enum spec_action { SPEC_ALLOW, SPEC_NOTIFY, SPEC_ERRNO, SPEC_SPLIT };

/* A split call: it is judged if any bit of `any` is set in the argument, and passes otherwise.
 * whole: if anything is set in all 64 bits. */
struct spec_call {
    const char *name;
    uint8_t action; /* enum spec_action */
    uint16_t err;   /* SPEC_ERRNO; 0 pretends success */
    uint8_t arg;
    uint32_t any;
    bool whole;
};

/* Every known call in turn, until NULL. The runtime's rules are not ordered, so what needs an order
 * is judged: the judge has the plan and applies its tests. */
enum { SPEC_CALLS = 512 };
size_t spec_calls(const struct plan *p, struct spec_call *out, size_t cap);

/* What tells sections apart: sixteen digits of a hash over all calls that do not simply pass. The
 * listener's metadata has it, so that an agent whose profile has changed since notices. */
enum { SPEC_DIGEST = 17 };
void spec_digest(const struct plan *p, char out[SPEC_DIGEST]);

struct spec_options {
    const char *socket;   /* of the node agent */
    const char *profile;  /* its name there */
    bool seccomp_only;    /* what engines take as a seccomp profile */
    bool gate;            /* the container network leads to a gate */
    const char *landlock; /* landlockconfig's JSON for the same policy, or NULL */
    size_t nlandlock;
};

/* Appends an object: "linux", which belongs into config.json, "landlock", and "operations" by how
 * they are decided. */
int spec_print(const struct graph *g, const struct spec_options *o, struct buf *out,
               struct bk_err *err);
/* Appends a table: what is judged, what the filter refuses, and what cannot be had. */
int spec_print_plan(const struct graph *g, bool gate, struct buf *out, struct bk_err *err);

#endif
