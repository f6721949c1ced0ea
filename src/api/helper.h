/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_API_HELPER_H
#define BK_API_HELPER_H

#include <limits.h>
#include <sys/types.h>

#include "api/command-options.h"
#include "kernel/launch/tmpdir.h"

/*
 * Whatever forks, enters namespaces, listens to signals or keeps its state in one place is done in
 * a process of its own, so that programs with any number of threads can have any number of them.
 */
struct helper {
    pid_t pid;
    int pidfd; /* -1 when it was gone already */
    int sock;  /* to it */
};

/* Forks. In the child fn is called, with signals as a new program has them, its end of the socket
 * and the pid of its parent; it never returns. */
int helper_start(struct helper *c, void (*fn)(void *arg, int sock, pid_t parent), void *arg,
                 struct bk_err *err);
/* Waits for its end, when nobody else has done so. */
void helper_collect(struct helper *c);

/* Has fn write a text in a process of its own. unit, when fn sets it, has findings. */
typedef int helper_fn(void *arg, struct buf *out, const struct sbpl_unit **unit,
                      struct bk_err *err);
char *helper_text(helper_fn *fn, void *arg, struct buckle_error **error);

/* Everything between a command and its run; in the child. */
struct prepared {
    char cwd[PATH_MAX], tmpdir[PATH_MAX];
    struct tmpdir scratch;
    struct arena arena;
    struct api_policy policy;
    struct run_spec spec;
};

/* Goes to the command's directory. *p is zeroed; nothing of it is ever freed: the process ends. */
int helper_prepare(struct prepared *p, const struct buckle_command *c, struct bk_err *err);

/* controller.c: runs a command, in a child. */
void controller_main(void *command, int sock, pid_t parent) __attribute__((noreturn));

#endif
