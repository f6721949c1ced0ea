/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Systems without overlays. */

#include "cli/agent/session-world.h"

#include <stddef.h>

const struct session_world *session_world_begin(const char *command, const char *on,
                                                struct bk_err *err)
{
    (void)command;
    (void)on;
    err_set(err, BK_E_INPUT, "there are no worlds on this system, so there is no --try");
    return NULL;
}

void session_world_end(bool shows)
{
    (void)shows;
}
