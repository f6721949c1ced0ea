/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_MACOS_MACOS_PROXIES_H
#define BK_MACOS_MACOS_PROXIES_H

#include <stdint.h>
#include <sys/types.h>

#include "net/gate.h"
#include "report/event.h"

/*
 * The gate (net/gate.h) as two proxies on this machine's loopback, in a separate process that ends
 * with its owner. Clients need the token, because other users share the loopback.
 */
struct proxies {
    pid_t pid;
    int stop;   /* the process runs while this is open */
    int events; /* denials, as a stream of records */
    uint16_t http_port, socks_port;
    char token[33];
    size_t n;
    char bytes[2 * sizeof(struct event)]; /* an incomplete record */
};

/* graph: the policy for host names. The caller may free it: the new process has a copy. */
int proxies_start(struct proxies *p, const struct graph *g, const struct parent_proxies *parents,
                  struct bk_err *err);
/* Reads available events; false when the process has ended. */
bool proxies_read(struct proxies *p, void (*on_event)(void *arg, const struct event *e), void *arg);
void proxies_stop(struct proxies *p);

#endif
