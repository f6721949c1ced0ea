/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* JSON with places, and what is found wrong with settings. */

#include <stdlib.h>

#include "base/own.h"
#include "settings/settings.h"
#include "tap.h"

static struct arena arena;

static struct json *read_text(const char *s, size_t n, struct bk_err *err)
{
    struct json_text *t = arena_new(&arena, struct json_text);
    *t = (struct json_text){.name = "t", .s = arena_strndup(&arena, s, n), .n = n};
    *err = (struct bk_err){0};
    return jt_read(&arena, t, err);
}

/* As printed, or the place and the message. */
static const char *shown(const char *s)
{
    static struct buf out;
    struct bk_err err;
    struct json *j = read_text(s, strlen(s), &err);
    out.n = 0;
    if (j)
        jt_print(j, &out);
    else
        buf_fmt(&out, "%u:%u %s", err.line, err.col, err.msg);
    return out.s;
}

static void test_values(void)
{
    is_str(shown("null"), "null\n", "null");
    is_str(shown(" [true, false] "), "[true, false]\n", "bools");
    is_str(shown("{\"a\": {}, \"b\": []}"), "{\n  \"a\": {},\n  \"b\": []\n}\n", "empty ones");
    is_str(shown("\xef\xbb\xbf[1]"), "[1]\n", "a byte order mark is no text");
    is_str(shown("[0, -1, 12.5, 1e9, -0.5E-3, 12345678901234567890]"),
           "[0, -1, 12.5, 1e9, -0.5E-3, 12345678901234567890]\n", "numbers stay as they are");
    is_str(shown("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\\ude00 \xc3\xa9\""),
           "\"\\\"\\\\/\\u0008\\u000c\\n\\u000d\\té😀 é\"\n", "escapes");
    struct bk_err err;
    struct json *j = read_text("[7, 9223372036854775808, 1.0]", 29, &err);
    ok(j && j->first->integral && j->first->number == 7, "a whole number");
    ok(j && !j->first->next->integral, "one that does not fit is not taken for another");
    ok(j && !j->last->integral, "nor is a fraction");
}

static void test_wrong(void)
{
    static const struct {
        const char *text, *what;
    } rows[] = {
        {"", "1:1 the text is empty"},
        {" \n ", "2:2 the text is empty"},
        {"{", "1:2 expected a name in quotes"},
        {"[", "1:2 a value is missing here"},
        {"[1", "1:3 the text ends too early"},
        {"[1,]", "1:4 a value is missing here"},
        {"[,1]", "1:2 a value is missing here"},
        {"[1 2]", "1:4 expected a comma or the closing bracket"},
        {"{\"a\": 1,}", "1:9 expected a name in quotes"},
        {"{\"a\" 1}", "1:6 expected a colon"},
        {"{a: 1}", "1:2 expected a name in quotes"},
        {"[1]]", "1:4 unexpected text after the end"},
        {"{}{}", "1:3 unexpected text after the end"},
        {"nul", "1:1 a value is missing here"},
        {"01", "1:1 this is not a number"},
        {"1.", "1:1 this is not a number"},
        {"-", "1:1 this is not a number"},
        {"1e", "1:1 this is not a number"},
        {"\"abc", "1:1 the string does not end"},
        {"\"a\nb\"", "1:3 the string does not end on this line"},
        {"\"a\tb\"", "1:3 write a control character in a string as \\u00XX"},
        {"\"\\x\"", "1:4 a backslash must be followed by one of \" \\ / b f n r t u"},
        {"\"\\u12g4\"", "1:6 \\u must be followed by four hexadecimal digits"},
        {"\"\\ud800\"", "1:8 half of a surrogate pair"},
        {"\"\\udc00\"", "1:8 half of a surrogate pair"},
        {"\"\\ud800\\u0041\"", "1:14 half of a surrogate pair"},
        {"\"\\u0000\"", "1:8 settings must not contain NUL bytes"},
        {"\"\xc3\"", "1:2 this is not UTF-8"},
        {"\"é\xff\"", "1:3 this is not UTF-8"},
        {"{} // x", "1:4 comments are not JSON"},
        {"{\"a\": 1,\n \"a\": 2}", "2:2 a appears twice; first on line 1"},
        {"{\"a\": 1, \"\\u0061\": 2}", "1:10 a appears twice; first on line 1"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        is_str(shown(rows[i].text), rows[i].what, "%s", rows[i].text);
}

static void test_large(void)
{
    enum { N = 200000 };
    struct bk_err err;
    char *text = malloc(N);
    memset(text, '[', N);
    ok(!read_text(text, N, &err) && strstr(err.msg, "nested"), "a well of brackets");
    for (int i = 0; i < JSON_DEPTH; i++) {
        text[i] = '[';
        text[JSON_DEPTH + i] = ']';
    }
    ok(read_text(text, 2 * JSON_DEPTH, &err), "as deep as it may be");
    size_t n = 0;
    text[n++] = '{';
    for (int i = 0; i <= JSON_MEMBERS; i++)
        n += (size_t)sprintf(text + n, "\"k%d\": 1%s", i, i < JSON_MEMBERS ? "," : "}");
    ok(!read_text(text, n, &err) && strstr(err.msg, "too many"), "an object without end");
    free(text);
}

static void test_tree(void)
{
    struct bk_err err;
    const char *text = "{\"a\": 1, \"b\": 2, \"c\": 3}";
    struct json *j = read_text(text, strlen(text), &err);
    OWN(buf) struct buf out = {0};
    jt_set(j, "b", jt_string(&arena, "new", 3));
    jt_set(j, "d", jt_new(&arena, JT_ARRAY));
    jt_set(j, "c", jt_new(&arena, JT_NULL));
    jt_remove(j, jt_get(j, "a"));
    jt_print(j, &out);
    is_str(out.s, "{\n  \"b\": \"new\",\n  \"c\": null,\n  \"d\": []\n}\n",
           "replaced in its place, added, removed");
    is_int(j->count, 3, "counted");
    jt_remove(j, jt_get(j, "d"));
    jt_append(j, jt_new(&arena, JT_NULL));
    is_int(j->count, 3, "the end is where it was");
    struct json *x = read_text("[{\"a\": [1]}]", 12, &err),
                *y = read_text("[{\"a\":[1]}]", 11, &err);
    ok(jt_equal(x, y), "the same");
    y = read_text("[{\"a\":[2]}]", 11, &err);
    ok(!jt_equal(x, y), "not the same");
}

/* ---- settings ---- */

static const char *first_error(const char *text)
{
    static char out[600];
    struct json_text t = {.name = "s.json", .s = text, .n = strlen(text)};
    struct settings_findings found = {0};
    struct json *root;
    struct bk_err err;
    if (settings_check(&arena, &t, &root, &found, &err) < 0)
        return snprintf(out, sizeof(out), "%u:%u %s", err.line, err.col, err.msg), out;
    for (const struct settings_finding *f = found.first; f; f = f->next)
        if (f->level == FINDING_ERROR) {
            snprintf(out, sizeof(out), "%u:%u %s [%s]", f->err.line, f->err.col, f->err.msg,
                     f->err.hint);
            return out;
        }
    return "";
}

static void test_check(void)
{
    is_str(first_error("{}"), "", "nothing is fine");
    is_str(first_error("{\"filesystem\": {\"denyRead\": [\"~/x\", {\"path\": \"*\", \"literal\": "
                       "true}]}, \"network\": {\"allowedDomains\": [\"a.b\", \"*.a.b:443\", "
                       "\"10.0.0.1\", \"[::1]:80\", \"localhost\"], \"deniedDomains\": [\"*\", "
                       "\"*:22\", \"*.com\"], \"deniedResolvedAddresses\": [\"10.0.0.0/8\", "
                       "\"fc00::/7\"], \"allowLocalPorts\": [1, 65535], \"allowMachLookup\": "
                       "[\"com.x.*\"], \"parentProxy\": {\"http\": \"http://p:1\"}}}"),
           "", "and so is much");
    is_str(first_error("{\"x\": 1}"), "1:2 x is not a setting [`buckle settings` lists them]",
           "nothing near");
    is_str(first_error("{\"network\": {\"allowedDomain\": []}}"),
           "1:14 network.allowedDomain is not a setting [did you mean network.allowedDomains?]",
           "something near");
    is_str(first_error("{\"network\": {\"deniedResolvedAddresses\": [\"10.0.0.0/8:80\"]}}"),
           "1:42 network.deniedResolvedAddresses: 10.0.0.0/8:80 is not an address or a range [for "
           "example 10.0.0.0/8 or fc00::/7, without a port]",
           "a range with a port");
    is_str(first_error("{\"network\": {\"parentProxy\": {\"http\": \"ftp://x\"}}}"),
           "1:38 network.parentProxy: ftp://x is not the URL of a proxy [write http://host:port or "
           "socks5://host:port; if the proxy needs a login, put user:password@ before the host]",
           "no proxy");
    is_str(first_error("{\"sandbox\": {\"netwrk\": {}}, \"other\": 1}"),
           "1:14 netwrk is not a setting [did you mean network?]", "below sandbox");
    is_str(first_error("{\"sandbox\": 1}"), "1:13 sandbox must be an object, not a number []",
           "a sandbox that is none");
}

/* Every key of the table takes what it says it takes. */
static void test_keys(void)
{
    static const char *const good[] = {
        [SHAPE_ANY] = "1",
        [SHAPE_OBJECT] = "{}",
        [SHAPE_SECTION] = "{}",
        [SHAPE_TEXT] = "\"x\"",
        [SHAPE_BOOL] = "true",
        [SHAPE_COUNT] = "3",
        [SHAPE_PORT] = "80",
        [SHAPE_STRINGS] = "[\"x\"]",
        [SHAPE_PATHS] = "[\"x\"]",
        [SHAPE_DOMAINS] = "[\"x\"]",
        [SHAPE_DENIED_DOMAINS] = "[]",
        [SHAPE_ADDRESSES] = "[]",
        [SHAPE_PORTS] = "[80]",
        [SHAPE_MACH] = "[\"x\"]",
        [SHAPE_REASONS] = "{}",
        [SHAPE_REQUESTS] = "[\"GET x/y\"]",
        [SHAPE_DENIED_REQUESTS] = "[\"read-only x\"]",
        [SHAPE_CREDENTIALS] = "[\"X -> x.example/y\"]",
        [SHAPE_LOGINS] = "[\"* -> git@x.example\"]",
        [SHAPE_IGNORES] = "{}",
        [SHAPE_PROXY] = "{}",
        [SHAPE_TERMINATE] = "{}",
        [SHAPE_MITM] = "{\"socketPath\": \"/s\", \"domains\": [\"a.b\"]}",
        [SHAPE_TARGETS] = "\"refuse\"",
        [SHAPE_MASKS] = "{\"envVars\": [{\"name\": \"X\", \"mode\": \"deny\"}]}",
        [SHAPE_CLASSES] = "[\"tools\"]",
        [SHAPE_COMMANDS] = "[{\"match\": \"x\", \"ask\": true}]",
    };
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        const struct setting_key *k = &setting_keys[i];
        char text[256], path[96];
        const char *form = *k->section ? "{\"%s\": {\"%s\": %s}}" : "{%.0s\"%s\": %s}";
        setting_path(k, path);
        snprintf(text, sizeof(text), form, k->section, k->name, good[k->shape]);
        if (k->effect == EFFECT_LATER)
            ok(strstr(first_error(text), "not supported yet"), "%s is not supported yet", path);
        else
            is_str(first_error(text), "", "%s takes %s", path, setting_shape_word(k->shape));
        ok(setting_by_path(path) == k, "%s is found", path);
        snprintf(text, sizeof(text), form, k->section, k->name,
                 k->shape == SHAPE_TEXT ? "1" : "\"no\"");
        if (k->shape != SHAPE_ANY)
            ok(first_error(text)[0], "%s does not take anything", path);
    }
}

int main(void)
{
    arena_init(&arena, 256 << 20);
    test_values();
    test_wrong();
    test_large();
    test_tree();
    test_check();
    test_keys();
    arena_free(&arena);
    return done_testing();
}
