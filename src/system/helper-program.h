/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SYSTEM_HELPER_PROGRAM_H
#define BK_SYSTEM_HELPER_PROGRAM_H

#include <stdbool.h>

/* Opens one of our programs (buckle-tls, buckle-window), which is beside this program
 * (../libexec/buckle). For programs that link the library it is in the library's own folder, as in
 * a wheel, or where Buckle was installed. A file that another user could have put there doesn't
 * count. Returns a descriptor for execution, or -1.
 */
int helper_program_open(const char *name);

/* Whether such a program has this path. */
bool helper_program_is_ours(const char *path);

/* Executes it with this process's environment. Returns only if that fails, -1 and errno. */
int helper_program_execute(int program, char *const *argv);
/* What helper_program_open() opens a path with. */
int helper_program_open_path(const char *path);

#endif
