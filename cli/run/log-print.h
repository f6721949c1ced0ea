/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_RUN_LOG_PRINT_H
#define BK_CLI_RUN_LOG_PRINT_H

#include <sys/types.h>

#include "base/buf.h"
#include "cli/args.h"
#include "cli/run/log-filter.h"

/* Events as `buckle log` prints them, those of a session and those of a record. */
struct log_sarif;
struct log {
    const struct cli_args *args;
    struct log_filter filter;
    struct buf out;
    json_t *groups;     /* what → times, in order of arrival; NULL: not grouped */
    json_t *sarif;      /* results; NULL: not wanted */
    json_t *commands;   /* of a record: run → command; or NULL */
    struct buf command; /* of a single run; a session's events have their own */
    pid_t session;      /* its process, or 0 */
};

/* What --by accepts, as a list for completions. */
#define LOG_GROUPS "operation path host program class command rule kind day run"
int log_begin(struct log *l, const struct cli_args *args, struct bk_err *err);
void log_end(struct log *l);

/* Adds an event to what is printed, if it is wanted. */
void log_show(struct log *l, const json_t *event);
/* What is printed at the end: groups, or all results. */
void log_finish(struct log *l);

/* log-sarif.c */
void log_sarif_add(struct log *l, const json_t *event);
void log_sarif_print(struct log *l);
/* The command that an event belongs to. */
const char *log_command(const struct log *l, const json_t *event);

#endif
