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
 * What everybody who asks the policy on behalf of the command has to do alike: put what is known of
 * a file into facts, carry out what a rule's modifiers want, and tell the controller. Nothing here
 * allocates.
 */

/* Path, owner of the command, kind and mode of the file: at most TELL_FACTS. st may be NULL. */
enum { TELL_FACTS = 5 };
size_t event_path_facts(const char *path, size_t len, uid_t uid, gid_t gid, const struct stat *st,
                        struct graph_fact *f);

/* What a denial is to be answered: a Linux errno. *signal: to be sent to the process that asked, or
 * 0. */
int event_modifiers(const struct graph *g, uint32_t node, int *signal);

struct event_sender {
    int proc;            /* where tid and pid are known */
    int events;          /* socket to the controller */
    struct event *event; /* to be filled */
};

struct event_facts {
    pid_t pid, tid; /* who asked; pid <= 0 when only the thread is known */
    int nr;         /* system call; 0 when nobody knows */
    enum vocab_op op;
    const struct graph_verdict *verdict;
    int err;            /* what it was answered, or 0 */
    const char *detail; /* which part of the object decided, or NULL */
    const char *path;
    size_t len;
};

/* Whose policy events tell of from now on (struct event); 0 in the beginning. */
void event_policy(uint32_t number);

/* Returns when the controller has it. */
void event_send(const struct event_sender *t, const struct event_facts *what);

/* A line of PROC/TID/status: the text after key, which is "\nKey:". 0 or a negated errno. */
int proc_status_field(int proc, pid_t tid, const char *key, char *out, size_t cap);

#endif
