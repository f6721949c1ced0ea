/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_MACOS_CHILD_H
#define BK_MACOS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "macos/enter.h"

/* Child processes, with portable Unix calls only. */

/* Both ends are close-on-exec. */
int child_pipe(int ends[2], struct bk_err *err);

struct child {
    char *const *argv; /* argv[0] is looked up in PATH */
    char *const *env;
    const char *cwd;  /* NULL: unchanged */
    int in, out, err; /* -1: unchanged */
    const int *keep;  /* further descriptors to inherit */
    size_t nkeep;
    /* Confines the child before it executes the program; NULL: nothing does. */
    seatbelt_enter_fn *enter;
    const char *profile; /* for that */
};

/* Returns when the program runs. On failure err->sys is the errno of exec, or 0 if `enter` failed.
 */
int child_start(const struct child *c, pid_t *pid, struct bk_err *err);

/* Waits at most patience_ms; false if it still runs. */
bool child_await(pid_t pid, uint32_t patience_ms, int *status);
/* Sends SIGTERM, then SIGKILL after patience_ms, and reaps it. */
void child_stop(pid_t pid, uint32_t patience_ms);

#endif
