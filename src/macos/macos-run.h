/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_MACOS_MACOS_RUN_H
#define BK_MACOS_MACOS_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "report/event.h"
#include "report/ignore.h"

/*
 * A command under macOS's sandbox, from its proxies to its last denial: proxies and the log's
 * monitor are started, then `sandbox-exec -p PROFILE command…`, and when it has ended all of it is
 * stopped.
 */
struct upstream;

struct macos_ports {
    uint16_t http, socks; /* 0: none */
};

struct seatbelt {
    char *const *argv;
    char *const *env;
    const char *cwd;
    const int *keep_fds; /* that it inherits besides 0, 1 and 2 */
    size_t nkeep_fds;
    /* Writes the profile. tag: the message of its denials. */
    int (*profile)(void *arg, const struct macos_ports *ports, const char *tag, struct buf *out,
                   struct bk_err *err);
    /* The policy in our own words: asked by the proxies, and for the rule behind a denial. */
    const struct graph *graph;
    bool proxied;              /* some hosts are allowed: proxies are started, unless: */
    struct macos_ports others; /* somebody else's */
    const struct upstream *upstream;
    const char *connector; /* wrap.h */
    const char *command;   /* for tags; NULL: argv, word by word */
    const struct ignore_rules *ignore;
    uint32_t timeout_ms;
    void (*on_event)(void *arg, const struct event *e);
    void (*debug)(void *arg, const char *line); /* may be NULL */
    void *arg;
};

struct macos_end {
    int status; /* as waitpid() gives it */
    bool timed_out;
    bool started; /* on failure: whether the command was */
};

/* One at a time in a process: it listens to signals. On failure err->sys of BK_E_SYSTEM says why
 * the command could not be executed. */
int macos_run(const struct seatbelt *s, struct macos_end *end, struct bk_err *err);

#endif
