/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_MACOS_MACOS_RUN_H
#define BK_MACOS_MACOS_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "macos/enter.h"
#include "report/event.h"
#include "report/ignore.h"

/*
 * Runs a command under macOS's sandbox: starts the proxies and the log monitor, then the command,
 * and stops all of it when the command ends. The command's process confines itself before it
 * executes anything, or `sandbox-exec -p PROFILE command…` does.
 */
struct parent_proxies;

struct macos_ports {
    uint16_t http, socks; /* 0: none */
};

struct seatbelt {
    char *const *argv;
    char *const *env;
    const char *cwd;
    const int *keep_fds; /* to inherit besides 0, 1 and 2 */
    size_t nkeep_fds;
    /* Writes the profile. tag: the message for its denials. */
    int (*profile)(void *arg, const struct macos_ports *ports, const char *tag, struct buf *out,
                   struct bk_err *err);
    /* The policy as a graph: the proxies use it, and it finds the rule behind a denial. */
    const struct graph *graph;
    bool proxied;                         /* some hosts are allowed: start proxies, unless */
    struct macos_ports others;            /* the caller has its own */
    const struct parent_proxies *parents; /* or NULL */
    const char *connector;                /* see proxy-vars.h */
    const char *command;                  /* for tags; NULL: argv, word by word */
    const struct ignore_rules *ignore;
    seatbelt_enter_fn *enter; /* how the command's process is confined; NULL: by sandbox-exec */
    uint32_t timeout_ms;
    void (*on_event)(void *arg, const struct event *e);
    void (*on_input)(void *arg); /* whenever input_fd is readable; NULL: never */
    int input_fd;
    void (*debug)(void *arg, const char *line); /* may be NULL */
    void *arg;
};

struct macos_end {
    int status; /* from waitpid() */
    bool timed_out;
    bool started; /* on failure: whether the command had started */
};

/* Only one at a time per process: it installs signal handlers. If the command can't be executed,
 * fails with BK_E_SYSTEM and its errno in err->sys. */
int macos_run(const struct seatbelt *s, struct macos_end *end, struct bk_err *err);

/* For the one that runs in this process. The first returns 0, or -ESRCH while there is none; the
 * second ends the command: politely first, or at once (end.timed_out). */
int macos_signal(int sig);
void macos_cancel(bool at_once);

#endif
