/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_PLAN_PLAN_H
#define BK_KERNEL_PLAN_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "graph/graph.h"
#include "kernel/host/host.h"
#include "kernel/host/mounts.h"
#include "kernel/plan/filter.h"
#include "command/plan-options.h"
#include "net/rules.h"

/*
 * How a policy will be enforced, as data: computed from the graph, the options and the host's
 * abilities, without a side effect. `buckle run --dry-run` prints it; the launch performs it.
 *
 * Walls and one judge. The walls (Landlock, the BPF filter, namespaces, dropped capabilities) are
 * an upper bound: they permit everything the policy permits and as little more as they can, and
 * they hold whatever the judge does. The judge decides each call whose operations are not allowed
 * for every argument.
 */

/* ---- tiers ---- */

enum plan_tier {
    TIER_FREE,   /* allowed whatever the argument: never judged */
    TIER_JUDGED, /* judged at every call, reported when denied */
    TIER_WALLED, /* decided by a wall alone */
    TIER_SENTRY, /* checked only beneath sentries, reported when denied */
    TIER_MASKED, /* hidden by masks: not reported */
    TIER_DENIED, /* refused as a whole by a wall */
    TIER_ABSENT, /* nothing on Linux does this, or nothing enforces it yet */
};

struct plan_op {
    uint8_t tier;     /* enum plan_tier */
    bool refused;     /* judged, and denied whatever the argument */
    uint32_t rule;    /* the rule that made it so, or GRAPH_NO_RULE */
    const char *wall; /* what enforces it besides the judge: "Landlock", "network namespace"… */
    const char *note; /* where the tier permits less or more than the policy, and why; or NULL */
    uint8_t remedy;   /* enum bk_remedy: what to do about the note */
};

/* ---- the Landlock wall ---- */

struct wall_path {
    const char *path; /* as the policy names it; if it does not exist, its nearest existing ancestor
                         replaces it */
    uint64_t rights;  /* KABI_LL_… */
    uint32_t rule;    /* a rule that needs it */
    bool folder;      /* what is beneath it, too */
    bool loader;      /* follow links; no ancestor replaces it */
};

/* ---- sentries: they deny reading ---- */

enum { PLAN_SENTRIES = 256, PLAN_SENTRY_PATH = 4000 };

/* A folder or file with a sentry (or a mask) over it. With `open`: a folder inside one that is put
 * back over it, because everything in it may be read except where another sentry is. Outer ones
 * come first. The launch finds out whether they exist. */
struct plan_sentry {
    const char *path;
    uint32_t len;
    uint32_t rule; /* the rule that denies; GRAPH_NO_RULE with `open` */
    bool exact;    /* a rule names the path itself rather than what is beneath */
    bool open;
    bool whole; /* nothing in it may be read */
};

enum { PLAN_SEARCHES = 16 };

/* A folder in which patterns deny reading some names. The launch searches it for those, and each
 * one that exists, or is created later, gets a sentry of its own. */
struct plan_search {
    const char *path;
    uint32_t len;
    uint32_t rule;
};

/* ---- layers: what is written there stays private ---- */

enum { PLAN_LAYERS = 64, PLAN_LAYER_REALS = 64 };

/* Rules that ask for one of these extensions allow writing only where a layer is. */
enum plan_layer_kind {
    LAYER_RUN,  /* ends with the run: "buckle.private-layer" */
    LAYER_KEPT, /* kept for the next run in this working folder: "buckle.kept-layer" */
    LAYER_TRY,  /* kept until the user has looked at it: "buckle.try-layer" (world/world.h) */
    LAYER_KINDS,
};
extern const char *const plan_layer_extensions[LAYER_KINDS];

/* A folder with a private layer over it. `real` are paths in it that stay the real ones: first
 * those that the policy opens by itself, then the working folder and those of sentries. */
struct plan_layer {
    const char *path;
    uint32_t len;
    uint8_t kind; /* enum plan_layer_kind */
    bool shown;   /* it is the outer sandbox's, and nothing can be written there */
    bool guarded; /* sentries are inside: they see the real files, so no other run may write here */
    uint32_t rule;
    const char **real;
    size_t nopened, nreal;
};

/* ---- the plan ---- */

enum { PLAN_PORTS = 16, PLAN_GATE_PORTS = 40 };

struct plan {
    struct arena arena;
    struct plan_options opt;
    struct host host;

    struct plan_op ops[OP_COUNT];

    bool user_ns, mount_ns, pid_ns, net_ns, ipc_ns, uts_ns;
    bool no_ip;         /* without a network namespace: IP sockets cannot be created */
    bool gate;          /* network destinations are checked by name */
    bool isolated;      /* nothing leads out of the network namespace */
    bool makes_sockets; /* sockets cannot be taken from a child: the judge makes them */
    bool dials;         /* without a network namespace: the judge leads connections to the gate */
    struct local_port local[PLAN_PORTS]; /* ports of this machine that rules name; with a gate */
    size_t nlocal;
    bool local_all;   /* all other ports of loopback lead to this machine's, if it has a server */
    bool session;     /* and to servers of the other commands of the session */
    bool publish_all; /* this machine may call every server of the command */
    uint16_t published[PLAN_PORTS]; /* ports of the command that this machine may call */
    size_t npublished;
    uint16_t
        ports[PLAN_GATE_PORTS]; /* ports that lead to the gate where packets cannot be redirected */
    size_t nports;
    bool judge;           /* a listener is needed */
    bool exec_by_caller;  /* what may be executed depends on the executing process */
    bool commands;        /* rules are about programs and their arguments: each start is judged */
    bool commands_only;   /* … and nothing else limits what may be executed */
    bool commands_many;   /* … more than can be enforced */
    bool commands_net;    /* … the network: making an Internet socket is judged */
    bool mask_sysctl;     /* /proc/sys is empty */
    bool readonly_sysctl; /* /proc/sys is read-only */
    uint64_t caps;        /* what the command and the judge keep; none can be gained */

    struct sys_rule *calls; /* sorted by number */
    size_t ncalls;

    /* The command starts behind the filter, before any process can answer. So its first execve()
     * carries this number in two arguments that the kernel ignores. The launch chooses it at
     * random; 0 in a plan. */
    uint64_t pass;

    uint64_t handled_fs, scoped; /* 0: no Landlock wall */
    uint64_t handled_net;        /* TCP operations that the command itself does not perform */
    struct wall_path *walls;
    size_t nwalls;

    bool no_device_tests;  /* judged calls and sentries ignore rules about devices */
    bool device_wall;      /* device files cannot be opened, except for: */
    bool device_scan;      /* those that the launch finds in /dev and the policy lets be read */
    const char **devices;  /* or else these files or folders, which need not exist */
    uint8_t *device_types; /* of each: bit N is type N of (vnode-type …) */
    size_t ndevices;

    struct plan_layer *layers;
    size_t nlayers;
    bool world;        /* the policy writes only to layers of a world */
    bool unjudged;     /* … where the walls alone decide who opens, creates and removes files */
    bool layers_first; /* some have sentries inside, which are mounted over them */
    uint64_t layer_rights; /* KABI_LL_… that the wall grants in them */

    bool masked; /* the sentries are masks */
    struct plan_sentry *sentries;
    size_t nsentries;

    struct plan_search *searches;
    size_t nsearches;

    const char **notes; /* what the user should know: where it permits less or more than the policy,
                           and why */
    size_t nnotes;
};

/* Fails with REMEDY_ACCEPT_WEAKER if the host lacks something that the policy needs. */
int plan_make(const struct graph *g, const struct plan_options *opt, const struct host *host,
              struct plan *out, struct bk_err *err);
void plan_free(struct plan *p);
/* The plan for a container that an OCI runtime starts (plan-container.c). gate: its network leads
 * to a gate, if the policy allows any host. */
int plan_for_container(const struct graph *g, bool gate, struct plan *out, struct bk_err *err);

/* For a sandbox inside another one: adds the outer one's layers, so that the same files are
 * visible.
 */
void plan_show_layers(struct plan *p, const struct plan *outer);
/* Whether a layer is in a folder that is searched: then names there are not the host's, and it must
 * be planned without searching. */
bool plan_has_layer_in_search(const struct plan *p);
/* Whether a path is in one of the layers, and not one of the real paths there. */
bool plan_has_in_layer(const struct plan *p, const char *path);

/* Copies a plan with everything that it refers to into an arena; NULL if that is too small. */
const struct plan *plan_pack(const struct plan *p, struct arena *into);
/* A plan that uses such a copy, which has to outlive it and may be read-only. opt: as when the plan
 * was made. */
void plan_unpack(const struct plan *packed, const struct plan_options *opt, struct plan *out);

/* Lists what the running plan cannot carry over from another policy, one line each. `wanted` is
 * that policy's plan for the same options and host. Returns how many there are. */
size_t plan_waits(const struct plan *running, const struct plan *wanted, struct buf *out);

void plan_print_text(const struct plan *p, const struct graph *g, struct buf *out);
void plan_print_json(const struct plan *p, const struct graph *g, struct buf *out);

/* Appends the folders (or files) in which the operation could be allowed: an upper bound. At most
 * cap; more means everywhere. Sets *everywhere if no folder bounds it. */
struct bound_path {
    const char *path;
    uint32_t len;
    bool exact; /* the path itself rather than what is beneath */
    uint32_t rule;
    uint64_t ends; /* path-bounds.c: bit N: one of its parts ends at N modulo 64 */
};
size_t plan_bound(const struct graph *g, enum vocab_op op, struct bound_path *list, size_t cap,
                  bool *everywhere, struct arena *arena);

/* Whether a number of ioctl() belongs to a family that changes files (ioctls.def). */
bool plan_ioctl_is_of_files(uint32_t request);

#endif
