/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_POLICY_AUTO_COMMAND_H
#define BK_POLICY_AUTO_COMMAND_H

#include "settings/access.h"

/*
 * The programs that a command names: its own, behind `env`, `timeout` and similar, the module of
 * `python -m`, and every command of a line for `sh -c`. Names without folders, in the order of the
 * command, each once. What a script or a makefile starts is not found.
 */
int auto_command_programs(struct arena *a, char *const *argv, struct words *out,
                          struct bk_err *err);

/* Whether a program is the one called `name`: `pip3.11` and `python3` are versions of it. */
bool auto_command_is(const char *program, const char *name);

#endif
