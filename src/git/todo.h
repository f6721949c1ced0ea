/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GIT_TODO_H
#define BK_GIT_TODO_H

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct git_config;

/*
 * Work under way: what a rebase, a series of picks or a bisection keeps in files, and goes on with
 * when the person says `git rebase --continue`.
 */

/*
 * Makes lines of a list (git-rebase-todo, sequencer/todo) that execute something lines that git
 * ignores; the rest stays as it is. Returns how many there were. *out is the new text, NULL when
 * there is no memory for it.
 */
size_t git_todo_disarm(struct arena *a, const char *text, size_t n, const char **out,
                       size_t *out_len);
/* Whether a list executes nothing. One with a NUL byte is not quiet. */
bool git_todo_is_quiet(const char *text, size_t n);
/* Whether every line that executes something in one list is in another, too. */
bool git_todo_adds_nothing(const char *was, size_t was_len, const char *now, size_t now_len);

/* rebase-merge/strategy, BISECT_TERMS: a plain word a line, since git runs git-merge-WORD. May be
 * empty. */
bool git_state_word_is_safe(const char *text, size_t n);
/* rebase-merge/strategy_opts: options for the strategy; none has a path or a shell's characters. */
bool git_state_options_are_safe(const char *text, size_t n);
/* rebase-apply/apply-opt: options for `git apply`, of which --unsafe-paths and some others let
 * patches write outside the working tree. */
bool git_state_apply_is_safe(const char *text, size_t n);
/* rebase-merge/author-script, rebase-apply/author-script: the three names of an author with quoted
 * values. Git before 2.34 had a shell read it. */
bool git_state_author_is_safe(const char *text, size_t n);
/* sequencer/opts, which has the form of settings. */
bool git_state_opts_are_safe(const struct git_config *c);

#endif
