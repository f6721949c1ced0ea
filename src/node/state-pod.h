/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NODE_STATE_POD_H
#define BK_NODE_STATE_POD_H

#include <jansson.h>

#include "base/buf.h"

/* Which pod a container belongs to, from the annotations that containerd and CRI-O give it. All
 * empty if they say nothing, or something that is no name. Only events use it. */
enum { POD_NAME = 254, POD_LABEL = 64 };

struct state_pod {
    char name[POD_NAME], namespace[POD_LABEL], uid[POD_LABEL], container[POD_LABEL];
};

void state_take_pod(const json_t *annotations, struct state_pod *out);
/* Appends ,"pod":{…} if there is one. */
void state_pod_json(const struct state_pod *p, struct buf *out);

#endif
