/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_WINDOW_TOP_H
#define BK_WINDOW_TOP_H

/* `buckle top`: what runs and what is denied, in a terminal. program: the path of buckle. Returns
 * an exit status. */
int top_run(const char *program);

#endif
