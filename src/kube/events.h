/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KUBE_EVENTS_H
#define BK_KUBE_EVENTS_H

struct events_options {
    const char *from; /* the agent's socket */
    const char *api, *token_file, *ca_file, *node;
};

/* Makes Event objects of the agent's lines until SIGTERM or SIGINT. Returns the exit status. */
int events_run(const struct events_options *o);

#endif
