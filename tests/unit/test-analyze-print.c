/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Tests as SBPL and as English, graphs as text, dot and JSON, and explanations of decisions. */

#include "analyze/analyze.h"
#include "graph-maker.h"
#include "graph/build.h"
#include "graph/eval.h"
#include "graph/words.h"
#include "tap.h"

static struct buf out;

static const char *fresh(void)
{
    return out.s ? out.s : "";
}

static void clear(void)
{
    buf_free(&out);
}

static struct graph_test flag(enum vocab_filter filter)
{
    return (struct graph_test){.filter = (uint16_t)filter, .how = GRAPH_FLAG};
}

static void tests_in_words(void)
{
    struct graph_test mode = {.filter = FILTER_FILE_MODE, .how = GRAPH_MODE, .num = 0022};
    struct graph_test host = {
        .filter = FILTER_DOMAIN, .how = GRAPH_DOMAIN, .str = "*.a.b", .len = 5};
    struct graph_test sock = {
        .filter = FILTER_REMOTE, .how = GRAPH_NET, .net = {.proto = NET_UNIX}};
    const struct {
        struct graph_test test;
        const char *sbpl, *words;
    } rows[] = {
        {lit("/a")->test, "(literal \"/a\")", "the path is /a"},
        {sub("/a")->test, "(subpath \"/a\")", "the path is at or below /a"},
        {pre("/a\n\"")->test, "(prefix \"/a\\n\\\"\")", "the path starts with /a\\x0a\""},
        {rex("^/a\\.\"$")->test, "(regex #\"^/a\\.\\\"$\")", "the path matches ^/a\\.\"$"},
        {mk_str(FILTER_GLOBAL_NAME, GRAPH_LITERAL, "x")->test, "(global-name \"x\")",
         "the service name is x"},
        {mk_str(FILTER_GLOBAL_NAME, GRAPH_PREFIX, "x")->test, "(global-name-prefix \"x\")",
         "the service name starts with x"},
        {mk_str(FILTER_EXTENSION, GRAPH_LITERAL, "x")->test, "(extension \"x\")",
         "the extension is x"},
        {num(FILTER_TARGET, 1)->test, "(target self)", "the target process is self"},
        {num(FILTER_UID, 501)->test, "(uid 501)", "the user id is 501"},
        {mode, "(file-mode #o22)", "the file's mode has a bit of #o22"},
        {net(FILTER_REMOTE, NET_TCP, "localhost:80")->test, "(remote tcp \"localhost:80\")",
         "the remote endpoint is in tcp \"localhost:80\""},
        {sock, "(remote unix-socket)", "the remote endpoint is a unix socket"},
        {host, "(domain \"*.a.b\")", "the host is *.a.b"},
        {flag(FILTER_ROOTLESS_DISK_FILTER), "(rootless-disk-filter)",
         "the rootless-disk-filter is set"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        graph_test_print(&rows[i].test, &out);
        is_str(fresh(), rows[i].sbpl, "%s as SBPL", rows[i].sbpl);
        clear();
        graph_test_describe(&rows[i].test, true, &out);
        is_str(fresh(), rows[i].words, "%s in words", rows[i].sbpl);
        clear();
    }
}

static void rule_text(struct graph_build *b, unsigned line, bool allow, enum vocab_op op,
                      const struct graph_expr *when, const char *text)
{
    uint16_t ops[1] = {(uint16_t)op};
    struct graph_rule r = {.ops = ops,
                           .nops = 1,
                           .allow = allow,
                           .flags = allow ? 0 : VOCAB_FLAG_REPORT,
                           .when = when,
                           .origin = {.file = "t.sb", .line = line, .col = 1, .text = text}};
    if (graph_build_rule(b, &r, NULL) < 0)
        printf("Bail out! rule %u\n", line);
}

static struct graph *sample(unsigned extra)
{
    struct graph_build *b = start(1);
    rule_text(b, 1, false, OP_DEFAULT, NULL, "(deny default)");
    rule_text(b, 2, true, OP_FILE_READ, any(sub("/usr"), sub("/lib")),
              "(allow file-read*\n    (subpath \"/usr\")\n    (subpath \"/lib\"))");
    rule_text(b, 3, true, OP_FILE, all(sub("/home"), not_(sub("/home/.ssh"))), "(allow file* …)");
    for (unsigned i = 0; i < extra; i++) {
        char *path = arena_alloc(&maker_arena, 16);
        snprintf(path, 16, "/opt/%u", i);
        rule_text(b, 10 + i, true, OP_FILE_READ, lit(path), "(allow …)");
    }
    rule_text(b, 99, false, OP_FILE_READ_DATA, rex("key$"), "(deny file-read-data …)");
    return finish(b);
}

static void text(void)
{
    struct graph *g = sample(0);
    graph_print_text(g, OP_FILE_READ_DATA, &out);
    /* Decisions are made before the tests that lead to them, parents' lists before children's:
     * 0 deny default, 1 the built-in allow, then file*, file-read*, file-read-data. */
    is_str(fresh(),
           "version 1, 6 rules, 5 tests, 11 nodes\n\n"
           "file-read-data:\n"
           "     9  (regex #\"key$\")  yes 8, no 7                    t.sb:99\n"
           "     8  deny report                                     t.sb:99\n"
           "     7  (subpath \"/usr\")  yes 5, no 6                   t.sb:2\n"
           "     6  (subpath \"/lib\")  yes 5, no 4                   t.sb:2\n"
           "     5  allow                                           t.sb:2\n"
           "     4  (subpath \"/home\")  yes 3, no 0                  t.sb:3\n"
           "     3  (subpath \"/home/.ssh\")  yes 0, no 2             t.sb:3\n"
           "     2  allow                                           t.sb:3\n"
           "     0  deny report                                     t.sb:1\n",
           "one operation as text");
    clear();
    graph_print_text(g, OP_NONE, &out);
    ok(strstr(fresh(), "\ndefault and every operation not listed:\n     0  deny report") != NULL,
       "operations without rules are not listed");
    ok(strstr(fresh(), "\nfile-read* file-read-metadata file-read-xattr:\n") != NULL,
       "operations that share an entry share a heading");
    clear();
    graph_free(g);
}

/* Quotes closed, brackets paired, nothing after the end: enough to catch a comma or quote lost. */
static bool balanced(const char *s)
{
    char stack[64];
    size_t n = 0;
    bool ended = false;
    for (; *s; s++) {
        if (*s == '"') {
            for (s++; *s && *s != '"'; s++)
                if (*s == '\\' && s[1])
                    s++;
            if (!*s)
                return false;
        } else if (*s == '{' || *s == '[') {
            if (ended || n == sizeof(stack))
                return false;
            stack[n++] = *s == '{' ? '}' : ']';
        } else if (*s == '}' || *s == ']') {
            if (n == 0 || stack[--n] != *s)
                return false;
            ended = n == 0;
        } else if (*s == ',' && strchr("]},", s[1 + strspn(s + 1, " \n")])) {
            return false;
        }
    }
    return ended && n == 0;
}

static unsigned occurrences(const char *s, const char *piece)
{
    unsigned n = 0;
    for (const char *p = s; (p = strstr(p, piece)) != NULL; p++)
        n++;
    return n;
}

static void machines(void)
{
    struct graph *g = sample(2);
    graph_print_json(g, OP_NONE, &out);
    ok(balanced(fresh()), "JSON is well-formed");
    is_int(occurrences(fresh(), "\"test\": "), 7, "a filter node each for 7 tests");
    ok(strstr(fresh(), "\"file-read-data\": ") != NULL, "entries by name");
    clear();
    graph_print_json(g, OP_FILE_WRITE_DATA, &out);
    ok(balanced(fresh()), "JSON of one operation");
    is_int(occurrences(fresh(), "\"match\": "), 2, "has its two filter nodes");
    clear();
    graph_print_dot(g, OP_FILE_READ_DATA, &out);
    ok(strncmp(fresh(), "digraph ", 8) == 0 && balanced(strchr(fresh(), '{')), "dot");
    is_int(occurrences(fresh(), "label=\"yes\""), 7, "with an edge for every test");
    is_int(occurrences(fresh(), "label=\"no\""), 7, "in both directions");
    clear();
    graph_free(g);
}

static void explain(const struct graph *g, const char *path, bool json)
{
    struct graph_cache *c = graph_cache_new(g);
    struct graph_fact f = {.filter = FILTER_PATH, .str = path, .len = (uint32_t)strlen(path)};
    struct graph_query q = {.op = OP_FILE_READ_DATA, .facts = &f, .nfacts = 1};
    clear();
    (json ? graph_explain_json : graph_explain_text)(g, c, &q, &out);
    graph_cache_free(c);
}

static void stories(void)
{
    struct graph *g = sample(0);
    explain(g, "/lib/x", false);
    is_str(fresh(),
           "allow file-read-data /lib/x\n"
           "Decided by t.sb:2\n"
           "  (allow file-read* (subpath \"/usr\") (subpath \"/lib\"))\n"
           "  because the path is at or below /lib\n\n"
           "Tried before it, last written first\n"
           " rules for file-read-data\n"
           "  t.sb:99  (deny file-read-data …)\n"
           "      the path does not match key$\n\n"
           "Consulted the rules for file-read-data, then file-read*\n",
           "an alternative of the parent's rule");
    explain(g, "/home/me", false);
    ok(strstr(fresh(), "because the path is at or below /home\n"
                       "      and the path is not at or below /home/.ssh\n") != NULL,
       "both reasons of a conjunction");
    explain(g, "/home/.ssh/id", false);
    ok(strstr(fresh(), "  t.sb:3  (allow file* …)\n"
                       "      it is excluded: the path is at or below /home/.ssh\n") != NULL,
       "a rule that came near");
    ok(strstr(fresh(), "Decided by t.sb:1\n  (deny default)\n"
                       "  because no rule with a filter applies\n") != NULL,
       "the tail decides");
    ok(strstr(fresh(), "\nConsulted the rules for file-read-data, then file-read*, then file*, "
                       "then default\n") != NULL,
       "after all lists");
    explain(g, "/x\x1b[31m", false);
    ok(strchr(fresh(), '\x1b') == NULL, "control bytes do not reach the terminal");
    explain(g, "/home/.ssh/id", true);
    ok(balanced(fresh()) && strstr(fresh(), "\"decision\": \"deny\"") != NULL, "as JSON");
    is_int(occurrences(fresh(), "\n    {\"operation\": "), 3, "with the three rules tried");
    graph_free(g);

    g = sample(30);
    explain(g, "/z", false);
    is_int(occurrences(fresh(), "the path is not /opt/"), 3, "of a long run three rules are told");
    ok(strstr(fresh(), "  … and 28 other rules whose path filters do not match\n") != NULL,
       "and the others counted");
    graph_free(g);

    struct graph_build *b = start(1);
    uint16_t ops[] = {OP_FILE_READ_DATA, OP_FILE_READ};
    struct graph_rule both = {.ops = ops,
                              .nops = 2,
                              .allow = true,
                              .when = sub("/a"),
                              .origin = {.file = "t.sb", .line = 1, .text = "(allow …)"}};
    ok(graph_build_rule(b, &both, NULL) == 0, "a rule for parent and child");
    g = finish(b);
    explain(g, "/z", false);
    ok(strstr(fresh(), " rules for file-read-data\n  t.sb:1") != NULL &&
           strstr(fresh(), " rules for file-read*\n  t.sb:1") != NULL,
       "is tried in both lists");
    graph_free(g);

    g = finish(start(1));
    explain(g, "/z", false);
    is_str(fresh(),
           "deny file-read-data /z\n"
           "No rule applies, and without a rule for default the default is deny.\n\n"
           "Consulted the rules for file-read-data, then file-read*, then file*, then default\n",
           "an empty profile");
    struct graph_cache *c = graph_cache_new(g);
    struct graph_query q = {.op = OP_COUNT};
    clear();
    graph_explain_text(g, c, &q, &out);
    ok(strncmp(fresh(), "deny\n", 5) == 0, "an operation that does not exist");
    graph_cache_free(c);
    graph_free(g);
}

int main(void)
{
    tests_in_words();
    text();
    machines();
    stories();
    clear();
    arena_free(&maker_arena);
    return done_testing();
}
