/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TLS_SSH_SERVE_H
#define BK_TLS_SSH_SERVE_H

/* The agent that a command with --ssh gets: `buckle-tls ssh AGENT RULE…`, started by
 * run/ssh-agent.c with a listening socket. A rule is "KEY<tab>USER<tab>HOSTKEY,…", keys of hosts in
 * base64; an empty USER is any. */
enum { SSH_LISTEN_FD = 3, SSH_UNTIL_FD = 4 };
int ssh_serve(int argc, char **argv);

#endif
