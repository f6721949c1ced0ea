/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Judges count in memory that they share with the agent (call-book.h), so a scrape costs them
 * nothing. A judge may count between two of our reads. The number of judged calls is therefore the
 * sum of the buckets that were read, and the histogram agrees with itself.
 *
 * There is no label for a container: each would be a time series of its own, for good. Events name
 * containers.
 */

#include "node/metrics.h"

#include <inttypes.h>

void metrics_add_book(struct metrics *m, const struct call_book *b)
{
    m->spent_ns += atomic_load(&b->spent_ns);
    for (size_t i = 0; i < BOOK_BUCKETS; i++)
        m->took[i] += atomic_load(&b->took[i]);
}

static void put(struct buf *out, const char *name, const char *type, const char *help, uint64_t n)
{
    buf_fmt(out, "# HELP buckle_node_%s %s\n# TYPE buckle_node_%s %s\nbuckle_node_%s %" PRIu64 "\n",
            name, help, name, type, name, n);
}

/* Bucket i has calls that took less than 2^i microseconds; the last one has the rest. */
static void put_histogram(struct buf *out, const struct metrics *m)
{
    static const char name[] = "buckle_node_call_seconds";
    uint64_t sum = 0;
    buf_fmt(out, "# HELP %s Time that the judge took for a call.\n# TYPE %s histogram\n", name,
            name);
    for (size_t i = 0; i < BOOK_BUCKETS; i++) {
        sum += m->took[i];
        if (i + 1 < BOOK_BUCKETS)
            buf_fmt(out, "%s_bucket{le=\"%.6f\"} %" PRIu64 "\n", name, (double)(1u << i) / 1e6,
                    sum);
    }
    buf_fmt(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, sum);
    buf_fmt(out, "%s_sum %" PRIu64 ".%09" PRIu64 "\n", name, m->spent_ns / 1000000000u,
            m->spent_ns % 1000000000u);
    buf_fmt(out, "%s_count %" PRIu64 "\n", name, sum);
}

void metrics_text(const struct metrics *m, struct buf *out)
{
    uint64_t judged = 0;
    for (size_t i = 0; i < BOOK_BUCKETS; i++)
        judged += m->took[i];
    buf_fmt(out,
            "# HELP buckle_node_info Version of the agent.\n# TYPE buckle_node_info gauge\n"
            "buckle_node_info{version=\"%s\"} 1\n",
            BK_VERSION);
    put(out, "calls_judged_total", "counter", "Calls that judges answered.", judged);
    put(out, "calls_denied_total", "counter", "Operations that profiles denied.", m->denied);
    put(out, "containers", "gauge", "Listeners with a judge now.", m->running);
    put(out, "containers_started_total", "counter", "Listeners that got a judge.", m->started);
    put(out, "containers_ended_total", "counter", "Listeners that have no process left.", m->ended);
    put(out, "containers_refused_total", "counter", "Listeners that got no judge, or lost it.",
        m->refused);
    put(out, "judge_restarts_total", "counter", "Judges that died.", m->restarts);
    put(out, "events_skipped_total", "counter", "Lines that sampling left out.", m->skipped);
    put(out, "events_lost_total", "counter", "Lines that a slow reader of events missed.", m->lost);
    put_histogram(out, m);
}
