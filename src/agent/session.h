/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_SESSION_H
#define BK_AGENT_SESSION_H

#include <limits.h>

#include "agent/control-server.h"
#include "agent/session-ask.h"
#include "agent/session-folder.h"
#include "agent/session-layers.h"
#include "agent/session-loopback.h"
#include "agent/watchers.h"
#include "base/sha256.h"
#include "command/tmpdir.h"
#include "report/store.h"

/*
 * A session: runs that belong together, their denials, and the user's grants to all of them. It
 * lives in the memory of its process (`buckle session`, `buckle mcp`) and ends with it.
 *
 * Runs stay connected to its control server until they end; `buckle log` and `buckle grant` connect
 * for one question:
 *
 *   {"join": COMMAND, "pid": N}      → {"ok": true, "grants": [{"grant": …, "what": …}],
 *                                       "tmpdir": PATH, "world": FOLDER}
 *                                    with a descriptor: a socket for kernel/launch/layer-server.h;
 *                                    with "of", "root", "cwd": also "folder" (session-folder.h)
 *                                    with "spare": it has no command yet; the answer's "spares"
 *                                    says whether the session would keep one
 *   {"spare": KEY, "inherited": DIGEST}, with a descriptor  → {"ok": true}
 *                                    from such runs: it waits there
 *   {"take": KEY, "command": TEXT, "cwd": PATH}, with a descriptor    no answer; the descriptor
 *                                    goes to the spare, or is closed
 *   {"folder": PATH}                 no answer; where that command ended
 *   {"left": true}                   no answer; it has ended, its background processes go on
 *   {"event": {…}, "missed": N}      no answer; missed: events lost before this one
 *   {"question": {"id": N, "class": …, "path": …}}   answered later: {"consent": "once", "id": N}
 *   {"withdrawn": N}                 no answer; the run no longer waits for that question
 *   {"log": true, "after": N}        → {"ok": true, "total": N, "denied": N, "oldest": N,
 *                                       "last": N, "events": [{…}]}
 *   {"grant": "allow-read", "what": PATH}  → {"ok": true, "waits": TEXT}
 *   {"grants": true}                 → {"ok": true, "grants": [{"grant": …, "what": …}]}
 *   {"root": FOLDER, "of": ID, "start": FOLDER}  → {"ok": true, "root": FOLDER}
 *   {"link": true}, with a descriptor  → {"ok": true}      from runs, for loopback
 *   {"about": true}                  → {"ok": true, "pid": N, "cwd": …, "command": […]}
 *   {"list": true}                   → {"ok": true, "runs": [{"number": N, "pid": N,
 *                                       "command": …, "background": BOOL, "ports": [N]}]}
 *
 * session-ask.h has those of users who answer questions, watchers.h of those who get events.
 */
enum { SESSION_GRANTS = 256, SESSION_ROOTS = 1024 };

/* The world that its runs write to (world/world.h), where there is one. */
struct session_world {
    const char *folder;
    /* A command has ended: what it was. Runs that join later wait until this returns. */
    void (*ended)(void *arg, const char *command);
    void *arg;
};

struct session {
    struct fd_watch fds; /* poll its fd, then call fd_watch_all() */
    struct control_server server;
    struct store *store;
    struct session_loopback loopback;  /* servers of its runs */
    struct tmpdir tmpdir;              /* TMPDIR of its runs */
    struct session_layers layers;      /* that all of them share */
    const struct session_world *world; /* or NULL */
    json_t *grants;
    json_t *roots;            /* folders of the agent's sessions, by session id */
    json_t *folders;          /* where their last commands ended */
    uint64_t active_ms;       /* when it was last used; CLOCK_MONOTONIC */
    uint64_t last;            /* the last command's number */
    const char *kind;         /* its name in lists */
    pid_t owner;              /* the process it serves */
    char cwd[PATH_MAX];       /* its start folder */
    struct session_run *runs; /* running */
    size_t nruns;
    struct session_spare {
        bool refused; /* it keeps none */
        int sock;     /* to the run that waits; 0: none */
        int client;   /* its connection here */
        uint64_t since_ms;
        unsigned misses; /* commands that could not use it, one after another */
        char key[SHA256_HEX + 1], inherited[SHA256_HEX + 1]; /* process_inherited() */
    } spare;
    struct session_caller {
        int client; /* 0: none */
        char inherited[SHA256_HEX + 1];
    } caller;               /* who connected last */
    struct session_ask ask; /* users who watch, and what they are asked */
    struct watchers watchers;
    /* A run asks about a protected name or a host; answer with session_answer(). If it returns
     * false, or is NULL, those who watch are asked. */
    bool (*on_question)(void *arg, uint64_t run, const json_t *question);
    /* A run reports a denial; the command as it was given when it joined. May be NULL. */
    void (*on_denial)(void *arg, const char *command, const char *json);
    bool client_asks; /* on_question() can ask */
    /* A run has reported so many denials more. May be NULL. */
    void (*on_count)(void *arg, uint64_t run, uint64_t denied);
    /* A grant was given, which future runs get, too. May be NULL. */
    void (*on_grant)(void *arg);
    void *arg;
};

/* tmpdir_in: the folder for its TMPDIR (view_tmpdir_place()). kind: "session" or "mcp". owner: the
 * process it serves, which can have one session only; 0: this process. Without an owner, it
 * succeeds even if there is no control socket and serves admitted runs only. world: lasts as long
 * as the session, or NULL. */
int session_open(struct session *k, const char *kind, pid_t owner, const char *tmpdir_in,
                 const struct session_world *world, struct bk_err *err);
void session_close(struct session *k);
/* Prepares a command: sets its number and returns the socket for its `buckle run --session=fd:N`,
 * or -1. */
int session_admit(struct session *k, const char *command, uint64_t *number, struct bk_err *err);
/* The same for a spare: a run whose command is not known yet, and that nobody sees. It gets its
 * command, and a new number, when it is used. */
int session_admit_spare(struct session *k, uint64_t *number, struct bk_err *err);
void session_use_spare(struct session *k, const char *command, uint64_t *number);
/* Answers question `id` of a run, see consent_word(). */
void session_answer(const struct session *k, uint64_t run, uint32_t id, const char *word);
/* A request as those above, from the process that keeps the session. Appends the answer. */
void session_request(struct session *k, const json_t *message, struct buf *answer);
/* Whether that command may still send events. */
bool session_expects(const struct session *k, uint64_t number);
/* Ends the spare, if it keeps one; if_old: only if it has waited long. */
void session_drop_spare(struct session *k, bool if_old);
/* Whether a command runs that is not in the background. */
bool session_is_busy(const struct session *k);

#endif
