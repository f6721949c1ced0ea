/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_SESSION_STREAM_H
#define BK_CLI_AGENT_SESSION_STREAM_H

#include <limits.h>

#include "agent/session.h"

/*
 * A session for the program that started it, over standard input and output: a JSON object per
 * line. Bindings to other languages use it. Written as things happen:
 *
 *   {"session": PID, "folder": PATH}    the folder is for settings: no sandbox can write there, and
 *                                       it is removed with the session
 *   {"denied": {…}, "command": TEXT}    a run's denial, and the text with which it joined
 *   {"question": {"id": N, "host": …, "port": N, …}, "run": N}
 *   {"answer": {…}, "of": N}            to a request with that number
 *   {"flushed": N}                      all that was sent before has been written
 *
 * and read: {"consent": "once" | "run" | "deny", "run": N, "id": N}, {"flush": N}, and
 * {"request": {…}, "of": N} with a request of agent/session.h.
 */
struct session_stream {
    struct session *session;
    struct buf line; /* what was read of it */
    bool ended;      /* the other side is gone */
    char folder[PATH_MAX];
};

/* Begins; the caller polls standard input, and calls session_stream_read() when it is readable. */
void session_stream_begin(struct session_stream *s, struct session *k);
void session_stream_read(struct session_stream *s);
void session_stream_end(struct session_stream *s);

#endif
