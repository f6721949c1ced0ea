/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Input: a byte that names a tool and whether the rest is a file, then the text. What is imported
 * is a profile that loads, and says nothing about operations that no importer knows. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "graph/eval.h"
#include "import/import.h"
#include "sbpl/sbpl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static const struct sbpl_options options = {.os = VOCAB_OS_ANY, .shipped_only = true};

static void load(const struct buf *text)
{
    struct bk_err err = {0};
    struct graph *g = NULL;
    OWN(sbpl_unit) struct sbpl_unit u;
    sbpl_unit_init(&u, &options);
    if (sbpl_add_text(&u, "imported.sb", text->s, text->n, &err) < 0)
        return;
    require(sbpl_compile(&u, &g, &err) == 0 || err.code == BK_E_LIMIT);
    if (!g)
        return;
    struct graph_cache *cache = graph_cache_new(g);
    struct graph_query q = {.op = OP_MACH_LOOKUP};
    require(cache && !graph_eval(g, cache, &q).allow);
    graph_cache_free(cache);
    graph_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"x", "x.yaml"};
    enum { TOOLS = 7, WORDS = 64 };
    const struct imp_env env = {.home = "/home/u", .cwd = "/w", .uid = 1000};
    const char *words[WORDS];
    struct imp_input in = {0};
    struct imp im = {0};
    struct bk_err err = {0};
    if (size < 1)
        return 0;
    char *text = calloc(1, size);
    require(text);
    memcpy(text, data + 1, size - 1);
    if (data[0] & 0x80) {
        for (size_t at = 0; at < size && in.nwords < WORDS; at += strlen(text + at) + 1)
            words[in.nwords++] = text + at;
        in.words = words;
    } else {
        in = (struct imp_input){.name = names[data[0] >> 6 & 1], .text = text, .n = size - 1};
    }
    OWN(buf) struct buf out = {0};
    if (imp_read(&im, &imp_tools[(data[0] & 15) % TOOLS], &env, &in, &err) < 0)
        require(err.msg[0]);
    else if (imp_print(&im, &out, &err) == 0)
        load(&out);
    imp_free(&im);
    free(text);
    return 0;
}
