/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_MACOS_CHILD_H
#define BK_MACOS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Processes, with nothing but what every Unix has. */

/* Both ends are closed on exec. */
int child_pipe(int ends[2], struct bk_err *err);

struct child {
    char *const *argv; /* looked up in PATH */
    char *const *env;
    const char *cwd;  /* NULL: as it is */
    int in, out, err; /* -1: as they are */
    const int *keep;  /* other descriptors that it inherits */
    size_t nkeep;
};

/* Answers when the program runs, or why it does not: err->sys is the errno of exec. */
int child_start(const struct child *c, pid_t *pid, struct bk_err *err);

/* Waits for its end that long; false when it goes on. */
bool child_await(pid_t pid, uint32_t patience_ms, int *status);
/* Asks it to end, and after that time ends it; waits. */
void child_stop(pid_t pid, uint32_t patience_ms);

#endif
