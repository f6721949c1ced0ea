/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SHARED_EVENT_SEND_H
#define BK_KERNEL_SHARED_EVENT_SEND_H

#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "graph/eval.h"
#include "report/event.h"

/*
 * What every process that checks the policy for the command needs: turn a file into facts, apply a
 * rule's modifiers, and report to the controller. Nothing here allocates.
 */

/* Path, owner of the command, type and mode of the file: at most EVENT_FACTS. st may be NULL. */
enum { EVENT_FACTS = 5 };
size_t event_path_facts(const char *path, size_t len, uid_t uid, gid_t gid, const struct stat *st,
                        struct graph_fact *f);

/* Returns the errno that a denial gets. *signal is the signal for the caller, or 0. */
int event_modifiers(const struct graph *g, uint32_t node, int *signal);

struct event_sender {
    int proc;            /* /proc, in which tid and pid are valid */
    int events;          /* socket to the controller */
    struct event *event; /* buffer to fill */
};

struct event_facts {
    pid_t pid, tid; /* the caller; pid <= 0 if only the thread is known */
    int nr;         /* system call; 0 if unknown */
    enum vocab_op op;
    const struct graph_verdict *verdict;
    int err;            /* the errno that the caller got, or 0 */
    const char *detail; /* which part of the object decided, or NULL */
    const char *path;
    size_t len;
};

/* Sets the number of the policy in later events (struct event); 0 at the start. */
void event_policy(uint32_t number);

/* Returns after the controller has received it. */
void event_send(const struct event_sender *t, const struct event_facts *what);

#endif
