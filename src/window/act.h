/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WINDOW_ACT_H
#define BK_WINDOW_ACT_H

#include <sys/types.h>

#include "agent/json.h"
#include "base/err.h"

/* Commands of `buckle` that the page or `buckle top` starts (acts.def). */
enum { ACT_OUTPUT = 2 << 20 };

struct act {
    pid_t pid;
    int out, err; /* pipes to read; the caller closes them */
};

/* program: the path of buckle. request: {"do": NAME, "cwd": FOLDER, KEY: TEXT…} */
int act_start(const char *program, const json_t *request, struct act *a, struct bk_err *err);
/* Starts it and waits. Appends what it printed, errors included. Returns its exit status, or -1. */
struct buf;
int act_wait(const char *program, const json_t *request, struct buf *out, struct bk_err *err);

#endif
