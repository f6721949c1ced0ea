/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "cli/agent/client-path.h"

#include <stdio.h>
#include <string.h>

#include "system/helper-program.h"

static const char in_bin[] = "/bin/buckle", in_libexec[] = "/libexec/buckle/buckle-client";

static bool replace_end(const char *path, const char *end, const char *with, char out[PATH_MAX])
{
    size_t n = strlen(path), cut = strlen(end);
    if (n < cut || strcmp(path + n - cut, end) != 0)
        return false;
    return snprintf(out, PATH_MAX, "%.*s%s", (int)(n - cut), path, with) < PATH_MAX;
}

bool client_path(const char *program, char client[PATH_MAX])
{
    return replace_end(program, in_bin, in_libexec, client) && helper_program_is_ours(client);
}

bool client_program_path(const char *client, char program[PATH_MAX])
{
    return replace_end(client, in_libexec, in_bin, program);
}
