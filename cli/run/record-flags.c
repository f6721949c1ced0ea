/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "cli/run/record-flags.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void run_warn(void *arg, const char *line)
{
    (void)arg;
    fprintf(stderr, "buckle: %s\n", line);
}

int record_flags_read(const struct cli_args *args, char path[PATH_MAX], struct run_spec *spec,
                      struct bk_err *err)
{
    const char *given = args_value(args, "record");
    spec->record.files = args_has(args, "record-files");
    if (!given)
        return 0;
    if (!*given)
        return err_set(err, BK_E_INPUT, "--record: no path given");
    if (given[0] == '/') {
        spec->record.path = given;
        return 0;
    }
    if (!getcwd(path, PATH_MAX))
        return err_sys(err, "cannot find the working directory");
    size_t n = strlen(path);
    if (snprintf(path + n, PATH_MAX - n, "/%s", given) >= (int)(PATH_MAX - n))
        return err_set(err, BK_E_INPUT, "--record: path too long");
    spec->record.path = path;
    return 0;
}

int record_flags_check(const struct cli_args *args, const struct run_spec *spec,
                       const struct settings_result *settings, struct bk_err *err)
{
    const char *policy = settings->record.by_policy ? settings->record.path : NULL;
    if (policy && spec->record.path && strcmp(policy, spec->record.path) != 0) {
        err_set(err, BK_E_INPUT, "--record: the machine's policy sets the record: %.200s", policy);
        err_hint(err, "leave the option out");
        return -1;
    }
    if (args_has(args, "record-files") && !spec->record.path) {
        err_set(err, BK_E_INPUT, "--record-files: there is no record");
        err_hint(err, "add --record PATH, or set record.path");
        return -1;
    }
    return 0;
}
