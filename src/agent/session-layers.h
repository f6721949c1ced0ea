/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_SESSION_LAYERS_H
#define BK_AGENT_SESSION_LAYERS_H

#include <stdbool.h>
#include <sys/types.h>

struct tmpdir;

/* The private layers that all runs of a session share. macOS has none: what Seatbelt lets a command
 * write is real. */
struct session_layers {
    int server; /* socket; at most 0: each run has layers of its own */
    pid_t pid;
};

/* tmpdir: the last of the session and its runs removes it. world: the folder of a world, or NULL.
 */
void session_layers_open(struct session_layers *l, const struct tmpdir *tmpdir, const char *world);
/* Lets a run have them, through its socket. */
void session_layers_join(const struct session_layers *l, int run);
/* Returns false if removing the TMPDIR is left to the session. */
bool session_layers_close(struct session_layers *l);

#endif
