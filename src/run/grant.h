/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RUN_GRANT_H
#define BK_RUN_GRANT_H

#include "run/run.h"

/*
 * Permissions that the user adds to the policy of a running command. Grants survive a change of the
 * policy and end with the run.
 */
enum { GRANTS_SOURCES = 16, GRANTS_BRIEF = 16, GRANTS_SECONDS = 86400 };

struct grants {
    struct run *run;
    struct run_source base[GRANTS_SOURCES]; /* the policy without grants */
    size_t nbase;
    struct grant_rules {
        struct buf text;  /* SBPL */
        struct buf links; /* symlinks that it follows */
    } lasting;
    struct grant_brief {
        uint64_t until_ms; /* 0: unused */
        struct grant_rules rules;
    } brief[GRANTS_BRIEF];
    bool stale; /* the policy still has one that has ended */
};

void grants_init(struct grants *g, struct run *r); /* after run_open() */
void grants_free(struct grants *g);                /* also fine when zeroed */

/* Replaces the policy below the grants; see run_update(). The sources are not copied. */
int grants_base(struct grants *g, const struct run_source *sources, size_t n, struct buf *waits,
                struct bk_err *err);
/* The policy is the same, but its sources moved: the old ones will be freed. */
void grants_moved(struct grants *g, const struct run_source *sources, size_t n);
/* "allow-read", "allow-write", "allow-net". */
bool grants_know(const char *option);
/* option as above. seconds: how long it lasts, or 0: until the run ends. The run's on_event gets it
 * as an event. */
int grants_add(struct grants *g, const char *option, const char *value, unsigned seconds,
               struct buf *waits, struct bk_err *err);
/* Ends those whose time is over. Returns in how many milliseconds to call it again; 0: not. */
unsigned grants_expire(struct grants *g);

#endif
