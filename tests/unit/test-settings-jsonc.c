/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Changing other programs' JSON as text: what is put in and taken out again leaves the same bytes.
 */

#include <stdlib.h>

#include "base/buf.h"
#include "base/text-diff.h"
#include "settings/jsonc.h"
#include "tap.h"

static struct arena arena;

static struct jsonc read_text(const char *text)
{
    struct jsonc d = {0};
    struct bk_err err;
    struct json_text t = {.name = "x.json", .s = text, .n = strlen(text)};
    if (jsonc_read(&arena, &t, &d, &err) < 0)
        d.root = NULL;
    return d;
}

static struct json *value(void)
{
    struct json *v = jt_new(&arena, JT_OBJECT);
    jt_set(v, "command", jt_string(&arena, "c", 1));
    return v;
}

static void goes_and_comes(const char *text, const char *name)
{
    struct jsonc d = read_text(text);
    struct buf in = {0}, out = {0};
    if (!d.root) {
        ok(false, "%s: read", name);
        return;
    }
    const char *key = d.root->kind == JT_OBJECT ? "new" : NULL;
    jsonc_insert(&d, d.root, key, value(), &in);
    struct jsonc more = read_text(in.s);
    bool there = more.root && jt_equal(more.root->last, value());
    ok(there && more.root->count == d.root->count + 1, "%s: it is in", name);
    if (there) {
        jsonc_remove(&more, more.root->last, &out);
        is_str(out.s, text, "%s: and out, byte for byte", name);
    }
    buf_free(&in);
    buf_free(&out);
}

/* Any member can go, and the rest is what it was. */
static void loses_each(const char *text, const char *name)
{
    struct jsonc d = read_text(text);
    for (const struct json *j = d.root->first; j; j = j->next) {
        struct buf out = {0};
        jsonc_remove(&d, j, &out);
        struct jsonc less = read_text(out.s);
        bool good = less.root && less.root->count == d.root->count - 1;
        for (const struct json *k = d.root->first; good && k; k = k->next)
            good = k == j ? !jt_get(less.root, k->key)
                          : jt_get(less.root, k->key) && jt_equal(jt_get(less.root, k->key), k);
        ok(good, "%s without %s", name, j->key);
        buf_free(&out);
    }
}

int main(void)
{
    arena_init(&arena, 64 << 20);
    goes_and_comes("{}\n", "empty");
    goes_and_comes("[]", "an empty list");
    goes_and_comes("{\n  \"a\": 1\n}\n", "lines");
    goes_and_comes("{\"a\": 1, \"b\": [1, 2]}", "one line");
    goes_and_comes("{\n\t\"a\": 1,\n}\n", "a trailing comma");
    goes_and_comes("{\r\n    \"a\": \"x\"\r\n}\r\n", "CRLF");
    goes_and_comes("\xef\xbb\xbf{\"a\": null}", "a byte order mark");
    goes_and_comes("{\n  \"a\": 1 // one, } ] \"\n}\n", "a comment behind");
    goes_and_comes("{\n  \"a\": 1, // one\n  // two\n}\n", "comments behind a comma");
    goes_and_comes("{\n  \"a\": \"// no /* comment \\\\\\\"\" /* but, this */\n}\n", "in a string");
    goes_and_comes("// first\n[\n  {\"a\": 1}, /* x */\n  {\"b\": 2} /* y */\n]\n", "elements");
    goes_and_comes("{\n  \"a\": -1.5e3\n  /* last */\n}", "a comment before the bracket");
    loses_each("{\"a\": 1, \"b\": {\"x\": [1, \"]\"]}, \"c\": \"}\"}", "one line");
    loses_each("{\n  // of a\n  \"a\": 1, // a\n  /* b */ \"b\": 2,\n  \"c\": 3, // c\n}\n",
               "comments");
    ok(!read_text("{ /* not closed }").root, "a comment that does not end");
    ok(!read_text("{\"a\": 1, \"a\": 2}").root, "a name twice");
    ok(!read_text("{\"a\": 1,, }").root, "two commas");
    ok(!read_text("{,}").root || read_text("{,}").root->count == 0, "a lone comma is no member");
    struct buf diff = {0};
    text_diff("f", "a\nb\nc\n", 6, "a\nx\nb\nc", 7, &diff);
    is_str(diff.s,
           "--- f\n+++ f\n@@ -1,3 +1,4 @@\n a\n+x\n b\n-c\n+c\n\\ No newline at end of file\n",
           "a difference");
    buf_free(&diff);
    struct buf none = {0};
    text_diff("f", "a", 1, "a", 1, &none);
    ok(none.n == 0, "no difference");
    text_diff("f", NULL, 0, "\033[31m\tx\n", 8, &none);
    is_str(none.s, "--- /dev/null\n+++ f\n@@ -0,0 +1,1 @@\n+\\x1b[31m\tx\n", "a new file");
    buf_free(&none);
    arena_free(&arena);
    return done_testing();
}
