/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: a byte that selects the era (0 to 4: A to E), then a compiled profile or bundle. Opening,
 * disassembling and decoding each profile give a worded error with an offset, or a graph that
 * answers; a graph that can be encoded comes back the same.
 */

#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "graph/eval.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PROFILES_TRIED = 4 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void explained(const struct bk_err *err)
{
    require(err->msg[0] && err->code != BK_E_BUG);
}

static void ask(const struct graph *g)
{
    struct graph_cache *cache = graph_cache_new(g);
    require(cache != NULL);
    struct graph_fact fact = {.filter = FILTER_PATH, .str = "/tmp/foo", .len = 8};
    for (uint16_t op = 0; op < OP_COUNT; op++) {
        struct graph_query q = {.op = op, .facts = &fact, .nfacts = 1};
        struct graph_verdict v = graph_eval(g, cache, &q);
        require(v.allow == !(v.flags & VOCAB_FLAG_DENY));
    }
    graph_cache_free(cache);
}

/* What was encoded decodes again, and encodes to the same bytes. */
static void write_again(const struct graph *g, const struct blob_version *version)
{
    struct buf first = {0}, second = {0};
    struct bk_err err = {0};
    struct blob blob;
    struct graph *again = NULL;
    if (blob_encode(g, version, &first, &err) < 0) {
        explained(&err);
        buf_free(&first);
        return;
    }
    require(blob_open(&blob, first.s, first.n, &err) == 0 && blob.era == version->era);
    require(blob_decode_apart(&blob, "fuzz", &again, &err) == 0 || err.code == BK_E_LIMIT);
    if (again) {
        require(blob_encode(again, version, &second, &err) == 0);
        require(first.n == second.n && memcmp(first.s, second.s, first.n) == 0);
    }
    graph_free(again);
    buf_free(&first);
    buf_free(&second);
}

static void decode(const struct blob *b)
{
    struct bk_err err = {0};
    struct graph *g = NULL;
    if (blob_decode(b, "fuzz", &g, &err) < 0) {
        explained(&err);
        require(!g);
        return;
    }
    ask(g);
    graph_free(g);
    if (blob_decode_apart(b, "fuzz", &g, &err) < 0) {
        explained(&err);
        return;
    }
    write_again(g, blob_version_find(b->era == BLOB_A ? "A" : "E"));
    graph_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct blob blob;
    struct bk_err err = {0};
    if (!size)
        return 0;
    /* exactly its size, so that a sanitizer sees a read past its end */
    uint8_t *copy = malloc(size - 1 ? size - 1 : 1);
    require(copy != NULL);
    memcpy(copy, data + 1, size - 1);
    if (blob_open_as(&blob, copy, size - 1, (enum blob_era)(BLOB_A + data[0] % 5), &err) < 0) {
        explained(&err);
        free(copy);
        return 0;
    }
    struct buf out = {0};
    blob_disasm(&blob, &out);
    buf_free(&out);
    if (!blob_is_collection(&blob))
        decode(&blob);
    for (uint32_t i = 0; i < blob.nprofiles && i < PROFILES_TRIED; i++) {
        blob_choose(&blob, i);
        decode(&blob);
    }
    free(copy);
    return 0;
}
