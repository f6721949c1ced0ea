/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Invalid bundles: every truncation, every flipped byte and every word set to a wrong value, for
 * each era, gives an error that names an offset, or a graph; and why each field is rejected. The
 * bundles are those of the fuzzer's corpus, written by tests/lib/bundles.py.
 */

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "format/format.h"
#include "tap.h"

/* Under a sanitizer every place is ten times as dear: one in seven stands for its neighbours, and
 * the plain build still tries them all. */
enum { FILE_MAX = 65536, STEP = SANITIZED_MALLOC ? 7 : 1 };

struct sample {
    char name[64];
    uint8_t bytes[FILE_MAX];
    size_t n;
    enum blob_era era;
};

static bool read_sample(struct sample *s, const char *name)
{
    const char *root = getenv("FUZZ_CORPUS");
    char path[4096];
    snprintf(s->name, sizeof(s->name), "%s", name);
    snprintf(path, sizeof(path), "%s/era/%s", root ? root : "tests/fuzz/corpus", name);
    OWN(file) FILE *f = fopen(path, "rb");
    int era = f ? fgetc(f) : EOF;
    if (era == EOF)
        return false;
    s->era = (enum blob_era)(BLOB_A + era);
    s->n = fread(s->bytes, 1, FILE_MAX, f);
    return s->n > 0;
}

/* Decodes all its profiles. Returns false when an error is malformed. */
static bool decode_all(const uint8_t *bytes, size_t n, enum blob_era era, unsigned *decoded)
{
    struct blob b;
    struct bk_err err = {0};
    if (blob_open_as(&b, bytes, n, era, &err) < 0)
        return err.msg[0] && err.code != BK_E_BUG &&
               (strstr(err.msg, "offset 0x") || strstr(err.msg, "not a compiled profile"));
    uint32_t count = blob_is_collection(&b) ? b.nprofiles : 1;
    for (uint32_t i = 0; i < count; i++) {
        struct graph *g = NULL;
        if (blob_is_collection(&b))
            blob_choose(&b, i);
        err = (struct bk_err){0};
        if (blob_decode(&b, "bundle", &g, &err) == 0)
            ++*decoded;
        else if (err.code == BK_E_BUG || !strstr(err.msg, "offset 0x"))
            return false;
        graph_free(g);
    }
    return true;
}

static void break_it(const struct sample *s)
{
    unsigned decoded = 0, bad = 0;
    ok(decode_all(s->bytes, s->n, BLOB_NONE, &decoded) && decoded, "%s: %u profiles by its bytes",
       s->name, decoded);
    for (size_t len = 0; len < s->n; len += STEP) {
        OWN(mem) uint8_t *part = malloc(len ? len : 1);
        memcpy(part, s->bytes, len);
        bad += !decode_all(part, len, s->era, &decoded);
        bad += len % 8 == 0 && !decode_all(part, len, BLOB_NONE, &decoded);
    }
    ok(!bad, "%s: every truncation is an error", s->name);
    OWN(mem) uint8_t *copy = malloc(s->n);
    for (size_t i = 0; i < s->n; i += STEP)
        for (unsigned k = 0; k < 5; k++) {
            memcpy(copy, s->bytes, s->n);
            copy[i] = k < 3 ? copy[i] ^ (uint8_t[]) { 0x01, 0x80, 0xff }[k] : copy[i];
            if (k >= 3 && i + 1 < s->n)
                memset(copy + i, k == 3 ? 0xff : 0x00, 2);
            bad += !decode_all(copy, s->n, s->era, &decoded);
        }
    ok(!bad, "%s: every flipped byte and word is an error", s->name);
}

/* Changes one field of a bundle and checks the message. */
static void refused(const struct sample *s, size_t at, uint16_t value, const char *words)
{
    struct blob b;
    struct bk_err err = {0};
    OWN(mem) uint8_t *copy = malloc(s->n);
    memcpy(copy, s->bytes, s->n);
    copy[at] = (uint8_t)value;
    copy[at + 1] = (uint8_t)(value >> 8);
    int r = blob_open_as(&b, copy, s->n, s->era, &err);
    ok(r < 0 && strstr(err.msg, words), "%s: %u at 0x%zx: %s", s->name, value, at, err.msg);
}

static void check_fields(struct sample *s)
{
    if (read_sample(s, "bundle-b")) {
        refused(s, 0, 0x8001, "type 0x8001");
        refused(s, 0, 0x0003, "type 0x3");
        refused(s, 2, 0xffff, "outside the file");
        refused(s, 2, 0, "outside the file");
        refused(s, 4, 0xffff, "do not fit");
        refused(s, 6, 0, "without profiles");
        refused(s, 6, 0xffff, "no number of operations");
        refused(s, 8, 0xffff, "no number of operations");  /* the first profile's name */
        refused(s, 12, 0xffff, "no number of operations"); /* the entry of its default */
    }
    if (read_sample(s, "bundle-d")) {
        refused(s, 2, 0, "without nodes");
        refused(s, 2, 0xffff, "do not fit");
        refused(s, 4, 0xff, "offset");
        refused(s, 6, 0, "a collection");
        refused(s, 6, 0xffff, "do not fit");
        refused(s, 8, 0xffff, "do not fit");
    }
    if (read_sample(s, "bundle-c12"))
        refused(s, 4, 0xffff, "the variables start at");
    if (read_sample(s, "bundle-e"))
        refused(s, 8, 0xffff, "do not fit");
}

/* A cycle in what one profile reaches is an error for that profile, whatever the others are. */
static void check_cycle(struct sample *s)
{
    struct blob b;
    struct bk_err err = {0};
    unsigned refusals = 0;
    if (!read_sample(s, "bundle-d") || blob_open(&b, s->bytes, s->n, &err) < 0)
        return;
    for (uint32_t i = 0; i < b.nnodes; i++)
        if (!blob_node_at(&b, i).terminal) {
            s->bytes[b.nodes + 8 * i + 4] = (uint8_t)i;
            s->bytes[b.nodes + 8 * i + 5] = (uint8_t)(i >> 8);
        }
    for (uint32_t i = 0; i < b.nprofiles; i++) {
        struct graph *g = NULL;
        blob_choose(&b, i);
        refusals += blob_decode(&b, "cycle", &g, &err) < 0 && strstr(err.msg, "leads back to");
        graph_free(g);
    }
    ok(refusals == b.nprofiles, "a node that leads to itself is refused in all profiles");
}

int main(void)
{
    static const char *const names[] = {
        "bundle-b",   "bundle-c", "bundle-c12", "bundle-d",   "bundle-e",   "single-b",  "single-c",
        "single-c12", "single-e", "compiled-a", "compiled-e", "bundle-e17", "bundle-e26"};
    static struct sample s;
    unsigned found = 0;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (read_sample(&s, names[i])) {
            found++;
            break_it(&s);
        }
    check_fields(&s);
    check_cycle(&s);
    if (!found)
        skip("the fuzzer's corpus is not here (run from the top of the tree)");
    return done_testing();
}
