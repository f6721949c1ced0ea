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
typedef void control_server_fn(void *arg, int guest, const json_t *message, struct buf *answer);
typedef void control_server_left_fn(void *arg, int guest);

struct control_server {
    struct fd_watch *hearing;
    int door, key, claim; /* -1: none */
    size_t nguests;
    control_server_fn *fn;
    control_server_left_fn *left; /* or NULL */
    void *arg;
};

/* The rest of *d is filled in: hearing, fn, left, arg. for_whom: a process, as in
 * control_socket_claim(), or 0. Without a door there are only guests that were admitted. */
int control_server_open(struct control_server *d, const char *kind, pid_t for_whom,
                        struct bk_err *err);
void control_server_close(struct control_server *d);
/* Somebody who did not come through the door. Takes over the socket, also on failure. */
int control_server_admit(struct control_server *d, int sock, struct bk_err *err);

/* For those who answer. control_server_answer() takes over what it is given. */
void control_server_answer(struct buf *answer, json_t *what);
void control_server_refuse(struct buf *answer, const char *why);

/* From the other side of the door: says something and waits for the answer; NULL when there is none
 * in time or it is a refusal. */
enum { DESK_SOON_MS = 1000, DESK_USUAL_MS = 5000, DESK_LONG_MS = 30000 };
json_t *control_server_ask(int sock, const json_t *message, int patience_ms, struct bk_err *err);

#endif
