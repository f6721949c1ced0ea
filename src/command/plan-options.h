/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_COMMAND_PLAN_OPTIONS_H
#define BK_COMMAND_PLAN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* How a policy is to be enforced (kernel/plan/plan.h). Seatbelt has no such choices. */
struct mounts_view;

enum plan_arch { PLAN_X86_64, PLAN_ARM64, PLAN_RISCV64, PLAN_ARCHES };

struct plan_options {
    bool terse;             /* nobody reads the notes: leave out those that need an evaluation */
    bool updatable;         /* everything that an update can change stays judged */
    bool watch_net;         /* report denied hosts by name, even where none is allowed */
    bool grantable;         /* every denial can be granted later: no wall denies it */
    bool accept_weaker;     /* continue where something cannot be enforced */
    bool keep_userns;       /* programs inside may create user namespaces */
    bool perf;              /* programs inside may measure each other, with perf_event_open() */
    uint64_t caps;          /* capabilities that root asks for besides those for work on files */
    uint64_t caps_given_up; /* capabilities that root does not keep in any case */
    bool strict_reads;      /* judge reading where a sentry would do */
    bool no_search;  /* judge reading where files would be searched for names that are denied */
    bool no_masks;   /* judge reading where a mask would do, which hides more than is denied */
    bool core_dumps; /* a crashing program may dump its memory */
    bool session;    /* the command belongs to a session */
    bool ask;        /* ask the user about hosts that no rule names */
    bool no_layers;  /* what rules allow in private layers stays denied */
    bool container;  /* an OCI runtime starts the command: no process of ours is inside */
    bool pod_gate;   /* … whose network leads to a gate */
    bool leaves;     /* without a pid namespace, processes outside are not out of bounds */
    bool unjudged;   /* writes to a world need no judge, if the policy lets the walls decide them */
    const char *cwd; /* the command's working directory, or NULL; outlives the plan */
    const char *tmpdir; /* the same of its TMPDIR */
    /* the mount table as last read, or NULL; outlives the plan */
    const struct mounts_view *mounts;
    enum plan_arch arch; /* PLAN_NATIVE */
};

#if defined(__x86_64__)
#define PLAN_NATIVE PLAN_X86_64
#elif defined(__aarch64__)
#define PLAN_NATIVE PLAN_ARM64
#elif defined(__riscv) && __riscv_xlen == 64
#define PLAN_NATIVE PLAN_RISCV64
#else
#error "system calls of this processor are in no table here"
#endif

#endif
