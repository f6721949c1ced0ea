/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Apple's compiled profiles next to their sources: both become graphs, which must give the same
 * verdicts for every operation and every string and number in the sources. The samples are outside
 * this tree, in $BUCKLE_SHARED or ../shared.
 */

#include <dirent.h>
#include <stdlib.h>

#include "base/own.h"
#include "format/format.h"
#include "graph/eval.h"
#include "sbpl/sbpl.h"
#include "tap.h"

enum { FILE_MAX = 65536, WORDS_MAX = 256 };

static uint8_t bytes[FILE_MAX];
static char text[FILE_MAX];

static size_t slurp(const char *path, void *to)
{
    OWN(file) FILE *f = fopen(path, "rb");
    return f ? fread(to, 1, FILE_MAX - 1, f) : 0;
}

static struct graph *decode(const uint8_t *data, size_t n, struct bk_err *err)
{
    struct blob b;
    struct graph *g = NULL;
    *err = (struct bk_err){0};
    return blob_open(&b, data, n, err) < 0 || blob_decode(&b, "sample", &g, err) < 0 ? NULL : g;
}

static struct graph *compile(const char *path)
{
    OWN(sbpl_unit) struct sbpl_unit u;
    struct sbpl_options opt = {.os = VOCAB_OS_ANY, .fold_case = true};
    struct graph *g = NULL;
    sbpl_unit_init(&u, &opt);
    return sbpl_add_file(&u, path, NULL) < 0 || sbpl_compile(&u, &g, NULL) < 0 ? NULL : g;
}

/* ---- queries ---- */

struct words {
    char *at[WORDS_MAX];
    size_t n;
};

static void add_word(struct words *w, const char *s, size_t n, const char *tail)
{
    if (w->n < WORDS_MAX && asprintf(&w->at[w->n], "%.*s%s", (int)n, s, tail) >= 0)
        w->n++;
}

/* Every string of the source, and variants that distinguish literal, prefix and subpath. */
static void find_words(struct words *w)
{
    static const char *const always[] = {"/", "/usr/bin/yes", "/private/tmp", "com.apple.x", ""};
    for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
        add_word(w, always[i], strlen(always[i]), "");
    for (char *p = text; (p = strchr(p, '"')) != NULL;) {
        char *end = strchr(++p, '"');
        if (!end)
            return;
        size_t n = (size_t)(end - p);
        add_word(w, p, n, "");
        add_word(w, p, n, "/");
        add_word(w, p, n, "/x/y");
        add_word(w, p, n, "x");
        add_word(w, p, n - 1, "");
        add_word(w, p, n - 1, "X");
        p = end + 1;
    }
}

struct pair {
    const char *name;
    const struct graph *source, *blob;
    struct graph_cache *source_cache, *blob_cache;
    size_t asked, differ;
};

static void ask(struct pair *p, uint16_t op, const struct graph_fact *facts, size_t n,
                const char *what)
{
    struct graph_query q = {.op = op, .facts = facts, .nfacts = n};
    struct graph_verdict a = graph_eval(p->source, p->source_cache, &q);
    struct graph_verdict b = graph_eval(p->blob, p->blob_cache, &q);
    p->asked++;
    if (a.allow == b.allow && a.flags == b.flags)
        return;
    if (p->differ++ < 5)
        printf("# %s: %s %s: source %d/%x, blob %d/%x\n", p->name, vocab_ops[op].name, what,
               a.allow, a.flags, b.allow, b.flags);
}

/* Version 2 lets a process make the system calls that its other rules need. Which ones is not
 * established (docs/formats.md), so they are not compared. */
static bool is_derived(const struct pair *p, uint16_t op)
{
    return strncmp(p->name, "base_v2", 7) == 0 && (op == OP_SYSCALL_UNIX || op == OP_SYSCALL_MACH);
}

static const uint16_t string_filters[] = {FILTER_PATH, FILTER_GLOBAL_NAME, FILTER_LOCAL_NAME,
                                          FILTER_RIGHT_NAME};
static const uint16_t int_filters[] = {FILTER_TARGET,        FILTER_SOCKET_DOMAIN,
                                       FILTER_SOCKET_TYPE,   FILTER_SOCKET_PROTOCOL,
                                       FILTER_FCNTL_COMMAND, FILTER_SYSCALL_NUMBER};

static void ask_op(struct pair *p, uint16_t op, const struct words *w)
{
    ask(p, op, NULL, 0, "nothing");
    for (size_t f = 0; f < sizeof(string_filters) / sizeof(string_filters[0]); f++)
        for (size_t i = 0; i < w->n; i++) {
            struct graph_fact fact = {
                .filter = string_filters[f], .str = w->at[i], .len = (uint32_t)strlen(w->at[i])};
            ask(p, op, &fact, 1, w->at[i]);
        }
    for (size_t f = 0; f < sizeof(int_filters) / sizeof(int_filters[0]); f++)
        for (int64_t i = 0; i < 200; i++) {
            struct graph_fact fact = {.filter = int_filters[f], .num = i};
            ask(p, op, &fact, 1, vocab_filters[int_filters[f]].name);
        }
    for (int i = 0; i < 4 * 4 * 32; i++) {
        struct graph_fact facts[] = {{.filter = FILTER_SOCKET_DOMAIN, .num = i & 3},
                                     {.filter = FILTER_SOCKET_TYPE, .num = i >> 2 & 3},
                                     {.filter = FILTER_SOCKET_PROTOCOL, .num = i >> 4}};
        ask(p, op, facts, 3, "socket");
    }
}

static void compare(struct pair *p)
{
    struct words w = {0};
    find_words(&w);
    p->source_cache = graph_cache_new(p->source);
    p->blob_cache = graph_cache_new(p->blob);
    for (uint16_t op = 0; op < OP_COUNT; op++)
        if (vocab_ops[op].ids[VOCAB_MACOS_14_4_1] >= 0 && !vocab_ops[op].message_filter &&
            !is_derived(p, op))
            ask_op(p, op, &w);
    ok(p->asked > 1000 && !p->differ, "%s: %zu questions, %zu answered differently", p->name,
       p->asked, p->differ);
    graph_cache_free(p->source_cache);
    graph_cache_free(p->blob_cache);
    for (size_t i = 0; i < w.n; i++)
        free(w.at[i]);
}

/* ---- message filters, in nested policies ---- */

static void compare_nested(const struct pair *p, enum vocab_op denied)
{
    is_int(graph_policy_count(p->blob), 1, "%s has one message filter", p->name);
    struct graph_cache *c = graph_cache_new(p->blob);
    for (uint16_t op = 0; op < OP_COUNT; op++) {
        struct graph_query q = {.op = op, .policy = 1};
        if (vocab_ops[op].message_filter)
            ok(graph_eval(p->blob, c, &q).allow == (op != denied), "%s: %s", p->name,
               vocab_ops[op].name);
    }
    graph_cache_free(c);
}

/* ---- malformed samples ---- */

static void break_it(const char *name, size_t n)
{
    struct bk_err err;
    size_t wordless = 0, whole = 0;
    for (size_t len = 0; len < n; len++) {
        OWN(mem) uint8_t *part = malloc(len ? len : 1);
        memcpy(part, bytes, len);
        struct graph *g = decode(part, len, &err);
        wordless += !g && !err.msg[0];
        whole += g != NULL;
        graph_free(g);
    }
    ok(!wordless, "%s: every truncation is an error that says something", name);
    /* data that no node refers to may be missing at the end, but never a table or a node */
    ok(whole <= 16, "%s: %zu truncations are taken for a profile", name, whole);
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < 3; k++) {
            uint8_t was = bytes[i];
            bytes[i] ^= (uint8_t[]){0x01, 0x80, 0xff}[k];
            struct graph *g = decode(bytes, n, &err);
            wordless += !g && (!err.msg[0] || err.code == BK_E_BUG);
            graph_free(g);
            bytes[i] = was;
        }
    ok(!wordless, "%s: every flipped byte is an error or a graph", name);
}

static void check_sample(const char *folder, const char *name)
{
    char path[4096];
    struct bk_err err;
    snprintf(path, sizeof(path), "%s/%s.bin", folder, name);
    size_t n = slurp(path, bytes);
    struct graph *blob = decode(bytes, n, &err);
    ok(blob != NULL, "%s.bin is decoded: %s", name, blob ? "" : err.msg);
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    text[slurp(path, text)] = '\0';
    struct graph *source = compile(path);
    ok(source != NULL, "%s is compiled", name);
    struct pair p = {.name = name, .source = source, .blob = blob};
    if (source && blob && strstr(folder, "macos-14"))
        compare(&p);
    if (blob && strcmp(name, "base_v2.sb") == 0)
        compare_nested(&p, OP_IOKIT_EXTERNAL_METHOD);
    if (blob && strcmp(name, "base_v2_inner_deny_external_trap.sb") == 0)
        compare_nested(&p, OP_IOKIT_EXTERNAL_TRAP);
    graph_free(source);
    graph_free(blob);
    break_it(name, n);
}

static int check_folder(const char *root, const char *folder)
{
    char path[2048];
    snprintf(path, sizeof(path), "%s/blobs/%s", root, folder);
    OWN(dir) DIR *d = opendir(path);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        size_t len = strlen(e->d_name);
        if (len > 4 && strcmp(e->d_name + len - 4, ".bin") == 0) {
            e->d_name[len - 4] = '\0';
            check_sample(path, e->d_name);
            n++;
        }
    }
    return n;
}

/* 10.6: two names are established, and the sample uses those. */
static void check_10_6(const char *root)
{
    char path[2048];
    struct bk_err err;
    snprintf(path, sizeof(path), "%s/blobs/osx-10.6/sample1.sb.bin", root);
    struct graph *g = decode(bytes, slurp(path, bytes), &err);
    if (!g)
        return;
    static const struct {
        uint16_t op;
        const char *path;
        bool allow;
    } rows[] = {
        {OP_FILE_READ_DATA, "/tmp/woowoo", true},   {OP_FILE_READ_DATA, "/tmp/woowo", false},
        {OP_FILE_READ_DATA, "/tmp/woowoo/", false}, {OP_FILE_READ_DATA, "x/tmp/woowoo", false},
        {OP_FILE_READ_DATA, "/tmp/WOOWOO", false},  {OP_FILE_WRITE_DATA, "/tmp/woowoo", false},
        {OP_DEFAULT, "/tmp/woowoo", false},
    };
    struct graph_cache *c = graph_cache_new(g);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct graph_fact f = {
            .filter = FILTER_PATH, .str = rows[i].path, .len = (uint32_t)strlen(rows[i].path)};
        struct graph_query q = {.op = rows[i].op, .facts = &f, .nfacts = 1};
        ok(graph_eval(g, c, &q).allow == rows[i].allow, "10.6: %s %s", vocab_ops[rows[i].op].name,
           rows[i].path);
    }
    graph_cache_free(c);
    graph_free(g);
}

int main(void)
{
    const char *root = getenv("BUCKLE_SHARED");
    root = root ? root : "../shared";
    int n = check_folder(root, "macos-14.4.1") + check_folder(root, "osx-10.6");
    if (!n)
        skip("the compiled samples are not here (set BUCKLE_SHARED)");
    else
        ok(n >= 34, "%d samples", n);
    check_10_6(root);
    return done_testing();
}
