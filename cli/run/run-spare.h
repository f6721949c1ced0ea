/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_RUN_SPARE_H
#define BK_CLI_RUN_RUN_SPARE_H

#include <limits.h>
#include <stdint.h>

#include "base/sha256.h"
#include "cli/args.h"
#include "cli/run/run-live.h"
#include "cli/run/run-settings.h"
#include "command/order.h"

/*
 * A run that holds its command until it is known (run/run.h): `--spare`. Who keeps it gives it a
 * command, or passes on a client that has one.
 */
struct spare {
    bool holds;          /* this is one */
    bool registers;      /* the session keeps it; else the process at the other end of holder */
    int holder;          /* socket to who keeps it; 0: not yet */
    int client;          /* to the process whose command it is; 0: not yet */
    bool taken;          /* it has its command */
    bool given_up;       /* something has changed, so it gets none */
    bool started;        /* which has been started */
    uint64_t signals;    /* for it, as bits, that came before */
    bool asks;           /* the session can ask the user now */
    uint64_t checked_ms; /* when nothing had changed for sure; 0: never */
    struct buf inputs;   /* that the sandbox depends on (run/run.h) */
    struct buf grants, links; /* rules that the session had granted */
    char *bytes;              /* of the order */
    struct order order;       /* what it points to is in these */
    int stdio[ORDER_STDIO];
    size_t nstdio;
    char key[SHA256_HEX + 1], inherited[SHA256_HEX + 1];
    char start[PATH_MAX]; /* where the session says that the command starts, or "" */

    /* The front end. */
    const struct cli_args *args;
    const char *name; /* its own */
    struct run *run;
    struct live *live;
    /* Settings also say what to report. */
    const struct run_settings *settings;
    /* run_put_inputs() and run_settings_put() for this command, from what is true now. */
    bool (*gather)(void *arg, char **argv, bool asks, struct buf *out);
    bool (*is_for_any)(void *arg); /* whether the policy is the same for every command */
    /* Completes the order. Returns false if that cannot be done. */
    bool (*complete)(void *arg, struct launch_order *o);
    void (*begin)(void *arg); /* the command has been let go */
    void *arg;
};

static inline bool spare_is_unused(const struct spare *s)
{
    return s->holds && !s->taken;
}

/* Reads --spare. */
int spare_choose(struct spare *s, const struct cli_args *args, struct bk_err *err);
/* The session was joined: keeps its grants, from which the policy's rules are made. And puts them
 * into another's. */
void spare_note_grants(struct spare *s, const struct buf *rules, const struct buf *links);
void spare_copy_session(const struct spare *s, struct live *live, struct buf *rules,
                        struct buf *links);
/* Before run_go(), after live_open(). The front end has filled its part. */
int spare_open(struct spare *s, struct run_spec *spec, struct bk_err *err);
void spare_held(struct spare *s);    /* for launch.on_held */
void spare_started(struct spare *s); /* for launch.on_start */
/* After run_go(): reports how the command ended (waitpid), and exits. Returns if this is no spare.
 */
void spare_end(struct spare *s, int status);
void spare_free(struct spare *s);

/* ---- who has a command: spare-client.c, spare-key.c, spare-next.c ---- */

/* A run that may use a spare of its session. */
struct spare_call {
    const struct cli_args *args;
    const char *program; /* that runs spares; NULL: this one */
    const char *name;
    char *const *argv; /* SHELL -c LINE */
    const char *text;  /* for the session */
    int session;       /* spare_reach(): a connection to it; 0: none */
    bool possible;     /* set by spare_take(): nothing here is special */
};

/* `buckle run`'s, from its options. */
struct spare_call spare_call_of_run(const struct cli_args *args);
/* Connects to the session, if a command with these words may use a spare. What the caller does then
 * takes no time: session and spare look meanwhile whether it can be used. */
bool spare_reach(struct spare_call *c);
/* Runs the command in the session's spare, and sets how it ended (waitpid). Returns false if it has
 * to run as usual; nothing has happened then. */
bool spare_take(struct spare_call *c, int *status);
/* Starts the next one, for commands that are run like this one. */
void spare_start_next(const struct spare_call *c);
/* Whether one could wait for a command with this policy: a record begins with the command, and a
 * start that is judged has to be known. */
bool spare_can_wait(const struct assembly *now, const char *record);
/* Equal for runs that could use each other's sandbox, as far as the command line, variables and
 * blocked signals say: SHA-256 as text. process_inherited() has the rest. */
bool spare_key(const struct spare_call *c, char out[SHA256_HEX + 1]);

#endif
