/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The part of the plan about device files. A disk holds every file, whatever the policy says about
 * them, and so do some character devices. The type of a file shows only once it is opened, and
 * judging every open is the most expensive thing Buckle does. So rules about devices become a wall:
 * nothing in the sandbox's mounts can be opened as a device, except those that may be read, which
 * are mounted on themselves (device-wall.c).
 */

#include <string.h>

#include "kernel/plan/plan-int.h"

static bool note_devices(void *arg, const struct graph_test *t, bool *holds)
{
    (void)holds;
    *(bool *)arg |= t->filter == FILTER_VNODE_TYPE && t->how == GRAPH_INT &&
                    (t->num == BOUND_BLOCKS || t->num == BOUND_CHARACTERS);
    return false;
}

void plan_devices(struct plan *p, const struct graph *g)
{
    bool asks = false;
    plan_outcomes_where(p, g, OP_FILE_READ_DATA, note_devices, &asks);
    if (!asks || p->opt.updatable || p->opt.strict_reads)
        return; /* nothing to close, or the judge does it */
    p->device_wall = p->mount_ns && p->host.nodev;
    p->no_device_tests = p->device_wall || !p->host.disks;
    if (!p->device_wall && p->no_device_tests)
        plan_note(p, "permits more: device files can be opened for reading, for want of a mount "
                     "namespace; no disk in /dev can be");
}

/* Whether a path is /dev or contains it. */
static bool contains_dev(const struct bound_path *b)
{
    static const struct bound_path all = {"/dev", 4, false, GRAPH_NO_RULE, 0};
    return !b->exact && bound_covers(b, &all);
}

/* The index of a path among the devices; their number if it is not among them. */
static size_t find_device(const struct plan *p, const struct bound_path *b)
{
    size_t i = 0;
    while (i < p->ndevices &&
           (strlen(p->devices[i]) != b->len || memcmp(p->devices[i], b->path, b->len) != 0))
        i++;
    return i;
}

/* Devices elsewhere stay closed. */
static int open_devices(struct plan *p, const struct graph *g, enum bound_type type)
{
    struct bound_path list[PLAN_DEVICES];
    bool everywhere;
    size_t n =
        plan_bound_of(g, OP_FILE_READ_DATA, type, list, PLAN_DEVICES, &everywhere, &p->arena);
    p->device_scan |= everywhere;
    for (size_t i = 0; i < n; i++) {
        p->device_scan |= contains_dev(&list[i]);
        if (list[i].len <= 5 || memcmp(list[i].path, "/dev/", 5) != 0)
            continue;
        size_t at = find_device(p, &list[i]);
        if (at == PLAN_DEVICES) {
            p->device_scan = true;
            break;
        }
        p->devices[at] = arena_strndup(&p->arena, list[i].path, list[i].len);
        p->device_types[at] |= (uint8_t)(1 << type);
        p->ndevices += at == p->ndevices;
        if (!p->devices[at])
            return -1;
    }
    return 0;
}

int plan_open_devices(struct plan *p, const struct graph *g, struct bk_err *err)
{
    /* every open is judged: the judge knows more than a wall, and reports */
    if (plan_is_asked(p->ops[OP_FILE_READ_DATA].tier))
        p->device_wall = false;
    if (!p->device_wall)
        return 0;
    p->devices = arena_array(&p->arena, PLAN_DEVICES, sizeof(*p->devices));
    p->device_types = arena_array(&p->arena, PLAN_DEVICES, sizeof(*p->device_types));
    if (!p->devices || !p->device_types || open_devices(p, g, BOUND_CHARACTERS) < 0 ||
        open_devices(p, g, BOUND_BLOCKS) < 0)
        return err_nomem(err);
    return 0;
}
