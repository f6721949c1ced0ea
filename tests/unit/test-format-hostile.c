/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Hand-made compiled profiles: what each established construct means, and that nothing read from a
 * malformed one is trusted. Malformed ones end in an error that names an offset, or in a graph.
 */

#include "base/own.h"
#include "format-maker.h"
#include "graph/eval.h"

static struct graph *decode(const uint8_t *data, size_t n, struct bk_err *err)
{
    struct blob b;
    struct graph *g = NULL;
    *err = (struct bk_err){0};
    if (blob_open(&b, data, n, err) < 0 || blob_decode(&b, "made", &g, err) < 0)
        return NULL;
    return g;
}

static struct graph *decode_made(const struct maker *m, struct bk_err *err)
{
    size_t n;
    OWN(mem) uint8_t *file = maker_file(m, &n);
    return decode(file, n, err);
}

static bool allows(const struct graph *g, enum vocab_op op, const struct graph_fact *fact,
                   uint32_t policy)
{
    struct graph_cache *c = graph_cache_new(g);
    struct graph_query q = {
        .op = (uint16_t)op, .facts = fact, .nfacts = fact ? 1 : 0, .policy = policy};
    bool r = graph_eval(g, c, &q).allow;
    graph_cache_free(c);
    return r;
}

static bool allows_string(const struct graph *g, enum vocab_op op, uint16_t filter, const char *s)
{
    struct graph_fact f = {.filter = filter, .str = s, .len = (uint32_t)strlen(s)};
    return allows(g, op, &f, 0);
}

static bool allows_number(const struct graph *g, enum vocab_op op, uint16_t filter, int64_t n)
{
    struct graph_fact f = {.filter = filter, .num = n};
    return allows(g, op, &f, 0);
}

static void check_strings(const struct graph *g)
{
    static const struct {
        const char *path;
        bool read, write;
    } rows[] = {
        {"/tmp/foo", true, false},   {"/tmp/foo/bar", true, false}, {"/tmp/food", false, false},
        {"/etc/hosts", true, false}, {"/etc/hostsx", false, false}, {"/etc/hosts/x", false, false},
        {"/opt", true, false},       {"/optics", true, false},      {"/op", false, false},
        {"/TMP/Foo", true, false},   {"/", false, false},           {"", false, false},
        {"/u7", false, true},        {"/uvvv0x", false, true},      {"/uv", false, false},
        {"x/u7", false, false},      {"/ux7", false, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *p = rows[i].path;
        ok(allows_string(g, OP_FILE_READ_DATA, FILTER_PATH, p) == rows[i].read, "pattern: %s", p);
        ok(allows_string(g, OP_FILE_WRITE_DATA, FILTER_PATH, p) == rows[i].write, "regex: %s", p);
    }
    ok(allows_string(g, OP_FILE_MAP_EXECUTABLE, FILTER_EXTENSION, "com.example.read"), "a name");
    ok(!allows_string(g, OP_FILE_MAP_EXECUTABLE, FILTER_EXTENSION, "com.example"), "another name");
}

static void check_everything(void)
{
    struct maker m;
    struct bk_err err;
    maker_everything(&m);
    struct graph *g = decode_made(&m, &err);
    if (!ok(g != NULL, "one of everything is decoded: %s", err.msg))
        return;
    check_strings(g);
    for (int i = 0; i < 20; i++)
        ok(allows_number(g, OP_SYSTEM_FCNTL, FILTER_FCNTL_COMMAND, i) ==
               (i == 0 || i == 2 || i == 15),
           "bitmap: %d", i);
    ok(allows_number(g, OP_SIGNAL, FILTER_TARGET, 1), "a number");
    ok(!allows_number(g, OP_SIGNAL, FILTER_TARGET, 2), "another number");
    struct graph_fact to = {.filter = FILTER_REMOTE,
                            .net = {.proto = NET_TCP4, .port_lo = 80, .port_hi = 80}};
    ok(allows(g, OP_NETWORK_OUTBOUND, &to, 0), "tcp port 80");
    to.net.port_lo = to.net.port_hi = 81;
    ok(!allows(g, OP_NETWORK_OUTBOUND, &to, 0), "tcp port 81");
    to.net = (struct net_endpoint){.proto = NET_UDP4, .port_lo = 80, .port_hi = 80};
    ok(!allows(g, OP_NETWORK_OUTBOUND, &to, 0), "udp port 80");
    is_int(graph_policy_count(g), 1, "one message filter");
    ok(allows(g, OP_IOKIT_OPEN_USER_CLIENT, NULL, 0), "what has a filter is allowed");
    ok(!allows(g, OP_IOKIT_EXTERNAL_TRAP, NULL, 1), "what the filter denies");
    ok(allows(g, OP_IOKIT_EXTERNAL_METHOD, NULL, 1), "what it does not speak of");
    const struct graph_node *n = graph_node_at(g, graph_entry(g, OP_FILE_IOCTL));
    is_int(n->nmods, 1, "a decision keeps its modifier");
    is_int(graph_mod_at(g, n->mods)->id, MOD_MESSAGE, "which is message");
    is_str(graph_mod_at(g, n->mods)->str, "why not", "with its text");
    is_int(n->flags, 5, "and its flags");
    graph_free(g);
}

/* ---- what is rejected, and the offset in the message ---- */

static void refused(const struct maker *m, size_t offset, const char *words, const char *what)
{
    struct bk_err err;
    char want[32];
    struct graph *g = decode_made(m, &err);
    snprintf(want, sizeof(want), "offset 0x%zx: ", offset);
    ok(!g && strncmp(err.msg, want, strlen(want)) == 0 && strstr(err.msg, words), "%s: %s", what,
       err.msg);
    graph_free(g);
}

static void start(struct maker *m)
{
    *m = (struct maker){0};
    maker_decision(m, 0, 0);
    maker_decision(m, 5, 0);
    maker_all(m, 1);
}

enum { NODES = 400 }; /* where nodes start without tables: 14 + 380, padded */

static void check_structure(void)
{
    struct maker m;
    start(&m);
    m.ops[7] = 2;
    refused(&m, 14 + 14, "is outside", "an operation out of range");
    start(&m);
    maker_filter(&m, 14, 1, 3, 0);
    refused(&m, NODES + 16, "leaves", "a match edge out of range");
    start(&m);
    maker_filter(&m, 14, 1, 0, 9);
    refused(&m, NODES + 16, "leaves", "an unmatch edge out of range");
    start(&m);
    maker_filter(&m, 14, 1, 0, 2);
    refused(&m, NODES + 16, "leads back", "a node that leads to itself");
    start(&m);
    maker_filter(&m, 14, 1, 3, 0);
    maker_filter(&m, 14, 2, 0, 2);
    refused(&m, NODES + 24, "leads back", "a cycle of two");
    start(&m);
    m.nodes[1][0] = 2;
    refused(&m, NODES + 8, "kind 2", "a node of no kind");
    start(&m);
    maker_filter(&m, 127, 1, 0, 1);
    refused(&m, NODES + 16, "unknown filter", "a filter that does not exist");
    start(&m);
    m.nodes[1][4] = 1;
    refused(&m, NODES + 12, "not established", "a decision with a count of modifiers");
    start(&m);
    maker_decision(&m, 0x800005, 2);
    refused(&m, NODES + 20, "not established", "errno");
    start(&m);
    maker_decision(&m, 0x800000, 0xc113);
    refused(&m, NODES + 22, "no message filter 0", "a message filter that does not exist");
}

static void refused_pattern(const char *bytes, size_t n, size_t at, const char *words,
                            const char *what)
{
    struct maker m;
    start(&m);
    maker_filter(&m, 1, maker_text(&m, bytes, n), 0, 1);
    refused(&m, NODES + 24 + 2 + at, words, what);
}

#define REFUSED_PATTERN(bytes, ...) refused_pattern((bytes), sizeof(bytes) - 1, __VA_ARGS__)

static void check_patterns(void)
{
    REFUSED_PATTERN("", 0, "ends early", "a pattern of nothing");
    REFUSED_PATTERN("\x45/tmp", 0, "exceeds", "a literal that is too long");
    REFUSED_PATTERN("\x40/", 2, "ends early", "no word on failure");
    REFUSED_PATTERN("\x40/\x8f\x0a", 2, "leaves the pattern", "a jump out of the pattern");
    REFUSED_PATTERN("\x40/\x0f\x0b", 3, "exceeds", "ranges without their count");
    REFUSED_PATTERN("\x0b\x01"
                    "az0",
                    0, "exceeds", "ranges cut short");
    REFUSED_PATTERN("\x10\x0f\x0a", 0, "no variable 0", "a variable");
    REFUSED_PATTERN("\x06\x0f\x0a", 1, "0x0f", "a saved position and no test");
    REFUSED_PATTERN("\x05\x0a", 0, "no test has failed", "a position that nothing saved");
    REFUSED_PATTERN("\x06\x40/\x80\x0a\x05\x40/\x0f\x09", 9, "0x09", "an unknown byte behind it");
    REFUSED_PATTERN("\x06\x40/\x83\x40x\x0f\x0a\x05\x0a", 8, "some failures", "some failures only");
    REFUSED_PATTERN("\x06\x40/\x0f\x07\x0a", 4, "after a success", "a position forgotten early");
    REFUSED_PATTERN("\x0b\x80\x61z\x0f\x0a", 4, "0x0f", "a repetition has no word on failure");
    REFUSED_PATTERN("\x0b\x80\x61z\x40m\x0f\x0a", 4, "repetition", "what a repetition has taken");
    REFUSED_PATTERN("\x03/\x0f\x41x/\x0f\x0a", 3, "searched", "the byte behind the last of them");
    REFUSED_PATTERN("\x40/\x08\x01", 2, "unknown jump", "a long jump cut short");
    REFUSED_PATTERN("\x40/\x08\x00\x01\x0a", 2, "leaves", "a long jump too far");
    REFUSED_PATTERN("\x0b\x00"
                    "az\x81\x0a\x0a\x40"
                    "b\x0f\x0a",
                    7, "begin alike", "a byte of a class");
    REFUSED_PATTERN("\x40/\x08\x01\x00\x0a", 2, "jump", "a long jump");
    REFUSED_PATTERN("\x40/\x80\x0a\x40/\x0f\x0a", 4, "begin alike", "alternatives that overlap");
    REFUSED_PATTERN("\x40/\x82\x00\x0f\x0a\x0a", 6, "earlier alternative",
                    "all but an alternative");
    REFUSED_PATTERN("\x04", 0, "exceeds", "half a long literal");
    struct maker m;
    start(&m);
    maker_filter(&m, 1, 900, 0, 1);
    refused(&m, NODES + 24 + 7200, "outside", "a pattern outside of the file");
    start(&m);
    maker_filter(&m, 1, MAKER_RAW(&m, "\xff\xff"), 0, 1);
    refused(&m, NODES + 24, "exceeds the file", "a length beyond the file");
    start(&m);
    maker_filter(&m, 0x81, 0, 0, 1);
    refused(&m, 14, "no regex 0", "a regex that does not exist");
}

/* Alternatives whose success continues in the next: each doubles the number of paths. */
static void check_bombs(void)
{
    struct maker m;
    struct bk_err err;
    uint8_t code[200];
    size_t n = 0;
    start(&m);
    for (int i = 0; i < 60; i++) {
        code[n++] = 0x40;
        code[n++] = (uint8_t)('!' + i);
        code[n++] = 0x80;
    }
    code[n++] = 0x0f;
    for (size_t i = 2; i < n; i += 3)
        code[i] = 0x80; /* jumps over one byte: into the middle of the next literal */
    maker_filter(&m, 1, maker_text(&m, code, n), 0, 1);
    struct graph *g = decode_made(&m, &err);
    ok(!g && strstr(err.msg, "offset 0x"), "a pattern that folds into itself: %s", err.msg);
    graph_free(g);
    start(&m);
    n = 0;
    for (int i = 0; i < 60; i++) { /* split to every other state: a regex that explodes */
        code[n++] = 0x2f;
        maker_put16(code + n, (unsigned)((i * 7 % 60) * 3));
        n += 2;
    }
    code[n++] = 0x15;
    maker_filter(&m, 0x81, maker_regex(&m, code, n), 0, 1);
    g = decode_made(&m, &err);
    ok(g || strstr(err.msg, "offset 0x"), "a regex of nothing but splits ends");
    graph_free(g);
}

static void check_broken(void)
{
    struct maker m;
    struct bk_err err;
    size_t n, wordless = 0, graphs = 0;
    maker_everything(&m);
    OWN(mem) uint8_t *file = maker_file(&m, &n);
    for (size_t len = 0; len < n; len++) {
        OWN(mem) uint8_t *part = malloc(len ? len : 1);
        memcpy(part, file, len);
        struct graph *g = decode(part, len, &err);
        wordless += !g && !err.msg[0];
        graphs += g != NULL;
        graph_free(g);
    }
    is_int((long)wordless, 0, "every truncation says what is wrong");
    is_int((long)graphs, 0, "none of them is taken for the whole");
    for (size_t i = 0; i < n; i++)
        for (unsigned bit = 0; bit < 9; bit++) {
            uint8_t was = file[i];
            file[i] ^= (uint8_t)(bit == 8 ? 0xff : 1u << bit);
            struct graph *g = decode(file, n, &err);
            wordless += !g && (!err.msg[0] || err.code == BK_E_BUG);
            graph_free(g);
            file[i] = was;
        }
    is_int((long)wordless, 0, "every flipped bit gives a graph or says what is wrong");
}

int main(void)
{
    struct blob b;
    struct bk_err err;
    ok(!blob_is_binary("(version 1)", 11), "text is not compiled");
    ok(blob_open(&b, "(version 1)\n(deny default)", 26, &err) < 0, "and cannot be opened as such");
    check_everything();
    check_structure();
    check_patterns();
    check_bombs();
    check_broken();
    return done_testing();
}
