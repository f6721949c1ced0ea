/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "system/helper-program.h"

#include <fcntl.h>
#include <unistd.h>

int helper_program_open_path(const char *path)
{
    return open(path, O_PATH | O_CLOEXEC);
}

int helper_program_execute(int program, char *const *argv)
{
    return fexecve(program, argv, environ);
}
