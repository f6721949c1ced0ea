/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_SETTINGS_IMPORT_FILE_H
#define BK_CLI_SETTINGS_IMPORT_FILE_H

#include "cli/args.h"
#include "settings/settings.h"

/* `buckle settings import FILE`. Returns an exit status. */
int import_file(const struct cli_args *args, struct settings *s, enum layer_id layer);

#endif
