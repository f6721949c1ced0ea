/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_CONTROL_SERVER_H
#define BK_AGENT_CONTROL_SERVER_H

#include "agent/control-socket.h"
#include "agent/json.h"
#include "base/buf.h"
#include "system/fd-watch.h"

/* Serves clients of a control socket (control-socket.h): one answer per message. Messages are JSON
 * objects; answers have "ok", and "error" if it is false. */
enum { CONTROL_CLIENTS = 512 };

/* Fills the answer, at most CONTROL_MESSAGE bytes; an empty one is not sent. message is NULL if it
 * was not JSON. */
typedef void control_server_fn(void *arg, int client, const json_t *message, struct buf *answer);
typedef void control_server_left_fn(void *arg, int client);

struct control_server {
    struct fd_watch *fds;
    int listener, key, claim; /* -1: none */
    size_t nclients;
    control_server_fn *fn;
    control_server_left_fn *left; /* or NULL */
    void (*coming)(void *arg);    /* or NULL: somebody connects, who may be anybody */
    /* or NULL: that was a process of the user's, which has to show the key yet */
    void (*came)(void *arg, int client, pid_t pid);
    void *arg;
    int passed; /* while fn runs: the descriptor that came with the message, or -1; fn may take it
                 */
};

/* The caller has set fds, fn, left and arg. for_whom: see control_socket_claim(), or 0. If it
 * fails, the server can still serve admitted clients. */
int control_server_open(struct control_server *d, const char *kind, pid_t for_whom,
                        struct bk_err *err);
void control_server_close(struct control_server *d);
/* Adds a client that did not connect through the socket. Takes over the socket, even on failure. */
int control_server_admit(struct control_server *d, int sock, struct bk_err *err);

/* For handlers. control_server_answer() takes over its argument. */
void control_server_answer(struct buf *answer, json_t *what);
void control_server_refuse(struct buf *answer, const char *why);

/* The client's side: sends a message and waits for the answer. Returns NULL on timeout or
 * refusal. */
enum { CONTROL_SOON_MS = 1000, CONTROL_USUAL_MS = 5000, CONTROL_LONG_MS = 30000 };
json_t *control_server_ask(int sock, const json_t *message, int patience_ms, struct bk_err *err);
/* The same with a descriptor that goes along. */
json_t *control_server_ask_with(int sock, const json_t *message, int passed, int patience_ms,
                                struct bk_err *err);

#endif
