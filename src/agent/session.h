/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_SESSION_H
#define BK_AGENT_SESSION_H

#include <limits.h>

#include "agent/control-server.h"
#include "report/store.h"

/*
 * A session: runs that belong together, what they denied, and what the person granted to all of
 * them. All of it lives in the memory of the process that keeps the session (`buckle session`,
 * `buckle mcp`) and ends with it.
 *
 * Runs are guests of its desk until they end; people (`buckle log`, `buckle grant`) for as long as
 * a question takes:
 *
 *   {"join": COMMAND, "pid": N}      → {"ok": true, "grants": [{"grant": …, "what": …}]}
 *   {"event": {…}, "missed": N}      no answer; missed: events that could not be told before
 *   {"log": true, "after": N}        → {"ok": true, "total": N, "last": N, "events": [{…}]}
 *   {"grant": "allow-read", "what": PATH}  → {"ok": true, "waits": TEXT}
 *   {"root": FOLDER, "of": ID, "start": FOLDER}  → {"ok": true, "root": FOLDER}
 *   {"about": true}                  → {"ok": true, "pid": N, "cwd": …, "command": […]}
 */
enum { SESSION_GRANTS = 256, SESSION_ROOTS = 1024 };

struct session {
    struct fd_watch hearing; /* to be polled; fd_watch_all() when there is something */
    struct control_server desk;
    struct store *store;
    json_t *grants;
    json_t *roots;            /* of the agent's sessions, by their names */
    uint64_t last;            /* number of a command */
    const char *kind;         /* what it is called when there are several */
    pid_t owner;              /* whom it is kept for */
    char cwd[PATH_MAX];       /* where it began */
    struct session_run *runs; /* under way */
    size_t nruns;
};

/* kind: "session" or "mcp". owner: for that process, for which there is one session; 0: for
 * ourselves, and then also where no door can be had and only runs that are admitted come. */
int session_open(struct session *k, const char *kind, pid_t owner, struct bk_err *err);
void session_close(struct session *k);
/* The number of a command that is about to run, and the end of a socket for its `buckle run
 * --session=fd:N`. -1 on failure. */
int session_admit(struct session *k, const char *command, uint64_t *number, struct bk_err *err);
/* Whether that command may still have something to tell. */
bool session_hears(const struct session *k, uint64_t number);

#endif
