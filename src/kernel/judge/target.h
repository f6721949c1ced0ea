/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_TARGET_H
#define BK_KERNEL_JUDGE_TARGET_H

#include "kernel/judge/judge.h"

/* Reading the target's memory, descriptors and numbers. */

/* Whether the call still waits for us: everything read before a true answer came from its maker. */
bool request_is_valid(const struct judge *w, const struct request *r);
/* In place of an errno: the target's memory may not be read. Answered with EPERM, and told. */
enum { UNREADABLE = 4000 };
/* As a negated errno: what is meant lies on a mount that was taken away, and has no name. */
enum { NOWHERE = 4001 };
/* Copies n bytes; 0 or a negated errno. */
int target_read(const struct request *r, uint64_t addr, void *to, size_t n);
/* Copies n bytes into the target; 0 or a negated errno. Checks by itself that the request is valid.
 */
int target_write(const struct judge *w, const struct request *r, uint64_t addr, const void *from,
                 size_t n);
/* Copies a string of at most PATH_BYTES - 1 bytes; its length or a negated errno. */
int target_string(const struct request *r, uint64_t addr, char *to);
pid_t target_process(const struct judge *w, const struct request *r); /* or a negated errno */
/* The numbers of process and thread inside the sandbox's pid namespace, if there is one. */
pid_t target_inner_process(const struct judge *w, const struct request *r);
pid_t target_inner_thread(const struct judge *w, const struct request *r);
/* A descriptor of the target, as an O_PATH descriptor of ours; or a negated errno. */
int target_pin_fd(const struct judge *w, const struct request *r, int fd);
/* Whether a descriptor of the target only names a file (O_PATH): most calls refuse those. */
bool target_fd_is_name(const struct judge *w, const struct request *r, int fd);
/* A working copy of a descriptor of the target. */
int target_take_fd(const struct judge *w, const struct request *r, int fd);
/* The same, cheaper for who calls often (pidfd-cache.c). */
int pidfd_cache_take_fd(struct judge *w, const struct request *r, int fd);
/* Whether a signal waits that the target would handle: a long wait should end with EINTR. */
bool target_is_interrupted(const struct judge *w, const struct request *r);

#endif
