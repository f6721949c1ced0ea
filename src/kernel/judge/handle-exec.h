/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_HANDLE_EXEC_H
#define BK_KERNEL_JUDGE_HANDLE_EXEC_H

#include <time.h>

#include "kernel/judge/request.h"

/* Processes that execute programs. */

enum { WATCHED_EXECS = 128, KNOWN_PROGRAMS = 128 };

/* An executable file. */
struct program {
    dev_t dev;
    ino_t ino;
};

/* A process that is about to execute a file, and what it ran before. */
struct watched_exec {
    pid_t pid, tid; /* the thread that executes; it becomes the process's main thread */
    int pidfd;
    bool any; /* a script, or unreadable: its interpreter will run */
    uint64_t since, stack;
    uint32_t fits; /* rules about commands that were judged */
    dev_t dev;
    ino_t ino;
};

struct watched_execs {
    bool judged; /* every caller must run a program that the policy allows */
    struct watched_exec watched[WATCHED_EXECS];
    size_t nwatched;
    int first_cwd;                           /* the command's working directory, before it runs */
    struct program programs[KNOWN_PROGRAMS]; /* that the policy allows, by hash */
    struct program own_program; /* of a process that sandboxed itself; always allowed */
};

/* Whether the command itself may be executed; called before it runs. cwd is where it will run; the
 * judge's own working directory is already procfs. Returns 0 with the program's path in out, or a
 * negative errno. */
int exec_judge_command(struct judge *j, int cwd, char *const *argv, char out[PATH_BYTES]);
/* Checks whether watched processes run their new program by now, and whether it may run. tid:
 * checks only this thread, which has just made a call; 0: all. */
void exec_check_watched(struct judge *j, pid_t tid);
/* Whether the caller runs a program that it may run. If not, its process has been killed. */
bool exec_caller_is_known(struct judge *j, const struct request *r);
/* The start of a process's stack: executing moves it, even if the program stays the same. */
uint64_t exec_stack(const struct judge *j, pid_t pid);
/* How long to sleep before the next check; NULL: for ever. */
const struct timespec *exec_timeout(const struct judge *j);

#endif
