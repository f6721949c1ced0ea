/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_GRAPH_REGEX_H
#define BK_GRAPH_REGEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

/*
 * Sets of regular expressions, matched together in one pass, in time linear in the subject whatever
 * the patterns are: patterns → one NFA (built once, frozen) → DFA states, made on demand in a
 * fixed-size cache that belongs to one thread.
 *
 * Dialect: that of Apple's profiles. Bytes, not characters. . * + ? | ( ) [ ] [^ ] ranges, {m} {m,}
 * {m,n}, ^ and $ as anchors anywhere; a backslash quotes the next byte. Classes such as [[:alpha:]]
 * work. A pattern matches when it matches anywhere in the subject. `.` and [^…] match every byte,
 * including newline; $ is the very end, not before a last newline.
 *
 * Where dialects differ, this one reads the output of glob_to_regex() like JavaScript. Inside
 * brackets a backslash quotes too. The first ] closes, so [] matches nothing, [^] every byte, and
 * []a] is [] followed by a]. A ] outside brackets is literal, and so is a { that no digit follows.
 * Unlike JavaScript, quantifiers stack (a+? is (a+)?, since nothing is captured or lazy) and may
 * follow an anchor, and (?…) is an error.
 */
struct regex_set;

struct regex_limits {
    uint32_t max_nodes;  /* NFA states in the whole set; 0 means the default, 200,000. A repeat
                          * counts once per repetition, a shared beginning once */
    uint32_t max_repeat; /* largest m or n in {m,n}; 0 means the default, 1,000 */
};

/* Starts a set; everything it builds is in the arena. fold: ignore ASCII case (patterns and
 * subjects are lowercased). Returns NULL when the arena is exhausted. */
struct regex_set *regex_set_new(struct arena *arena, bool fold, const struct regex_limits *limits);

/* Adds a pattern and stores its index (0, 1, …) in *id. On a syntax error err->col is the 1-based
 * byte in the pattern. Does not recurse: a million parentheses end in an error. On failure the set
 * is unchanged. */
int regex_set_add(struct regex_set *set, const char *pattern, size_t n, uint32_t *id,
                  struct bk_err *err);

/* After this the set is read-only and threads may share it. */
int regex_set_freeze(struct regex_set *set, struct bk_err *err);
uint32_t regex_set_count(const struct regex_set *set);

/* Only parses: for `buckle check`, and for inspecting a pattern. */
int regex_check(const char *pattern, size_t n, struct bk_err *err);

/* For a pattern anchored with ^, writes a string that every match starts with into out (cap bytes,
 * not NUL-terminated) and returns its length, 0 when there is none. *exact: the pattern is just
 * this string between ^ and $. */
size_t regex_literal_prefix(const char *pattern, size_t n, char *out, size_t cap, bool *exact);

/* A thread's cache of DFA states. bytes: the fixed size of its area (0: what suits the set, from 48
 * KiB to 16 MiB), raised to what a few states of this set need. It never grows: when full, it is
 * emptied and filled again, so matching stays linear. Pages are touched as states appear. Returns
 * NULL when memory is exhausted or the set is not frozen. */
struct regex_cache;
struct regex_cache *regex_cache_new(const struct regex_set *set, size_t bytes);
void regex_cache_free(struct regex_cache *cache);

/*
 * Finds all patterns that match: *ids points to their ids, ascending, and is valid until the next
 * call with this cache. Returns their count. Allocates nothing.
 */
size_t regex_match(const struct regex_set *set, struct regex_cache *cache, const char *s, size_t n,
                   const uint32_t **ids);

/*
 * Calls `each` at least once for every combination of patterns that some subject matches, including
 * none, with a shortest such subject. Subjects contain no NUL. Fails when the automaton has more
 * than max_states states, when memory is exhausted, or when `each` returns false.
 */
typedef bool regex_explore_fn(void *arg, const uint32_t *ids, size_t n, const char *s, size_t len);
int regex_explore(const struct regex_set *set, uint32_t max_states, regex_explore_fn *each,
                  void *arg);

/* (glob "…") → regex text, exactly as the specification converts it; NUL-terminated in the arena,
 * NULL when that is exhausted. The text may still be an invalid pattern: [z-a], or [[a, where the
 * conversion quotes only the first bracket. A glob that contains a NUL becomes ^[]$, which matches
 * nothing. */
char *glob_to_regex(struct arena *arena, const char *glob, size_t n);

/* Bytes that are special outside brackets. */
#define REGEX_SPECIAL "\\.*+?|()[]{}^$"
/* Writes a regex that matches exactly these bytes, which contain no NUL. */
void regex_quote(const char *s, size_t n, struct buf *out);

#endif
