/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: a compiled profile. Opening, disassembling and decoding give a worded error, or a graph
 * that answers for every operation. Decoding uses resources in proportion to the input, which the
 * fuzzer's memory and time limits check.
 */

#include <stdlib.h>
#include <string.h>

#include "format/format.h"
#include "graph/eval.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct blob blob;
    struct bk_err err = {0};
    struct graph *g = NULL;
    if (blob_open(&blob, data, size, &err) < 0) {
        require(err.msg[0] && err.code != BK_E_BUG);
        return 0;
    }
    struct buf out = {0};
    blob_disasm(&blob, &out);
    buf_free(&out);
    if (blob_decode(&blob, "fuzz", &g, &err) < 0) {
        require(!g && err.msg[0] && err.code != BK_E_BUG);
        return 0;
    }
    ask(g);
    graph_free(g);
    return 0;
}
