/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WINDOW_SERVE_H
#define BK_WINDOW_SERVE_H

#include <stdbool.h>
#include <stdint.h>

/* `buckle ui`: serves the page until it is idle, or a signal ends it. Returns an exit status. */
struct serve_options {
    const char *program; /* the path of buckle */
    uint16_t port;       /* 0: any */
    unsigned idle_s;     /* ends so long after the last page was closed; 0: never */
    bool opens;          /* starts a browser */
};
int serve_page(const struct serve_options *o);

#endif
