/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* src/learn: traces in bounded memory, rules from them, their text, and the proof. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analyze.h"
#include "base/own.h"
#include "learn/learned.h"
#include "tap.h"

static const struct anchors anchors = {{NULL, "/home/u", "/home/u/proj", "/tmp/run-1"}};

static void use(struct trace *t, enum vocab_op op, const char *path)
{
    trace_add_path(t, op, path, strlen(path), "/usr/bin/prog", 1);
}

/* ---- traces ---- */

static void test_add(void)
{
    struct bk_err err;
    OWN(trace) struct trace t;
    struct event e = {.op = OP_NETWORK_OUTBOUND, .allow = true, .count = 1};
    is_int(trace_init(&t, NULL, &err), 0, "a trace");
    use(&t, OP_FILE_READ_DATA, "/a/b");
    use(&t, OP_FILE_READ_DATA, "/a/b");
    use(&t, OP_FILE_WRITE_DATA, "/a/b");
    is_int(t.nnodes, 3, "equal uses share a node");
    is_int((int)t.nodes[trace_find(&t, "/a/b")].own.count, 3, "and are counted");
    ok(trace_find(&t, "/a/c") == UINT32_MAX, "a path that was not used has no node");
    static const char *const bad[] = {"", "a", "/a/../b", "/a//b", "/a/.", "/a/"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        use(&t, OP_FILE_READ_DATA, bad[i]);
    is_int(t.nnodes, 3, "other texts are not taken for paths");
    is_int((int)t.skipped, (int)(sizeof(bad) / sizeof(bad[0])), "but counted");
    snprintf(e.path, sizeof(e.path), "Example.COM:443");
    e.path_len = (uint32_t)strlen(e.path);
    trace_add(&t, &e);
    ok(t.nhosts == 1 && strcmp(t.hosts[0].name, "example.com") == 0 && t.hosts[0].port == 443,
       "a host, in its canonical form");
    snprintf(e.path, sizeof(e.path), "a\"b:443");
    e.path_len = (uint32_t)strlen(e.path);
    trace_add(&t, &e);
    is_int((int)t.nhosts, 1, "what is no host is left out");
}

static void test_bounds(void)
{
    struct bk_err err;
    OWN(trace) struct trace t;
    char path[64];
    enum { MANY = 1000000 };
    is_int(trace_init(&t, NULL, &err), 0, "a trace");
    for (int i = 0; i < MANY; i++) {
        snprintf(path, sizeof(path), "/d%d/f%d", i % 600, i);
        use(&t, OP_FILE_READ_DATA, path);
    }
    ok(t.nnodes <= 200000, "a million files have %u nodes", t.nnodes);
    is_int((int)t.events, MANY, "all uses are counted");
    ok(t.left > 0 && t.left < MANY, "those without a name, too");
    size_t bytes = t.arena.used + t.cap_nodes * (sizeof(*t.nodes) + 2 * sizeof(*t.slots));
    ok(bytes < 64 << 20, "in %zu bytes", bytes);

    OWN(trace) struct trace one;
    is_int(trace_init(&one, NULL, &err), 0, "a trace");
    for (int i = 0; i < 100000; i++) {
        snprintf(path, sizeof(path), "/one/f%d", i);
        use(&one, OP_FILE_WRITE_CREATE, path);
    }
    ok(one.nnodes < 2100, "one folder with 100,000 names has %u nodes", one.nnodes);
    ok(one.nodes[trace_find(&one, "/one")].many.ops != 0, "the rest are many");
    OWN(learned) struct learned l = {0};
    const struct learn_request q = {.trace = &one, .anchors = &anchors, .how = LEARN_TIGHT};
    is_int(learn_generalise(&q, &l, &err), 0, "rules from it");
    is_int((int)l.n, 2001, "the folder is never opened as a whole: names, and a pattern");
}

static void test_file(void)
{
    struct bk_err err;
    OWN(trace) struct trace t;
    OWN(trace) struct trace back;
    OWN(buf) struct buf text = {0};
    OWN(buf) struct buf again = {0};
    trace_init(&t, NULL, &err);
    trace_init(&back, NULL, &err);
    use(&t, OP_FILE_READ_DATA, "/home/u/proj/a b\n\"c\"");
    use(&t, OP_FILE_READ_DATA, "/tmp/run-1/x");
    use(&t, OP_FILE_WRITE_DATA, "/home/u/\xff\xfe");
    trace_add_host(&t, "example.com", 11, 443, "", 2);
    trace_write(&t, &anchors, &text);
    const struct anchors later = {{NULL, "/home/u", "/home/u/proj", "/tmp/run-2"}};
    is_int(trace_read(&back, &later, "t", text.s, text.n, &err), 0, "a written trace is read");
    ok(trace_find(&back, "/tmp/run-2/x") != UINT32_MAX, "TMPDIR is that of the run that reads");
    ok(trace_find(&back, "/home/u/\xff\xfe") != UINT32_MAX, "bytes that are not UTF-8");
    ok(trace_find(&back, "/home/u/proj/a b\n\"c\"") != UINT32_MAX, "quotes and newlines");
    is_int((int)back.nhosts, 1, "hosts");
    trace_write(&back, &later, &again);
    is_str(again.s, text.s, "and written again it is the same");
}

static void test_bad_files(void)
{
    static const char *const bad[] = {
        "",
        "x",
        "{\"buckle-trace\": 2}\n",
        "{\"buckle-trace\": 1}\n[]\n",
        "{\"buckle-trace\": 1}\n{\"use\": \"file-read-data\"}\n",
        "{\"buckle-trace\": 1}\n{\"use\": \"nothing\", \"path\": \"/a\"}\n",
        "{\"buckle-trace\": 1}\n{\"use\": \"file-read-data\", \"path\": \"a\"}\n",
        "{\"buckle-trace\": 1}\n{\"use\": \"file-read-data\", \"path\": \"/a/../b\"}\n",
        "{\"buckle-trace\": 1}\n{\"use\": \"file-read-data\", \"path\": \"/a\\u0000\"}\n",
        "{\"buckle-trace\": 1}\n{\"use\": \"file-read-data\", \"path\": \"/a\", \"count\": -1}\n",
        "{\"buckle-trace\": 1}\n{\"use\": \"file-read-data\", \"in\": \"ETC\", \"path\": \"/a\"}\n",
        "{\"buckle-trace\": 1}\n{\"use\": \"file-read-data\", \"hex\": \"2f0\"}\n",
        "{\"buckle-trace\": 1}\n{\"use\": \"file-read-data\", \"hex\": \"2f00\"}\n",
        "{\"buckle-trace\": 1}\n{\"use\": \"network-outbound\", \"host\": \"a b\", \"port\": 1}\n",
        "{\"buckle-trace\": 1}\n{\"use\": \"network-outbound\", \"host\": \"a\", \"port\": 0}\n",
    };
    struct bk_err err;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        OWN(trace) struct trace t;
        trace_init(&t, NULL, &err);
        is_int(trace_read(&t, &anchors, "t", bad[i], strlen(bad[i]), &err), -1, "refused: %.60s",
               bad[i]);
    }
}

/* ---- names ---- */

static void test_names(void)
{
    static const struct {
        const char *name, *pattern;
        bool temporary, number, strict;
        enum name_kind kind;
    } rows[] = {
        {"main.c", "main\\.c", false, false, false, NAME_PLAIN},
        {"main.c", "main\\.c", true, false, false, NAME_PLAIN},
        {"README.md", "README\\.md", true, false, false, NAME_PLAIN},
        {"index.lock", "index\\.lock", true, false, false, NAME_PLAIN},
        {"CMakeLists.txt", "CMakeLists\\.txt", false, false, false, NAME_PLAIN},
        {"python3.11", "python3\\.11", false, false, false, NAME_PLAIN},
        {"libc.so.6", "libc\\.so\\.6", true, false, false, NAME_PLAIN},
        {"x86_64-linux-gnu", "x86_64-linux-gnu", false, false, false, NAME_PLAIN},
        {"ccIOjFdQ.cdtor.o", "cc[A-Za-z0-9_]+\\.cdtor\\.o", true, false, false, NAME_RANDOM},
        {"sedk3XbQ9", "sed[A-Za-z0-9_]+", true, false, false, NAME_RANDOM},
        {"foo.aB3dE9", "foo\\.[A-Za-z0-9_]+", false, false, false, NAME_RANDOM},
        {"tmp_obj_aX3bQ9", "tmp_obj_[A-Za-z0-9_]+", true, false, false, NAME_RANDOM},
        {"tmprjecmt1c", "tmp[A-Za-z0-9_]+", true, false, false, NAME_RANDOM},
        {"tmppcypaeij", "tmp[A-Za-z0-9_]+", true, false, false, NAME_RANDOM},
        {"tmp_x7abcde", "tmp[A-Za-z0-9_]+", true, false, false, NAME_RANDOM},
        {"test_files.pyc.140234", "test_files\\.pyc\\.[0-9]+", true, false, false, NAME_NUMBERED},
        {"foo.aB3dE9", "foo\\.aB3dE9", false, false, true, NAME_PLAIN},
        {"4b825dc642cb6eb9a060e54bf8d69288fbee4904", "[0-9a-f]+", false, false, false,
         NAME_NUMBERED},
        {"deadbeefdead", "deadbeefdead", false, false, false, NAME_PLAIN},
        {"core.123456", "core\\.[0-9]+", false, false, false, NAME_NUMBERED},
        {"core.1234", "core\\.[0-9]+", true, false, false, NAME_NUMBERED},
        {"2026-11-16T22_53_24_656Z-debug-0.log",
         "[0-9]+-[0-9]+-[0-9]+T[0-9]+_[0-9]+_[0-9]+_[0-9]+Z-debug-[0-9]+\\.log", false, false,
         false, NAME_NUMBERED},
        {"7", "[0-9]+", false, true, false, NAME_NUMBERED},
        {"a(b)[c]*+?{}|^$\\.", "a\\(b\\)\\[c\\]\\*\\+\\?\\{\\}\\|\\^\\$\\\\\\.", false, false,
         false, NAME_PLAIN},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OWN(buf) struct buf out = {0};
        const struct name_facts f = {rows[i].temporary, rows[i].number, rows[i].strict};
        int kind = name_pattern(rows[i].name, strlen(rows[i].name), &f, &out);
        is_str(out.s, rows[i].pattern, "the pattern of %s", rows[i].name);
        is_int(kind, rows[i].kind, "and its kind");
    }
}

/* ---- rules ---- */

struct rules {
    struct trace t;
    struct learned l;
    struct buf text;
};

static bool closes_store(void *arg, enum use_class c, const char *folder)
{
    (void)arg;
    (void)c;
    return strcmp(folder, "/srv/store") == 0;
}

static void make_rules(struct rules *r, enum learn_how how, enum vocab_op op,
                       const char *const *paths)
{
    struct bk_err err;
    *r = (struct rules){0};
    trace_init(&r->t, NULL, &err);
    for (; *paths; paths++)
        use(&r->t, op, *paths);
    const struct learn_request q = {
        .trace = &r->t, .anchors = &anchors, .how = how, .closed = closes_store};
    is_int(learn_generalise(&q, &r->l, &err), 0, "rules");
    for (size_t i = 0; i < r->l.n; i++)
        learned_rule_text(&r->l.rules[i], how, &r->text);
}

static void free_rules(struct rules *r)
{
    trace_free(&r->t);
    learned_free(&r->l);
    buf_free(&r->text);
}

static void test_generalise(void)
{
    static const struct {
        const char *what;
        enum learn_how how;
        enum vocab_op op;
        const char *paths[8];
        const char *text;
    } rows[] = {
        {"few files are literals",
         LEARN_USUAL,
         OP_FILE_READ_DATA,
         {"/opt/x/a", "/opt/x/b"},
         "(allow file-read* (literal \"/opt/x/a\"))\n(allow file-read* (literal \"/opt/x/b\"))\n"},
        {"several are their folder",
         LEARN_USUAL,
         OP_FILE_READ_DATA,
         {"/opt/x/a", "/opt/x/b", "/opt/x/c/d"},
         "(allow file-read* (subpath \"/opt/x\"))\n"},
        {"not if it is to be tight",
         LEARN_TIGHT,
         OP_FILE_READ_DATA,
         {"/opt/x/a", "/opt/x/b", "/opt/x/c"},
         "(allow file-read-data (literal \"/opt/x/a\"))\n"
         "(allow file-read-data (literal \"/opt/x/b\"))\n"
         "(allow file-read-data (literal \"/opt/x/c\"))\n"},
        {"the working folder",
         LEARN_USUAL,
         OP_FILE_READ_DATA,
         {"/home/u/proj/a", "/home/u/proj/b", "/home/u/proj/c"},
         "(allow file-read* (subpath (param \"CWD\")))\n"},
        {"never the home folder",
         LEARN_LOOSE,
         OP_FILE_READ_DATA,
         {"/home/u/a", "/home/u/b"},
         "(allow file-read* (literal (string-append (param \"HOME\") \"/a\")))\n"
         "(allow file-read* (literal (string-append (param \"HOME\") \"/b\")))\n"},
        {"never what is above it",
         LEARN_LOOSE,
         OP_FILE_READ_DATA,
         {"/home/u/.config/a", "/home/v/b", "/home/w/c"},
         "(allow file-read* (literal \"/home/v/b\"))\n"
         "(allow file-read* (literal \"/home/w/c\"))\n"
         "(allow file-read* (literal (string-append (param \"HOME\") \"/.config/a\")))\n"},
        {"never the root",
         LEARN_LOOSE,
         OP_FILE_WRITE_DATA,
         {"/a", "/b", "/c"},
         "(allow file-read* file-write* (literal \"/a\"))\n"
         "(allow file-read* file-write* (literal \"/b\"))\n"
         "(allow file-read* file-write* (literal \"/c\"))\n"},
        {"never a folder with something closed in it",
         LEARN_LOOSE,
         OP_FILE_READ_DATA,
         {"/srv/store/a", "/srv/store/b"},
         "(allow file-read* (literal \"/srv/store/a\"))\n"
         "(allow file-read* (literal \"/srv/store/b\"))\n"},
        {"TMPDIR is always the folder",
         LEARN_TIGHT,
         OP_FILE_WRITE_CREATE,
         {"/tmp/run-1/x/y"},
         "(allow file-read-data file-write* (subpath (param \"TMPDIR\")))\n"},
        {"processes",
         LEARN_USUAL,
         OP_FILE_READ_DATA,
         {"/proc/12/maps", "/proc/13/maps"},
         "(allow file-read* (regex \"^/proc/[0-9]+/maps$\"))\n"},
        {"a random name in a temporary folder, and all below it",
         LEARN_USUAL,
         OP_FILE_WRITE_CREATE,
         {"/tmp/pip-aB3dE9/x", "/tmp/pip-aB3dE9/y"},
         "(allow file-read* file-write* (regex \"^/tmp/pip-[A-Za-z0-9_]+(/|$)\"))\n"},
        {"programs",
         LEARN_USUAL,
         OP_PROCESS_EXEC,
         {"/usr/bin/a", "/usr/bin/b", "/usr/bin/c"},
         "(allow process-exec* (literal \"/usr/bin/a\"))\n"
         "(allow process-exec* (literal \"/usr/bin/b\"))\n"
         "(allow process-exec* (literal \"/usr/bin/c\"))\n"},
        {"hostile names",
         LEARN_USUAL,
         OP_FILE_READ_DATA,
         {"/opt/a\")\n(allow default)", "/opt/#\"^.*\""},
         "(allow file-read* (literal \"/opt/#\\\"^.*\\\"\"))\n"
         "(allow file-read* (literal \"/opt/a\\\")\\n(allow default)\"))\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct rules r;
        make_rules(&r, rows[i].how, rows[i].op, rows[i].paths);
        is_str(r.text.s, rows[i].text, "%s", rows[i].what);
        free_rules(&r);
    }
}

/* ---- the proof ---- */

static const struct sbpl_param params[] = {
    {"HOME", "/home/u"}, {"CWD", "/home/u/proj"}, {"TMPDIR", "/tmp/run-1"}};

static int compile_base(const char *text, struct graph **out, struct bk_err *err)
{
    OWN(sbpl_unit) struct sbpl_unit unit;
    const struct sbpl_options opt = {
        .params = params, .nparams = 3, .shipped_only = true, .os = VOCAB_OS_ANY};
    sbpl_unit_init(&unit, &opt);
    if (sbpl_add_text(&unit, "base", text, strlen(text), err) < 0)
        return -1;
    return sbpl_compile(&unit, out, err);
}

static void test_proof(void)
{
    struct bk_err err = {0};
    OWN(trace) struct trace t;
    OWN(learned) struct learned l = {0};
    OWN(buf) struct buf text = {0};
    struct proof proof;
    struct graph *base = NULL;
    const struct sbpl_options opt = {
        .params = params, .nparams = 3, .shipped_only = true, .os = VOCAB_OS_ANY};
    is_int(compile_base("(version 1)(import \"learn.sb\")", &base, &err), 0, "the base: %s",
           err.msg);
    trace_init(&t, NULL, &err);
    use(&t, OP_FILE_READ_DATA, "/usr/lib/x.so");
    use(&t, OP_FILE_READ_DATA, "/opt/x/a");
    use(&t, OP_FILE_READ_DATA, "/opt/x/b");
    use(&t, OP_FILE_READ_DATA, "/opt/x/c");
    use(&t, OP_FILE_WRITE_CREATE, "/home/u/proj/out");
    use(&t, OP_NETWORK_BIND, "/home/u/proj/sock");
    use(&t, OP_NETWORK_OUTBOUND, "/home/u/proj/sock");
    trace_add_host(&t, "example.com", 11, 443, "/usr/bin/curl", 1);
    trace_add_host(&t, "192.0.2.1", 9, 80, "/usr/bin/curl", 1);
    trace_add_host(&t, "127.0.0.1", 9, 8080, "/usr/bin/curl", 1);
    struct prove_request q = {.learn = {.trace = &t, .anchors = &anchors, .how = LEARN_USUAL},
                              .options = &opt,
                              .base = base};
    is_int(learn_cover(&q, &t, &err), 0, "what system.sb allows");
    ok(t.nodes[trace_find(&t, "/usr/lib/x.so")].covered != 0, "needs no rule");
    is_int(learn_generalise(&q.learn, &l, &err), 0, "rules");
    /* a rule that nothing needs */
    use(&t, OP_FILE_READ_DATA, "/opt/x/a");
    is_int(learned_add_path(&l, &q.learn, trace_find(&t, "/opt/x/a"), 1, 0, &err), 0, "one more");
    is_int(learn_prove(&q, &l, &proof, &err), 0, "the proof: %s", err.msg);
    is_int((int)proof.failed, 0, "all uses are allowed %s", proof.failure);
    is_int((int)proof.dropped, 1, "the rule that nothing needs is dropped");
    is_int((int)(proof.wider + proof.undecided), 0, "not wider than the base, proved");
    for (size_t i = 0; i < l.n; i++)
        ok(l.rules[i].dropped || l.rules[i].needed, "rule %zu has a use that fails without it", i);
    learned_text(&l, &t, &q.words, &text);
    ok(strstr(text.s, "(domain \"example.com:443\")") != NULL, "a host by name");
    ok(strstr(text.s, "(remote ip \"192.0.2.1:80\")") != NULL, "an address");
    ok(strstr(text.s, "(remote ip \"localhost:8080\")") != NULL, "this machine");
    ok(strstr(text.s, "(extension \"buckle.created-socket\")") != NULL, "its own socket");
    graph_free(base);
}

static void test_base(void)
{
    struct bk_err err = {0};
    OWN(trace) struct trace t;
    OWN(learned) struct learned l = {0};
    OWN(buf) struct buf text = {0};
    struct proof proof;
    struct graph *base = NULL;
    const struct sbpl_options opt = {
        .params = params, .nparams = 3, .shipped_only = true, .os = VOCAB_OS_ANY};
    is_int(compile_base("(version 1)(import \"learn.sb\")(deny file-read-data (subpath "
                        "\"/opt/x/secret\"))",
                        &base, &err),
           0, "a base with a denial");
    trace_init(&t, NULL, &err);
    use(&t, OP_FILE_READ_DATA, "/opt/x/a");
    use(&t, OP_FILE_READ_DATA, "/opt/x/b");
    use(&t, OP_FILE_READ_DATA, "/opt/x/c");
    struct prove_request q = {.learn = {.trace = &t, .anchors = &anchors, .how = LEARN_USUAL},
                              .options = &opt,
                              .base = base};
    is_int(learn_generalise(&q.learn, &l, &err), 0, "rules");
    is_int((int)l.n, 1, "the folder");
    is_int(learn_prove(&q, &l, &proof, &err), 0, "the proof: %s", err.msg);
    is_int((int)proof.narrowed, 1, "which would open what the base denies, is narrowed");
    is_int((int)(proof.failed + proof.wider + proof.undecided), 0, "and then it is right");
    learned_text(&l, &t, &q.words, &text);
    ok(!strstr(text.s, "subpath") && strstr(text.s, "(literal \"/opt/x/b\")"), "to its files");
    graph_free(base);
}

/* ---- one policy within another ---- */

static void test_within(void)
{
    static const struct {
        const char *a, *b;
        bool within;
    } rows[] = {
        {"(deny default)", "(deny default)", true},
        {"(deny default)", "(allow default)", true},
        {"(allow default)", "(deny default)", false},
        {"(allow default)", "(allow default)(deny file-read-data (subpath \"/a\"))", false},
        {"(deny default)(allow file-read* (literal \"/a/b\"))",
         "(deny default)(allow file-read* (subpath \"/a\"))", true},
        {"(deny default)(allow file-read* (subpath \"/a\"))",
         "(deny default)(allow file-read* (literal \"/a/b\"))", false},
        {"(deny default)(allow file-read* (literal \"/a/b.c\"))",
         "(deny default)(allow file-read* (regex #\"\\.c$\"))", true},
        {"(deny default)(allow file-read* (literal \"/a/b.d\"))",
         "(deny default)(allow file-read* (regex #\"\\.c$\"))", false},
        {"(deny default)(allow file-read* (subpath \"/a\"))(deny file-read* (subpath \"/a/x\"))",
         "(allow default)(deny file-read* (subpath \"/a/x\"))", true},
        /* a rule for one kind wins over a denial of all */
        {"(deny default)(allow file-read-data (subpath \"/a\"))(deny file-read* (subpath "
         "\"/a/x\"))",
         "(allow default)(deny file-read* (subpath \"/a/x\"))", false},
        {"(deny default)(allow file-read* (subpath \"/a\"))",
         "(deny default)(allow file-read* (require-all (subpath \"/a\") (extension \"e\")))",
         false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct bk_err err = {0};
        struct graph *a = NULL, *b = NULL;
        bool within[OP_COUNT] = {false};
        char text[2][400];
        snprintf(text[0], sizeof(text[0]), "(version 1)%s", rows[i].a);
        snprintf(text[1], sizeof(text[1]), "(version 1)%s", rows[i].b);
        is_int(compile_base(text[0], &a, &err) + compile_base(text[1], &b, &err), 0, "%s", err.msg);
        is_int(graph_within(a, b, within, &err), 0, "compared");
        is_int(within[OP_FILE_READ_DATA], rows[i].within, "%s within %s", rows[i].a, rows[i].b);
        graph_free(a);
        graph_free(b);
    }
}

/* ---- reporting what is used ---- */

static struct graph_verdict ask(const struct graph *g, enum vocab_op op, const char *path)
{
    struct graph_cache *c = graph_cache_new(g);
    struct graph_fact f = {.filter = FILTER_PATH, .str = path, .len = (uint32_t)strlen(path)};
    const struct graph_query q = {.op = (uint16_t)op, .facts = &f, .nfacts = 1};
    struct graph_verdict v = graph_eval(g, c, &q);
    graph_cache_free(c);
    return v;
}

static void test_uses(void)
{
    static const char rules[] = "(version 1)(deny default)(allow file* (subpath \"/a\"))"
                                "(deny file-read-data (subpath \"/a/x\"))(allow process-exec*)";
    struct bk_err err = {0};
    struct graph *plain = NULL, *traced = NULL, *other = NULL;
    char text[400];
    enum graph_equality how;
    static const struct graph_diff_how verdicts = {.verdicts = true};
    is_int(compile_base(rules, &plain, &err), 0, "a policy");
    snprintf(text, sizeof(text), "%s(trace \"%s\")", rules, GRAPH_TRACE_USES);
    is_int(compile_base(text, &traced, &err), 0, "the same, traced");
    snprintf(text, sizeof(text), "%s(trace \"out.sb\")", rules);
    is_int(compile_base(text, &other, &err), 0, "with a trace file of its own");
    ok(ask(traced, OP_FILE_READ_DATA, "/a/b").flags & VOCAB_FLAG_REPORT, "a use is reported");
    ok(ask(traced, OP_PROCESS_EXEC, "/a/b").flags & VOCAB_FLAG_REPORT, "so is a program");
    ok(!(ask(traced, OP_FILE_READ_METADATA, "/a/b").flags & VOCAB_FLAG_REPORT),
       "looking at a file is not");
    ok(!(ask(other, OP_FILE_READ_DATA, "/a/b").flags & VOCAB_FLAG_REPORT),
       "another trace changes nothing");
    is_int(graph_diff(plain, traced, &verdicts, NULL, NULL, &how, &err), 0, "compared");
    is_int(how, GRAPH_EQUAL, "no verdict differs");
    graph_free(plain);
    graph_free(traced);
    graph_free(other);
}

static void test_comments(void)
{
    struct bk_err err = {0};
    OWN(trace) struct trace t;
    OWN(learned) struct learned l = {0};
    OWN(buf) struct buf text = {0};
    static const char *const paths[] = {"/opt/x/a\n(allow default)", "/opt/x/\r(b)",
                                        "/opt/x/\xe2\x80\xa8(allow default)"};
    trace_init(&t, NULL, &err);
    for (size_t i = 0; i < 3; i++)
        trace_add_path(&t, OP_FILE_READ_DATA, paths[i], strlen(paths[i]),
                       "/bin/e\nvil\")(allow default)\n(", 1);
    const struct learn_request q = {.trace = &t, .anchors = &anchors, .how = LEARN_USUAL};
    const struct learned_words w = {.command = "sh -c '\n(allow default)'",
                                    .base = "x\n(allow default)"};
    is_int(learn_generalise(&q, &l, &err), 0, "rules");
    learned_text(&l, &t, &w, &text);
    ok(!strstr(text.s, "\n(allow default"), "no name or command ends a comment");
    ok(!strchr(text.s, '\r'), "no carriage return either");
    struct graph *g = NULL;
    struct prove_request p = {
        .learn = q, .options = &(struct sbpl_options){.shipped_only = true, .os = VOCAB_OS_ANY}};
    is_int(learn_compile(&p, &text, &g, &err), 0, "and it compiles: %s", err.msg);
    graph_free(g);
}

int main(void)
{
    test_add();
    test_bounds();
    test_file();
    test_bad_files();
    test_names();
    test_generalise();
    test_proof();
    test_base();
    test_within();
    test_uses();
    test_comments();
    return done_testing();
}
