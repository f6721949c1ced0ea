/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_OWN_OBJECT_H
#define BK_KERNEL_JUDGE_OWN_OBJECT_H

#include <stdbool.h>
#include <stdint.h>

/* System V objects of one kind that the judge made for the command, by id. */
enum { SYSV_KINDS = 3, OWN_OBJECTS = 256 };

struct own_objects {
    uint32_t n;
    int32_t ids[OWN_OBJECTS];
};

/* The sandbox's System V objects (handle-sysv.c). */
struct sysv_use {
    bool own_ns;                            /* the ipc namespace shows no others */
    struct own_objects objects[SYSV_KINDS]; /* otherwise: its own ones */
};

static inline bool own_object_is(const struct own_objects *o, int id)
{
    for (uint32_t i = 0; i < o->n; i++)
        if (o->ids[i] == id)
            return true;
    return false;
}

static inline bool own_object_add(struct own_objects *o, int id)
{
    if (o->n == OWN_OBJECTS)
        return false;
    o->ids[o->n++] = id;
    return true;
}

static inline void own_object_forget(struct own_objects *o, int id)
{
    for (uint32_t i = 0; i < o->n; i++)
        if (o->ids[i] == id)
            o->ids[i--] = o->ids[--o->n];
}

#endif
