/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GIT_VALUE_H
#define BK_GIT_VALUE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What values of harmless settings look like. Each is stricter than git where something odd could
 * be taken for an option, a program or another place by git or by what it starts.
 */

/* true, yes, on, 1 and so on, or the name alone. */
bool git_value_is_bool(const char *value);
/* A number, with git's k, m or g after it. */
bool git_value_is_int(const char *value);
/* One of "this|that", in any case. */
bool git_value_is_word(const char *value, const char *words);
/* Visible characters and spaces, as in a name or a date. May be empty. */
bool git_value_is_text(const char *value);
/* The same with line ends and tabs. */
bool git_value_is_prose(const char *value);
/* Letters, digits and what colours, lists and formats are written with: # % + , - . / : = _ and
 * spaces. */
bool git_value_is_plain(const char *value);
/* A name of a branch, a remote or a reference, by git's own rules for references. */
bool git_value_is_ref(const char *value, size_t len);
/* Several of them with a colon between, as in "+refs/heads/x:refs/remotes/y/x"; with wildcards. */
bool git_value_is_refspec(const char *value);
/* A relative path that does not climb. */
bool git_value_is_below(const char *value, size_t len);
/* A place to fetch from: a URL of a transport that git has built in, host:path, or a path. No
 * helper ("ext::…"), and nothing that begins with a dash where git or ssh could read an option. */
bool git_value_is_url(const char *value);

#endif
