/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: instructions that build a graph, a few bytes each. If a version can encode it, it decodes
 * again, decides alike for all arguments, and encodes to the same bytes.
 */

#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "format/format.h"
#include "graph/build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NODES_MAX = 48, STRING_MAX = 12 };

static void require(bool holds)
{
    if (!holds)
        abort();
}

struct input {
    const uint8_t *p;
    size_t n;
};

static uint8_t next(struct input *in)
{
    if (!in->n)
        return 0;
    in->n--;
    return *in->p++;
}

/* A string of few letters, so that strings share prefixes. */
static uint32_t string(struct input *in, char out[STRING_MAX + 1])
{
    static const char letters[] = "/ab/AbC.x/a$";
    uint32_t n = next(in) % (STRING_MAX + 1);
    for (uint32_t i = 0; i < n; i++)
        out[i] = letters[next(in) % (sizeof(letters) - 1)];
    out[n] = '\0';
    return n;
}

static struct graph_test test(struct input *in, char text[STRING_MAX + 1])
{
    static const uint16_t strings[] = {FILTER_PATH, FILTER_GLOBAL_NAME, FILTER_PATH, FILTER_XATTR};
    static const uint16_t numbers[] = {FILTER_TARGET, FILTER_SYSCALL_NUMBER, FILTER_FCNTL_COMMAND,
                                       FILTER_SOCKET_DOMAIN};
    static const char *const regexes[] = {"^/a", "[^/]+b$", "a|b*", "^(a{2,3}|[x-z])?$", "^/ab$"};
    struct graph_test t = {0};
    switch (next(in) % 6) {
    case 0:
        t = (struct graph_test){.filter = numbers[next(in) % 4], .how = GRAPH_INT, .num = next(in)};
        return t;
    case 1:
        t = (struct graph_test){.filter = FILTER_PATH, .how = GRAPH_REGEX};
        t.str = regexes[next(in) % 5];
        t.len = (uint32_t)strlen(t.str);
        return t;
    case 2:
        t = (struct graph_test){.filter = FILTER_REMOTE, .how = GRAPH_NET};
        t.net.proto = next(in) % 2 ? NET_TCP : NET_UDP4;
        t.net.port_lo = t.net.port_hi = (uint16_t)(1 + next(in) % 3);
        return t;
    default:
        t.filter = strings[next(in) % 4];
        t.how = next(in) % 3; /* literal, prefix, subpath */
        if (t.how == GRAPH_SUBPATH && t.filter != FILTER_PATH)
            t.how = GRAPH_LITERAL;
        t.len = string(in, text);
        t.str = text;
        return t;
    }
}

static int decision(struct graph_build *b, uint8_t which, uint32_t *node)
{
    bool allow = which % 2;
    struct graph_mod mod = {.id = MOD_MESSAGE, .str = "why"};
    struct graph_rule r = {.allow = allow,
                           .flags = which & 4 ? (allow ? VOCAB_FLAG_REPORT : 0)
                                              : (allow ? 0 : VOCAB_FLAG_REPORT),
                           .mods = which & 8 ? &mod : NULL,
                           .nmods = which & 8 ? 1 : 0,
                           .origin = {.text = "fuzz"}};
    return graph_build_decision(b, &r, node, NULL);
}

static struct graph *make(struct input *in, bool fold)
{
    struct graph_options opt = {.version = 1, .fold_case = fold, .no_implicit = true};
    struct graph_build *b = graph_build_new(&opt, NULL);
    uint32_t nodes[NODES_MAX], n = 0, entries[OP_COUNT];
    require(b && decision(b, 0, &nodes[n++]) == 0 && decision(b, 1, &nodes[n++]) == 0);
    while (in->n && n < NODES_MAX) {
        char text[STRING_MAX + 1];
        uint8_t kind = next(in);
        if (kind < 32) {
            require(decision(b, kind, &nodes[n++]) == 0);
            continue;
        }
        uint32_t match = nodes[next(in) % n], unmatch = nodes[kind & 1 ? n - 1 : next(in) % n];
        struct graph_test t = test(in, text);
        require(graph_build_filter(b, &t, match, unmatch, &nodes[n++], NULL) == 0);
    }
    for (uint32_t op = 0; op < OP_COUNT; op++)
        entries[op] = nodes[0];
    for (uint32_t i = 0; i < n; i++)
        entries[(i * 7) % 40] = nodes[i];
    entries[OP_SYSCALL_UNIX] = entries[OP_SYSTEM_FCNTL] = nodes[n - 1];
    /* what the version lacks starts where its parent does, as decoding will have it */
    for (uint32_t op = 0; op < OP_COUNT; op++)
        if (vocab_ops[op].ids[fold ? VOCAB_MACOS_14_4_1 : VOCAB_IOS_4] < 0 &&
            vocab_ops[op].parent != OP_NONE)
            entries[op] = entries[vocab_ops[op].parent];
    require(graph_build_entries(b, 0, entries, NULL) == 0);
    return graph_freeze(b, NULL);
}

static void on_difference(void *arg, enum graph_equality how, const struct graph_difference *d)
{
    (void)arg;
    (void)d;
    require(how != GRAPH_DIFFERENT);
}

static void check(const struct graph *g, const struct blob_version *version)
{
    struct buf first = {0}, second = {0};
    struct bk_err err = {0};
    struct blob blob;
    struct graph *one = NULL, *apart = NULL;
    enum graph_equality how;
    bool ops[OP_COUNT];
    if (blob_encode(g, version, &first, &err) < 0) {
        require(err.msg[0] && err.code != BK_E_BUG);
        buf_free(&first);
        return;
    }
    require(blob_open(&blob, first.s, first.n, &err) == 0);
    require(blob_decode(&blob, "fuzz", &one, &err) == 0);
    require(blob_decode_apart(&blob, "fuzz", &apart, &err) == 0);
    for (uint16_t op = 0; op < OP_COUNT; op++)
        ops[op] = !vocab_ops[op].message_filter && blob_version_op(version, op) >= 0;
    require(graph_diff(g, one, &(struct graph_diff_how){.ops = ops}, on_difference, NULL, &how,
                       &err) == 0);
    require(blob_encode(apart, version, &second, &err) == 0);
    require(first.n == second.n && memcmp(first.s, second.s, first.n) == 0);
    graph_free(one);
    graph_free(apart);
    buf_free(&first);
    buf_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    bool old = next(&in) & 1;
    struct graph *g = make(&in, !old);
    require(g != NULL);
    check(g, blob_version_find(old ? "A" : "E"));
    graph_free(g);
    return 0;
}
