/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * buckle-kube: what the node agent and a Kubernetes cluster tell one another, in a program of its
 * own. The agent runs as root and speaks to no network; this program speaks to the network and
 * needs no right. `buckle node events` and `buckle node webhook` execute it.
 */

#include <stdio.h>
#include <string.h>

#include "kube/events.h"
#include "kube/webhook.h"

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "webhook") == 0)
        return webhook_serve(
            &(struct webhook_options){.listen = argv[2], .cert = argv[3], .key = argv[4]});
    if (argc == 7 && strcmp(argv[1], "events") == 0)
        return events_run(&(struct events_options){.from = argv[2],
                                                   .api = argv[3],
                                                   .token_file = argv[4],
                                                   .ca_file = argv[5],
                                                   .node = argv[6]});
    fprintf(stderr, "buckle-kube: only `buckle node` starts this program\n");
    return 2;
}
