/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The reader: data, positions, errors, and recovery after errors. */

#include "sbpl-maker.h"
#include "sbpl/prim.h"

/* A text with everything that reading it needs and gives. */
struct reading {
    struct sbpl_unit unit;
    struct symtab syms;
    struct val *data; /* NULL when a budget ran out */
};

static void reading_close(struct reading *r)
{
    sbpl_unit_free(&r->unit);
}
#define OWN_reading reading_close

static void read_bytes(struct reading *r, const char *text, size_t n, uint32_t max_depth)
{
    struct bk_err err;
    sbpl_unit_init(&r->unit, &sbpl_any);
    symtab_init(&r->syms, &r->unit.arena);
    const struct source *src = source_add(&r->unit.map, "t.sb", text, n, &err);
    r->data = read_all_data(&r->unit.arena, &r->syms, &r->unit.diags, src, max_depth);
}

static void read_text(struct reading *r, const char *text)
{
    read_bytes(r, text, strlen(text), 1000);
}

/* ---- data ---- */

static void test_data(void)
{
    /* text, and the list of its data as `write` shows it */
    static const struct sbpl_row rows[] = {
        {"", "()"},
        {" \t\r\n\f\v", "()"},
        {"a b-c *x* <=? ...", "(a b-c *x* <=? ...)"},
        {"file-read* network*", "(file-read* network*)"},
        {"a'b 1+ -x +", "(a'b 1+ -x +)"},
        {"0 7 -12 +5 007", "(0 7 -12 5 7)"},
        {"9223372036854775807 -9223372036854775808", "(9223372036854775807 -9223372036854775808)"},
        {"9223372036854775808", "(9.22337e+18)"},
        {"0.5 -2.25 1e3 .5", "(0.5 -2.25 1000 0.5)"},
        {"inf nan 0x10 e5 1e", "(inf nan 0x10 e5 1e)"},
        {"#x1F #xff #x-a #o17 #o777 #b101 #d42", "(31 255 -10 15 511 5 42)"},
        {"1024-65535 12-", "(1024-65535 12-)"},
        {"#t #f #true #false", "(#t #f #t #f)"},
        {"#\\a #\\space #\\newline #\\x41 #\\( #\\x", "(#\\a #\\space #\\newline #\\A #\\( #\\x)"},
        {"(#\\))", "((#\\)))"},
        {"#\\nul #\\tab #\\return", "(#\\x0 #\\x9 #\\xd)"},
        {"() (a) (a (b) ())", "(() (a) (a (b) ()))"},
        {"(a . b) (a b . c) (a . (b))", "((a . b) (a b . c) (a b))"},
        {"(a .5) (a.b)", "((a 0.5) (a.b))"},
        {"'a `a ,a ,@a", "((quote a) (quasiquote a) (unquote a) (unquote-splicing a))"},
        {"''a '(b . c)", "((quote (quote a)) (quote (b . c)))"},
        {"`(a ,b ,@c)", "((quasiquote (a (unquote b) (unquote-splicing c))))"},
        {"(a . 'b)", "((a quote b))"},
        {"a ; b\nc ;", "(a c)"},
        {"a#|b|#c", "(a#|b|#c)"},
        {"a #|b|# c #||# d", "(a c d)"},
        {"a #| x #| y |# z |# b", "(a b)"},
        {"a #|\n(\"|# b", "(a b)"},
        {"#;a b", "(b)"},
        {"(a #;(b c) d #;e)", "((a d))"},
        {"#;#;a b c", "(c)"},
        {"'#;a b", "((quote b))"},
        {"#; (a\n b) c", "(c)"},
        {"#!/usr/bin/env buckle\na", "(a)"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        OWN(reading) struct reading r;
        OWN(buf) struct buf out = {0};
        read_text(&r, rows[i].text);
        if (r.unit.diags.errors)
            show_findings(&r.unit, DIAG_ERROR, &out);
        else
            val_print(r.data, 2000, &out);
        is_str(out.s, rows[i].want, "read %s", rows[i].text);
    }
}

static void test_strings(void)
{
    static const struct {
        const char *text;
        const char *want;
        size_t n;
    } rows[] = {
        {"\"\"", "", 0},
        {"\"abc\"", "abc", 3},
        {"\"a b;c(d)\"", "a b;c(d)", 8},
        {"\"a\\\"b\\\\c\"", "a\"b\\c", 5},
        {"\"\\n\\t\\r\\a\\b\\f\\v\"", "\n\t\r\a\b\f\v", 7},
        {"\"\\x41\\x7e\\xff\"", "A~\xff", 3},
        {"\"\\101\\7\\0z\"", "A\a\0z", 4},
        {"\"\\x4\"", "x4", 2},
        {"\"\\377\\400\"", "\xff\x20\x30", 3}, /* \400 would not fit a byte: \40, then 0 */
        {"\"line\nnext\"", "line\nnext", 9},
        {"\"caf\xc3\xa9\"", "caf\xc3\xa9", 5},
        {"\"\\.\"", ".", 1},
        /* regex literals keep their backslashes, except before a quote */
        {"#\"^/a\\.b$\"", "^/a\\.b$", 7},
        {"#\"\\d\\\\\"", "\\d\\\\", 4},
        {"#\"say \\\"hi\\\"\"", "say \"hi\"", 8},
        {"#\"\\\\\\\"\"", "\\\\\"", 3},
        {"#\"\\n\"", "\\n", 2},
        {"#\"\"", "", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        OWN(reading) struct reading r;
        read_text(&r, rows[i].text);
        const struct val *v = r.data && r.data->type == V_PAIR ? r.data->car : &val_nil;
        ok(v->type == V_STRING && v->n == rows[i].n && memcmp(v->s, rows[i].want, v->n) == 0 &&
               v->s[v->n] == '\0' && !r.unit.diags.errors,
           "string %s", rows[i].text);
    }
    OWN(reading) struct reading r;
    OWN(buf) struct buf out = {0};
    read_text(&r, "a\n \"\\.\\*\" \"\\d\"");
    show_findings(&r.unit, DIAG_WARNING, &out);
    is_str(out.s, "string-escape@2:3 string-escape@2:10",
           "escapes that mean nothing are remarked, once a string");
}

/* ---- places ---- */

/* Every datum with its position: 1:2:a, lists as 1:1:( … ). */
static void show_places(struct reading *r, const struct val *v, src_pos pos, struct buf *out)
{
    struct source_place p = source_find(&r->unit.map, pos);
    buf_fmt(out, "%s%u:%u:", out->n ? " " : "", p.line, p.col);
    if (v->type != V_PAIR) {
        val_print(v, 100, out);
        return;
    }
    buf_chr(out, '(');
    for (; v->type == V_PAIR; v = v->cdr)
        show_places(r, v->car, v->pos, out);
    buf_str(out, " )");
}

static void test_places(void)
{
    static const struct sbpl_row rows[] = {
        {"a", "1:1:a"},
        {"\n\n  a\n b", "3:3:a 4:2:b"},
        {"(a b)", "1:1:( 1:2:a 1:4:b )"},
        {"(allow\n  (literal \"/x\")\n)", "1:1:( 1:2:allow 2:3:( 2:4:literal 2:12:\"/x\" ) )"},
        {"'a", "1:1:( 1:1:quote 1:2:a )"},
        {"  ',@a", "1:3:( 1:3:quote 1:4:( 1:4:unquote-splicing 1:6:a ) )"},
        {"; c\r\n\t(a #;x b)", "2:2:( 2:3:a 2:9:b )"},
        {"(() 5 #t #\\a #\"r\")", "1:1:( 1:2:() 1:5:5 1:7:#t 1:10:#\\a 1:14:\"r\" )"},
        /* columns count characters, an invalid byte as one */
        {"(\"\xc3\xa9\xe2\x82\xac\" b)", "1:1:( 1:2:\"\xc3\xa9\xe2\x82\xac\" 1:7:b )"},
        {"#|\xc3\xa9|# a", "1:7:a"},
        {"\"\xff\" a", "1:1:\"\xff\" 1:5:a"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        OWN(reading) struct reading r;
        OWN(buf) struct buf out = {0};
        read_text(&r, rows[i].text);
        for (const struct val *l = r.data; l && l->type == V_PAIR; l = l->cdr)
            show_places(&r, l->car, l->pos, &out);
        is_str(out.s, rows[i].want, "places in %s", rows[i].text);
    }
}

/* Finding a position caches the last one; that must not show. */
static void test_places_in_any_order(void)
{
    OWN(reading) struct reading r;
    static const char text[] = "a \xc3\xa9 b\n\n\xe2\x82\xac\xe2\x82\xac c d\nlast";
    read_bytes(&r, text, sizeof(text) - 1, 10);
    src_pos base = r.unit.map.first->base;
    static const struct {
        uint32_t at, line, col;
    } rows[] = {
        {19, 4, 1}, {5, 1, 5}, {15, 3, 4}, {0, 1, 1}, {17, 3, 6}, {15, 3, 4},
        {17, 3, 6}, {8, 3, 1}, {6, 1, 6},  {7, 2, 1}, {22, 4, 4}, {2, 1, 3},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct source_place p = source_find(&r.unit.map, base + rows[i].at);
        ok(p.line == rows[i].line && p.col == rows[i].col, "byte %u is at %u:%u (%u:%u)",
           rows[i].at, rows[i].line, rows[i].col, p.line, p.col);
    }
}

/* ---- mistakes ---- */

static void test_mistakes(void)
{
    /* text, and every error with its place */
    static const struct sbpl_row rows[] = {
        {"(a", "unclosed-list@1:1"},
        {"  (a (b)", "unclosed-list@1:3"},
        {"a)", "stray-parenthesis@1:2"},
        {")\n)", "stray-parenthesis@1:1 stray-parenthesis@2:1"},
        {"(a \"b)", "unclosed-string@1:4"},
        {" #\"b", "unclosed-string@1:2"},
        {"a #| b", "unclosed-comment@1:3"},
        {"#| #| |#", "unclosed-comment@1:1"},
        {"@a", "unexpected-character@1:1"},
        {"(a [b])", "unexpected-character@1:4"},
        {"(a {b} |c| \\d)",
         "unexpected-character@1:4 unexpected-character@1:8 unexpected-character@1:12"},
        {"(\xc3\xa9)", "unexpected-character@1:2"},
        {"\xff", "unexpected-character@1:1"},
        {"#q", "bad-syntax@1:1"},
        {"#(a b)", "bad-syntax@1:1"},
        {"#xZZ #b2 #o8", "bad-syntax@1:1 bad-syntax@1:6 bad-syntax@1:10"},
        {"#", "bad-syntax@1:1"},
        {"#\\", "bad-character@1:1"},
        {"#\\nosuch #\\x110000 #\\x-41", "bad-character@1:1 bad-character@1:10 bad-character@1:20"},
        {"(. a)", "bad-dot@1:2"},
        {"(a . )", "bad-dot@1:6"},
        {"(a . b c)", "bad-dot@1:9"},
        {"(a . . b)", "bad-dot@1:6"},
        {".", "bad-dot@1:1"},
        {"(a ')", "bad-quote@1:5"},
        {"(a #;)", "bad-quote@1:6"},
        {"')", "bad-quote@1:2"},
        {"'", "unclosed-list@1:1"},
        {"\n(b\n", "unclosed-list@2:1"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        OWN(reading) struct reading r;
        OWN(buf) struct buf out = {0};
        read_text(&r, rows[i].text);
        show_findings(&r.unit, DIAG_ERROR, &out);
        is_str(out.s ? out.s : "", rows[i].want, "mistake %s", rows[i].text);
    }
}

/* All errors at once, each reported once, and the intact forms survive. */
static void test_recovery(void)
{
    static const char text[] =
        "(version 1)\n"
        "(allow file-read*\n" /* line 2: parenthesis missing */
        "  (literal \"/a\")\n"
        "\n"
        "(deny file-write*)\n"
        "(allow mach-lookup (global-name \"com.example))\n" /* quote missing */
        "(deny network*))\n"                                /* one too many */
        "(allow @file* (literal \"/b\"))\n"
        "(allow file-read* (literal . . \"/c\") {x})\n"
        "; a comment with ( and \"\n"
        "(deny default)\n";
    OWN(reading) struct reading r;
    OWN(buf) struct buf out = {0}, data = {0};
    read_text(&r, text);
    show_findings(&r.unit, DIAG_ERROR, &out);
    is_str(out.s,
           "unclosed-list@2:1 unclosed-string@6:33 stray-parenthesis@7:16 "
           "unexpected-character@8:8 bad-dot@9:30 unexpected-character@9:38",
           "six mistakes, each at its place");
    val_print(r.data, 1000, &data);
    is_str(data.s, "((version 1) (deny file-write*) (deny network*) (deny default))",
           "and the sound forms between them");
}

static void test_budgets(void)
{
    char deep[401];
    memset(deep, '(', 200);
    memset(deep + 200, ')', 200);
    deep[400] = '\0';
    static const struct {
        uint32_t max;
        const char *want;
    } rows[] = {{200, ""}, {199, "depth-budget@1:200"}, {1, "depth-budget@1:2"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        OWN(reading) struct reading r;
        OWN(buf) struct buf out = {0};
        read_bytes(&r, deep, 400, rows[i].max);
        show_findings(&r.unit, DIAG_ERROR, &out);
        is_str(out.s ? out.s : "", rows[i].want, "200 deep with a budget of %u", rows[i].max);
        ok(!r.data == (rows[i].want[0] != '\0'), "an exhausted budget gives no data");
    }
    OWN(buf) struct buf wide = {0};
    buf_chr(&wide, '(');
    for (int i = 0; i < 500; i++)
        buf_str(&wide, "(a)'b");
    buf_chr(&wide, ')');
    OWN(reading) struct reading r;
    read_bytes(&r, wide.s, wide.n, 3);
    ok(r.data && !r.unit.diags.errors, "a wide list is not a deep one");

    OWN(reading) struct reading small;
    struct bk_err err;
    struct sbpl_options opt = {.os = VOCAB_OS_ANY, .max_bytes = 8192};
    sbpl_unit_init(&small.unit, &opt);
    symtab_init(&small.syms, &small.unit.arena);
    const struct source *src = source_add(&small.unit.map, "t.sb", wide.s, wide.n, &err);
    small.data = read_all_data(&small.unit.arena, &small.syms, &small.unit.diags, src, 100);
    ok(!small.data && find_finding(&small.unit, "memory-budget"), "bytes are a budget too");
}

static void test_bytes(void)
{
    OWN(reading) struct reading r;
    OWN(buf) struct buf out = {0};
    read_bytes(&r, "(a)\n b\0c", 8, 100);
    show_findings(&r.unit, DIAG_ERROR, &out);
    is_str(out.s, "nul-byte@2:3", "a NUL byte is reported with its position");
}

static void test_preprocessed(void)
{
    OWN(reading) struct reading r;
    OWN(buf) struct buf out = {0}, notes = {0};
    read_text(&r, "(a syscall-1)\n(syscall-1 -in-use x)\n(syscall-1  -y) (syscall-1 -1)\n"
                  "(syscall-10 my-syscall-1 \"syscall-1\")");
    val_print(r.data, 1000, &out);
    is_str(out.s,
           "((a syscall-unix) (syscall-unix-in-use x) (syscall-unix -y) (syscall-unix -1) "
           "(syscall-10 my-syscall-1 \"syscall-1\"))",
           "what a preprocessor did to `unix` is mended");
    show_findings(&r.unit, DIAG_NOTE, &notes);
    is_str(notes.s, "preprocessed@1:4", "and told, once");
}

static void test_extent(void)
{
    static const struct {
        const char *text;
        size_t want;
    } rows[] = {
        {"(a b) c", 5},
        {"abc def", 3},
        {"abc)", 3},
        {"(a \")\" b) c", 9},
        {"(a #\"\\\")\") c", 10},
        {"(a ;)\n b) c", 9},
        {"((a) (b)) (c)", 9},
        {"\"a b\" c", 5},
        {"(a", 2},
        {"\"a", 2},
        {"'(a) b", 4},
        {"", 0},
        {"(a \"b\\", 6},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        is_int((intmax_t)read_extent(rows[i].text, strlen(rows[i].text)), (intmax_t)rows[i].want,
               "extent of %s", rows[i].text);
}

static void test_datum_by_datum(void)
{
    OWN(sbpl_unit) struct sbpl_unit u;
    struct symtab syms;
    sbpl_unit_init(&u, &sbpl_any);
    symtab_init(&syms, &u.arena);
    static const char text[] = "a (b) ) c";
    struct reader r = {.arena = &u.arena,
                       .syms = &syms,
                       .diags = &u.diags,
                       .s = text,
                       .n = sizeof(text) - 1,
                       .base = 100,
                       .max_depth = 10};
    struct val *v = NULL;
    src_pos pos = 0;
    ok(read_datum(&r, &v, &pos) == READ_DATUM && v->type == V_SYMBOL && pos == 100, "a datum");
    ok(read_datum(&r, &v, &pos) == READ_DATUM && v->type == V_PAIR && pos == 102, "the next");
    ok(v->car->type == V_SYMBOL && v->pos == 103, "with the place of its car");
    is_int(read_datum(&r, &v, &pos), READ_ERROR, "a mistake");
    ok(read_datum(&r, &v, &pos) == READ_DATUM && pos == 108, "reading goes on behind it");
    is_int(read_datum(&r, &v, &pos), READ_END, "the end");
    is_int(read_datum(&r, &v, &pos), READ_END, "stays the end");
}

static void test_numbers(void)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    static const struct {
        const char *text;
        int radix;
        bool number;
        int64_t want;
    } rows[] = {
        {"42", 10, true, 42}, {"ff", 16, true, 255}, {"-ff", 16, true, -255}, {"777", 8, true, 511},
        {"8", 8, false, 0},   {"12", 2, false, 0},   {"", 10, false, 0},      {" 1", 10, false, 0},
        {"1 ", 10, false, 0}, {"-", 10, false, 0},   {"x", 10, false, 0},     {"--1", 10, false, 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct val *v = read_number(&a, rows[i].text, strlen(rows[i].text), rows[i].radix);
        ok(rows[i].number ? v && v->type == V_INT && v->num == rows[i].want : !v,
           "number \"%s\" in base %d", rows[i].text, rows[i].radix);
    }
    arena_free(&a);
}

/* ---- tables for binary search ---- */

static void test_tables(void)
{
    static const char *const names[] = {
#define PRIM(name, min, max, fn) name,
#include "sbpl/prims.def"
#undef PRIM
    };
    size_t n = sizeof(names) / sizeof(*names), sorted = 1, found = 0;
    for (size_t i = 1; i < n; i++)
        sorted += strcmp(names[i - 1], names[i]) < 0;
    for (size_t i = 0; i < n; i++) {
        const struct prim *p = prim_find(names[i], strlen(names[i]));
        found += p && strcmp(p->name, names[i]) == 0;
    }
    is_int((intmax_t)sorted, (intmax_t)n, "procedures are sorted by name");
    is_int((intmax_t)found, (intmax_t)n, "every procedure is found");
    static const char *const forms[] = {
        "and",
        "apply-message-filter",
        "begin",
        "case",
        "cond",
        "debug",
        "define",
        "define-macro",
        "do",
        "if",
        "lambda",
        "let",
        "let*",
        "letrec",
        "letrec*",
        "macro",
        "or",
        "quasiquote",
        "quote",
        "set!",
        "unless",
        "when",
        "with-filter",
        "with-modifier",
        "with-operations",
    };
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        const struct val *v = syntax_find(forms[i], strlen(forms[i]));
        ok(v && v->type == V_SYNTAX && strcmp(v->syntax->name, forms[i]) == 0, "form %s is found",
           forms[i]);
    }
    ok(!prim_find("ca", 2) && !prim_find("carr", 4) && !prim_find("", 0), "parts of names are not");
    ok(!syntax_find("i", 1) && !syntax_find("iff", 3) && !syntax_find("", 0), "nor of forms");
    static const char with_nul[] = "if\0and more behind it, past the end of the known name";
    ok(!syntax_find(with_nul, sizeof(with_nul) - 1) && !prim_find(with_nul, sizeof(with_nul) - 1),
       "a name with a NUL is another name");
    is_int(name_compare("abc", 3, "abc"), 0, "names compare");
    ok(name_compare("ab", 2, "abc") < 0 && name_compare("abd", 3, "abc") > 0 &&
           name_compare("abcd", 4, "abc") > 0,
       "as strcmp() orders them");
}

int main(void)
{
    test_data();
    test_strings();
    test_places();
    test_places_in_any_order();
    test_mistakes();
    test_recovery();
    test_budgets();
    test_bytes();
    test_preprocessed();
    test_extent();
    test_datum_by_datum();
    test_numbers();
    test_tables();
    return done_testing();
}
