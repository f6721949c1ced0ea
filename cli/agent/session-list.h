/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_SESSION_LIST_H
#define BK_CLI_AGENT_SESSION_LIST_H

/* Prints the user's sessions with what runs in them. Returns an exit status. */
int session_list(void);

#endif
