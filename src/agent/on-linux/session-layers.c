/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "agent/session-layers.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/launch/layer-server.h"

void session_layers_open(struct session_layers *l, const struct tmpdir *tmpdir, const char *world)
{
    static const char *const paths[] = {"/tmp"};
    l->server = layer_server_start(paths, 1, tmpdir, world, &l->pid);
    if (l->server < 0)
        l->pid = 0;
}

void session_layers_join(const struct session_layers *l, int run)
{
    if (l->server > 0 && run >= 0)
        (void)layer_server_join(l->server, run);
}

/* Runs may go on after the session, and the server with them. */
bool session_layers_close(struct session_layers *l)
{
    enum { TRIES = 200, PAUSE_NS = 5000000 };
    const struct timespec pause = {0, PAUSE_NS};
    if (l->pid <= 0)
        return false;
    close(steal_fd(&l->server));
    for (int i = 0; i < TRIES && waitpid(l->pid, NULL, WNOHANG) == 0; i++)
        nanosleep(&pause, NULL);
    l->pid = 0;
    return true;
}
