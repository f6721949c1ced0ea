/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "cli/run/record-flags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/forward.h"

void run_warn(void *arg, const char *line)
{
    (void)arg;
    fprintf(stderr, "buckle: %s\n", line);
}

/* otlp: what OpenTelemetry's variable names, or its usual port on this machine. */
static void read_destinations(const struct cli_args *args, struct run_spec *spec)
{
    const char *where, *named = getenv("OTEL_EXPORTER_OTLP_ENDPOINT");
    for (size_t i = 0; (where = args_nth(args, "record-to", i)); i++) {
        if (strcmp(where, "journal") == 0)
            spec->record.journal = true;
        else if (strcmp(where, "otlp") == 0)
            spec->record.otlp = named && *named ? named : "http://localhost:4318";
        else
            spec->record.otlp = where;
    }
}

int record_flags_read(const struct cli_args *args, char path[PATH_MAX], struct run_spec *spec,
                      struct bk_err *err)
{
    const char *given = args_value(args, "record");
    spec->record.files = args_has(args, "record-files");
    read_destinations(args, spec);
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
    if (spec->record.path && spec->record.otlp && forward_check_url(spec->record.otlp, err) < 0)
        return -1;
    bool more = args_has(args, "record-files") || args_has(args, "record-to");
    if (more && !spec->record.path) {
        err_set(err, BK_E_INPUT, "--record-files and --record-to: there is no record");
        err_hint(err, "add --record PATH, or set record.path");
        return -1;
    }
    return 0;
}
