/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TLS_SSH_SERVE_H
#define BK_TLS_SSH_SERVE_H

#include <sys/types.h>

/* The agent that a command with --ssh gets: `buckle-tls ssh AGENT RULE…`, started by
 * run/ssh-agent.c with a listening socket. A rule is "KEY<tab>USER<tab>HOSTKEY,…", keys of hosts in
 * base64; an empty USER is any. */
enum { SSH_LISTEN_FD = 3, SSH_UNTIL_FD = 4, SSH_EVENTS_FD = 5 };

struct ssh_hooks {
    int (*confine)(void); /* before the first client; a negative errno ends it */
    void (*refused)(pid_t client, const char *why);
};
int ssh_serve(int argc, char **argv, const struct ssh_hooks *hooks);

#endif
