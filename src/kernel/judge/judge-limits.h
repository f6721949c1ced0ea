/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_JUDGE_LIMITS_H
#define BK_KERNEL_JUDGE_JUDGE_LIMITS_H

/* Bounds this process, a container's judge: its memory, its descriptors, and the time on a
 * processor without finishing a call. Past a bound it dies, and has a successor. */
void judge_limit(int proc);
/* Call it for each finished call. */
void judge_went_on(void);

#endif
