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

/*
 * Receives a setting's key and a word of its value that may be a file. on_path: the word is a
 * command's name without a slash, which a shell looks up in PATH. A word may start with "~/" or
 * git's "%(prefix)/", and may contain shell variables. It lives as long as the arena and the
 * settings. A negative result ends the walk.
 */
typedef int git_file_fn(void *arg, const char *key, const char *word, bool on_path);

/*
 * Calls each() for every file that the settings name: a path, or each word of a command that could
 * be one. The key decides where a relative path starts: for include.path at the folder of its file,
 * for others at the top of the working tree. Returns 0, the negative result of each(), or -1
 * without memory.
 */
int git_config_files(struct arena *a, const struct git_config *c, git_file_fn *each, void *arg);

#endif
