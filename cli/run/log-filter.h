/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_LOG_FILTER_H
#define BK_CLI_RUN_LOG_FILTER_H

#include <jansson.h>
#include <stdbool.h>
#include <time.h>

#include "cli/args.h"

/* Which events `buckle log` shows. */
/* clang-format off */
#define LOG_FILTER_OPTIONS                                                                         \
    {"since", 0, "TIME", "only from then on: 2026-01-31, 2026-01-31T12:00, or 30m, 2h, 7d ago", NULL}, \
    {"until", 0, "TIME", "only until then", NULL},                                                 \
    {"program", 0, "GLOB", "only of programs with this name or path", NULL},                       \
    {"path", 0, "GLOB", "only about these paths; * also matches /", NULL},                         \
    {"host", 0, "GLOB", "only about these hosts", NULL},                                           \
    {"class", 0, "NAME", "only about protected names of this class", protected_class_words},       \
    {"kind", 0, "KIND,…", "only these: run, end, denial, allowed, host, grant, answer, file, policy", \
     "run end denial allowed host grant answer file policy"}
/* clang-format on */

struct log_filter {
    const struct cli_args *args;
    time_t since, until; /* 0: any */
};

int log_filter_read(struct log_filter *f, const struct cli_args *args, struct bk_err *err);
/* event: as buckle prints it. kind: its kind, or NULL for "denial". */
bool log_filter_wants(const struct log_filter *f, const json_t *event);

/* "text" of a member, or "". */
const char *log_member(const json_t *object, const char *key);
/* The time of an RFC 3339 text, or 0. */
time_t log_time(const char *utc);

#endif
