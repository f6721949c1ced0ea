/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_JOB_H
#define BK_AGENT_JOB_H

#include <sys/types.h>

#include "agent/capture.h"
#include "base/err.h"

/*
 * One command of an agent's: a shell in a sandbox (a `buckle run` of its own, so that one that is
 * lost takes nothing else along) or outside of one, with everything it prints and the folder it
 * ended in. Nothing here waits; the owner polls job_fds().
 */
struct job_spec {
    const char *program; /* this one */
    const char *command, *shell;
    const char *tmpdir;     /* of commands inside, which outside is nobody's */
    const char *root, *cwd; /* what the sandbox takes for the working directory; where it begins */
    bool here;              /* also if that is all the person has */
    const char *const *settings; /* files */
    size_t nsettings;
    bool sandboxed, grantable;
    int session; /* its end of a socket to the session (session.h) */
    uint32_t timeout_ms, max_procs;
    size_t max_output;
};

enum job_pipe { JOB_OUT, JOB_ERR, JOB_CWD, JOB_PIPES };

struct job {
    pid_t pid;
    int pidfd;
    int pipes[JOB_PIPES];       /* reading ends; -1 when at their end */
    struct capture captured[2]; /* JOB_OUT, JOB_ERR */
    char cwd[4096];             /* where it ended; empty while nobody knows */
    size_t ncwd;
    bool sandboxed, exited, timed_out, cancelled;
    int status;                    /* as waitpid() gives it */
    uint64_t deadline_ms, kill_ms; /* of CLOCK_MONOTONIC; 0: none */
};

int job_start(struct job *j, const struct job_spec *spec, struct bk_err *err);
/* Reads what is there to be read, without waiting. */
void job_hear(struct job *j);
/* Asks it to end, and sees to it a little later. */
void job_end(struct job *j);
/* Does what is due; milliseconds until the next time, or -1. */
int job_tick(struct job *j);
/* Whether the process has ended and everything it said was read. */
bool job_is_over(const struct job *j);
/* Ends what is left. */
void job_free(struct job *j);

#endif
