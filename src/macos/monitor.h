/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_MACOS_MONITOR_H
#define BK_MACOS_MONITOR_H

#include <sys/types.h>

#include "macos/logline.h"
#include "report/ignore.h"

/*
 * Receives denials from the system log: `log stream` with a predicate for messages that end in a
 * session's tag. It drops noise from macOS's background services and denials that ignore rules
 * match.
 */
struct monitor_options {
    const char *session;               /* from tag_session() */
    const char *command;               /* the command of this session's tag; NULL: use the tag */
    const struct ignore_rules *ignore; /* may be NULL */
    /* command: NULL if unknown. */
    void (*found)(void *arg, const struct log_denial *d, const char *command);
    void (*debug)(void *arg, const char *line); /* may be NULL */
    void *arg;
};

struct monitor {
    const struct monitor_options *o;
    pid_t pid;
    int out, err; /* read when readable; -1 at their end */
    struct log_reader reader;
};

/* Starts `log`, found in PATH. */
int monitor_start(struct monitor *m, const struct monitor_options *o, struct bk_err *err);
/* Waits at most timeout_ms for the first output: earlier denials would be missed. */
void monitor_await(struct monitor *m, int timeout_ms);
/* Reads what is available on one of the two descriptors. */
void monitor_read(struct monitor *m, int fd);
void monitor_stop(struct monitor *m);

#endif
