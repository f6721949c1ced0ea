/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_LAYER_SERVER_H
#define BK_KERNEL_LAUNCH_LAYER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "kernel/plan/plan.h"

/*
 * A process that gives sandboxes the same layer: a session's runs share the layer over /tmp, and a
 * sandbox inside another one sees the layers of that one. Only one mount namespace can copy a
 * mount, and only the user namespace that made a layer can make the kernel forget names in it, so a
 * process in both does that for all others.
 *
 * Its clients are the processes of Buckle that set sandboxes up, never a command. It ends with the
 * last client, however that ends, and nothing of the layers is left then.
 */
struct tmpdir;

/* Starts one with layers of its own over these folders. It removes the TMPDIR when it ends. Returns
 * the first client's socket or a negative errno. If there can be no layers here, it has none.
 * world: the folder of a world (world/world.h) whose layers it makes for its clients, or NULL. */
int layer_server_start(const char *const *paths, size_t n, const struct tmpdir *tmpdir,
                       const char *world, pid_t *pid);
/* Starts one that has the layers of a sandbox. init: a pidfd. above: a client's socket to the
 * server that gave that sandbox its layers, or 0. */
int layer_server_start_inside(int init, bool user_ns, const char *const *paths, size_t n, int above,
                              pid_t *pid);

/* ---- the client's side ---- */

/* Connects another client: the socket that the server gets. The caller closes its copy. */
int layer_server_join(int server, int client);
/* Takes the layers that the plan has as well: trees to attach, by number in the plan, or -1. */
void layer_server_take(int server, const struct plan *p, int trees[PLAN_LAYERS]);
/* The same for the places of its world. */
void layer_server_take_places(int server, const struct plan *p, int trees[PLAN_LAYERS]);
/* Makes the kernel forget names in the layers, and waits for that. Returns 0 or a negative errno.
 */
int layer_server_forget_names(int server);

#endif
