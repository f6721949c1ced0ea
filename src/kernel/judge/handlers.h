/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_HANDLERS_H
#define BK_KERNEL_JUDGE_HANDLERS_H

#include "kernel/judge/judge.h"
#include "kernel/judge/resolve.h"

/* handle_open() and the others of syscalls.def: one for each family of judged calls (handle-*.c).
 */
typedef struct answer handler_fn(struct judge *w, const struct request *r);
#define HANDLER(id, name) handler_fn handle_##name;
#include "kernel/plan/syscalls.def"

/* Waits a moment until what was sent by connected datagram sockets has been passed on. */
void datagram_drain(void);
/* Of those: TIOCSPGRP. */
struct answer handle_foreground(struct judge *w, const struct request *r);
/* Opening with O_PATH; called by handle_open. */
struct answer handle_open_name(struct judge *w, const struct request *r, int dirfd, uint64_t path,
                               int flags);

/* Of those: F_SETOWN. */
struct answer handle_owner(struct judge *w, const struct request *r);
struct answer handle_system_socket(struct judge *w, const struct request *r);

/* A file operation on /dev/shm/NAME is one on the object that this name stands for: asks about
 * that, too. */
int ask_posix_ipc(struct judge *w, const struct request *r, enum vocab_op op, const char *path,
                  size_t len);

/* Asks whether the command itself may be executed, before there is anybody to answer its calls. cwd
 * is where it will run, while the judge's own working directory is procfs already. out is the
 * program's path. */
int exec_first(struct judge *w, int cwd, const char *name, char out[PATH_BYTES]);
/* Looks at processes that were let go to execute something; tid: only at this one, which has just
 * called. */
void exec_look(struct judge *w, pid_t tid);
/* Whether the caller runs a program that may run; when not, it was ended. */
bool exec_caller_is_known(struct judge *w, const struct request *r);
/* How long to wait at most until the next look; NULL: for ever. */
const struct timespec *exec_pause(const struct judge *w);

/* handle-space.c: opens a file of procfs that says who is who in a user namespace, as the target
 * would; -ENOTSUP when it is none, or user namespaces are not allowed. */
int space_open(struct judge *w, const struct request *r, const struct pinned *p, int flags);
/* Whether absolute names mean other files to the target; refuses one, which is told: -EPERM. */
bool space_other_root(const struct judge *w, const struct request *r);
int space_refuse_name(struct judge *w, const struct request *r);
/* Whether flags of clone() or unshare() ask for a namespace that is refused; refuses, and tells. */
bool space_is_refused(const struct judge *w, uint64_t flags);
struct answer space_refuse(struct judge *w, const struct request *r);

#endif
