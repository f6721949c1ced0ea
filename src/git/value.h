/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GIT_VALUE_H
#define BK_GIT_VALUE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Checks of values of harmless settings. Each is stricter than git, so that neither git nor a
 * program that it runs can take an odd value for an option, a program or another place.
 */

/* true, yes, on, 1 and so on, or no value. */
bool git_value_is_bool(const char *value);
/* A number, perhaps with git's suffix k, m or g. */
bool git_value_is_int(const char *value);
/* One of "this|that", in any case. */
bool git_value_is_word(const char *value, const char *words);
/* Visible characters and spaces, as in a name or a date. May be empty. */
bool git_value_is_text(const char *value);
/* The same, with line ends and tabs. */
bool git_value_is_prose(const char *value);
/* Letters, digits and the characters of colours, lists and formats: # % + , - . / : = _ and spaces.
 */
bool git_value_is_plain(const char *value);
/* The name of a branch, remote or reference, by git's rules for references. */
bool git_value_is_ref(const char *value, size_t len);
/* Up to two of them with a colon between, as in "+refs/heads/x:refs/remotes/y/x", with wildcards.
 */
bool git_value_is_refspec(const char *value);
/* A relative path without "..". */
bool git_value_is_below(const char *value, size_t len);
/* A place to fetch from: a URL of a transport built into git, host:path, or a path. No helper
 * ("ext::..."), and no dash at the start where git or ssh could read an option. */
bool git_value_is_url(const char *value);

#endif
