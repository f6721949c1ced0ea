/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_API_HELPER_H
#define BK_API_HELPER_H

#include <limits.h>
#include <sys/types.h>

#include "api/command-options.h"
#include "command/tmpdir.h"

/*
 * Everything that forks, enters namespaces, handles signals or has global state happens in a helper
 * process, so that programs with many threads can have many runs.
 */
struct helper {
    pid_t pid;
    int watch; /* readable when it ends; -1 when it was gone already */
    int sock;  /* to it */
};

/* Forks. The child calls fn with default signals, its end of the socket and its parent's pid; fn
 * never returns. */
int helper_start(struct helper *c, void (*fn)(void *arg, int sock, pid_t parent), void *arg,
                 struct bk_err *err);
/* Waits for its end, unless that is done. */
void helper_collect(struct helper *c);

/* Runs fn in a helper process, and returns the text that it writes. If fn sets unit, that has
 * findings. */
typedef int helper_fn(void *arg, struct buf *out, const struct sbpl_unit **unit,
                      struct bk_err *err);
char *helper_text(helper_fn *fn, void *arg, struct buckle_error **error);

/* Everything between a command and its run, in the child. */
struct prepared {
    char cwd[PATH_MAX], tmpdir[PATH_MAX];
    struct tmpdir private_tmpdir;
    struct arena arena;
    struct api_policy policy;
    struct run_spec spec;
};

/* Changes to the command's directory. *p is zeroed and never freed: the process ends. */
int helper_prepare(struct prepared *p, const struct buckle_command *c, struct bk_err *err);

/* controller.c: runs a command, in a child. */
struct controller_task {
    const struct buckle_command *command;
    int orders; /* the socket of a run that holds its command (hold.h), or -1 */
};
void controller_main(void *task, int sock, pid_t parent) __attribute__((noreturn));

#endif
