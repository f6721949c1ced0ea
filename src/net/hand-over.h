/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_HAND_OVER_H
#define BK_NET_HAND_OVER_H

#include <stdbool.h>
#include <stddef.h>

#include "net/http.h"

struct conn;
struct gate;

/*
 * A proxy with several policies: one gate accepts connections and checks their login, and hands
 * each over to the gate of the user's policy, with the bytes that it has read.
 */
struct gate_user {
    const char *name;
    const char *password;   /* NULL: nobody logs in, and there is one user */
    int to;                 /* packets to the user's gate (system/descriptors.h) */
    char login[HTTP_BASIC]; /* hand_over_prepare() fills it: "Basic …" */
};

struct gate_users {
    struct gate_user *at;
    size_t n;
};

void hand_over_prepare(struct gate_users *u); /* names and passwords have at most 127 bytes */

/* Which user has this login; NULL: none. Both take the same time for all. */
const struct gate_user *hand_over_by_field(const struct gate_users *u, struct slice value);
const struct gate_user *hand_over_by_login(const struct gate_users *u, const char *name,
                                           const char *password);

/* Ends the connection here, and continues it in the user's gate. */
void hand_over(struct conn *c, const struct gate_user *user);

/* The other side: connections that arrive at gate_options.handed. */
int hand_over_begin(struct gate *g);
void hand_over_end(struct gate *g);

/* Takes the same time wherever the strings differ. */
bool hand_over_same(const char *a, const char *b);

#endif
