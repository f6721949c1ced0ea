/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_REQUEST_H
#define BK_KERNEL_JUDGE_REQUEST_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One judged call and its answer. */

struct judge;

enum { PATH_BYTES = 4096 };

struct request {
    uint64_t id;
    pid_t tid; /* the calling thread, in the host's numbers */
    int nr;
    uint64_t args[6];
};

/* A handler's result. */
struct answer {
    bool sent;     /* the handler has answered, or will later (waiting-calls.h) */
    bool proceed;  /* the kernel performs the call; only if it reads no memory of the target, which
                      could have changed since */
    int64_t value; /* what the call returns, or a negative errno */
};

static inline struct answer answer_value(int64_t value)
{
    return (struct answer){.value = value};
}

static inline struct answer answer_errno(int err)
{
    return (struct answer){.value = -(int64_t)err};
}

/* From the result of a system call that returns 0 or sets errno. */
static inline struct answer answer_result(int result)
{
    return answer_value(result < 0 ? -errno : 0);
}

/* Lets the kernel perform the call. It copied the registers when the call was made, so it acts on
 * what the judge saw. */
static inline struct answer answer_continue(void)
{
    return (struct answer){.proceed = true};
}

/* err: 0 to continue, or a negative errno. */
static inline struct answer answer_verdict(int err)
{
    return err < 0 ? answer_value(err) : answer_continue();
}

/* Answers a call with a value or a negative errno. Any thread may call these two. */
void judge_send(int listener, uint64_t id, int64_t value);
/* Lets the kernel perform the call. */
void judge_send_continue(int listener, uint64_t id);
/* Installs fd in the target as the call's result, or fails the call. Closes fd. */
void judge_send_fd(int listener, uint64_t id, int fd, bool cloexec);

#endif
