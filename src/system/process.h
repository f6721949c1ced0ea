/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SYSTEM_PROCESS_H
#define BK_SYSTEM_PROCESS_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* What the system knows about processes, from /proc or libproc. */
enum { PROCESS_NAME = 64 };

/* The path of the running program. 0, or -1 and errno. */
int process_own_path(char path[PATH_MAX]);
/* What executes this very program again: path, or a constant. */
const char *process_own_program(char path[PATH_MAX]);
/* The parent of a process (0: none, or it cannot be seen) and its name ("" if unknown); -1: it is
 * gone. */
pid_t process_parent(pid_t pid, char name[PROCESS_NAME]);
/* Its working directory. 0, or -1 and errno. */
int process_cwd(pid_t pid, char path[PATH_MAX]);

/* A descriptor that becomes readable when a process ends. -1 and errno: it is gone already, or not
 * ours to watch. */
int process_watch(pid_t pid);
/* Sends a signal to a watched process. */
void process_watched_kill(int watch, pid_t pid, int sig);

/* This process is to be killed when its parent, `owner`, ends. Call it after fork(), while this
 * process has one thread; what it executes is killed, too. Exits with `status` if the parent has
 * ended already. */
void process_end_with(pid_t owner, int status);

/* Names this process for people who list processes. */
void process_set_name(const char *name);
/* If this process dies of a signal, it leaves no core file. */
void process_no_core(void);
/* Whether orphans of this process's children become its own. */
bool process_adopts(void);
/* Memory that is freed is used again, and not given back. */
void process_keep_memory(void);
/* Whether this program can load libraries. */
bool process_can_load(void);

#endif
