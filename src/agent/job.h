/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_JOB_H
#define BK_AGENT_JOB_H

#include <sys/types.h>

#include "agent/capture.h"
#include "base/err.h"

/*
 * One command of an agent: a shell in a sandbox (its own `buckle run`, so that a crash affects
 * nothing else) or outside, with its output and final folder. Nothing here blocks; the owner polls
 * pidfd and pipes[] and then calls job_read().
 */
struct job_spec {
    const char *program; /* our own path */
    const char *command, *shell;
    const char *tmpdir;          /* TMPDIR of sandboxed commands */
    const char *root, *cwd;      /* the sandbox's working directory; the folder to start in */
    bool here;                   /* allow a root that is too wide, such as the home directory */
    const char *const *settings; /* files */
    size_t nsettings;
    const char *const *agreed; /* patterns of commands that the user has agreed to */
    size_t nagreed;
    bool sandboxed, grantable;
    bool world;  /* the session has one, and the command must not run without it */
    int session; /* socket to the session (session.h) */
    uint32_t timeout_ms, max_procs;
    size_t max_output;
    bool spare; /* the command comes later (job_release()) */
};

enum job_pipe { JOB_OUT, JOB_ERR, JOB_CWD, JOB_PIPES };

struct job {
    pid_t pid;
    int watch;                  /* readable when it ends */
    int pipes[JOB_PIPES];       /* read ends; -1 at their end */
    int rest[2];                /* of output, after the end; -1: nobody else writes there */
    struct capture captured[2]; /* JOB_OUT, JOB_ERR */
    char cwd[4096];             /* the final folder; empty if unknown */
    size_t ncwd;
    bool sandboxed, exited, timed_out, cancelled;
    int status;                    /* from waitpid() */
    int order;                     /* socket to a spare, or -1 */
    bool ready;                    /* it holds its command */
    uint64_t deadline_ms, kill_ms; /* CLOCK_MONOTONIC; 0: none */
};

int job_start(struct job *j, const struct job_spec *spec, struct bk_err *err);
/* A job that was started as a spare gets its command: of this spec only command, shell, cwd and
 * limits count. Returns 0; or -1 if it must be started as usual, and this one be freed. */
int job_release(struct job *j, const struct job_spec *spec, bool asks);
/* Whether the spare waits for its command. Does not block. */
bool job_is_ready(struct job *j);
void job_announce(const struct job *j);  /* job_release() comes soon */
bool job_has_ended(const struct job *j); /* its process; before job_read() */
/* Reads what is available and reaps the process, without blocking. */
void job_read(struct job *j);
/* Sends SIGTERM, and SIGKILL after a grace period (job_tick()). */
void job_end(struct job *j);
/* Enforces deadlines. Returns the milliseconds until the next one, or -1. */
int job_tick(struct job *j);
/* Whether the process has exited and all its output was read. */
bool job_is_over(const struct job *j);
/* What background processes still write after the job is over: a descriptor to read, or -1. */
int job_take_rest(struct job *j, int which);
/* Kills it if it still runs. */
void job_free(struct job *j);
/* Reaps spares whose commands have ended before them. Call it now and then. */
void job_reap_others(void);

#endif
