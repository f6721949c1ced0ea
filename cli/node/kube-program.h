/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_NODE_KUBE_PROGRAM_H
#define BK_CLI_NODE_KUBE_PROGRAM_H

#include <stdbool.h>

#include "cli/args.h"

/* `buckle node events` and `buckle node webhook`: executes buckle-kube. */
#define KUBE_OPTIONS                                                                               \
    {"listen", 0, "ADDRESS:PORT", "webhook: where the API server connects", NULL},                 \
        {"cert", 0, "FILE", "webhook: its certificates, PEM; without them it serves plain HTTP",   \
         "file"},                                                                                  \
        {"key", 0, "FILE", "webhook: its private key, PEM", "file"},                               \
        {"from", 0, "PATH", "events: the agent's --events socket", "file"},                        \
        {"api", 0, "URL", "events: the API server (default: as in a pod)", NULL},                  \
        {"token-file", 0, "FILE", "events: the token for it (default: the pod's)", "file"},        \
        {"ca-file", 0, "FILE", "events: who signs its certificate (default: the pod's)", "file"},  \
    {                                                                                              \
        "node", 0, "NAME", "events: this node's name (default: $NODE_NAME)", NULL                  \
    }

bool kube_is_program(const char *word);
int kube_execute(struct cli_args *args);

#endif
