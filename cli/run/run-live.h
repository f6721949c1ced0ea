/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_RUN_LIVE_H
#define BK_CLI_RUN_RUN_LIVE_H

#include <limits.h>

#include "agent/control-server.h"
#include "agent/watchers.h"
#include "net/consent.h"
#include "run/grant.h"
#include "run/run.h"

/*
 * Requests from outside to a running command: another policy (changed settings), grants on top of
 * it, and queries about denials. Grants survive a change of the policy and end with the run.
 */
enum { LIVE_EVENTS = 100, LIVE_QUESTIONS = 64 };

struct live {
    struct run *run;
    struct fd_watch fd_watch;
    struct control_server server;
    struct grants grants; /* the policy, and these on top of it */
    int expiry;           /* a timer for those that end; 0: none */
    struct event *events; /* the newest, in a ring; NULL until there is one */
    uint64_t total, denied;
    int session;              /* the session that gets events; 0: none */
    int link;                 /* to the servers of its other runs (net/session-link.h); 0: none */
    int layers;               /* to its layers (kernel/launch/layer-server.h); 0: none */
    char tmpdir[PATH_MAX];    /* of its runs; empty: none */
    char world[PATH_MAX];     /* that they write to; empty: none */
    const char *folder_of;    /* the agent's session in which `cd` lasts, or NULL */
    const char *root;         /* then: the project's folder */
    char folder[PATH_MAX];    /* where the command starts; empty: unchanged */
    bool left;                /* the command has ended, and background processes go on */
    int own[6];               /* for launch.user_fds */
    uint64_t missed;          /* denials that it did not get */
    int channel;              /* where its answers to questions go */
    bool heard;               /* we listen to it */
    bool asks;                /* it can ask the user about hosts */
    struct watchers watchers; /* windows that get events */
    struct watchers askers;   /* and those that answer questions */
    struct live_asked {
        uint32_t id; /* 0: unused */
        int channel;
        struct consent_question *q; /* owned */
    } asked[LIVE_QUESTIONS];
    /* A window answers a question; NULL: none can. */
    void (*answered)(void *arg, const struct consent_question *q, int channel, enum consent answer);
    void *answered_arg;
    bool spare;       /* this run has no command yet (run-spare.h) */
    bool wants_spare; /* the session would keep one */
};

/* Joins the session of a process, or at the other end of a descriptor ("fd:8"), which then gets
 * every event. Appends the session's grants to rules. shipped and links: as in rule_write(). */
int live_join(struct live *l, const char *where, const char *command, bool shipped,
              struct buf *rules, struct buf *links, struct bk_err *err);
/* Lets the session keep this spare: commands come through the socket. */
bool live_offer(struct live *l, const char *key, const char *inherited, int sock);
/* Servers of the session's other runs are at localhost for this one, and the other way round. */
void live_link(struct live *l);
/* Passes a question on to the session, which answers it later. Without one the answer is no. */
void live_question(struct live *l, const struct consent_question *q, int channel);
/* Asks the windows that answer questions of this run as well, now and those that come. Returns
 * whether there is one. A question that is withdrawn or answered elsewhere is forgotten. */
bool live_ask_windows(struct live *l, const struct consent_question *q, int channel);
void live_forget_question(struct live *l, uint32_t id);
/* Reports the folder in which the command ended. */
void live_folder(const struct live *l, const char *folder);
/* The command has ended, and background processes go on as long as the session does. */
void live_stay(struct live *l);
/* At the end: reports the last counts to the session and leaves it. */
void live_leave(struct live *l);

/* Before run_go(): opens the control socket, and fills spec->launch.hears and user_fds. If there
 * can be none, the run continues without. */
void live_open(struct live *l, struct run *r, struct run_spec *spec);
void live_handle_input(struct live *l); /* for on_input */
void live_event(struct live *l, const struct event *e);
/* Denials for an agent (report/annotate.h). */
void live_annotate(const struct live *l, struct buf *out);
void live_close(struct live *l);

#endif
