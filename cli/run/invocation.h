/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_INVOCATION_H
#define BK_CLI_RUN_INVOCATION_H

#include <limits.h>

#include "cli/args.h"
#include "cli/run/end-folder.h"
#include "cli/run/program-hints.h"
#include "cli/run/run-flags.h"
#include "cli/run/run-live.h"
#include "cli/run/run-settings.h"
#include "cli/run/run-spare.h"
#include "cli/run/run-watch.h"
#include "cli/run/stack-flags.h"
#include "cli/run/title.h"
#include "run/ask-tty.h"
#include "run/run.h"

/* One `buckle run`. */
enum report_how { REPORT_TEXT, REPORT_JSON, REPORT_NONE };

struct invocation;

/* Somebody who wants to know what a run uses. */
struct run_observer {
    const struct run_source *texts; /* that its policy gets as well */
    size_t ntexts;
    void (*on_event)(void *arg, const struct event *e);
    /* When the command has ended. Returns 0, or the exit status instead of the command's. */
    int (*on_end)(void *arg, struct invocation *r);
    void *arg;
};

struct invocation {
    struct cli_args *args;
    const char *world;                   /* the folder of a world, or NULL */
    char **real;                         /* paths that are no part of it; the last is NULL */
    char world_name[40];                 /* its variable; empty: none */
    const struct run_observer *observer; /* or NULL */
    struct run_flags flags;
    struct stack_flags stack;
    struct run_settings settings;
    struct run_spec spec;
    struct run run;
    struct program_mounts mounts;
    struct ask_tty asker;
    bool hears_tty; /* what the terminal has answered */
    struct live live;
    struct title title;
    struct end_folder ended;
    struct spare spare;
    bool may_use_spare; /* of the session */
    bool stays;         /* with background processes */
    struct run *like;   /* it does not run, but is compared with this one; or NULL */
    struct watch_settings watch;
    struct report *report;
    enum report_how how;
    int report_fd;
    bool verbose;
    const char **keep_env, **set_env, **opened;
    int *keep_fds;
    char cwd[PATH_MAX], start[PATH_MAX], tmpdir[PATH_MAX], record[PATH_MAX];
    char inner_cwd[PATH_MAX]; /* the agent's folder, if it runs in a sandbox itself; else "" */
};

/* Fills the spec from the command line and the settings; the session has been joined. */
int invocation_fill(struct invocation *r, struct bk_err *err);
int invocation_check_place(struct invocation *r, struct bk_err *err);
void invocation_free(struct invocation *r);

/* ---- invocation-spare.c ---- */

int invocation_spare(struct invocation *r, struct bk_err *err); /* reads --spare */
void invocation_held(void *arg);                                /* for launch.on_held */
void invocation_started(void *arg);                             /* for launch.on_start */
/* Runs the command in the session's spare. Returns false if it has to run as usual. */
bool invocation_take_spare(struct invocation *r, int *status);
/* At the end: starts a spare if the session would keep one. */
void invocation_next_spare(const struct invocation *r);

/* ---- run-session.c: a run that belongs to a session ---- */

int session_join(struct invocation *r, struct bk_err *err);
/* Inside another sandbox, where no session is: finds where the command starts. */
void session_join_inner(struct invocation *r);
void session_use(struct invocation *r); /* what the runs of a session share */
void session_question(void *arg, const struct consent_question *q, int channel); /* --ask-session */
/* The session keeps the folder for the next command, if it is in the project. */
void session_report_folder(struct invocation *r);
/* --leave-background. Then session_command_exit() is for launch.on_exit. */
void session_begin_staying(struct invocation *r);
void session_command_exit(const struct launch_end *end);

#endif
