/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NODE_KEEP_H
#define BK_NODE_KEEP_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/*
 * Descriptors that outlive the agent, in sets with names. systemd keeps them in the service's store
 * (sd_notify(3), FDSTORE=1); elsewhere a process of ours does, the holder.
 */
enum { KEEP_NAME = 32, KEEP_FDS = 8 };

struct kept {
    char name[KEEP_NAME];
    int fds[KEEP_FDS]; /* -1: taken */
    size_t n;
};

enum keep_where { KEEP_AUTO, KEEP_SYSTEMD, KEEP_HOLDER, KEEP_NOWHERE };

struct keep {
    int sock; /* to whoever keeps, or -1 */
    bool systemd;
    struct kept *sets; /* what the agent before us left */
    size_t nsets;
};

/* Finds what keeps descriptors, and takes what it has. Without systemd: connects to the holder of
 * the agent's socket, or starts one that waits so many seconds for another agent. */
int keep_open(struct keep *k, enum keep_where where, const char *socket, unsigned wait,
              struct bk_err *err);
/* Closes what nobody has taken. */
void keep_close_rest(struct keep *k);

/* Failures cannot be helped: what is not kept is closed when the agent ends. */
void keep_store(const struct keep *k, const char *name, const int *fds, size_t n);
void keep_drop(const struct keep *k, const char *name);

/* Says a word to systemd, if it started us: "READY=1". */
void keep_notify(const char *words);

#endif
