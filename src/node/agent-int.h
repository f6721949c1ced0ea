/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NODE_AGENT_INT_H
#define BK_NODE_AGENT_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/judge/judge-container.h"
#include "node/agent.h"
#include "node/keep.h"
#include "node/profiles.h"
#include "node/record.h"
#include "node/sampling.h"
#include "node/state.h"
#include "report/event.h"

/* The agent's parts, one process with one loop. */

struct agent;

/* Something that the loop waits for. */
struct source {
    int fd;
    void (*ready)(struct agent *a, struct source *s);
    void *owner;
};

enum { RESTARTS = 5, RESTART_MS = 10000 };

/* A container, or a process that joined one later: whatever has a listener of its own. */
struct node_container {
    struct node_container *next;
    struct state state;
    struct node_profile *profile;
    uint64_t number;          /* of its set of descriptors */
    struct container_fds fds; /* kept for a successor of this agent */
    pid_t judge;              /* 0: none runs */
    bool starts_gate;         /* its first judge does */
    struct source events;     /* the judge's events: fds.events */
    struct source exit;       /* a pidfd of the judge */
    char said[JUDGE_SAYS];    /* why it cannot judge */
    unsigned restarts;        /* since */
    uint64_t since;
    uint64_t denied;
    struct sampling sampling;
    struct event_cache cache;
};

enum { CONNECTIONS = 64, CONNECTION_MS = 5000 };

/* A runtime that has not sent everything yet. */
struct connection {
    struct source in;
    uint64_t until;
    char *text;
    size_t n;
    int fds[STATE_FDS];
    size_t nfds;
    bool toomany;
};

struct agent {
    const struct node_options *o;
    int epoll, proc; /* proc: /proc */
    struct source listener, signals, holder, changes;
    struct keep keep;
    uint64_t numbers; /* of sets, so far */
    struct profiles profiles;
    struct connection connections[CONNECTIONS];
    struct node_container *first;
    uint64_t started, refused, restarts, ended, denied, judged, spent_ns, took[BOOK_BUCKETS];
    uint64_t skipped, lost; /* lines: by sampling, by slow readers */
    uint64_t sampled;       /* ms: when containers were last asked what sampling owes */
    bool owes;              /* lines were skipped since */
    uint64_t unwritten;     /* lines, since one was written */
    size_t running;
    bool stop;
};

int agent_watch(struct agent *a, struct source *s);
void agent_forget(struct agent *a, struct source *s); /* closes it */

/* The name of a set. */
void agent_set_name(char kind, uint64_t number, char out[KEEP_NAME]);
/* Stores everything again: the holder is another one. */
void agent_store_all(struct agent *a);

/* profiles-watch.c. Reports changed profiles; without a watch, nothing. */
void profiles_watch(struct agent *a);

/* agent-connections.c */
int connections_listen(struct agent *a, struct bk_err *err);
/* Ends those that are too slow. Returns milliseconds until the next one is, or -1. */
int connections_expire(struct agent *a);

/* node-container.c. Takes over the listener. If it cannot be judged, it is closed: then every
 * judged call fails, execve() among them. */
void container_begin(struct agent *a, const struct state *s, int listener);
/* Prints what sampling owes. Returns milliseconds until more is due, or -1. */
int containers_expire(struct agent *a);
void container_store(struct agent *a, const struct node_container *c);
/* Restores the containers that the agent before this one had. */
void containers_restore(struct agent *a);
/* Why no container came of a connection; s may be NULL. */
void container_refuse(struct agent *a, const struct state *s, const char *why);

/* Prints a line: {"time":…,"event":EVENT,…members}. */
void agent_print(struct agent *a, const char *event, const struct state *s, const char *members);

#endif
