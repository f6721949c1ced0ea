/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_LAUNCH_NEST_H
#define BK_KERNEL_LAUNCH_NEST_H

#include <stdint.h>
#include <sys/types.h>

#include "kernel/host/kabi.h"
#include "kernel/launch/launch.h"

/*
 * A sandbox inside a sandbox. The inner run (the asker) makes none of its own: the kernel allows
 * one listener, and calls that the outer judge performs would pass an inner wall by. It asks the
 * outer controller for one beside it:
 *
 *   asker ── prctl(NEST_CALL) ─▶ judge ── asker's pidfd, a socket ─▶ controller
 *     └───────── that socket: request, signals / events, end ─────────▶ └─ nested controller
 *
 * The call needs no name and no variable, and the kernel vouches for the caller. What comes through
 * the socket is hostile. It can only narrow: the new sandbox has the conjunction of all policies
 * (run/nest-serve.c).
 */
enum { NEST_CALL = KABI_PRCTL_NEST };

/* Asks for a channel to the outer controller. Returns the asker's end, or a negative errno: -EINVAL
 * if no judge answers. */
int nest_call(void);

/* What the judge sends with the two descriptors. */
enum { NEST_MAGIC = 0x74734e42 };

struct nest_asked {
    uint32_t magic;
};

/* ---- the channel: packets that begin with a kind ---- */

enum nest_kind {
    NEST_REQUEST = 1, /* asker: struct nest_request; sealed memory, then its descriptors */
    NEST_SIGNAL,      /* asker: a signal for the command */
    NEST_CANCEL,      /* asker: end it; value: at once */
    NEST_STARTED,     /* value: whether it is in the asker's process group */
    NEST_STOPPED,     /* value: how many SIGCONT had come */
    NEST_EVENT,       /* an event on the wire */
    NEST_END,         /* struct nest_end */
    NEST_ANSWER,      /* sealed memory: what was to be described */
};

/* What an asker wants to know instead of running a command. */
enum nest_wish {
    NEST_RUNS, /* nothing: it runs */
    NEST_PLAN, /* the plan, as text */
    NEST_PLAN_JSON,
    NEST_HOST, /* struct host, as the outer side knows it */
};

struct nest_message {
    uint32_t kind;
    int32_t value;
};

enum { NEST_VERSION = 2, NEST_FDS = 240, NEST_LONGEST = 16 << 20 };

struct nest_request {
    struct nest_message head;
    uint32_t version, size; /* of this struct */
    uint32_t nfds;
    int32_t fds[NEST_FDS]; /* their numbers */
    uint32_t umask;
    uint64_t blocked, ignored; /* signals, as bits from signal 1 on */
    uint64_t caps, max_memory;
    uint32_t max_procs, timeout_ms;
    uint8_t wish; /* enum nest_wish */
    uint8_t keep_userns, strict_reads, no_masks, core_dumps, accept_weaker, watch_net, late_names,
        wait_all, give_stdio, no_job_control;
};

struct nest_end {
    struct nest_message head; /* value: 0, or -1 with an error */
    struct launch_end end;
    struct bk_err err;
};

/* The asker's side of a run, instead of launch_run(). `memory` is sealed and has the policy and the
 * command. Closes channel and memory. */
int nest_run(const struct launch *l, struct nest_request *q, int channel, int memory,
             struct launch_end *end, struct bk_err *err);

/* Asks for a description; the rest as for nest_run(). *out is the caller's to free. */
int nest_describe(struct nest_request *q, int channel, int memory, char **out, size_t *n,
                  struct bk_err *err);

/* ---- the outer side ---- */

/* Bytes as memory that cannot change any more; a descriptor, or a negative errno. And a copy of
 * such memory, which the caller frees; NULL if it is none, or too much. */
int nest_memory_make(const void *bytes, size_t n);
char *nest_memory_copy(int memory, size_t *n);

/* What a nested controller works with. It takes the place of the outer controller, of which it is a
 * copy: what it takes over is the asker's. */
struct nest_taken {
    int asker;     /* its pidfd */
    int channel;   /* to it */
    int relay;     /* to the outer controller */
    int below;     /* pidfd of the outer init; 0: none */
    int memory;    /* of the request */
    bool joined;   /* we are in the asker's process group */
    uint64_t caps; /* that the asker has */
    struct nest_request q;
};

/* Receives the request and becomes the asker as far as a command inherits from the process that
 * starts it: descriptors, umask, signals, limits, priority, process group. Afterwards no other
 * descriptor is open. Refuses an asker that is not just a member of the sandbox: one with other
 * credentials, namespaces, another root or filters of its own, all of which the new sandbox would
 * free it from. init: of the outer sandbox, or NULL. */
int nest_take(struct nest_taken *t, const struct init *init, struct bk_err *err);

/* Messages to the asker; a negative errno if it is gone. */
int nest_send(int channel, enum nest_kind kind, int value);
int nest_send_event(int channel, const struct event *e);
int nest_send_answer(int channel, const void *bytes, size_t n);
int nest_send_end(int channel, int result, const struct launch_end *end, const struct bk_err *err);

#endif
