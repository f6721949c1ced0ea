/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_REPORT_INT_H
#define BK_REPORT_INT_H

#include "report/event.h"

/* ---- rule.c: what a rule has to say ---- */

/* The rule, or NULL when nobody wrote one that decided. */
const struct graph_rule_info *rule_info(const struct graph *g, uint32_t rule);
/* The text of its (with message "…"), or NULL. */
const char *rule_message(const struct graph *g, uint32_t rule);
/* Whether it denies certain names on purpose, and says so: what such a rule protects is lifted by a
 * flag with the very path only. */
bool rule_guards(const struct graph *g, uint32_t rule);
/* "default.sb:41"; what stands in its place when there is no such line. */
void rule_place(const struct graph *g, uint32_t rule, struct buf *out);

/* ---- event.c ---- */

/* Whether the event tells of a failure of ours, in words, where others have a path. */
bool event_is_failure(const struct event *e);

/* ---- report.c: the table ---- */

enum { GROUP_NONE = 0xffffffffu };

/* Denials that differ in nothing but their time and process. */
struct group {
    uint64_t count;
    uint64_t first;                  /* its place in the order of arrival */
    uint32_t policy, rule, path_len; /* as in struct event */
    uint16_t op;
    bool failure;
    uint32_t chain;        /* next of the same hash */
    uint32_t newer, older; /* order of the last arrival */
    char detail[EVENT_DETAIL];
    char path[EVENT_PATH];
};

/* One line of the summary: a group, or several that lie in one folder. */
struct row {
    const struct group *group; /* the first of them */
    uint32_t path_len;         /* of the group's path; shorter when the row is a folder */
    uint32_t groups;
    uint64_t count, first;
};

struct report {
    size_t cap, used;
    struct group *groups;
    uint32_t *heads; /* cap chains */
    uint32_t newest, oldest;
    uint64_t total;
    uint64_t forgotten; /* denials whose group had to make room */
    struct row *rows;   /* where the summary is put together; cap of them */
};

/* ---- rows.c ---- */

enum { ROWS_SHOWN = 10 };
/* Folders at least so deep are folded without need, and are narrow enough to suggest: /home/u is
 * not, /home/u/p is. */
enum { FOLD_DEPTH = 3 };

/* Names in an absolute path of n bytes; 0 for others. */
unsigned path_depth(const char *path, uint32_t n);

/* Fills r->rows with lines in the order of their first event, folding what lies in one folder. */
size_t report_rows(const struct report *r);

#endif
