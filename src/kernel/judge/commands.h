/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_COMMANDS_H
#define BK_KERNEL_JUDGE_COMMANDS_H

#include "graph/command.h"
#include "graph/eval.h"
#include "kernel/judge/request.h"

/*
 * Rules about commands, (process-command …). When a program starts, the judge copies its arguments
 * and finds the patterns that fit: a set, with a bit for each pattern. Rules about starting
 * programs see this set. All other rules see the label of the calling process: the sets of its own
 * start and of those of all its ancestors, as far as rules use them (`narrowing`).
 *
 * Labels are inherited, but forks are not judged. So the judge finds the label of a process it does
 * not know by looking at its parents. A process whose parents are gone gets all labels that were
 * given so far: it may come from any of them. What is uncertain is thus denied more, never less.
 */

enum { LABELLED = 2048, LABEL_WAYS = 8 };

struct labelled {
    pid_t pid; /* 0: free */
    uint32_t label;
    bool condemned; /* it has won a race for a command that a rule denies */
    uint64_t start; /* when the process started, in the kernel's ticks: pids are reused */
};

struct command_use {
    bool on;           /* the policy has rules about commands */
    bool net;          /* Internet sockets are judged for them */
    bool raced;        /* a process is condemned, and so is what comes from it */
    bool adopts;       /* a process inside takes in orphans: a parent may be no ancestor */
    uint32_t n;        /* patterns */
    uint32_t base;     /* label of the command itself, so of all processes */
    uint32_t given;    /* all labels together */
    uint32_t now;      /* label of the caller */
    uint32_t starting; /* what the program that is being started fits */
    uint32_t narrowing;
    uint32_t lasting; /* those whose rules about starting programs also see labels */
    const struct graph_test *patterns[GRAPH_COMMANDS];
    const char
        *agreed[GRAPH_COMMANDS]; /* the extension of the user's consent, or NULL: no rule asks */
    char shown[PATH_BYTES];      /* the command that is being started, if a rule asks about it */
    size_t nshown;
    struct labelled known[LABELLED];
};

/* Reads the patterns of a policy; labels of an older one stay. Returns 0, or -E2BIG. */
int commands_begin(struct judge *j, const struct graph *g, bool net);
/* The first process of the sandbox. */
void commands_root(struct judge *j, pid_t pid);

/* Finds the caller's label. Returns 0 or a negative errno. */
int commands_caller(struct judge *j, const struct request *r);
/* From now on the caller's process has the label of what it starts. Returns 0 or a negative errno.
 */
int commands_label(struct judge *j, const struct request *r, uint32_t starting);
/* The same for a process that runs its new program already. */
void commands_label_process(struct judge *j, pid_t pid, uint32_t starting);

/* A process runs a command that was not judged and is denied. It is killed, and so is what it has
 * started meanwhile, at the next judged call. */
void commands_condemn(struct judge *j, pid_t pid);

/* Copies the arguments of a call of execve(). Returns 0 or a negative errno. */
int commands_read(struct judge *j, const struct request *r, uint64_t argv);
/* The same of the command itself, which the launch has. */
void commands_take(struct judge *j, char *const *argv);
/* The same of a process that runs; false if it has none yet. */
bool commands_read_process(struct judge *j, pid_t pid);
/* The patterns that fit, if the arguments belong to a program with this canonical path, started by
 * this name (may be NULL). */
uint32_t commands_fit(const struct judge *j, const char *path, size_t len, const char *name);
/* For the interpreter of a script: line is what follows "#!", without the newline. */
uint32_t commands_fit_script(const struct judge *j, const char *path, size_t len, const char *line,
                             size_t n, const char *script);
/* From now on, this is being started: what the text fits, which is the text of a program with this
 * canonical path. */
void commands_starting(struct judge *j, uint32_t fits, const char *path, size_t len);

/* The facts about a command for a question about this operation. */
size_t commands_facts(const struct judge *j, uint16_t op, struct graph_fact *f);
enum { COMMAND_FACTS = 2 * GRAPH_COMMANDS };

/* Notes that a process inside takes in orphans. */
struct answer commands_adopter(struct judge *j, const struct request *r);

#endif
