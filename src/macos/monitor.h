/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_MACOS_MONITOR_H
#define BK_MACOS_MONITOR_H

#include <sys/types.h>

#include "macos/logline.h"
#include "report/ignore.h"

/*
 * Hears of denials from the system's log: `log stream` with a predicate that lets through what ends
 * in a session's tag. What the log says of the system's own chatter, and what rules say nobody
 * wants to hear of, is left out.
 */
struct monitor_options {
    const char *session;               /* tag_session() */
    const char *command;               /* whose tag this is, in full; NULL: what the tag says */
    const struct ignore_rules *ignore; /* may be NULL */
    /* command: NULL when nobody knows. */
    void (*found)(void *arg, const struct log_denial *d, const char *command);
    void (*debug)(void *arg, const char *line); /* may be NULL */
    void *arg;
};

struct monitor {
    const struct monitor_options *o;
    pid_t pid;
    int out, err; /* to be read when something is there; -1 once they have ended */
    struct log_reader reader;
};

/* The program is `log`, from PATH. */
int monitor_start(struct monitor *m, const struct monitor_options *o, struct bk_err *err);
/* Until the first words, at most so long: before, denials would be missed. */
void monitor_await(struct monitor *m, int timeout_ms);
/* Reads what there is from one of the two descriptors. */
void monitor_read(struct monitor *m, int fd);
void monitor_stop(struct monitor *m);

#endif
