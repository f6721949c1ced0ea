/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "agent/watchers.h"

#include <string.h>

#include "agent/control-socket.h"
#include "system/descriptors.h"

bool watchers_have(const struct watchers *w, int client)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->at[i] == client)
            return true;
    return false;
}

bool watchers_add(struct watchers *w, int client)
{
    if (watchers_have(w, client))
        return true;
    if (client < 0 || w->n == WATCHERS_MOST)
        return false;
    w->at[w->n++] = client;
    return true;
}

void watchers_drop(struct watchers *w, int client)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++)
        if (w->at[i] != client)
            w->at[n++] = w->at[i];
    w->n = n;
}

void watchers_send(const struct watchers *w, int client, const struct buf *message)
{
    if (!buf_ok(message) || !message->n || message->n > CONTROL_MESSAGE)
        return;
    for (size_t i = 0; i < w->n; i++)
        if (client < 0 || client == w->at[i])
            (void)!fd_packet_send(w->at[i], message->s, message->n, -1, true);
}

void watchers_event(struct buf *out, const char *json, uint64_t number, uint64_t denied,
                    const char *command)
{
    buf_fmt(out, "{\"number\": %llu, \"denied\": %llu, ", (unsigned long long)number,
            (unsigned long long)denied);
    if (command) {
        buf_str(out, "\"command\": ");
        buf_json(out, command, strnlen(command, 4000));
        buf_str(out, ", ");
    }
    buf_str(out, "\"event\": ");
    buf_str(out, json);
    buf_chr(out, '}');
}

void watchers_totals(struct buf *out, uint64_t total, uint64_t denied)
{
    buf_fmt(out, "{\"ok\": true, \"total\": %llu, \"denied\": %llu}", (unsigned long long)total,
            (unsigned long long)denied);
}
