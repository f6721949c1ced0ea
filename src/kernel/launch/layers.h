/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_LAYERS_H
#define BK_KERNEL_LAUNCH_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "kernel/plan/plan.h"
#include "command/launch.h"

/*
 * Mounts the plan's layers in the sandbox's mount namespace. A layer is an overlay over a folder:
 * what is in the folder stays readable, and what the command writes there goes to the upper side,
 * which nothing else reads. The upper side of a layer that ends with the run is memory; that of a
 * kept layer is a folder of the user's.
 *
 * A layer that cannot be mounted is left out. Then its extension is granted nowhere, so that the
 * command can write there as little as without it.
 */

enum { LAYER_BACK = PLAN_LAYER_REALS + 64 };

struct layer {
    const struct plan_layer *plan;
    int below;                    /* the real folder (O_PATH) */
    bool shared;                  /* other sandboxes have it as well */
    uint64_t lower;               /* its device: files there are not in the layer */
    const char *back[LAYER_BACK]; /* what was put back over it: real paths, and other mounts */
    uint32_t back_len[LAYER_BACK];
    size_t nback;
};

struct layers {
    size_t n;
    bool session; /* other commands of the session have them as well */
    int moves;    /* of a world: where renames of folders are noted; 0: none */
    struct layer at[PLAN_LAYERS];
};

/* Layers that end with the run and are nearly always wanted: init makes them while the policy is
 * being compiled, and attaches them nowhere. */

/* Makes layers over these folders, the first ones that are not NULL. The working directory must be
 * a procfs in which "self" is the caller. trees: mounts to attach, or -1. */
void layers_prepare(const char *const paths[LAYERS_PREPARED], bool user_ns,
                    int trees[LAYERS_PREPARED]);

/* Makes a layer over a folder and attaches it there, in a mount namespace of the caller's own. The
 * working directory as for layers_prepare(). Returns a descriptor of the layer (O_PATH), or a
 * negative errno. */
int layers_hold(const char *path, bool user_ns);
/* The same for a place of a world, whose folder is open. It stays locked as long as the caller
 * lives. */
int layers_hold_place(const char *path, bool user_ns, int world);
/* Opens the layer over a folder in this mount namespace. */
int layers_find(const char *path);
/* Another mount of a layer, to attach in any mount namespace. */
int layers_copy(int layer);
struct layers_mounting {
    const char *const *paths; /* LAYERS_PREPARED that were prepared, and: */
    const int *trees;
    int *given; /* by number in the plan: layers that other sandboxes have as well, or -1; or NULL
                 */
    const char *kept;  /* the folder of this project's kept layers, or NULL: they are left out */
    const char *world; /* the folder of a world's layers, or NULL: they are left out */
    int proc; /* a procfs in which "self" is the caller; it becomes the working directory */
};

/* Call it in the sandbox's mount namespace, before the walls. Takes over the trees that it uses,
 * and all that were given. Returns 0, or a negative errno if a layer of a world is missing whose
 * folder exists. */
int layers_mount(const struct plan *p, const struct layers_mounting *m, struct layers *out);

/* Whether a file in a place of a world has several names, as far as a short look can tell: if there
 * is much to look at, says so. */
bool layers_have_links(const struct plan *p);

/* An absolute path as one file name: slashes and percent signs are escaped. Returns 0 or a negative
 * errno. */
enum { LAYER_NAME = 256 };
int layers_name(const char *path, char out[LAYER_NAME]);

/* Whether a canonical path is in what was put back over a layer, or is it. */
bool layers_is_back(const struct layer *l, const char *path, size_t len);

/* The extension that a canonical path gets; NULL: it is in no layer. st: what is there, or NULL. */
const char *layers_cover(const struct layers *l, const char *path, size_t len,
                         const struct stat *st);

/* The layer of a world that a canonical path is in, or NULL; st: what is there. */
const struct layer *layers_world_at(const struct layers *l, const char *path, size_t len,
                                    const struct stat *st);

/* Whether both paths are in one layer. */
bool layers_same(const struct layers *l, const char *one, size_t n, const char *other, size_t m);
/* Notes that a folder was renamed (world/changes.h reads it): a line of both paths in
 * hexadecimal. */
void layers_note_move(const struct layers *l, const char *from, const char *to);

/* Whether another command of the session has bound this socket in a layer. A host's socket that a
 * command has moved there leads nowhere. */
bool layers_has_bound(const struct layers *l, const char *path, size_t len, int fd);

/* Opens the socket below a layer that has this canonical path: sockets that an overlay shows lead
 * nowhere. Returns a file descriptor (O_PATH) to close, or -1: there is none. */
int layers_open_socket(const struct layers *l, const char *path, size_t len);

#endif
