/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_PROFILE_SETTINGS_OPTIONS_H
#define BK_CLI_PROFILE_SETTINGS_OPTIONS_H

#include "cli/args.h"
#include "settings/settings.h"

/* The settings that --settings, --no-settings and --bare choose, for the working directory. */
int profile_settings(const struct cli_args *args, struct settings *s, struct bk_err *err);
/* Reads a port from an option; 0 without the option. Returns -1 if it is not a port. */
int profile_port(const struct cli_args *args, const char *name, uint16_t *out);

#endif
