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
 * Called with a setting's key and a word of its value that may be a file. on_path: the word has no
 * slash and is a command's name, which a shell looks for on PATH rather than in a folder. A word
 * may begin with "~/", or with "%(prefix)/" as git has it, and may have variables of a shell.
 * It lives as long as the arena and the settings. A negative answer ends the walk.
 */
typedef int git_file_fn(void *arg, const char *key, const char *word, bool on_path);

/*
 * Calls each for files that settings name: the path itself, or of a command each word that could be
 * one. Which folder a relative one begins at depends on the key: include.path at the folder of its
 * file, others at the top of the working tree. Returns 0, what `each` answered, or -1 when there
 * is no memory.
 */
int git_config_files(struct arena *a, const struct git_config *c, git_file_fn *each, void *arg);

#endif
