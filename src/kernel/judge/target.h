/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_TARGET_H
#define BK_KERNEL_JUDGE_TARGET_H

#include "kernel/judge/request.h"

/* Reading the target's memory, descriptors and pids. */

/* Errnos of our own: the target's memory may not be read; the object is on an unmounted file system
 * and has no path. The judge reports these calls and answers EPERM. */
enum { UNREADABLE = 4000, UNMOUNTED = 4001 };

/* Whether the caller still waits for an answer. If so, everything read before came from it. */
bool request_is_valid(const struct judge *j, const struct request *r);
/* Copies n bytes from the target. Returns 0 or a negative errno. */
int target_read(const struct request *r, uint64_t addr, void *to, size_t n);
/* Copies n bytes into the target, after checking that the request is valid. Returns 0 or a negative
 * errno. */
int target_write(const struct judge *j, const struct request *r, uint64_t addr, const void *from,
                 size_t n);
/* Copies a string of at most PATH_BYTES - 1 bytes. Returns its length or a negative errno. */
int target_string(const struct request *r, uint64_t addr, char *to);
/* The target's process. These three return a negative errno on failure. */
pid_t target_process(const struct judge *j, const struct request *r);
/* Its process and thread in the numbers of the sandbox's pid namespace, if there is one. */
pid_t target_inner_process(const struct judge *j, const struct request *r);
pid_t target_inner_thread(const struct judge *j, const struct request *r);
/* Pins what a descriptor of the target refers to. Returns an O_PATH descriptor or a negative errno.
 */
int target_pin_fd(const struct judge *j, const struct request *r, int fd);
/* Whether a descriptor of the target only names a file (O_PATH): most calls refuse those. */
bool target_fd_is_name(const struct judge *j, const struct request *r, int fd);
/* A pidfd of the calling thread, or -1; kernels before 6.9 have none of threads (EINVAL). */
int target_pidfd(const struct request *r);
/* Copies a descriptor of the target. Returns the copy or a negative errno. */
int target_take_fd(const struct judge *j, const struct request *r, int fd);
/* Whether a signal is pending that the target would handle: a long wait should end with EINTR. */
bool target_is_interrupted(const struct judge *j, const struct request *r);

#endif
