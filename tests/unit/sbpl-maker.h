/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TESTS_SBPL_MAKER_H
#define BK_TESTS_SBPL_MAKER_H

/*
 * What the tests of the SBPL layer share. A text is evaluated or compiled and the outcome written
 * as one line, so that tests are rows of two strings: a value as `write` shows it, or findings as
 * "code@line:column".
 */
#include "base/own.h"
#include "base/utf8.h"
#include "graph/eval.h"
#include "sbpl/machine.h"
#include "sbpl/read.h"
#include "sbpl/sbpl.h"
#include "tap.h"

static const struct sbpl_options sbpl_any = {.os = VOCAB_OS_ANY};

/* "code@line:col", all findings of a level in the order of the text. */
static inline void show_findings(struct sbpl_unit *u, enum diag_level level, struct buf *out)
{
    diags_sort(&u->diags);
    for (const struct diag *g = u->diags.first; g; g = g->next) {
        if (g->level != level)
            continue;
        struct source_place p = source_find(&u->map, g->pos);
        buf_fmt(out, "%s%s", out->n ? " " : "", g->code);
        if (p.source)
            buf_fmt(out, "@%u:%u", p.line, p.col);
    }
}

static inline const struct diag *find_finding(struct sbpl_unit *u, const char *code)
{
    for (const struct diag *g = u->diags.first; g; g = g->next)
        if (strcmp(g->code, code) == 0)
            return g;
    return NULL;
}

/* Evaluates all forms: the value of the last one, or the errors. */
static inline void show_value(const char *text, const struct sbpl_options *opt, struct buf *out)
{
    struct bk_err err;
    struct machine m;
    OWN(sbpl_unit) struct sbpl_unit u;
    sbpl_unit_init(&u, opt);
    const struct source *src = source_add(&u.map, "t.sb", text, strlen(text), &err);
    if (!src || machine_init(&m, &u) < 0) {
        buf_str(out, "cannot start");
        return;
    }
    struct val *forms = read_all_data(&u.arena, &m.syms, &u.diags, src, u.opt.max_depth);
    struct val *last = &val_void;
    m.main = src;
    for (; forms && forms->type == V_PAIR && !m.fatal; forms = forms->cdr)
        last = machine_run_form(&m, forms->car, forms->pos) == 0 ? m.value : last;
    if (u.diags.errors)
        show_findings(&u, DIAG_ERROR, out);
    else
        val_print(last, 4000, out);
    machine_free(&m);
}

struct sbpl_row {
    const char *text, *want;
};

static inline void check_rows(const struct sbpl_row *rows, size_t n, const struct sbpl_options *opt)
{
    for (size_t i = 0; i < n; i++) {
        struct buf out = {0};
        show_value(rows[i].text, opt, &out);
        is_str(out.s, rows[i].want, "%s", rows[i].text);
        buf_free(&out);
    }
}

#define CHECK_ROWS(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]), &sbpl_any)

/* A compiled program, with what it takes to ask it. */
struct program {
    struct sbpl_unit unit;
    struct graph *graph; /* NULL after an error */
    struct graph_cache *cache;
    struct bk_err err;
};

static inline void program_close(struct program *p)
{
    graph_cache_free(p->cache);
    graph_free(p->graph);
    sbpl_unit_free(&p->unit);
}
#define OWN_program program_close

static inline bool program_compile(struct program *p)
{
    if (sbpl_compile(&p->unit, &p->graph, &p->err) < 0)
        p->graph = NULL;
    p->cache = p->graph ? graph_cache_new(p->graph) : NULL;
    return p->graph != NULL;
}

static inline bool program_load(struct program *p, const char *text, const struct sbpl_options *opt)
{
    memset(p, 0, sizeof(*p));
    sbpl_unit_init(&p->unit, opt);
    return sbpl_add_text(&p->unit, "t.sb", text, strlen(text), &p->err) == 0 && program_compile(p);
}

static inline bool program_load_file(struct program *p, const char *path,
                                     const struct sbpl_options *opt)
{
    memset(p, 0, sizeof(*p));
    sbpl_unit_init(&p->unit, opt);
    return sbpl_add_file(&p->unit, path, &p->err) == 0 && program_compile(p);
}

/* The verdict about an operation with at most one argument. */
static inline struct graph_verdict program_ask(struct program *p, const char *op, const char *arg)
{
    struct vocab_word w = vocab_find(op, strlen(op), WORD_OP);
    struct graph_fact facts[2];
    struct graph_query q = {.op = w.id, .facts = facts};
    if (!p->graph || w.kind != WORD_OP ||
        graph_facts_parse(w.id, &arg, arg ? 1 : 0, facts, &q.nfacts, &p->err) < 0)
        return (struct graph_verdict){.rule = GRAPH_NO_RULE};
    return graph_eval(p->graph, p->cache, &q);
}

static inline const char *program_result(struct program *p, const char *op, const char *arg)
{
    return !p->graph ? "error" : program_ask(p, op, arg).allow ? "allow" : "deny";
}

/* Findings of a program that is compiled, without lowering being reached when it is wrong. */
static inline void show_errors(const char *text, const struct sbpl_options *opt, struct buf *out)
{
    OWN(program) struct program p;
    program_load(&p, text, opt);
    show_findings(&p.unit, DIAG_ERROR, out);
}

static inline void check_error_rows(const struct sbpl_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct buf out = {0};
        show_errors(rows[i].text, &sbpl_any, &out);
        is_str(out.s ? out.s : "", rows[i].want, "%s", rows[i].text);
        buf_free(&out);
    }
}

#define CHECK_ERROR_ROWS(rows) check_error_rows(rows, sizeof(rows) / sizeof((rows)[0]))

#endif
