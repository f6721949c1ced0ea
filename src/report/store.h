/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_REPORT_STORE_H
#define BK_REPORT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/event.h"

/*
 * The violations of a session: the newest ones, and how many there were. They live in memory and
 * end with it. Every function may be called from any thread.
 */
struct violation {
    uint64_t number;     /* 1 for the first that was ever stored */
    uint64_t time_ns;    /* CLOCK_REALTIME */
    uint64_t command_id; /* as given with it; 0: nobody knows */
    const char *command; /* its text; "" when nobody knows */
    const char *line;    /* in macOS's words: `name(pid) deny(1) operation path` */
    const char *json;    /* all that is known, one object; "" when there is no more than the line */
};

struct store;

enum { STORE_USUAL = 100, STORE_MOST = 1 << 20 };
struct store *store_new(size_t size); /* 0: the usual; NULL without memory */
void store_free(struct store *s);

/* What is not to be stored: violations whose line contains `text`, of commands whose text contains
 * `command`; "*" stands for every command. Copied; replaces what was ignored before. */
struct store_ignore {
    const char *command, *text;
};
int store_ignore(struct store *s, const struct store_ignore *rules, size_t n); /* -1: no memory */

/* Stores one; number and, when it is 0, time_ns are filled in. False when it is ignored (or there
 * is no memory for it; then it counts all the same). */
bool store_add(struct store *s, const struct violation *v);
/* The same for an event; g words the rule. What was allowed is no violation. */
bool store_add_event(struct store *s, const struct event *e, const struct graph *g,
                     uint64_t command_id, const char *command);

/* n that nobody could tell of: they count, and no more is known. */
void store_missed(struct store *s, uint64_t n);

uint64_t store_total(struct store *s); /* of all that were ever stored */
size_t store_count(struct store *s);   /* of those still there */
void store_clear(struct store *s);     /* keeps the total */

/* Copies of the newest, oldest first. */
struct store_wanted {
    size_t limit;        /* 0: all */
    uint64_t command_id; /* 0: of every command */
    const char *command; /* NULL: of every command; else of this text */
    uint64_t after;      /* a violation's number: only newer ones */
};
struct violations {
    size_t n;
    struct violation at[];
};
struct violations *store_get(struct store *s, const struct store_wanted *wanted); /* free() it */

/* Calls fn at once, and after every change: from the thread that made it, one call at a time. From
 * within fn everything may be called but these two. store_unsubscribe() returns when no call is
 * under way. A number, or -1 without memory. */
typedef void store_fn(void *arg, struct store *s);
int store_subscribe(struct store *s, store_fn *fn, void *arg);
void store_unsubscribe(struct store *s, int number);

#endif
