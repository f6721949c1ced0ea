/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_ASK_H
#define BK_KERNEL_JUDGE_ASK_H

#include "kernel/judge/judge.h"
#include "kernel/judge/resolve.h"

/* Asking the policy, and reporting what it denies. */

/* Whether the policy allows op on this object. When it does not: the event has been sent, and the
 * answer is the negated errno (EPERM, or what the rule says). */
int ask_path(struct judge *w, const struct request *r, enum vocab_op op, const struct pinned *p);
int ask_name(struct judge *w, const struct request *r, enum vocab_op op, const char *path,
             size_t len, const struct stat *st);
/* The same for what may have no path: what lies in memory is judged by what it is called. */
int ask_object(struct judge *w, const struct request *r, enum vocab_op op, const struct pinned *p);
/* Whether something of this type (S_IFREG, S_IFLNK…) may be made under the pinned name. */
int ask_create(struct judge *w, const struct request *r, const struct pinned *p, mode_t type);
/* Whether the command made the repository that a path is in. */
bool ask_is_created(const struct judge *w, const char *path, size_t len);
/* Whether something of this class may be made. Later: tells of content that did not take its place,
 * when its writer cannot be refused any more. */
int ask_git(struct judge *w, const struct request *r, enum git_class class, const char *path,
            size_t len, const struct stat *st);
void ask_git_later(struct judge *w, enum git_class class, const char *path, size_t len);
/* Whether a new file may get this mode: set-id bits take a permission of their own. */
int ask_setugid(struct judge *w, const struct request *r, const char *path, size_t len,
                mode_t mode);
/* Only the verdict: nothing is reported. */
bool would_allow(struct judge *w, enum vocab_op op, const char *path, size_t len,
                 const struct stat *st);
/* Whether it is denied only because nothing allows it there, and not by a rule about such names. */
bool is_out_of_bounds(struct judge *w, enum vocab_op op, const char *path, size_t len,
                      const struct stat *st);
/* name: of the attribute; NULL when all are listed. */
int ask_xattr(struct judge *w, const struct request *r, enum vocab_op op, const struct pinned *p,
              const char *name);
/* own: the command bound this socket itself. */
int ask_unix(struct judge *w, const struct request *r, enum vocab_op op, const char *path,
             size_t len, bool own);

/* Whether a policy has rules about who calls; and finding that out, for the questions that follow:
 * 0 or a negated errno. */
bool asks_who(const struct graph *g);
int ask_who(struct judge *w, const struct request *r);

/* Any other question: facts besides who asks; shown is what the event tells. */
enum { ASK_MORE = 12 };
int ask_about(struct judge *w, const struct request *r, enum vocab_op op,
              const struct graph_fact *more, size_t nmore, const char *shown);

/* Tells that a call was refused because its arguments could not be read; -EPERM. */
int ask_in_vain(struct judge *w, const struct request *r);
/* The same of a call about something that has no name (NOWHERE). */
int ask_nowhere(struct judge *w, const struct request *r);

#endif
