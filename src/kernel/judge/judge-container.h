/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_JUDGE_CONTAINER_H
#define BK_KERNEL_JUDGE_JUDGE_CONTAINER_H

#include <stdbool.h>
#include <sys/types.h>

#include "kernel/judge/call-book.h"

/* A judge for a container that an OCI runtime started, in a process of its own. */

struct plan;
struct graph;

/* Shorter messages than any event: it judges; or why it cannot, as text after this letter. */
enum judge_words { JUDGE_READY = 'R', JUDGE_FAILED = 'F', JUDGE_SAYS = 256 };

struct container {
    const struct plan *plan; /* plan_for_container() */
    const struct graph *graph;
    int listener;
    int events;             /* socket for struct event, and JUDGE_SAYS */
    pid_t pid;              /* the container's process, in our numbers */
    struct call_book *book; /* shared memory */
    bool audit;             /* denials are reported, and allowed */
};

/* Judges until no process is behind the listener, or nobody is left who could read events. Closes
 * all other descriptors. Call it in a new process with one thread. */
void container_judge(const struct container *c) __attribute__((noreturn));

#endif
