/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_MACOS_MACOS_PROXIES_H
#define BK_MACOS_MACOS_PROXIES_H

#include <stdint.h>
#include <sys/types.h>

#include "net/gate.h"
#include "report/event.h"

/*
 * The gate (net/gate.h) as two proxies on this machine's loopback, in a process of its own, which
 * ends when its owner does. Who does not know the token is turned away: the machine has others.
 */
struct proxies {
    pid_t pid;
    int stop;   /* open as long as they are wanted */
    int events; /* what they refused, one record after another */
    uint16_t http_port, socks_port;
    char token[33];
    size_t n;
    char bytes[2 * sizeof(struct event)]; /* of a record that is incomplete */
};

/* graph: what is asked about names; it has to outlive them only in the process of its own. */
int proxies_start(struct proxies *p, const struct graph *g, const struct upstream *upstream,
                  struct bk_err *err);
/* Reads what there is; false once they have ended. */
bool proxies_read(struct proxies *p, void (*on_event)(void *arg, const struct event *e), void *arg);
void proxies_stop(struct proxies *p);

#endif
