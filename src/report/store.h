/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_REPORT_STORE_H
#define BK_REPORT_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/event.h"

/*
 * The violations of a session: the newest ones and the total. They live in memory only. All
 * functions are thread-safe.
 */
struct violation {
    uint64_t number;     /* counts from 1 */
    uint64_t time_ns;    /* CLOCK_REALTIME */
    uint64_t command_id; /* as given; 0: unknown */
    const char *command; /* "" if unknown */
    const char *line;    /* macOS's wording: `name(pid) deny(1) operation path` */
    const char *json;    /* all details as one object; "" if there are none */
};

struct store;

enum { STORE_USUAL = 100, STORE_MOST = 1 << 20 };
struct store *store_new(size_t size); /* size 0: the default. Returns NULL without memory */
void store_free(struct store *s);

/* Violations not to store: the line contains `text` and the command contains `command` ("*" for
 * every command). Copies the rules and replaces earlier ones. */
struct store_ignore {
    const char *command, *text;
};
int store_ignore(struct store *s, const struct store_ignore *rules, size_t n); /* -1: no memory */

/* Stores a violation and sets its number and, if 0, its time. Returns false if it is ignored, or
 * without memory; then it still counts. */
bool store_add(struct store *s, const struct violation *v);
/* The same for an event; g provides the rule's text. Allowed operations are not violations. */
bool store_add_event(struct store *s, const struct event *e, const struct graph *g,
                     uint64_t command_id, const char *command);

/* Adds n to the total, for events that were lost. */
void store_missed(struct store *s, uint64_t n);

uint64_t store_total(struct store *s); /* ever stored */
size_t store_count(struct store *s);   /* still in the store */
void store_clear(struct store *s);     /* keeps the total */

/* Copies of the newest violations, oldest first. */
struct store_wanted {
    size_t limit;        /* 0: all */
    uint64_t command_id; /* 0: any */
    const char *command; /* NULL: any; otherwise this text */
    uint64_t after;      /* only violations with a higher number */
};
struct violations {
    size_t n;
    struct violation at[];
};
struct violations *store_get(struct store *s, const struct store_wanted *wanted); /* free() it */

/* Calls fn at once, and after every change from the thread that made it, one call at a time. fn may
 * call everything except these two. store_unsubscribe() returns when no call is in progress.
 * Returns a number, or -1 without memory. */
typedef void store_fn(void *arg, struct store *s);
int store_subscribe(struct store *s, store_fn *fn, void *arg);
void store_unsubscribe(struct store *s, int number);

#endif
