/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Input: what a log might print. Whole or in pieces, the result is the same. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "macos/logline.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void note(void *arg, const struct log_denial *d)
{
    struct buf *out = arg;
    const char *end = d->line + strlen(d->line);
    require(d->process == d->line && d->operation > d->line && d->operation_len > 0);
    require(d->argument >= d->operation + d->operation_len && d->argument <= end);
    require(d->pid >= 0 && d->count > 0);
    if (d->tag)
        require(d->tag->command_len <= TAG_COMMAND + 2 && !d->tag->command[d->tag->command_len]);
    buf_fmt(out, "%d %u %s\n", (int)d->pid, d->count, d->line);
}

static void read_in(const char *bytes, size_t n, size_t piece, struct buf *out)
{
    static struct log_reader r;
    log_reader_init(&r, note, out);
    for (size_t at = 0; at < n; at += piece)
        log_reader_feed(&r, bytes + at, n - at < piece ? n - at : piece);
    log_reader_end(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole = {0}, pieces = {0};
    size_t piece = size ? data[0] % 16 + 1u : 1;
    read_in((const char *)data, size, size + 1, &whole);
    read_in((const char *)data, size, piece, &pieces);
    require(whole.n == pieces.n && (!whole.n || memcmp(whole.s, pieces.s, whole.n) == 0));
    buf_free(&whole);
    buf_free(&pieces);
    return 0;
}
