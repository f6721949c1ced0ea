/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_POLICY_RUN_SOURCE_H
#define BK_POLICY_RUN_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

#include "graph/graph.h"

/* One text of a policy. Plain data; the front end keeps it until the run ends. */
struct run_source {
    enum { RUN_SHIPPED, RUN_FILE, RUN_TEXT } kind;
    enum rule_source from; /* who wrote it */
    const char *name;      /* shipped: "default"; file: its path; text: what reports call it */
    const char *text;      /* text only */
    size_t n;
    bool imports_files; /* text: (import …) may open files, not only shipped profiles */
    bool protects;      /* text: imports protected.sb, so later rules can use what that defines */
    bool last;          /* stays behind everything that is added while the command runs */
    bool apart;         /* text: no other text can change its meaning (sbpl_add_apart()) */
    const char *links;  /* notes of the symlinks that its permissions follow (settings/links.h) */
    size_t nlinks;
};

/* Whether rules after this base can use the procedures of protected.sb, as all shipped profiles
 * let them. */
static inline bool source_is_shipped(const struct run_source *base)
{
    return base->kind == RUN_SHIPPED || base->protects;
}

#endif
