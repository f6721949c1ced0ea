/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_DESK_H
#define BK_AGENT_DESK_H

#include "agent/door.h"
#include "base/buf.h"
#include "run/hear.h"

/* Behind a door (door.h): whoever was let in is answered, one message for another. */
enum { DESK_GUESTS = 8 };

/* Fills the answer, at most DOOR_MESSAGE bytes; an empty one is not sent. */
typedef void desk_fn(void *arg, const char *message, size_t n, struct buf *answer);

struct desk {
    struct hearing *hearing;
    int door, guests[DESK_GUESTS];
    desk_fn *fn;
    void *arg;
};

/* for_whom: a process, as in door_open_for(), or 0. */
int desk_open(struct desk *d, const char *kind, pid_t for_whom, struct hearing *h, desk_fn *fn,
              void *arg, struct bk_err *err);
void desk_close(struct desk *d);

/* From the other side of the door: says something and waits for the answer. */
int desk_ask(int sock, const char *message, size_t n, struct buf *answer, struct bk_err *err);

#endif
