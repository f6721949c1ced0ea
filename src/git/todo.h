/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GIT_TODO_H
#define BK_GIT_TODO_H

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct git_config;

/*
 * Work in progress: files of a rebase, a series of picks or a bisection, which git continues when
 * the user runs `git rebase --continue`.
 */

/*
 * Disarms the lines of a list (git-rebase-todo, sequencer/todo) that execute something, so that git
 * ignores them. Returns their number. *out is the new text, or NULL without memory.
 */
size_t git_todo_disarm(struct arena *a, const char *text, size_t n, const char **out,
                       size_t *out_len);
/* Whether a list executes nothing. False if it has a NUL byte. */
bool git_todo_is_quiet(const char *text, size_t n);
/* Whether every line of one list that executes something is also in the other. */
bool git_todo_adds_nothing(const char *was, size_t was_len, const char *now, size_t now_len);

/* rebase-merge/strategy, BISECT_TERMS: one plain word per line, because git runs git-merge-WORD.
 * May be empty. */
bool git_state_word_is_safe(const char *text, size_t n);
/* rebase-merge/strategy_opts: options for the strategy, without paths or special shell characters.
 */
bool git_state_options_are_safe(const char *text, size_t n);
/* rebase-apply/apply-opt: options for `git apply`; --unsafe-paths and a few others let patches
 * write outside the working tree. */
bool git_state_apply_is_safe(const char *text, size_t n);
/* rebase-merge/author-script, rebase-apply/author-script: the author's three variables with quoted
 * values. Git before 2.34 ran it in a shell. */
bool git_state_author_is_safe(const char *text, size_t n);
/* sequencer/opts, in the form of settings. */
bool git_state_opts_are_safe(const struct git_config *c);

#endif
