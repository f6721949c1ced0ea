/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_PROC_TEXT_H
#define BK_BASE_PROC_TEXT_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Texts that the kernel writes about processes: /proc/PID/status, stat, fdinfo. One read gives a
 * whole one, if there is room.
 */

/* Reads a file below the procfs `proc`, named by the format; an absolute name needs no `proc`.
 * Returns 0 or a negative errno (-ESRCH: the process is gone). text is always terminated. */
int proc_read(int proc, char *text, size_t cap, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What follows a key in such a text, or NULL. The key is "\nKey:": a process's name, in the first
 * line, may contain anything except a newline. */
const char *proc_field(const char *text, const char *key);

/* What follows the name in the text of a stat file, " STATE PARENT …", or NULL. The name may
 * contain anything. */
const char *proc_after_name(const char *text);

/* Copies a line of PROC/TID/status: the text after key. Returns 0 or -EPERM. */
int proc_status_field(int proc, pid_t tid, const char *key, char *out, size_t cap);

/* The process that a pidfd is about, by its number here; -1 once it has been reaped. */
pid_t pidfd_process(int pidfd);

#endif
