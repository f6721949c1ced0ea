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
 * Sets of regular expressions matched together in one pass, in time linear in the subject whatever
 * the patterns are: patterns → one NFA (built once, frozen) → DFA states made as subjects need them
 * in a cache of fixed size that belongs to one thread.
 *
 * Dialect: what Apple's profiles use. Bytes, not characters. . * + ? | ( ) [ ] [^ ] ranges,
 * {m} {m,} {m,n}, ^ and $ as anchors anywhere, backslash quotes the next byte. Classes such as
 * [[:alpha:]] are known. A pattern matches when it matches anywhere in the subject. `.` and [^…]
 * match every byte, newline too; $ is the very end, not before a last newline.
 *
 * Where dialects differ, this one reads what glob_to_regex() writes as JavaScript would: inside
 * brackets a backslash quotes too; the first ] closes, so [] matches nothing, [^] every byte, and
 * []a] is [] followed by a]; a ] outside brackets is itself. A { that no digit follows is itself.
 * Unlike there, quantifiers stack (a+? is (a+)?, for nothing is captured and nothing is lazy), they
 * may follow an anchor, and (?…) is refused.
 */
struct regex_set;

struct regex_limits {
    uint32_t max_nodes;  /* NFA states in the whole set; 0 means the default, 200,000. A repeat
                            counts as often as it repeats; beginnings that patterns share, once */
    uint32_t max_repeat; /* largest m or n in {m,n}; 0 means the default, 1,000 */
};

/* Starts a set. Everything it builds lives in the arena. fold: ASCII case is ignored (patterns and
 * subjects are lowered). NULL when the arena is exhausted. */
struct regex_set *regex_set_new(struct arena *arena, bool fold, const struct regex_limits *limits);

/* Adds a pattern; its index (0, 1, …) in *id. On a syntax error err->col is the 1-based byte in the
 * pattern. No recursion: a million parentheses end in an error. On failure the set is unchanged. */
int regex_set_add(struct regex_set *set, const char *pattern, size_t n, uint32_t *id,
                  struct bk_err *err);

/* After this the set is read-only and may be shared between threads. */
int regex_set_freeze(struct regex_set *set, struct bk_err *err);
uint32_t regex_set_count(const struct regex_set *set);

/* Only parse: for `buckle check`, and for looking at a pattern. */
int regex_check(const char *pattern, size_t n, struct bk_err *err);

/* A string that every match must start with, when the pattern is anchored with ^: the single bytes
 * behind the ^, and what is common to all top-level alternatives. Its length, 0 when there is none.
 * Written into out (cap bytes, not terminated). *exact says that the pattern is nothing but this
 * string between ^ and $. */
size_t regex_literal_prefix(const char *pattern, size_t n, char *out, size_t cap, bool *exact);

/* A thread's cache of DFA states. bytes: the fixed size of its area (0: what suits the set, from
 * 48 KiB to 16 MiB); raised to what a few states of this set need; grows never. When it is full it
 * is emptied and filled again, so that matching stays linear. Pages are touched as states appear.
 * NULL when memory is exhausted or the set is not frozen. */
struct regex_cache;
struct regex_cache *regex_cache_new(const struct regex_set *set, size_t bytes);
void regex_cache_free(struct regex_cache *cache);

/*
 * Ids of all patterns that match, ascending: *ids points into the cache and is valid until the next
 * call with it. Returns their count. Allocates nothing.
 */
size_t regex_match(const struct regex_set *set, struct regex_cache *cache, const char *s, size_t n,
                   const uint32_t **ids);

/*
 * Every combination of patterns that some subject matches, at least once and with a shortest
 * subject that does: the empty combination too. Subjects are without NUL. Fails when the automaton
 * has more than max_states states, when memory is short, or when `each` answers false.
 */
typedef bool regex_explore_fn(void *arg, const uint32_t *ids, size_t n, const char *s, size_t len);
int regex_explore(const struct regex_set *set, uint32_t max_states, regex_explore_fn *each,
                  void *arg);

/* (glob "…") → regex text, exactly as the specification's conversion does it; NUL-terminated in the
 * arena, NULL when it is exhausted. The text may still be refused as a pattern: [z-a], or [[a, of
 * which the conversion quotes only the first bracket. A glob with a NUL in it becomes ^[]$, which
 * nothing matches. */
char *glob_to_regex(struct arena *arena, const char *glob, size_t n);

/* Bytes that mean something outside of brackets. */
#define REGEX_SPECIAL "\\.*+?|()[]{}^$"
/* A regex that matches these bytes, which hold no NUL, as they are. */
void regex_quote(const char *s, size_t n, struct buf *out);

#endif
