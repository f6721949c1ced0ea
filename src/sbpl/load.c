/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The stages in order: texts → data (read.c) → rules (machine.c) → graph (lower.c). An error in one
 * top-level form does not stop the others from being checked, so users see all errors at once. Only
 * an exhausted budget ends the work early.
 */

#include "sbpl/machine.h"

#include <stdio.h>
#include <string.h>

#include "sbpl/read.h"

struct sbpl_text {
    struct source *source;
    bool apart;
    struct sbpl_text *next;
};

enum { DEFAULT_STEPS = 20000000, DEFAULT_DEPTH = 100000, DEFAULT_BYTES = 128 << 20 };

void sbpl_unit_init(struct sbpl_unit *u, const struct sbpl_options *opt)
{
    memset(u, 0, sizeof(*u));
    if (opt)
        u->opt = *opt;
    else
        u->opt.os = VOCAB_OS_ANY;
    u->opt.max_steps = u->opt.max_steps ? u->opt.max_steps : DEFAULT_STEPS;
    u->opt.max_depth = u->opt.max_depth ? u->opt.max_depth : DEFAULT_DEPTH;
    u->opt.max_bytes = u->opt.max_bytes ? u->opt.max_bytes : DEFAULT_BYTES;
    arena_init(&u->arena, u->opt.max_bytes);
    source_map_init(&u->map, &u->arena);
    diags_init(&u->diags);
    u->diags.map = &u->map;
}

void sbpl_unit_free(struct sbpl_unit *u)
{
    diags_free(&u->diags);
    arena_free(&u->arena);
    memset(u, 0, sizeof(*u));
}

const struct source *sbpl_text_at(const struct sbpl_unit *u, size_t n)
{
    const struct sbpl_text *t = u->first;
    while (t && n--)
        t = t->next;
    return t ? t->source : NULL;
}

static int append(struct sbpl_unit *u, struct source *s, struct bk_err *err)
{
    struct sbpl_text *t = s ? arena_new(&u->arena, struct sbpl_text) : NULL;
    if (!s)
        return -1;
    if (!t)
        return err_set(err, BK_E_LIMIT, "the memory budget is too small for the texts");
    t->source = s;
    if (u->last)
        u->last->next = t;
    else
        u->first = t;
    u->last = t;
    return 0;
}

int sbpl_add_file(struct sbpl_unit *u, const char *path, struct bk_err *err)
{
    return append(u, source_read(&u->map, path, err), err);
}

int sbpl_add_text(struct sbpl_unit *u, const char *name, const char *text, size_t n,
                  struct bk_err *err)
{
    return append(u, source_add(&u->map, name, text, n, err), err);
}

int sbpl_add_apart(struct sbpl_unit *u, const char *name, const char *text, size_t n,
                   struct bk_err *err)
{
    if (sbpl_add_text(u, name, text, n, err) < 0)
        return -1;
    u->last->apart = true;
    return 0;
}

void sbpl_mark_last(struct sbpl_unit *u, enum rule_source from)
{
    u->last->source->from = (uint8_t)from;
}

int sbpl_replace_last(struct sbpl_unit *u, const char *name, const char *text, size_t n,
                      struct bk_err *err)
{
    struct source *s = source_add(&u->map, name, text, n, err);
    if (!s || !u->last)
        return -1;
    u->last->source = s;
    return 0;
}

static void put_word(struct buf *out, const char *s)
{
    buf_sized(out, s ? s : "", s ? strlen(s) : 0);
}

/* Texts of shipped profiles belong to the program. */
bool sbpl_put_inputs(const struct sbpl_unit *u, struct buf *out)
{
    struct sbpl_options plain = u->opt;
    if (!plain.shipped_only || plain.nimport_dirs || plain.entitlements)
        return false; /* files, which may change */
    plain.params = NULL;
    plain.given = NULL;
    plain.sequels = NULL;
    plain.terse = false;
    buf_sized(out, &plain, sizeof(plain));
    for (size_t i = 0; i < u->opt.nparams; i++) {
        put_word(out, u->opt.params[i].key);
        put_word(out, u->opt.params[i].value);
    }
    for (size_t i = 0; i < u->opt.ngiven; i++) {
        put_word(out, u->opt.given[i].name);
        buf_sized(out, u->opt.given[i].text, u->opt.given[i].n);
    }
    for (size_t i = 0; i < u->opt.nsequels; i++) {
        put_word(out, u->opt.sequels[i].after);
        buf_sized(out, u->opt.sequels[i].text, u->opt.sequels[i].n);
    }
    for (const struct sbpl_text *t = u->first; t; t = t->next) {
        put_word(out, t->source->name);
        buf_sized(out, t->source->text, t->source->len);
        buf_sized(out, &t->source->from, 1);
        buf_sized(out, &t->apart, 1);
    }
    return true;
}

int sbpl_add_builtin(struct sbpl_unit *u, const char *name, struct bk_err *err)
{
    for (const struct sbpl_builtin *b = sbpl_builtins; b->name; b++)
        if (strcmp(b->name, name) == 0) {
            char shown[128];
            snprintf(shown, sizeof(shown), "<buckle>/%s", name);
            return append(u, source_lend(&u->map, shown, b->text, b->len, err), err);
        }
    return err_set(err, BK_E_INPUT, "there is no shipped profile %s", name);
}

static void run_text(struct machine *m, const struct source *src)
{
    size_t errors = m->diags->errors;
    struct val *forms = read_all_data(m->arena, &m->syms, m->diags, src, m->unit->opt.max_depth);
    m->unread = m->unread || m->diags->errors > errors;
    if (!forms) {
        m->fatal = true;
        return;
    }
    m->main = src;
    /* nobody reads more, and a hostile text should not cost more */
    for (; forms->type == V_PAIR && !m->fatal && m->diags->errors < DIAG_MAX; forms = forms->cdr)
        machine_run_form(m, forms->car, forms->pos);
}

/* A profile may set %finalize to a procedure that runs after everything else. */
static void run_finalize(struct machine *m)
{
    struct symbol *name = symbol_intern(&m->syms, "%finalize", 9);
    if (name && name->global && name->global->type == V_CLOSURE)
        machine_run_call(m, name->global);
}

static void check_version(struct machine *m)
{
    if (m->version)
        return;
    m->version = 1;
    struct diag *g = diag_add(m->diags, DIAG_WARNING, "no-version",
                              m->unit->first ? m->unit->first->source->base : 0,
                              "the profile does not declare its version; reading it as version 1");
    diag_hint(m->diags, g, "begin it with (version 1)");
}

/* The first error, for callers that show only one. */
static int first_error(struct sbpl_unit *u, struct bk_err *err)
{
    diags_sort(&u->diags);
    const struct diag *g = u->diags.first;
    while (g && g->level != DIAG_ERROR)
        g = g->next;
    if (!g)
        return err_set(err, BK_E_INPUT, "%zu errors", u->diags.errors);
    struct source_place p = source_find(&u->map, g->pos);
    bool budget = strstr(g->code, "-budget") != NULL;
    err_set(err, budget ? BK_E_LIMIT : BK_E_INPUT, "%s", g->msg);
    if (g->hint)
        err_hint(err, "%s", g->hint);
    if (p.source)
        err_place(err, p.source->name, p.line, p.col);
    return -1;
}

/* Position that an error names; the program's start if it names none. */
static src_pos named_place(const struct sbpl_unit *u, const struct bk_err *err)
{
    src_pos pos =
        err->line ? source_position(&u->map, err->file, sizeof(err->file) - 1, err->line, err->col)
                  : 0;
    return pos || !u->first ? pos : u->first->source->base;
}

/* Turns an error of the graph into a finding. */
static int refused(struct sbpl_unit *u, struct bk_err *err)
{
    if (err->code != BK_E_LIMIT && err->code != BK_E_INPUT)
        return -1;
    struct diag *g =
        diag_add(&u->diags, DIAG_ERROR, err->code == BK_E_LIMIT ? "graph-budget" : "bad-rule",
                 named_place(u, err), "%s", err->msg);
    if (err->hint[0])
        diag_hint(&u->diags, g, "%s", err->hint);
    return first_error(u, err);
}

/* With all names as in an empty program: a profile can redefine deny. */
static void run_apart(struct machine *m, const struct source *src)
{
    m->scope = NULL;
    m->policy = &m->profile;
    if (symtab_init(&m->syms, m->arena) < 0)
        machine_no_memory(m);
    else
        run_text(m, src);
}

int machine_load(struct machine *m, struct bk_err *err)
{
    struct sbpl_unit *u = m->unit;
    for (const struct sbpl_text *t = u->first; t && !m->fatal; t = t->next)
        if (!t->apart)
            run_text(m, t->source);
    if (!m->fatal)
        run_finalize(m);
    for (const struct sbpl_text *t = u->first; t && !m->fatal; t = t->next)
        if (t->apart)
            run_apart(m, t->source);
    if (!m->fatal)
        check_version(m);
    return u->diags.errors ? first_error(u, err) : 0;
}

static int compile(struct machine *m, struct graph **out, struct bk_err *err)
{
    struct sbpl_unit *u = m->unit;
    if (machine_load(m, err) < 0)
        return -1;
    struct graph *g = NULL;
    if (sbpl_lower(m, &g, err) == 0 && command_profiles_apply(m, &g, err) == 0) {
        *out = g;
        return 0;
    }
    graph_free(g);
    return u->diags.errors ? first_error(u, err) : refused(u, err);
}

int sbpl_compile(struct sbpl_unit *u, struct graph **out, struct bk_err *err)
{
    struct machine m;
    arena_reserve(&u->arena, u->opt.reserve); /* not earlier: many policies are kept ones */
    if (machine_init(&m, u) < 0)
        return err_set(err, BK_E_LIMIT, "the memory budget is too small to start");
    int r = compile(&m, out, err);
    diags_sort(&u->diags);
    machine_free(&m);
    return r;
}
