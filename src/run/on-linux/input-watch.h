/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_LINUX_INPUT_WATCH_H
#define BK_RUN_LINUX_INPUT_WATCH_H

#include <stdbool.h>

/*
 * Whether a function that reads files would still find the same, without calling it again. It must
 * depend on nothing but files and this process.
 */
struct input_watch;

/* Calls look(arg) twice: to learn what it looks up, and when all of that is watched. Sets *same to
 * whether both returned true. Returns NULL if that cannot be watched, or if it is false. */
struct input_watch *input_watch_make(bool (*look)(void *arg), void *arg, bool *same);

/* Whether nothing that look() saw has changed since. Once it has, the answer stays no: then call
 * look(). Mounts are not watched. w may be NULL: no. */
bool input_watch_is_quiet(struct input_watch *w);

/* Takes the kernel about 15 ms: leave that to the end of the process where you can. */
void input_watch_free(struct input_watch *w);

#endif
