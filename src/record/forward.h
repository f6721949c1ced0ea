/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_RECORD_FORWARD_H
#define BK_RECORD_FORWARD_H

#include "record/record.h"

/*
 * Sends a record on: to the systemd journal, or to a collector by OTLP/HTTP with JSON. A process of
 * its own reads the record and remembers how far it came in a file beside it, so that a run never
 * waits, nothing is kept in memory, and what a collector missed follows later.
 */

/* Checks a collector's URL: http://HOST[:PORT][/PATH]. */
int forward_check_url(const char *url, struct bk_err *err);

/* Starts what the options ask for. f: the record before this run's first line, where an unsent
 * record begins. Failures are not reported: the record itself is complete. */
void forward_start(const struct record_options *o, struct record_file *f);

/* ---- for the senders ---- */

enum { FORWARD_LINES = 100 };

struct forward_batch {
    struct record_line lines[FORWARD_LINES];
    size_t n;
};

/* Each returns false if it has to be tried again, with all lines. */
bool forward_to_journal(const struct forward_batch *b);
bool forward_to_collector(const char *url, const struct forward_batch *b);

#endif
