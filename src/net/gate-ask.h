/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_GATE_ASK_H
#define BK_NET_GATE_ASK_H

#include "net/gate-int.h"

/* Questions to the user. */

int gate_ask_begin(struct gate *g); /* returns 0 or a negative errno */
void gate_ask_end(struct gate *g);
void gate_ask_sweep(struct gate *g); /* expires questions and answers */

/* Whether the user could allow what the policy denies. */
bool gate_ask_could(struct gate *g, const struct peer *host, const struct graph_verdict *v);
/* Looks up the user's answer, or asks. Call it only if gate_ask_could(). MAY_LATER: *id is the
 * pending question; the caller keeps it until it is resumed or calls gate_ask_leave(). */
enum may gate_ask_may(struct gate *g, const struct gate_client *who, const struct peer *host,
                      uint16_t port, uint16_t proto, uint32_t *id, const char **why);
/* The caller no longer waits. The last one to leave withdraws the question. */
void gate_ask_leave(struct gate *g, uint32_t id);

#endif
