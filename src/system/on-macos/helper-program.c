/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* macOS executes paths only. Whoever could put another file there could have done so before. */

#include "system/helper-program.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

int helper_program_open_path(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC);
}

int helper_program_execute(int program, char *const *argv)
{
    char path[PATH_MAX];
    return fcntl(program, F_GETPATH, path) < 0 ? -1 : execv(path, argv);
}
