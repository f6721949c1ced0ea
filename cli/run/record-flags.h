/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_RECORD_FLAGS_H
#define BK_CLI_RUN_RECORD_FLAGS_H

#include <limits.h>

#include "cli/args.h"
#include "run/spec.h"
#include "settings/settings.h"

/* The flags about the record of a run. */
/* clang-format off */
#define RECORD_OPTIONS                                                                             \
    {"record", 0, "PATH", "append what happens to this file, or to a file in this folder", "file"}, \
    {"record-to", 0, "WHERE", "send the record on: to the systemd `journal`, to `otlp`, or to http://HOST:PORT", "journal otlp"}, \
    {"record-files", 0, NULL, "with a record: list the files that the command wrote, with digests", NULL}
/* clang-format on */

/* Fills spec->record before settings do. path: room for the absolute path. */
int record_flags_read(const struct cli_args *args, char path[PATH_MAX], struct run_spec *spec,
                      struct bk_err *err);
/* What the flags cannot change. */
int record_flags_check(const struct cli_args *args, const struct run_spec *spec,
                       const struct settings_result *settings, struct bk_err *err);

/* For run_spec.warn. */
void run_warn(void *arg, const char *line);

#endif
