/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_REPORT_INT_H
#define BK_REPORT_INT_H

#include "report/event.h"
#include "vocab/protected-classes.h"

/* ---- rule-text.c ---- */

/* The deciding rule, or NULL if there is none. */
const struct graph_rule_info *rule_info(const struct graph *g, uint32_t rule);
/* The text of its (with message "…"), or NULL. */
const char *rule_message(const struct graph *g, uint32_t rule);
/* Whether the rule protects certain names and gives a reason. Only a flag with the exact path lifts
 * such a rule. */
bool rule_protects(const struct graph *g, uint32_t rule);
/* Whether it does so for the names and stores that Buckle protects everywhere, and not because the
 * user wrote it. */
bool rule_is_built_in(const struct graph *g, uint32_t rule);
/* Appends "default.sb:41", or other words if the rule has no line. For a rule that settings or
 * presets became, it is the line of the user's file that covers the object of n bytes. */
void rule_place(const struct graph *g, uint32_t rule, const char *object, size_t n,
                struct buf *out);

/* ---- protected.c ---- */

/* The class of the names that the rule protects. */
enum protected_class rule_class(const struct graph *g, uint32_t rule);
/* The classes that the current policy would have to allow for this denial to go away; none if that
 * is not enough. `decided` is the graph of the policy that denied it. */
struct group;
unsigned group_classes(const struct graph *decided, const struct graph *now,
                       struct graph_cache *cache, const struct group *group);

/* ---- event.c ---- */

/* Whether the event reports an internal failure: path is then a message. */
bool event_is_failure(const struct event *e);

/* ---- report.c ---- */

enum { GROUP_NONE = 0xffffffffu, REPORT_GROUPS = 256 };

/* Denials that differ only in time and process. */
struct group {
    uint64_t count;
    uint64_t first, last;            /* order of the first and the last event */
    int32_t pid;                     /* of the last */
    uint32_t policy, rule, path_len; /* as in struct event */
    uint16_t op;
    bool failure;
    bool by_preset;        /* a preset allows it (preset-rows.c) */
    bool by_git;           /* the first of these events was a git process's */
    uint32_t chain;        /* next in the hash chain */
    uint32_t newer, older; /* ordered by the last event */
    char detail[EVENT_DETAIL];
    char path[EVENT_PATH];
};

/* One line of the summary: a group, or several in the same folder. */
struct row {
    const struct group *group; /* the first of them */
    uint32_t path_len;         /* of the group's path, or of the folder */
    uint32_t groups;
    uint64_t count, first;
    bool cache;   /* a cache, which programs do without */
    bool suspect; /* probably made the command fail */
};

struct report {
    size_t cap, used;
    struct group *groups;
    uint32_t *heads; /* cap hash chains */
    uint32_t newest, oldest;
    uint64_t total;
    uint64_t forgotten; /* denials of dropped groups */
    struct row *rows;   /* scratch for the summary; cap entries */
    const struct preset_hint *hints;
    size_t nhints;
};

/* ---- rows.c ---- */

enum { ROWS_SHOWN = 10 };
/* Folders at this depth or below are folded eagerly and are narrow enough to suggest: /home/u/p is,
 * /home/u is not. */
enum { FOLD_DEPTH = 3 };

/* The number of names in an absolute path of n bytes; 0 for others. */
unsigned path_depth(const char *path, uint32_t n);

/* Fills r->rows in the order of first events, folding rows of the same folder. Returns how many. */
size_t report_rows(const struct report *r);

/* Orders n rows: what probably made a command fail, the rest, and at the end caches. Returns how
 * many are to be shown one by one; the others are caches. */
size_t report_order(const struct report *r, size_t n, bool failed);
/* Appends a line about rows of caches; more: after other rows. */
void report_caches(const struct row *rows, size_t n, bool more, struct buf *out);

/* ---- follow-up.c ---- */

/* Whether programs make a file of this name on the way to another in the same folder: a lock, a
 * journal, a new version that is renamed later. */
bool follow_up_is_temporary(const char *path, uint32_t len);
/* Widens rows, of which there are at most REPORT_GROUPS, to what a flag has to name so that the
 * next operations succeed. files: whether a flag about writing files would allow the row. */
void follow_up_rows(struct row *rows, size_t n, const bool *files);

/* ---- preset-rows.c ---- */

/* Marks the groups that a preset would allow, and prints a line for each such preset. They get no
 * row. */
void report_preset_rows(const struct report *r, const struct policies *p, struct buf *out);

#endif
