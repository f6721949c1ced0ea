/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NODE_PROFILES_H
#define BK_NODE_PROFILES_H

#include <sys/stat.h>

#include "base/err.h"
#include "graph/graph.h"
#include "kernel/plan/plan.h"
#include "node/keep.h"
#include "node/spec.h"
#include "node/state.h"

/* The folder of profiles: NAME.sb each. A profile is compiled when a container first needs it, and
 * again when its file has changed. Containers that run keep what they started with. */

struct node_profile {
    struct node_profile *next;
    char name[STATE_PROFILE];
    struct stat stamp;
    struct graph *graph;
    struct plan plan;
    char section[SPEC_DIGEST]; /* of its filter */
    uint64_t number;           /* of the version; its text is kept under it */
    int memory;                /* the text */
    const struct keep *keep;
    unsigned users; /* containers; and one for being the current version */
};

struct profiles {
    int folder;
    bool gate;                  /* set before: containers can have one (pod-gate.h) */
    const struct keep *keep;    /* gets texts that containers use; or NULL */
    uint64_t *numbers;          /* counts versions */
    struct node_profile *first; /* current versions */
    struct node_profile *kept;  /* versions of an agent before us, while it is taken over */
};

int profiles_open(struct profiles *p, const char *folder, struct bk_err *err);
void profiles_close(struct profiles *p);

/* The version that an agent before us kept under a number; release it. */
int profiles_restore(struct profiles *p, struct keep *from, uint64_t number, const char *name,
                     struct node_profile **out, struct bk_err *err);
/* No more will be restored. */
void profiles_restored(struct profiles *p);
void profile_store(const struct node_profile *p);

/* The current version of a profile; release it. Links may not lead out of the folder. */
int profiles_get(struct profiles *p, const char *name, struct node_profile **out,
                 struct bk_err *err);
void profile_release(struct node_profile *p);

#endif
