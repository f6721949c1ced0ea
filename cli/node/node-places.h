/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_NODE_PLACES_H
#define BK_CLI_NODE_PLACES_H

/* Where the node agent is found, unless an option says otherwise. */
#define NODE_SOCKET "/run/buckle/node.sock"
#define NODE_PROFILES "/etc/buckle/profiles"

#endif
