/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GIT_NAMES_H
#define BK_GIT_NAMES_H

#include "git/config.h"

/* What a setting's value names (names.def). */
enum git_names {
    GIT_NAMES_NOTHING,
    GIT_NAMES_COMMAND,
    GIT_NAMES_PROGRAM,
    GIT_NAMES_FILE,
    GIT_NAMES_REDIRECT,
};

enum git_names git_key_names(const char *key);

#endif
