/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Loading: parameters, versions, imports, entitlements, OS versions, budgets, threads. The test
 * creates files in its own folder. */

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

#include "graph/eval.h"
#include "sbpl-maker.h"

static char folder[64] = "/tmp/buckle-load-XXXXXX";

/* Returns the path of a file in the folder, valid for four more calls. */
static const char *in_folder(const char *name)
{
    static char paths[4][200];
    static int turn;
    char *path = paths[turn++ % 4];
    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static const char *make_bytes(const char *name, const void *bytes, size_t n)
{
    const char *path = in_folder(name);
    OWN(fd) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
        printf("Bail out! cannot write %s\n", path);
    return path;
}

static const char *make_file(const char *name, const char *text)
{
    return make_bytes(name, text, strlen(text));
}

static void remove_folder(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char inner[400];
        snprintf(inner, sizeof(inner), "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.' && unlink(inner) < 0)
            remove_folder(inner);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

/* ---- parameters ---- */

static void test_params(void)
{
    static const struct sbpl_param params[] = {{"HOME", "/home/me"}, {"EMPTY", ""}, {"HOME", "/h"}};
    const struct sbpl_options opt = {.params = params, .nparams = 3, .os = VOCAB_OS_ANY};
    static const struct sbpl_row rows[] = {
        {"(param \"HOME\")", "\"/h\""}, /* the last one given wins */
        {"(param \"EMPTY\")", "\"\""},
        {"(param \"NONE\")", "#f"},
        {"(param 'x)", "wrong-type@1:8"},
        {"(if (param \"NONE\") 1 2)", "2"},
        {"(string=? (param \"NONE\") \"YES\")", "#f"},
        {"(string-append (param \"HOME\") \"/x\")", "\"/h/x\""},
        {"(string-append (param \"NONE\") \"/x\")", "wrong-type@1:16"},
        {"(string->number (param \"NONE\"))", "#f"},
        {"(string=? #f \"x\")", "wrong-type@1:11"}, /* no parameter was missing */
    };
    check_rows(rows, sizeof(rows) / sizeof(*rows), &opt);
}

/* A process may signal itself without a rule, unless the profile says otherwise. */
static void test_implicit_rules(void)
{
    static const struct sbpl_param params[] = {{"NO_IMPLICIT_RULES", "1"}};
    const struct sbpl_options without = {.params = params, .nparams = 1, .os = VOCAB_OS_ANY};
    static const char text[] = "(version 1)(deny default)";
    const struct graph_fact self = {.filter = FILTER_TARGET, .num = 1};
    const struct graph_query q = {.op = OP_SIGNAL, .facts = &self, .nfacts = 1};
    OWN(program) struct program on, off;
    bool both = program_load(&on, text, &sbpl_any);
    both = program_load(&off, text, &without) && both;
    ok(both && graph_eval(on.graph, on.cache, &q).allow, "signals to oneself are allowed");
    ok(both && !graph_eval(off.graph, off.cache, &q).allow, "but not with NO_IMPLICIT_RULES");
}

static void test_versions(void)
{
    static const struct {
        const char *text;
        int want; /* 0: an error */
        const char *errors;
    } rows[] = {
        {"(version 1)", 1, ""},
        {"(version 2)", 2, ""},
        {"(version 3)", 3, ""},
        {"(allow default)", 1, ""},
        {"(version 1)(version 1)", 1, ""},
        {"(version 1)\n(version 2)", 0, "bad-version@2:1"},
        {"(version 4)", 0, "bad-version@1:10"},
        {"(version 0)", 0, "bad-version@1:10"},
        {"(version \"1\")", 0, "wrong-type@1:10"},
        {"(version)", 0, "argument-count@1:1"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        OWN(program) struct program p;
        OWN(buf) struct buf out = {0};
        program_load(&p, rows[i].text, &sbpl_any);
        show_findings(&p.unit, DIAG_ERROR, &out);
        is_int(p.graph ? graph_options_of(p.graph)->version : 0, rows[i].want, "version of %s",
               rows[i].text);
        is_str(out.s ? out.s : "", rows[i].errors, "errors of %s", rows[i].text);
    }
    OWN(program) struct program p;
    program_load(&p, "(version 1)(trace \"out.sb\")(debug deny)", &sbpl_any);
    is_str(p.graph ? graph_note(p.graph, "trace") : NULL, "out.sb", "(trace) is a fact");
    is_str(p.graph ? graph_note(p.graph, "debug") : NULL, "deny", "so is (debug)");
    OWN(buf) struct buf out = {0};
    show_errors("(version 1)(trace \"a\")\n(trace \"b\")", &sbpl_any, &out);
    is_str(out.s, "bad-trace@2:1", "only one trace");
}

/* Several texts are one program; the first error is also the caller's. */
static void test_units(void)
{
    OWN(program) struct program p = {0};
    sbpl_unit_init(&p.unit, &sbpl_any);
    static const char one[] =
        "(version 1)\n(define (home rel) (subpath (string-append \"/h\" rel)))";
    static const char two[] = "(deny default)(allow file-read* (home \"/x\"))";
    ok(sbpl_add_text(&p.unit, "one.sb", one, sizeof(one) - 1, &p.err) == 0 &&
           sbpl_add_text(&p.unit, "two.sb", two, sizeof(two) - 1, &p.err) == 0 &&
           program_compile(&p),
       "two texts load as one program");
    is_str(program_result(&p, "file-read-data", "/h/x/y"), "allow", "and see each other's names");
    struct graph_verdict v = program_ask(&p, "file-read-data", "/h/x/y");
    is_str(v.rule != GRAPH_NO_RULE ? graph_rule_at(p.graph, v.rule)->origin.file : NULL, "two.sb",
           "rules know their text");

    OWN(program) struct program bad;
    program_load(&bad, "(version 1)\n (allow file-raed*)", &sbpl_any);
    ok(!bad.graph && bad.err.code == BK_E_INPUT && bad.err.line == 2 && bad.err.col == 9 &&
           strcmp(bad.err.file, "t.sb") == 0 && strstr(bad.err.msg, "file-raed*") &&
           strstr(bad.err.hint, "file-read*"),
       "the first error is the caller's, with place and hint");

    OWN(sbpl_unit) struct sbpl_unit u;
    struct bk_err err;
    sbpl_unit_init(&u, NULL);
    ok(sbpl_add_builtin(&u, "bsd.sb", &err) == 0, "a shipped profile by name");
    ok(sbpl_add_builtin(&u, "no-such.sb", &err) < 0 && err.code == BK_E_INPUT, "or not");
    ok(sbpl_add_file(&u, in_folder("missing.sb"), &err) < 0 && err.code == BK_E_SYSTEM,
       "a missing file");
    struct graph *g = NULL;
    ok(sbpl_compile(&u, &g, &err) == 0 && g, "shipped profiles compile");
    graph_free(g);
}

static void test_builtins(void)
{
    /* repository.sb is imported only where there is one */
    static const struct sbpl_param params[] = {{"GIT_DIR", "/p/.git"}, {"GIT_COMMON", "/p/.git"}};
    struct sbpl_options with_repository = sbpl_any;
    with_repository.params = params;
    with_repository.nparams = 2;
    for (const struct sbpl_builtin *b = sbpl_builtins; b->name; b++) {
        OWN(program) struct program p = {0};
        sbpl_unit_init(&p.unit, &with_repository);
        ok(sbpl_add_builtin(&p.unit, b->name, &p.err) == 0 && program_compile(&p), "%s loads (%s)",
           b->name, p.err.msg);
        is_int((intmax_t)(p.unit.diags.errors + p.unit.diags.warnings), 0, "%s is clean", b->name);
    }
}

/* ---- imports ---- */

static void test_import_order(void)
{
    char first[100], second[100];
    snprintf(first, sizeof(first), "%s", in_folder("first"));
    snprintf(second, sizeof(second), "%s", in_folder("second"));
    mkdir(first, 0700);
    mkdir(second, 0700);
    const char *dirs[] = {first, second};
    make_file("where.sb", "(define where \"beside\")");
    make_file("main.sb",
              "(version 1)\n(import \"where.sb\")\n(allow file-read* (literal where))\n");
    const struct sbpl_options with = {.import_dirs = dirs, .nimport_dirs = 2, .os = VOCAB_OS_ANY};
    {
        OWN(program) struct program p;
        program_load_file(&p, in_folder("main.sb"), &with);
        is_str(program_result(&p, "file-read-data", "beside"), "allow",
               "beside the importing file");
    }
    make_file("second/where.sb", "(define where \"second\")");
    {
        OWN(program) struct program p;
        program_load_file(&p, in_folder("main.sb"), &with);
        is_str(program_result(&p, "file-read-data", "second"), "allow", "-I comes before it");
    }
    make_file("first/where.sb", "(define where \"first\")");
    {
        OWN(program) struct program p;
        program_load_file(&p, in_folder("main.sb"), &with);
        is_str(program_result(&p, "file-read-data", "first"), "allow", "in the order given");
    }
    OWN(program) struct program p;
    program_load_file(&p, in_folder("main.sb"), &sbpl_any);
    is_str(program_result(&p, "file-read-data", "beside"), "allow", "and not without -I");
}

static void check_import(const char *what, const char *text, const char *want)
{
    OWN(program) struct program p;
    OWN(buf) struct buf out = {0};
    program_load_file(&p, make_file("importer.sb", text), &sbpl_any);
    show_findings(&p.unit, DIAG_ERROR, &out);
    is_str(out.s ? out.s : "", want, "%s", what);
}

static void test_imports(void)
{
    char text[300];
    make_file("part.sb", "(allow file-read* (literal \"/part\"))\n");
    snprintf(text, sizeof(text), "(version 1)(import \"%s\")", in_folder("part.sb"));
    check_import("an absolute name", text, "");
    check_import("a shipped profile", "(version 1)(import \"system.sb\")", "");
    check_import("a shipped profile by Apple's path",
                 "(version 1)(import \"/System/Library/Sandbox/Profiles/bsd.sb\")", "");
    check_import("but not by any path", "(version 1)(import \"/etc/bsd.sb\")", "import@1:20");
    check_import("twice is not a cycle", "(version 1)(import \"part.sb\")(import \"part.sb\")", "");
    check_import("a missing profile", "(version 1)\n(import \"no-such.sb\")", "import@2:9");
    check_import("no name", "(version 1)\n(import 5)", "wrong-type@2:9");
    check_import("a folder", "(version 1)\n(import \"/\")", "import@2:9");
    check_import("a device", "(version 1)\n(import \"/dev/zero\")", "import@2:9");
    mkfifo(in_folder("pipe"), 0600);
    check_import("a pipe nobody writes to", "(version 1)\n(import \"pipe\")", "import@2:9");
    check_import("itself", "(version 1)\n (import \"importer.sb\")", "import-cycle@2:2");
    make_file("b.sb", "\n(import \"importer.sb\")");
    check_import("itself through another", "(version 1)\n(import \"b.sb\")", "import-cycle@2:1");
    make_file("loop.sb", "(import \"loop.sb\")");
    check_import("another that imports itself", "(version 1)\n(import \"loop.sb\")",
                 "import-cycle@1:1");
    make_file("./c.sb", "(import \"././c.sb\")");
    check_import("itself under ever longer names", "(version 1)(import \"c.sb\")", "import@1:9");
    make_file("many.sb", "(define (f) (import \"part.sb\") (f))\n(f)");
    check_import("without end", "(version 1)(import \"many.sb\")", "import@1:21");
    make_file("broken.sb", "(allow file-read*)\n(allow");
    check_import("a broken profile", "(version 1)\n(import \"broken.sb\")", "unclosed-list@2:1");
    make_file("wrong.sb", "\n(allow file-raed*)");
    check_import("a wrong profile", "(version 1)\n(import \"wrong.sb\")", "unbound@2:8");

    OWN(program) struct program p;
    program_load_file(&p, make_file("importer.sb", "(version 1)\n(import \"part.sb\")"), &sbpl_any);
    struct graph_verdict v = program_ask(&p, "file-read-data", "/part");
    const struct graph_rule_info *r = p.graph ? graph_rule_at(p.graph, v.rule) : NULL;
    ok(r && strstr(r->origin.file, "/part.sb") && r->origin.line == 1 && r->origin.via_line == 0,
       "an imported rule comes from its own file");
    OWN(program) struct program late;
    program_load_file(&late,
                      make_file("importer.sb", "(version 1)\n"
                                               "(define (f) (allow file-read* (literal \"/l\")))\n"
                                               "(begin\n (import \"part.sb\")\n (f))"),
                      &sbpl_any);
    v = program_ask(&late, "file-read-data", "/l");
    r = late.graph ? graph_rule_at(late.graph, v.rule) : NULL;
    ok(r && r->origin.line == 2 && r->origin.via_line == 3, "after an import the form goes on");
}

/* A stray file must not change what a shipped profile means. */
static void test_shipped_are_closed(void)
{
    make_file("system.sb", "(version 1)(allow default)(allow file-write* (subpath \"/\"))");
    make_file("victim.sb", "(version 1)(deny default)(import \"bsd.sb\")");
    char cwd[4096];
    bool there = getcwd(cwd, sizeof(cwd)) && chdir(folder) == 0;
    ok(there, "the folder is entered");
    const char *dirs[] = {"."};
    const struct sbpl_options opt = {.import_dirs = dirs, .nimport_dirs = 1, .os = VOCAB_OS_ANY};
    static const char *const how[] = {"beside and in the current folder", "with -I as well"};
    for (int i = 0; i < 2; i++) {
        OWN(program) struct program p;
        program_load_file(&p, "victim.sb", i ? &opt : &sbpl_any);
        is_str(program_result(&p, "file-write-data", "/home/x"), "deny",
               "bsd.sb imports our system.sb, "
               "although another lies %s",
               how[i]);
        is_str(program_result(&p, "file-read-data", "/usr/share/x"), "allow",
               "and it is really ours");
    }
    OWN(program) struct program p = {0};
    sbpl_unit_init(&p.unit, &sbpl_any);
    sbpl_add_builtin(&p.unit, "bsd.sb", &p.err);
    program_compile(&p);
    is_str(program_result(&p, "file-write-data", "/home/x"), "deny", "also when loaded by name");
    const struct sbpl_options only = {.shipped_only = true, .os = VOCAB_OS_ANY};
    OWN(program) struct program q;
    program_load_file(&q, make_file("plain.sb", "(version 1)(deny default)(import \"system.sb\")"),
                      &only);
    is_str(program_result(&q, "file-write-data", "/home/x"), "deny", "shipped_only opens no file");
    OWN(program) struct program own;
    program_load_file(&own, "plain.sb", &sbpl_any);
    is_str(program_result(&own, "file-write-data", "/home/x"), "allow",
           "while a profile's own import finds the file beside it");
    if (there && chdir(cwd) < 0)
        printf("Bail out! cannot go back\n");
    unlink(in_folder("system.sb"));
}

/* ---- entitlements ---- */

static void check_entitlements(const char *what, const char *path, const char *text,
                               const char *want)
{
    const struct sbpl_options opt = {.entitlements = path, .os = VOCAB_OS_ANY};
    OWN(buf) struct buf out = {0};
    show_value(text, &opt, &out);
    is_str(out.s, want, "%s: %s", what, text);
}

static void test_entitlements(void)
{
    const char *path =
        make_file("e.json", " {\"flag\": true, \"name\": \"abc\", \"n\": 5, \"r\": 0.5,"
                            "\"list\": [\"a\", [1, {\"k\": false}]], \"nil\": null}");
    static const struct sbpl_row rows[] = {
        {"(entitlement \"flag\")", "#t"},
        {"(entitlement \"name\")", "\"abc\""},
        {"(entitlement \"n\")", "5"},
        {"(entitlement \"r\")", "0.5"},
        {"(entitlement \"list\")", "(\"a\" (1 ((\"k\" . #f))))"},
        {"(entitlement \"nil\")", "#f"},
        {"(entitlement \"none\")", "#f"},
        {"(cdr (assoc \"n\" *entitlements*))", "5"},
        {"(length *entitlements*)", "6"},
        {"(entitlement 'flag)", "wrong-type@1:14"},
    };
    const struct sbpl_options opt = {.entitlements = path, .os = VOCAB_OS_ANY};
    check_rows(rows, sizeof(rows) / sizeof(*rows), &opt);
    check_entitlements("without a file", NULL, "(entitlement \"flag\")", "#f");
    check_entitlements("without a file", NULL, "*entitlements*", "()");
    check_entitlements("a missing file", in_folder("gone"), "(entitlement \"x\")",
                       "entitlements@1:1");
    check_entitlements("a missing file", in_folder("gone"), "\n *entitlements*",
                       "entitlements@2:2");
    check_entitlements("broken JSON", make_file("bad", "{\"a\": "), "(entitlement \"a\")",
                       "entitlements@1:1");
    check_entitlements("duplicate keys", make_file("bad", "{\"a\": 1, \"a\": 2}"),
                       "(entitlement \"a\")", "entitlements@1:1");
    OWN(buf) struct buf deep = {0};
    buf_str(&deep, "{\"a\": ");
    for (int i = 0; i < 100; i++)
        buf_chr(&deep, '[');
    for (int i = 0; i < 100; i++)
        buf_chr(&deep, ']');
    buf_chr(&deep, '}');
    check_entitlements("deep JSON", make_file("bad", deep.s), "(entitlement \"a\")",
                       "entitlements@1:1");
    /* the error is reported, not treated as an absent entitlement */
    OWN(program) struct program p;
    const struct sbpl_options bad = {.entitlements = in_folder("gone"), .os = VOCAB_OS_ANY};
    program_load(&p, "(version 1)(if (entitlement \"x\") (deny default) (allow default))", &bad);
    ok(!p.graph, "a profile does not load without the entitlements it asks for");
}

/* {"flag": true, "name": "abc"} as a binary property list: objects, their offsets, the trailer. */
static const unsigned char binary_plist[] = {
    'b',  'p', 'l', 'i', 's', 't', '0', '0',
    0xd2, 1,   2,   3,   4,                 /* 0, at 8: a dictionary of two, keys 1 2, values 3 4 */
    0x54, 'f', 'l', 'a', 'g',               /* 1, at 13 */
    0x54, 'n', 'a', 'm', 'e',               /* 2, at 18 */
    0x09,                                   /* 3, at 23: true */
    0x53, 'a', 'b', 'c',                    /* 4, at 24 */
    8,    13,  18,  23,  24,                /* at 28 */
    0,    0,   0,   0,   0,   0,   1,   1,  /* one byte an offset, one byte a reference */
    0,    0,   0,   0,   0,   0,   0,   5,  /* objects */
    0,    0,   0,   0,   0,   0,   0,   0,  /* the top one */
    0,    0,   0,   0,   0,   0,   0,   28, /* where the offsets are */
};

static void test_property_lists(void)
{
    void *lib = dlopen("libplist-2.0.so.3", RTLD_LAZY | RTLD_LOCAL);
    if (!lib) {
        skip("libplist is not installed");
        return;
    }
    dlclose(lib);
    const char *xml = make_file(
        "e.plist",
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\"><dict>"
        "<key>flag</key><true/><key>name</key><string>abc</string>"
        "<key>n</key><integer>5</integer><key>r</key><real>0.5</real>"
        "<key>list</key><array><string>a</string><dict><key>k</key><false/></dict></array>"
        "</dict></plist>\n");
    check_entitlements("XML", xml, "(entitlement \"flag\")", "#t");
    check_entitlements("XML", xml, "(entitlement \"name\")", "\"abc\"");
    check_entitlements("XML", xml, "(entitlement \"n\")", "5");
    check_entitlements("XML", xml, "(entitlement \"r\")", "0.5");
    check_entitlements("XML", xml, "(entitlement \"list\")", "(\"a\" ((\"k\" . #f)))");
    check_entitlements("XML", xml, "(entitlement \"none\")", "#f");
    const char *binary = make_bytes("e.bin", binary_plist, sizeof(binary_plist));
    check_entitlements("binary", binary, "(entitlement \"flag\")", "#t");
    check_entitlements("binary", binary, "(entitlement \"name\")", "\"abc\"");
    OWN(buf) struct buf deep = {0};
    buf_str(&deep, "<plist version=\"1.0\"><dict><key>a</key>");
    for (int i = 0; i < 100; i++)
        buf_str(&deep, "<array>");
    for (int i = 0; i < 100; i++)
        buf_str(&deep, "</array>");
    buf_str(&deep, "</dict></plist>");
    check_entitlements("a deep list", make_file("bad", deep.s), "(entitlement \"a\")",
                       "entitlements@1:1");
    check_entitlements("a cut binary list", make_bytes("bad", binary_plist, 40),
                       "(entitlement \"flag\")", "entitlements@1:1");
    check_entitlements("an array", make_file("bad", "<plist version=\"1.0\"><array/></plist>"),
                       "(entitlement \"flag\")", "entitlements@1:1");
    check_entitlements("no property list", make_file("bad", "hello"), "(entitlement \"flag\")",
                       "entitlements@1:1");
    check_entitlements("an empty file", make_file("bad", ""), "(entitlement \"flag\")",
                       "entitlements@1:1");
}

/* ---- OS versions ---- */

static void test_os(void)
{
    /* by the tables of ids, file-clone came with 10.13 and file-read-data was always there */
    const struct sbpl_options old = {.os = VOCAB_MACOS_10_12}, new = {.os = VOCAB_MACOS_14_4_1};
    ok(vocab_ops[OP_FILE_CLONE].ids[VOCAB_MACOS_10_12] < 0 &&
           vocab_ops[OP_FILE_CLONE].ids[VOCAB_MACOS_14_4_1] >= 0,
       "an operation that 10.12 lacks");
    static const struct sbpl_row then[] = {
        {"(defined? 'file-clone)", "#f"},
        {"(defined? 'file-read-data)", "#t"},
        {"(allow file-clone)", "unbound@1:8"},
        {"(when (defined? 'file-clone) (allow file-clone)) 1", "1"},
    };
    static const struct sbpl_row now[] = {
        {"(defined? 'file-clone)", "#t"},
        {"(allow file-clone)", "#<no value>"},
    };
    check_rows(then, sizeof(then) / sizeof(*then), &old);
    check_rows(now, sizeof(now) / sizeof(*now), &new);
    CHECK_ROWS(now);
}

/* ---- limits ---- */

/* However little memory there is, loading ends in an error or in the whole graph: nothing crashes,
 * and no rule is lost silently. */
static void test_memory(void)
{
    static const char text[] =
        "(version 1)(deny default)\n"
        "(define-macro (both . r) `(begin (allow ,@r) (deny ,@r)))\n"
        "(both file-read* (require-all (subpath \"/a\") (require-not (literal \"/a/b\"))))\n"
        "(with-filter (subpath \"/m\") (with-operations (list file-read* file-write*) (deny)))\n"
        "(let loop ((i 0)) (if (< i 20) (begin (allow file-read* (regex (string-append \"^/x\"\n"
        "  (number->string i)))) (loop (+ i 1)))))\n"
        "(allow mach-lookup (apply-message-filter (deny mach-message-send)))\n"
        "(map (lambda (x) (eval (read (open-input-string x)))) '(\"(+ 1 2)\" \"'(a . b)\"))\n"
        "(allow file-write* (literal \"/last\"))\n";
    size_t refused = 0, loaded = 0, whole = 0, reported = 0;
    for (size_t bytes = 256; bytes < 400000; bytes += bytes < 100000 ? 400 : 20000) {
        OWN(program) struct program p;
        struct sbpl_options opt = {.os = VOCAB_OS_ANY, .max_bytes = bytes};
        if (program_load(&p, text, &opt)) {
            loaded++;
            whole += program_ask(&p, "file-write-data", "/last").allow &&
                     program_ask(&p, "file-read-data", "/x19").allow &&
                     !program_ask(&p, "file-write-data", "/m/x").allow;
        } else {
            refused++;
            reported += p.err.code == BK_E_LIMIT && p.err.msg[0];
        }
    }
    ok(refused > 20 && loaded > 5, "some budgets are too small, some are not (%zu, %zu)", refused,
       loaded);
    is_int((intmax_t)reported, (intmax_t)refused, "a small budget is reported as one");
    is_int((intmax_t)whole, (intmax_t)loaded, "and what loads is whole");
}

static void test_many_errors(void)
{
    OWN(buf) struct buf text = {0};
    buf_str(&text, "(version 1)");
    for (int i = 0; i < 100000; i++)
        buf_fmt(&text, " x%d", i);
    OWN(program) struct program p;
    program_load(&p, text.s, &sbpl_any);
    ok(!p.graph && p.unit.diags.errors == DIAG_MAX && p.unit.diags.kept == DIAG_MAX &&
           p.err.col == 13,
       "a hundred thousand mistakes in one line end soon");
}

/* One line of a hundred thousand rules, and one form with as many: every rule's position is known,
 * in time proportional to their number. */
static void test_long_lines(void)
{
    for (int i = 0; i < 2; i++) {
        OWN(buf) struct buf text = {0};
        buf_str(&text, i ? "(version 1)(begin" : "(version 1)     ");
        for (int k = 0; k < 100000; k++)
            buf_fmt(&text, "(allow file-read* (literal \"/%05d\"))", k);
        buf_str(&text, i ? ")" : " ");
        struct sbpl_options opt = {.os = VOCAB_OS_ANY, .max_bytes = (size_t)1 << 30};
        clock_t start = clock();
        OWN(program) struct program p;
        program_load(&p, text.s, &opt);
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        struct graph_verdict v = program_ask(&p, "file-read-data", "/99999");
        const struct graph_origin *o =
            p.graph && v.rule != GRAPH_NO_RULE ? &graph_rule_at(p.graph, v.rule)->origin : NULL;
        /* each rule takes 37 characters, the first one starts after 17 or 16 others */
        is_int(o ? o->col : 0, (i ? 17 : 16) + 99999 * 37 + 1,
               "the last of 100,000 rules is found");
        is_int(o ? o->via_line : 9, 0, "without mention of the form around it");
        ok(seconds < 20, "in %.1f seconds", seconds);
    }
}

/* Errors of the finished graph are reported as findings, at the rule. */
static void test_graph_limits(void)
{
    OWN(buf) struct buf text = {0}, out = {0};
    buf_str(&text, "(version 1)\n");
    for (int i = 0; i < 300; i++)
        buf_fmt(&text, "  (allow file-read* (regex #\"x%d((a{100}){90}|b{900})\"))\n", i);
    OWN(program) struct program p;
    program_load(&p, text.s, &sbpl_any);
    show_findings(&p.unit, DIAG_ERROR, &out);
    ok(!p.graph && out.s && strncmp(out.s, "graph-budget@", 13) == 0 && p.err.code == BK_E_LIMIT &&
           p.err.line > 1 && p.err.col == 3,
       "too many states: %s", out.s ? out.s : "");
}

/* ---- threads ---- */

struct work {
    pthread_t thread;
    int number;
    bool good;
};

static void *compile_often(void *arg)
{
    struct work *w = arg;
    w->good = true;
    for (int i = 0; i < 20; i++) {
        char text[400], mine[40], other[40];
        snprintf(mine, sizeof(mine), "/own/%d", w->number);
        snprintf(other, sizeof(other), "/own/%d", w->number + 1);
        snprintf(text, sizeof(text),
                 "(version 1)(deny default)(import \"bsd.sb\")(define if list)(define x %d)"
                 "(define-macro (m p) `(allow file-write* (literal ,p)))(m \"%s\")"
                 "(allow file-write* (regex #\"^/re/%d$\"))",
                 w->number, mine, w->number);
        OWN(program) struct program p;
        program_load(&p, text, &sbpl_any);
        w->good = w->good && p.graph && program_ask(&p, "file-write-data", mine).allow &&
                  !program_ask(&p, "file-write-data", other).allow &&
                  program_ask(&p, "file-read-data", "/usr/bin/env").allow;
    }
    return NULL;
}

static void test_threads(void)
{
    struct work work[4];
    for (int i = 0; i < 4; i++) {
        work[i].number = i * 10;
        pthread_create(&work[i].thread, NULL, compile_often, &work[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(work[i].thread, NULL);
        ok(work[i].good, "thread %d compiles its own profiles undisturbed", i);
    }
}

/* ---- texts apart ---- */

static void check_apart(const char *text, const char *apart, const char *want, const char *name)
{
    OWN(program) struct program p = {0};
    sbpl_unit_init(&p.unit, &sbpl_any);
    bool added = sbpl_add_text(&p.unit, "t.sb", text, strlen(text), &p.err) == 0 &&
                 sbpl_add_apart(&p.unit, "apart.sb", apart, strlen(apart), &p.err) == 0;
    ok(added && program_compile(&p), "%s: it loads", name);
    is_str(program_result(&p, "file-write-data", "/shut/x"), want, "%s", name);
}

static void test_apart(void)
{
    static const char shut[] = "(define places '(\"/shut\"))\n"
                               "(deny file-write* file-write-data (apply subpath places))";
    static const char *const texts[] = {
        "",
        "(define (deny . all) #t)",
        "(set! deny allow)",
        "(define-macro (deny . all) #t)",
        "(define (subpath . all) (literal \"/nowhere\"))",
        "(define file-write-data file-read-data)(define file-write* file-read*)",
        "(define (apply . all) (literal \"/nowhere\"))",
        "(define places '(\"/nowhere\"))",
        "(define-macro (quote x) `(list \"/nowhere\"))",
        "(define-macro (define . all) #t)",
        "(define (%finalize) (allow file-write* file-write-data (subpath \"/shut\")))",
        "(set! %finalize (lambda () (allow file-write-data (subpath \"/shut\"))))",
        "(disable-rule-checks)",
        "(with-filter (literal \"/nowhere\") (allow file-write*))",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        char whole[512];
        snprintf(whole, sizeof(whole), "(version 1)(allow default)%s", texts[i]);
        check_apart(whole, shut, "deny", texts[i]);
    }
    check_apart("(version 1)(deny default)", "(allow file-write* (subpath \"/shut\"))", "allow",
                "it can allow as well");
    check_apart("(version 2)(deny default)", "(allow file-write* (subpath \"/shut\"))", "allow",
                "in any version of the language");
    OWN(program) struct program p = {0};
    sbpl_unit_init(&p.unit, &sbpl_any);
    ok(sbpl_add_text(&p.unit, "a.sb", "(version 1)(define x 1)", 23, &p.err) == 0 &&
           sbpl_add_apart(&p.unit, "b.sb", "(define y x)", 12, &p.err) == 0 && !program_compile(&p),
       "it knows nothing of what others define");
}

int main(void)
{
    test_apart();
    if (!mkdtemp(folder)) {
        printf("Bail out! no temporary folder\n");
        return 1;
    }
    test_params();
    test_implicit_rules();
    test_versions();
    test_units();
    test_builtins();
    test_import_order();
    test_imports();
    test_shipped_are_closed();
    test_entitlements();
    test_property_lists();
    test_os();
    test_memory();
    test_many_errors();
    test_long_lines();
    test_graph_limits();
    test_threads();
    remove_folder(folder);
    return done_testing();
}
