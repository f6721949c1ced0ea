/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_ASK_H
#define BK_KERNEL_JUDGE_ASK_H

#include <sys/stat.h>

#include "kernel/judge/git-judge.h"
#include "kernel/judge/request.h"
#include "vocab/vocab.h"

/*
 * Asking the policy, and reporting what it denies. Functions that ask return 0 if the policy allows
 * the operation. Otherwise they report the denial and return a negative errno: EPERM, or the one
 * that the rule sets.
 */

struct graph;
struct graph_fact;
struct pinned;

/* The current caller, if the policy has rules about callers; otherwise the user. */
struct caller {
    bool matters; /* the policy has such rules */
    uid_t uid;
    gid_t gid;
    char program[PATH_BYTES]; /* what it runs */
    size_t program_len;
};

/* Whether a policy has rules about the caller. */
bool policy_asks_caller(const struct graph *g);
/* Whether a policy has rules about the command's own folders. */
bool policy_asks_own(const struct graph *g);
/* Fills in j->caller for the questions that follow. Returns 0 or a negative errno. */
int read_caller(struct judge *j, const struct request *r);

int ask_path(struct judge *j, const struct request *r, enum vocab_op op, const struct pinned *p);
int ask_name(struct judge *j, const struct request *r, enum vocab_op op, const char *path,
             size_t len, const struct stat *st);
/* As ask_path(), also for objects without a path: a file in memory is judged by its name. */
int ask_object(struct judge *j, const struct request *r, enum vocab_op op, const struct pinned *p);
/* Whether an object of this type (S_IFREG, S_IFLNK...) may be created under the pinned name. */
int ask_create(struct judge *j, const struct request *r, const struct pinned *p, mode_t type);
/* Whether a new file may get this mode: set-id bits need another permission. */
int ask_setugid(struct judge *j, const struct request *r, const char *path, size_t len,
                mode_t mode);
/* name: of the attribute; NULL to list all. */
int ask_xattr(struct judge *j, const struct request *r, enum vocab_op op, const struct pinned *p,
              const char *name);
/* own: the command itself bound this socket. */
int ask_unix(struct judge *j, const struct request *r, enum vocab_op op, const char *path,
             size_t len, bool own);
/* A file operation on /dev/shm/NAME is also one on the POSIX object NAME: asks about that object
 * (handle-ipc.c). */
int ask_posix_ipc(struct judge *j, const struct request *r, enum vocab_op op, const char *path,
                  size_t len);
/* Whether a file operation is one on a semaphore that the policy allows (handle-ipc.c). */
bool semaphore_is_allowed(struct judge *j, enum vocab_op op, const char *path, size_t len);
/* Any other question. more: facts besides the caller; shown: what the event shows. */
enum { ASK_MORE = 12 };
int ask_about(struct judge *j, const struct request *r, enum vocab_op op,
              const struct graph_fact *more, size_t nmore, const char *shown);
/* The same, but only what rules about the caller's command deny is denied. */
int ask_narrowed(struct judge *j, const struct request *r, enum vocab_op op,
                 const struct graph_fact *more, size_t nmore, const char *shown);
/* Whether that would be allowed and not reported: asks nothing. */
bool would_allow_about(struct judge *j, enum vocab_op op, const struct graph_fact *more,
                       size_t nmore);

/* Whether something of this class may be created. */
int ask_git(struct judge *j, const struct request *r, enum git_class class, const char *path,
            size_t len, const struct stat *st);
/* Reports content that was not published, once its writer can no longer be refused. */
void ask_git_later(struct judge *j, enum git_class class, const char *path, size_t len);
/* Whether the command created the repository that a path is in. */
bool ask_is_created(const struct judge *j, const char *path, size_t len);

/* The verdict alone; reports nothing. */
bool would_allow(struct judge *j, enum vocab_op op, const char *path, size_t len,
                 const struct stat *st);
/* Whether the policy denies it only because nothing allows it there, not by a rule that matches
 * this path. */
bool is_out_of_bounds(struct judge *j, enum vocab_op op, const char *path, size_t len,
                      const struct stat *st);

/* Report something that is refused whatever the policy allows; err: EPERM if not given. */
void report_refused(struct judge *j, const struct request *r, enum vocab_op op, const char *what);
void report_refused_as(struct judge *j, const struct request *r, enum vocab_op op, const char *what,
                       int err);
/* Report a call that is refused because the target's memory cannot be read (UNREADABLE), or because
 * its object is on an unmounted file system (UNMOUNTED). Return -EPERM. */
int refuse_unreadable(struct judge *j, const struct request *r);
int refuse_unmounted(struct judge *j, const struct request *r);

#endif
