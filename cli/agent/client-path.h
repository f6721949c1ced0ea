/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_CLIENT_PATH_H
#define BK_CLI_AGENT_CLIENT_PATH_H

#include <limits.h>
#include <stdbool.h>

/* buckle-client (client-main.c) and buckle, where both are as they were installed: in
 * PREFIX/libexec/buckle and PREFIX/bin. The paths are real paths of the programs themselves, so
 * that client and spare name the same program. */

/* The client of this program. Returns false if there is none, or one that others could write. */
bool client_path(const char *program, char client[PATH_MAX]);
/* The program of this client. */
bool client_program_path(const char *client, char program[PATH_MAX]);

#endif
