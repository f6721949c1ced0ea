/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Empty paths, as from an empty parameter of a profile, must never match every file. */

#include "sbpl-maker.h"

static const struct sbpl_param params[] = {
    {"EMPTY", ""}, {"ALSO_EMPTY", ""}, {"DIR", "/d"}, {"TWICE", "/t"}, {"TWICE", ""}};
static const struct sbpl_options options = {.params = params, .nparams = 5, .os = VOCAB_OS_ANY};

struct row {
    const char *rule; /* after (version 1)(deny default), or a filter of (allow file-write* …) */
    const char *name; /* of the parameter that the hint names; "" for none */
};

/* Checks the findings' codes, and the hint of the first. */
static void check_refused(const struct row *r)
{
    OWN(program) struct program p;
    OWN(buf) struct buf text = {0}, codes = {0};
    buf_fmt(&text, "(version 1)(deny default)(allow file-write* %s)", r->rule);
    bool loaded = program_load(&p, text.s, &options);
    for (const struct diag *g = p.unit.diags.first; g; g = g->next)
        buf_fmt(&codes, "%s ", g->code);
    ok(!loaded, "%s is refused", r->rule);
    is_str(codes.s ? codes.s : "", "empty-path ", "%s: what it is called", r->rule);
    const struct diag *g = find_finding(&p.unit, "empty-path");
    bool blamed = g && g->hint && strstr(g->hint, "the parameter ");
    ok(g && blamed == !!r->name[0] && (!blamed || strstr(g->hint, r->name)), "%s: names %s: %s",
       r->rule, r->name[0] ? r->name : "no parameter", g && g->hint ? g->hint : "no hint");
}

static void test_refused(void)
{
    static const struct row rows[] = {
        {"(subpath \"\")", ""},
        {"(prefix \"\")", ""},
        {"(regex \"\")", ""},
        {"(regex #\"\")", ""},
        {"(glob \"\")", ""},
        {"(path-subpath \"\")", ""},
        {"(path-prefix \"\")", ""},
        {"(path-regex \"\")", ""},
        {"(mount-relative-subpath \"\")", ""},
        {"(process-path-subpath \"\")", ""},
        {"(subpath \"/a\" \"\" \"/b\")", ""},
        {"(require-all (subpath \"/a\") (require-not (subpath \"\")))", ""},
        {"(subpath (string-append))", ""},
        {"(subpath (substring \"/a\" 1 1))", ""},
        /* the parameter is named even if its value was transformed */
        {"(subpath (param \"EMPTY\"))", "EMPTY"},
        {"(prefix (param \"EMPTY\"))", "EMPTY"},
        {"(regex (param \"EMPTY\"))", "EMPTY"},
        {"(subpath (getenv \"EMPTY\"))", "EMPTY"},
        {"(subpath (param \"TWICE\"))", "TWICE"},
        {"(subpath \"/a\" (param \"EMPTY\"))", "EMPTY"},
        {"(subpath (string-append (param \"EMPTY\") \"\"))", "EMPTY"},
        {"(subpath (string-append \"\" (param \"ALSO_EMPTY\")))", "ALSO_EMPTY"},
        {"(subpath (string-copy (param \"EMPTY\")))", "EMPTY"},
        {"(subpath (string-downcase (param \"EMPTY\")))", "EMPTY"},
        {"(subpath (substring (param \"EMPTY\") 0))", "EMPTY"},
        {"(regex (regex-quote (param \"EMPTY\")))", "EMPTY"},
        {"(let ((d (param \"EMPTY\"))) (subpath d))", "EMPTY"},
        /* what remains around it also matches every file */
        {"(subpath (string-append (param \"EMPTY\") \"/\"))", "EMPTY"},
        {"(prefix (string-append (param \"EMPTY\") \"/\"))", "EMPTY"},
        {"(regex (string-append \"^\" (param \"EMPTY\")))", "EMPTY"},
        {"(regex (string-append \"^\" (regex-quote (param \"EMPTY\")) \"(/|$)\"))", "EMPTY"},
        {"(regex (string-append \"^\" (param \"EMPTY\") \"/.*\"))", "EMPTY"},
        {"(glob (string-append (param \"EMPTY\") \"/**\"))", "EMPTY"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check_refused(&rows[i]);
}

static void test_places(void)
{
    static const struct sbpl_row rows[] = {
        {"(version 1)(allow file-read* (subpath \"/a\" \"\"))", "empty-path@1:44"},
        {"(version 1)\n(define (home . l) (map (lambda (p) (subpath p)) l))\n(home \"\")",
         "empty-path@2:46"},
        {"(version 1)(allow network-outbound (remote unix-socket (path-prefix \"\")))",
         "empty-path@1:69"},
        {"(version 1)(deny file-read* (subpath \"\"))", "empty-path@1:38"},
    };
    CHECK_ERROR_ROWS(rows);
}

/* Patterns written out are intended, names other than paths have no root, and an empty parameter
 * may be part of a path. */
static void test_kept(void)
{
    static const char *const kept[] = {
        "(allow file-write* (subpath \"/\"))",
        "(allow file-write* (prefix \"/\"))",
        "(allow file-write* (regex #\"^\"))",
        "(allow file-write* (regex \".*\"))",
        "(allow file-write* (glob \"/**\"))",
        "(allow file-write* (subpath (string-append (param \"EMPTY\") \"/.npm\")))",
        "(allow file-write* (subpath (string-append (param \"DIR\") (param \"EMPTY\"))))",
        "(allow file-write* (regex (string-append \"^\" (param \"EMPTY\") \"/[.]npm/\")))",
        "(allow file-write* (regex (string-append \"^\" (param \"DIR\") \"/.*\")))",
        "(allow file-write* (subpath (param \"DIR\")))",
        "(if (not (string=? (param \"EMPTY\") \"\")) (allow file* (subpath (param \"EMPTY\"))))",
        "(deny mach-lookup (xpc-service-name-prefix \"\"))",
        "(allow mach-register (local-name-prefix \"\"))",
        "(allow sysctl-read (sysctl-name-regex #\"\"))",
    };
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
        OWN(program) struct program p;
        OWN(buf) struct buf text = {0}, found = {0};
        buf_fmt(&text, "(version 1)(deny default)%s", kept[i]);
        ok(program_load(&p, text.s, &options), "%s", kept[i]);
        show_findings(&p.unit, DIAG_WARNING, &found);
        is_str(found.s ? found.s : "", "", "%s: without a warning", kept[i]);
    }
}

/* An empty literal matches no file, so it opens nothing. It may protect nothing either. */
static void test_literal(void)
{
    OWN(program) struct program p;
    OWN(buf) struct buf found = {0};
    program_load(&p, "(version 1)(deny default)\n(allow file-write* (literal (param \"EMPTY\")))",
                 &options);
    show_findings(&p.unit, DIAG_WARNING, &found);
    is_str(found.s, "empty-path@2:29", "an empty literal is warned of");
    const struct diag *g = find_finding(&p.unit, "empty-path");
    ok(g && g->hint && strstr(g->hint, "EMPTY"), "and the parameter is named");
    is_str(program_result(&p, "file-write-data", "/x"), "deny", "it matches no file");
}

int main(void)
{
    test_refused();
    test_places();
    test_kept();
    test_literal();
    return done_testing();
}
