/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_CONTROL_SERVER_H
#define BK_AGENT_CONTROL_SERVER_H

#include "agent/control-socket.h"
#include "agent/json.h"
#include "base/buf.h"
#include "run/fd-watch.h"

/* Behind a door (control-socket.h): whoever was let in is answered, one message for another.
 * Messages are JSON objects; answers have "ok", and "error" when it is false. */
enum { DESK_GUESTS = 512 };

/* Fills the answer, at most DOOR_MESSAGE bytes; an empty one is not sent. message is NULL when what
 * came is no JSON. */
typedef void desk_fn(void *arg, int guest, const json_t *message, struct buf *answer);
typedef void desk_left_fn(void *arg, int guest);

struct desk {
    struct hearing *hearing;
    int door, key, claim; /* -1: none */
    size_t nguests;
    desk_fn *fn;
    desk_left_fn *left; /* or NULL */
    void *arg;
};

/* The rest of *d is filled in: hearing, fn, left, arg. for_whom: a process, as in door_claim(), or
 * 0. Without a door there are only guests that were admitted. */
int desk_open(struct desk *d, const char *kind, pid_t for_whom, struct bk_err *err);
void desk_close(struct desk *d);
/* Somebody who did not come through the door. Takes over the socket, also on failure. */
int desk_admit(struct desk *d, int sock, struct bk_err *err);

/* For those who answer. desk_say() takes over what it is given. */
void desk_say(struct buf *answer, json_t *what);
void desk_refuse(struct buf *answer, const char *why);

/* From the other side of the door: says something and waits for the answer; NULL when there is none
 * in time or it is a refusal. */
enum { DESK_SOON_MS = 1000, DESK_USUAL_MS = 5000, DESK_LONG_MS = 30000 };
json_t *desk_ask(int sock, const json_t *message, int patience_ms, struct bk_err *err);

#endif
