/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Rules: their parts and origins, what fits and what does not, scopes, modifiers. */

#include "graph/eval.h"
#include "sbpl-maker.h"

static const struct graph_rule_info *rule_of(struct program *p, const char *op, const char *arg)
{
    struct graph_verdict v = program_ask(p, op, arg);
    return v.rule == GRAPH_NO_RULE || !p->graph ? NULL : graph_rule_at(p->graph, v.rule);
}

/* ---- verdicts ---- */

struct verdict_row {
    const char *rules; /* after (version 1)(deny default) */
    const char *op, *arg, *want;
};

static void test_parts(void)
{
    static const struct verdict_row rows[] = {
        /* operations, filters and modifiers in any order */
        {"(allow (literal \"/x\") file-read*)", "file-read-data", "/x", "allow"},
        {"(allow (with report) (literal \"/x\") file-read*)", "file-read-data", "/x", "allow"},
        {"(allow file-read* file-write* (literal \"/x\"))", "file-write-data", "/x", "allow"},
        {"(allow file-read* (literal \"/x\") file-write*)", "file-write-data", "/x", "allow"},
        /* several filters: any of them; several values of one filter: any of them */
        {"(allow file-read* (literal \"/x\") (subpath \"/y\"))", "file-read-data", "/y/z", "allow"},
        {"(allow file-read* (literal \"/x\" \"/y\"))", "file-read-data", "/y", "allow"},
        {"(allow file-read* (literal \"/x\" \"/y\"))", "file-read-data", "/z", "deny"},
        {"(allow file-read* (require-all (subpath \"/x\") (require-not (literal \"/x/y\"))))",
         "file-read-data", "/x/y", "deny"},
        {"(allow file-read* (require-not (literal \"/x\") (literal \"/y\")))", "file-read-data",
         "/y", "deny"},
        {"(allow file-read* (require-not (literal \"/x\") (literal \"/y\")))", "file-read-data",
         "/z", "allow"},
        /* nothing in require-any never holds, nothing in require-all always does */
        {"(allow file-read* (require-any))", "file-read-data", "/x", "deny"},
        {"(allow file-read* (require-all))", "file-read-data", "/x", "allow"},
        /* a list of filters made by the program */
        {"(define dirs '(\"/a\" \"/b\")) (apply allow file-read* (map subpath dirs))",
         "file-read-data", "/b/c", "allow"},
        {"(define f (require-any (literal \"/a\") (literal \"/b\"))) (allow file-read* f)",
         "file-read-data", "/b", "allow"},
        {"(define op file-read*) (allow op (literal \"/a\"))", "file-read-data", "/a", "allow"},
        /* 'no-op is an operation that newer systems ignore */
        {"(allow 'no-op)", "file-read-data", "/a", "deny"},
        {"(allow 'no-op file-read* (literal \"/a\"))", "file-read-data", "/a", "allow"},
        /* precedence: filtered rules by position, unfiltered ones after them all */
        {"(allow file-read* (literal \"/a\")) (deny file-read*)", "file-read-data", "/a", "allow"},
        {"(deny file-read* (literal \"/a\")) (allow file-read*)", "file-read-data", "/a", "deny"},
        {"(deny file-read* (literal \"/a\")) (allow file-read* (subpath \"/\"))", "file-read-data",
         "/a", "allow"},
        {"(deny file-read-data (literal \"/a\")) (allow file-read* (subpath \"/\"))",
         "file-read-data", "/a", "deny"},
        /* patterns */
        {"(allow file-read* (regex \"^/a[0-9]+$\"))", "file-read-data", "/a17", "allow"},
        {"(allow file-read* (regex #\"^/a\\.b$\"))", "file-read-data", "/axb", "deny"},
        {"(allow file-read* (glob \"/a/**/c\"))", "file-read-data", "/a/c", "allow"},
        {"(allow file-read* (prefix \"/a\"))", "file-read-data", "/abc", "allow"},
        {"(allow file-read* (subpath \"/a\"))", "file-read-data", "/abc", "deny"},
        {"(allow file-read* (subpath \"/a/\"))", "file-read-data", "/a/b", "allow"},
        {"(allow file-read* (path-ancestors \"/a/b/c\"))", "file-read-data", "/a/b", "allow"},
        {"(allow file-read* (path-ancestors \"/a/b/c\"))", "file-read-data", "/", "allow"},
        {"(allow file-read* (path-ancestors \"/a/b/c\"))", "file-read-data", "/a/b/c", "deny"},
        {"(allow file-read* (regex (string-append \"^\" (regex-quote \"/a.b\") \"$\")))",
         "file-read-data", "/axb", "deny"},
        /* filters that take nothing, or a boolean */
        {"(allow file-read* (rootless-disk-filter))", "file-read-data", "/a", "deny"},
        {"(allow file-read* (rootless-disk-filter #t))", "file-read-data", "/a", "deny"},
        {"(allow file-read* (rootless-disk-filter #f))", "file-read-data", "/a", "allow"},
        /* network */
        {"(allow network-outbound (remote tcp \"*:443\"))", "network-outbound", "tcp:1.2.3.4:443",
         "allow"},
        {"(allow network-outbound (remote tcp \"*:443\"))", "network-outbound", "tcp:1.2.3.4:80",
         "deny"},
        {"(allow network-outbound (remote ip \"*:80\" \"*:443\"))", "network-outbound",
         "tcp:1.2.3.4:443", "allow"},
        {"(allow network-outbound (remote port 1024-2048))", "network-outbound", "tcp:1.2.3.4:1500",
         "allow"},
        {"(allow network-outbound (remote port 80))", "network-outbound", "tcp:1.2.3.4:81", "deny"},
        {"(allow network-outbound (remote unix-socket (path-literal \"/run/s\")))",
         "network-outbound", "unix:/run/s", "allow"},
        {"(allow network-outbound (remote unix-socket (path-literal \"/run/s\")))",
         "network-outbound", "unix:/run/t", "deny"},
        {"(allow network-outbound (to tcp \"localhost:*\"))", "network-outbound", "tcp:127.0.0.1:5",
         "allow"},
        {"(allow network-outbound (remote ip))", "network-outbound", "udp:1.2.3.4:5", "allow"},
        {"(allow network-outbound (remote ip))", "network-outbound", "unix:/run/s", "deny"},
        {"(allow network-outbound (remote unix-socket))", "network-outbound", "unix:/run/s",
         "allow"},
        {"(allow network-outbound (domain \"*.example.com\"))", "network-outbound",
         "tcp:www.example.com:443", "allow"},
        {"(allow network-outbound (domain \"*.example.com\"))", "network-outbound",
         "tcp:example.com:443", "deny"},
        {"(allow file-read* (path-ancestors \"/a/b/\"))", "file-read-data", "/a/b", "deny"},
        {"(allow signal (target pid 7))", "signal", "target-pid=7", "allow"},
        {"(allow signal (target pid 7))", "signal", "target-pid=8", "deny"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        OWN(program) struct program p;
        char text[400];
        snprintf(text, sizeof(text), "(version 1)(deny default)%s", rows[i].rules);
        program_load(&p, text, &sbpl_any);
        is_str(program_result(&p, rows[i].op, rows[i].arg), rows[i].want, "%s: %s %s",
               rows[i].rules, rows[i].op, rows[i].arg);
    }
}

/* ---- where a rule comes from ---- */

static void check_origin(struct program *p, const char *path, uint32_t line, uint32_t col,
                         uint32_t via, const char *text, const char *name)
{
    const struct graph_rule_info *r = rule_of(p, "file-read-data", path);
    if (!ok(r != NULL, "%s: a rule decides", name))
        return;
    is_str(r->origin.file, "t.sb", "%s: file", name);
    is_int(r->origin.line, line, "%s: line", name);
    is_int(r->origin.col, col, "%s: column", name);
    is_int(r->origin.via_line, via, "%s: via", name);
    is_str(r->origin.text, text, "%s: text", name);
}

static void test_origin(void)
{
    OWN(program) struct program p;
    program_load(&p,
                 "(version 1)\n"
                 "  (allow file-read* ; why\n"
                 "     (literal \"/a\")\n"
                 "  )\n"
                 "(define (let-read p) (allow file-read* (literal p)))\n" /* line 5 */
                 "(let-read \"/b\")\n"
                 "(define (op name . rest) (apply allow name rest))\n"
                 "(op file-read* (literal \"/c\"))\n" /* line 8 */
                 "(if #t\n"
                 "    (allow file-read* (literal \"/d\")))\n" /* line 10 */
                 "(define-macro (inside dir . rules) `(with-filter (subpath ,dir) ,@rules))\n"
                 "(inside \"/e\"\n"
                 "  (allow file-read*))\n" /* line 13 */
                 "(let loop ((l '(\"/f1\" \"/f2\")))\n"
                 "  (if (pair? l) (begin (allow file-read* (literal (car l))) (loop (cdr l)))))\n"
                 "#|\xc3\xa9|# (allow file-read* (literal \"/g\"))\n" /* line 16 */
                 "(define real allow)\n"
                 "(set! allow (lambda args (apply real args)))\n"
                 "(if #t (allow file-read* (literal \"/h\")))\n" /* line 19 */
                 "(set! allow real)\n"
                 "(define (%finalize) (allow file-read* (literal \"/i\")))\n", /* line 21 */
                 &sbpl_any);
    ok(p.graph != NULL, "the profile loads (%s)", p.err.msg);
    check_origin(&p, "/a", 2, 3, 0, "(allow file-read* (literal \"/a\"))", "a plain rule");
    check_origin(&p, "/b", 5, 22, 6, "(allow file-read* (literal p))", "a rule in a procedure");
    check_origin(&p, "/c", 8, 1, 0, "(op file-read* (literal \"/c\"))", "a helper that applies");
    check_origin(&p, "/d", 10, 5, 0, "(allow file-read* (literal \"/d\"))", "a rule in if");
    check_origin(&p, "/e/x", 13, 3, 0, "(allow file-read*)", "a rule in the profile's own macro");
    check_origin(&p, "/f2", 15, 24, 0, "(allow file-read* (literal (car l)))", "a rule in a loop");
    check_origin(&p, "/g", 16, 7, 0, "(allow file-read* (literal \"/g\"))",
                 "columns are characters");
    check_origin(&p, "/h", 19, 8, 0, "(allow file-read* (literal \"/h\"))", "allow, wrapped");
    check_origin(&p, "/i", 21, 21, 0, "(allow file-read* (literal \"/i\"))", "a rule of %finalize");
}

static void test_long_text(void)
{
    /* 200 bytes are kept; one blank and one character at the edge must not exceed them */
    for (size_t pad = 150; pad < 190; pad++) {
        OWN(program) struct program p;
        OWN(buf) struct buf text = {0};
        buf_str(&text, "(version 1)(allow file-read* (literal \"/a\" \"");
        for (size_t i = 0; i < pad; i++)
            buf_chr(&text, 'x');
        buf_str(&text, "\" \"\xc3\xa9\xc3\xa9\" \"\xc3\xa9\" \"end of the rule\"))");
        program_load(&p, text.s, &sbpl_any);
        const struct graph_rule_info *r = rule_of(&p, "file-read-data", "/a");
        const char *shown = r ? r->origin.text : NULL;
        size_t n = shown ? strlen(shown) : 0, good = 0;
        while (good < n && utf8_width(shown + good, n - good))
            good += utf8_width(shown + good, n - good);
        ok(n > 190 && n < 204 && good == n && strcmp(shown + n - 3, "…") == 0,
           "a long rule is cut between characters (%zu)", pad);
    }
}

/* ---- what fits ---- */

static void test_errors(void)
{
    static const struct sbpl_row rows[] = {
        /* wrong filter: at the filter */
        {"(version 1)\n(allow mach-lookup\n  (domain \"x\"))", "wrong-filter@3:3"},
        {"(version 1)\n(allow file-read* (domain \"x\"))", "wrong-filter@2:19"},
        {"(version 1)\n(allow file-read* (literal \"/a\") (require-any (domain \"x\")))",
         "wrong-filter@2:34"},
        {"(version 1)(allow network-outbound mach-lookup (domain \"a\"))", "wrong-filter@1:48"},
        {"(version 1)\n(define f (domain \"x\"))\n(allow file-read* f)", "wrong-filter@3:19"},
        {"(version 1)\n(with-filter (domain \"x\")\n (allow mach-lookup))", "wrong-filter@3:2"},
        /* a parent takes what any descendant takes */
        /* Apple's compiler accepts any of its own filters: a warning */
        {"(version 1)\n(allow mach-lookup (subpath \"/x\"))", ""},
        {"(version 1)(allow file* (vnode-type DIRECTORY))", ""},
        {"(version 1)(allow mach* (global-name \"x\"))", ""},
        {"(version 1)(deny network* (remote ip \"*:*\"))", ""},
        {"(version 1)(allow default (subpath \"/x\"))", ""},
        /* wrong modifier: at the rule */
        {"(version 1)\n (deny file-read* (with report))", "wrong-modifier@2:2"},
        {"(version 1)\n(allow file-read* (with no-report))", "wrong-modifier@2:1"},
        {"(version 1)\n(allow file-read* (with no-log))", "wrong-modifier@2:1"},
        {"(version 1)\n(allow file-read* (with no-sandbox))", "wrong-modifier@2:1"},
        {"(version 1)\n(allow process-exec* (with no-sandbox) (literal \"/x\"))", ""},
        {"(version 1)\n(with-modifier (with report)\n  (deny file-read*))", "wrong-modifier@3:3"},
        /* values of modifiers */
        {"(version 1)(deny file-read* (with errno))", "argument-count@1:29"},
        {"(version 1)(deny file-read* (with errno \"x\"))", "wrong-type@1:41"},
        {"(version 1)(deny file-read* (with no-report 1))", "argument-count@1:29"},
        {"(version 1)(deny file-read* (with message 5))", "wrong-type@1:43"},
        {"(version 1)(deny file-read* (with subpath))", "wrong-type@1:35"},
        {"(version 1)(deny file-read* (with errno EPERM) (with message \"m\"))", ""},
        /* names */
        {"(version 1)\n(allow file-raed*)", "unbound@2:8"},
        {"(version 1)\n(allow file-read* (subpth \"/a\"))", "unbound@2:20"},
        {"(version 1)\n(alow file-read*)", "unbound@2:2"},
        /* parts that are none */
        {"(version 1)(allow file-read* \"/x\")", "bad-rule-part@1:30"},
        {"(version 1)(allow file-read* subpath)", "bad-rule-part@1:30"},
        {"(version 1)(allow file-read* report)", "bad-rule-part@1:30"},
        {"(version 1)(allow file-read* #f)", "bad-rule-part@1:30"},
        {"(version 1)(allow 'file-read*)", "bad-rule-part@1:19"},
        {"(version 1)(allow file-read* (list (literal \"/x\")))", "bad-rule-part@1:30"},
        /* values of filters */
        {"(version 1)(allow file-read* (literal))", "argument-count@1:30"},
        {"(version 1)(allow file-read* (literal \"/a\" 5))", "wrong-type@1:44"},
        {"(version 1)(allow file-read* (literal \"/a\\x00b\"))", "bad-string@1:39"},
        {"(version 1)(allow file-read* (vnode-type \"x\"))", "wrong-type@1:42"},
        {"(version 1)(allow file-read* (require-any (literal \"/a\") 5))", "wrong-type@1:58"},
        {"(version 1)(allow file-read* (require-not))", "argument-count@1:30"},
        {"(version 1)(allow network* (remote))", "argument-count@1:28"},
        {"(version 1)(allow network* (remote 4 \"*:*\"))", "wrong-type@1:36"},
        {"(version 1)(allow network* (remote 65539 \"*:*\"))", "wrong-type@1:36"},
        {"(version 1)(allow network* (remote tcp \"*:x\"))", "bad-address@1:40"},
        {"(version 1)(allow network* (remote tcp \"*:1\" 5))", "wrong-type@1:46"},
        {"(version 1)(allow network* (remote port 65536))", "bad-port@1:41"},
        {"(version 1)(allow network* (remote port))", "argument-count@1:28"},
        {"(version 1)(allow network* (domain \"a..b\"))", "bad-domain@1:36"},
        /* a regex's own column */
        {"(version 1)(allow file-read* (regex #\"^/a(b\"))", "bad-regex@1:42"},
        {"(version 1)(allow file-read* (regex #\"a[\"))", "bad-regex@1:40"},
        {"(version 1)(allow file-read* (regex (string-append \"a\" \"(\")))", "bad-regex@1:37"},
        /* scopes */
        {"(version 1)(with-filter 5 (allow file-read*))", "bad-scope@1:25"},
        {"(version 1)(with-modifier (literal \"/x\") (allow file-read*))", "bad-scope@1:27"},
        {"(version 1)(with-operations file-read* (allow))", "bad-scope@1:29"},
        {"(version 1)(with-operations '(a) (allow))", "bad-scope@1:29"},
        /* message operations are allowed only inside apply-message-filter, and nothing else is */
        {"(version 1)\n(allow mach-message-send)", "wrong-place@2:1"},
        {"(version 1)\n(allow mach-lookup (apply-message-filter\n (allow file-read*)))",
         "wrong-place@3:2"},
        {"(version 1)\n(allow mach-lookup (apply-message-filter (allow iokit-open\n"
         " (apply-message-filter))))",
         "nested-message-filter@3:2"},
        {"(version 1)\n(allow file-read* (apply-message-filter (deny mach-message-send)))", ""},
        {"(version 1)\n(deny mach-lookup (apply-message-filter (deny mach-message-send)))",
         "wrong-modifier@2:1"},
        {"(version 1)(allow mach-lookup (with message-filter))", "argument-count@1:31"},
        /* an error leaves no wrapper of allow behind */
        {"(version 1)\n(begin (set! allow (lambda r (error \"mine\"))) (car 5))\n(allow "
         "file-read*)",
         "wrong-type@2:52"},
        /* a name whose definition could not be read is not reported again; others are */
        {"(version 1)\n(define (f x)\n  (car x)\n(f 1)\n(define-macro (g))\n(h 1)",
         "unclosed-list@2:1 bad-form@5:1 unbound@6:2"},
        {"(version 1)\n(eval (string->symbol \"\"))\n(unread", "unbound@2:1 unclosed-list@3:1"},
        {"(version 1)(allow file-read* (with message-filter 1))", "bad-modifier@1:30"},
        {"(version 1)(allow signal (target pid \"x\"))", "wrong-type@1:38"},
        {"(version 1)(allow network* (remote port (literal \"/\")))", "wrong-type@1:41"},
        {"(version 1)(allow network* (domain 5))", "wrong-type@1:36"},
        /* all of them at once */
        {"(version 1)\n(allow file-raed*)\n(allow mach-lookup (domain \"x\"))\n(deny default)\n"
         "(allow file-read* (regex \"(\"))",
         "unbound@2:8 wrong-filter@3:20 bad-regex@5:27"},
    };
    CHECK_ERROR_ROWS(rows);
}

static void check_words(const char *text, const char *code, const char *msg, const char *hint)
{
    OWN(program) struct program p;
    program_load(&p, text, &sbpl_any);
    const struct diag *g = find_finding(&p.unit, code);
    ok(g && strstr(g->msg, msg), "%s says: %s", text, msg);
    ok(g && g->hint && strstr(g->hint, hint), "and hints: %s", hint);
}

static void test_words(void)
{
    check_words("(version 1)(allow file-raed*)", "unbound", "file-raed* is not defined",
                "did you mean file-read*?");
    check_words("(version 1)(allow file-read* (subpth \"/\"))", "unbound", "subpth",
                "did you mean subpath?");
    check_words("(version 1)(allow mach-lookup (domain \"x\"))", "wrong-filter",
                "the operation mach-lookup does not take the filter domain", "global-name");
    check_words("(version 1)(allow file-read* \"/x\")", "bad-rule-part", "a string",
                "(literal \"/x\")");
    check_words("(version 1)(allow file-read* subpath)", "bad-rule-part", "filter", "(subpath …)");
    check_words("(version 1)(deny file-read* no-report)", "bad-rule-part", "modifier",
                "(with no-report)");
    check_words("(version 1)(file-read* 1)", "not-a-procedure", "operation", "(allow file-read*");
    check_words("(version 1)(allow file-read* (literal (param \"HOME\")))", "wrong-type",
                "expected a string here, not #f", "-D HOME=");
    check_words("(version 1)(allow file-read* (subpath (string-append (param \"H\") \"/x\")))",
                "wrong-type", "#f", "-D H=");
    check_words("(version 1)(allow process-fork (domain \"x\"))", "wrong-filter", "process-fork",
                "takes no filter");
    check_words("(version 1)(set! zork 1)", "unbound", "zork", "(define zork");
    check_words("(version 1)(allow file-read* (subpath \"/usr/\"))", "trailing-slash", "is ignored",
                "\"/usr\"");
}

/* ---- scopes ---- */

static void test_scopes(void)
{
    OWN(program) struct program p;
    program_load(&p,
                 "(version 1)(deny default)\n"
                 "(with-filter (subpath \"/a\")\n"
                 "  (allow file-read*)\n"
                 "  (with-filter (require-not (literal \"/a/b\"))\n"
                 "    (allow file-write* (prefix \"/a/t\") (literal \"/a/b\") (literal \"/z\"))))\n"
                 "(allow file-write-create (literal \"/free\"))\n"
                 "(with-operations (list file-test-existence file-ioctl)\n"
                 "  (deny (literal \"/q\")) (allow file-clone (literal \"/r\")))\n"
                 "(with-modifier (with telemetry)\n"
                 "  (with-filter (subpath \"/m\") (deny file-read* (literal \"/m/n\"))))\n",
                 &sbpl_any);
    static const struct {
        const char *op, *arg, *want;
    } rows[] = {
        {"file-read-data", "/a/x", "allow"},   {"file-read-data", "/b", "deny"},
        {"file-write-data", "/a/t1", "allow"}, {"file-write-data", "/a/b", "deny"},
        {"file-write-data", "/z", "deny"},     {"file-write-create", "/free", "allow"},
        {"file-test-existence", "/q", "deny"}, {"file-ioctl", "/q", "deny"},
        {"file-ioctl", "/r", "allow"},         {"file-clone", "/r", "allow"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        is_str(program_result(&p, rows[i].op, rows[i].arg), rows[i].want, "scopes: %s %s",
               rows[i].op, rows[i].arg);
    is_int(program_ask(&p, "file-read-data", "/m/n").flags, 1 + 4 + 128,
           "scopes of different kinds nest");
    /* an error inside a scope ends it: the next form starts clean */
    OWN(buf) struct buf out = {0};
    show_value("(with-filter (subpath \"/a\") (car 5)) (allow mach-lookup (global-name \"x\"))",
               &sbpl_any, &out);
    is_str(out.s, "wrong-type@1:34", "a scope does not outlive an error in it");
}

/* ---- modifiers ---- */

static void test_flags(void)
{
    /* decision bits: 1 deny, 2 grant, 4 report, 8 no-sandbox, 16 sip-override, 32 no-times,
     * 64 authority, 128 telemetry, 256 its backtrace, 512 no prompt, 2048 no storage class */
    static const struct {
        const char *rule, *op;
        uint32_t want;
    } rows[] = {
        {"(deny default)", "file-read-data", 5},
        {"(deny default (with no-report))", "file-read-data", 1},
        {"(deny default (with no-log))", "file-read-data", 1},
        {"(allow default)", "file-read-data", 0},
        {"(allow file-read* (with report))", "file-read-data", 4},
        {"(deny file-read* (with telemetry))", "file-read-data", 133},
        {"(allow file-read* (with telemetry))", "file-read-data", 128},
        {"(deny file-read* (with telemetry-backtrace))", "file-read-data", 389},
        {"(allow process-exec* (with no-sandbox))", "process-exec*", 8},
        {"(allow file-read* (with sip-override))", "file-read-data", 16},
        {"(deny file-read* (with errno EPERM) (with no-report))", "file-read-data", 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        OWN(program) struct program p;
        char text[200];
        snprintf(text, sizeof(text), "(version 1)%s", rows[i].rule);
        program_load(&p, text, &sbpl_any);
        ok(p.graph != NULL, "%s loads (%s)", rows[i].rule, p.err.msg);
        is_int(program_ask(&p, rows[i].op, "/x").flags, rows[i].want, "flags of %s", rows[i].rule);
    }
}

static const struct graph_mod *only_mod(struct program *p, const char *op, const char *arg)
{
    const struct graph_node *n =
        p->graph ? graph_node_at(p->graph, program_ask(p, op, arg).node) : NULL;
    return n && n->nmods == 1 ? graph_mod_at(p->graph, n->mods) : NULL;
}

static void test_modifier_values(void)
{
    OWN(program) struct program p;
    program_load(&p,
                 "(version 1)(deny file-read* (with errno ENOENT))\n"
                 "(deny file-write* (with message \"no way\"))\n"
                 "(deny process-exec* (with send-signal SIGKILL))\n"
                 "(allow file-ioctl (with user-approval))",
                 &sbpl_any);
    const struct graph_mod *m = only_mod(&p, "file-read-data", "/x");
    ok(m && m->id == MOD_ERRNO && m->num == 2, "errno ENOENT is 2");
    m = only_mod(&p, "file-write-data", "/x");
    ok(m && m->id == MOD_MESSAGE && m->str && strcmp(m->str, "no way") == 0,
       "message carries text");
    m = only_mod(&p, "process-exec*", "/x");
    ok(m && m->id == MOD_SEND_SIGNAL && m->num == 9, "send-signal SIGKILL is 9");
    ok(p.graph != NULL, "user-approval may stand alone (%s)", p.err.msg);
}

static void test_message_filters(void)
{
    OWN(program) struct program p;
    program_load(&p,
                 "(version 1)(deny default)\n"
                 "(define (calm) (apply-message-filter\n"
                 "  (deny mach-message-send)\n"
                 "  (allow mach-message-send (message-number 1 2))))\n"
                 "(with-filter (require-not (global-name \"x.hidden\"))\n"
                 "  (allow mach-lookup (global-name \"x.one\") (calm))\n"
                 "  (allow mach-lookup (global-name \"x.two\") (apply-message-filter\n"
                 "    (allow xpc-message-send))))\n"
                 "(allow mach-lookup (global-name \"x.three\"))\n",
                 &sbpl_any);
    ok(p.graph != NULL, "message filters load (%s)", p.err.msg);
    is_int(p.graph ? graph_policy_count(p.graph) : 0, 2, "each is a policy of its own");
    const struct graph_mod *one = only_mod(&p, "mach-lookup", "x.one");
    const struct graph_mod *two = only_mod(&p, "mach-lookup", "x.two");
    ok(one && one->id == MOD_MESSAGE_FILTER && one->num == 1, "the first rule carries the first");
    ok(two && two->id == MOD_MESSAGE_FILTER && two->num == 2, "the second the second");
    ok(!only_mod(&p, "mach-lookup", "x.three"), "other rules carry none");
    is_str(program_result(&p, "mach-lookup", "x.three"), "allow", "and decide as ever");
    struct graph_fact number = {.filter = FILTER_MESSAGE_NUMBER, .num = 2};
    struct graph_query q = {.op = OP_MACH_MESSAGE_SEND, .facts = &number, .nfacts = 1, .policy = 1};
    ok(p.graph && graph_eval(p.graph, p.cache, &q).allow, "a listed message passes");
    number.num = 3;
    ok(p.graph && !graph_eval(p.graph, p.cache, &q).allow, "another does not");
    q.policy = 2;
    ok(p.graph && graph_eval(p.graph, p.cache, &q).allow, "the other policy has no say in it");
}

/* ---- warnings ---- */

static void test_warnings(void)
{
    static const struct sbpl_row rows[] = {
        {"(version 1)\n(allow)", "empty-rule@2:1"},
        {"(version 1)\n(deny (literal \"/x\"))", "empty-rule@2:1"},
        {"(version 1)(allow 'no-op)", ""},
        {"(allow default)", "no-version@1:1"},
        {"(version 1)(allow file-read* (subpath \"/a/\"))", "trailing-slash@1:39"},
        {"(version 1)(allow file-read* (regex \"\\.x\"))", "string-escape@1:38"},
        {"(version 1)(allow file-read* (subpath \"/\"))", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        OWN(program) struct program p;
        OWN(buf) struct buf out = {0};
        bool loaded = program_load(&p, rows[i].text, &sbpl_any);
        show_findings(&p.unit, DIAG_WARNING, &out);
        ok(loaded, "%s loads", rows[i].text);
        is_str(out.s ? out.s : "", rows[i].want, "warnings of %s", rows[i].text);
    }
}

int main(void)
{
    test_parts();
    test_origin();
    test_long_text();
    test_errors();
    test_words();
    test_scopes();
    test_flags();
    test_modifier_values();
    test_message_filters();
    test_warnings();
    return done_testing();
}
