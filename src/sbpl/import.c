/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * (import "name"). An absolute name is that file. Other names are searched in the -I folders, then
 * next to the importing file, then among the shipped profiles. A shipped profile imports shipped
 * profiles only, so that no stray file can change its meaning.
 */

#include "sbpl/machine.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "sbpl/precompiled.h"
#include "sbpl/prim.h"
#include "sbpl/read.h"

enum { IMPORT_DEPTH = 32, IMPORT_MAX = 1000, IMPORT_PATH = 4096 };

static const char shipped_prefix[] = "<buckle>/";
static const char sequel_name[] = "<buckle>/names";

static bool is_shipped(const struct source *s)
{
    return s && strncmp(s->name, shipped_prefix, sizeof(shipped_prefix) - 1) == 0;
}

bool machine_in_shipped(const struct machine *m)
{
    return is_shipped(m->import ? m->import->source : m->main);
}

static const struct sbpl_builtin *find_shipped(const char *name)
{
    for (const struct sbpl_builtin *b = sbpl_builtins; b->name; b++)
        if (strcmp(b->name, name) == 0)
            return b;
    return NULL;
}

/* The text's name if it is a shipped profile. */
static const char *shipped_name(const struct source *s)
{
    return s->name + sizeof(shipped_prefix) - 1;
}

static struct source *add_shipped(struct machine *m, const struct sbpl_builtin *b,
                                  struct bk_err *err)
{
    char name[128];
    snprintf(name, sizeof(name), "%s%s", shipped_prefix, b->name);
    return source_lend(&m->unit->map, name, b->text, b->len, err);
}

static const struct sbpl_given *find_given(const struct machine *m, const char *path)
{
    const struct sbpl_options *opt = &m->unit->opt;
    for (size_t i = 0; i < opt->ngiven; i++)
        if (strcmp(opt->given[i].name, path) == 0)
            return &opt->given[i];
    return NULL;
}

/* Only regular files: devices and pipes could block the compiler. */
static bool is_file(const struct machine *m, const char *path)
{
    struct stat st;
    if (m->unit->opt.shipped_only)
        return find_given(m, path) != NULL;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static struct source *read_file(struct machine *m, const char *path, struct bk_err *err)
{
    const struct sbpl_given *given = m->unit->opt.shipped_only ? find_given(m, path) : NULL;
    return given ? source_lend(&m->unit->map, path, given->text, given->n, err)
                 : source_read(&m->unit->map, path, err);
}

/* Stores dir/name in path if such a file exists. */
static bool exists_in(const struct machine *m, const char *dir, size_t n, const char *name,
                      char path[IMPORT_PATH])
{
    int len = n ? snprintf(path, IMPORT_PATH, "%.*s/%s", (int)n, dir, name)
                : snprintf(path, IMPORT_PATH, "%s", name);
    return len > 0 && len < IMPORT_PATH && is_file(m, path);
}

static bool search_folders(struct machine *m, const struct source *from, const char *name,
                           char path[IMPORT_PATH])
{
    const struct sbpl_options *opt = &m->unit->opt;
    for (size_t i = 0; i < opt->nimport_dirs; i++)
        if (exists_in(m, opt->import_dirs[i], strlen(opt->import_dirs[i]), name, path))
            return true;
    const char *slash = from ? strrchr(from->name, '/') : NULL;
    return from && exists_in(m, from->name, slash ? (size_t)(slash - from->name) : 0, name, path);
}

/* Finds the text for a name; NULL with *err. */
static struct source *locate(struct machine *m, const struct source *from, const char *name,
                             struct bk_err *err)
{
    char path[IMPORT_PATH];
    const char *base = strrchr(name, '/');
    if (!is_shipped(from) && (!m->unit->opt.shipped_only || m->unit->opt.ngiven)) {
        if (name[0] == '/' ? is_file(m, name) : search_folders(m, from, name, path))
            return read_file(m, name[0] == '/' ? name : path, err);
        /* /System/Library/Sandbox/Profiles/system.sb on a system without that folder */
        if (name[0] == '/' && strncmp(name, "/System/Library/Sandbox/Profiles/", 33) != 0 &&
            strncmp(name, "/usr/share/sandbox/", 19) != 0)
            base = NULL;
    }
    const struct sbpl_builtin *b = find_shipped(name[0] == '/' && base ? base + 1 : name);
    if (b)
        return add_shipped(m, b, err);
    err_set(err, BK_E_INPUT, "cannot find the profile %s", name);
    err_hint(err, "name its folder with -I; shipped: system.sb, bsd.sb");
    return NULL;
}

/* Whether this text is already being imported. */
static bool in_progress(const struct machine *m, const char *name, const struct source *top)
{
    for (const struct import *i = m->import; i; i = i->up)
        if (strcmp(i->source->name, name) == 0)
            return true;
    return top && strcmp(top->name, name) == 0;
}

/* Returns the sequel of a shipped text; NULL if there is none, or after an error. */
static const struct source *sequel_of(struct machine *m, const struct source *src)
{
    const struct sbpl_options *opt = &m->unit->opt;
    struct bk_err err;
    for (size_t i = 0; is_shipped(src) && i < opt->nsequels; i++) {
        const struct sbpl_sequel *s = &opt->sequels[i];
        if (strcmp(s->after, shipped_name(src)) != 0)
            continue;
        const struct source *text = source_lend(&m->unit->map, sequel_name, s->text, s->n, &err);
        return text ? text : machine_no_memory(m);
    }
    return NULL;
}

/* Reads a text and appends the other forms. */
static struct val *read_before(struct machine *m, const struct source *src, struct val *others)
{
    struct val *forms = read_all_data(m->arena, &m->syms, m->diags, src, m->unit->opt.max_depth);
    struct val *last = forms;
    while (last && last->type == V_PAIR && last->cdr->type == V_PAIR)
        last = last->cdr;
    if (!last || last->type != V_PAIR)
        return last ? others : NULL;
    last->cdr = others;
    return forms;
}

static struct val *enter(struct machine *m, const struct call *c, const struct source *src,
                         const struct source *sequel)
{
    struct import *i = arena_new(m->arena, struct import);
    if (!i)
        return machine_no_memory(m);
    size_t errors = m->diags->errors;
    struct val *more = sequel ? read_before(m, sequel, &val_nil) : &val_nil;
    struct val *forms = more ? read_before(m, src, more) : NULL;
    if (!forms)
        m->fatal = true;
    if (m->diags->errors > errors)
        return NULL;
    *i = (struct import){src, c->pos, m->import};
    m->import = i;
    struct frame end = {.kind = FRAME_END_IMPORT, .pos = m->top_pos};
    struct frame body = {.kind = FRAME_TOP_FORMS, .pos = c->pos, .a = forms};
    if (machine_push(m, end) < 0 || machine_push(m, body) < 0)
        return NULL;
    machine_return(m, &val_void);
    return &machine_control;
}

struct val *import_apply(struct machine *m, const struct call *c)
{
    struct val *name = want(m, c, 0, V_STRING);
    if (!name)
        return NULL;
    const struct source *from = m->import ? m->import->source : m->main;
    size_t depth = 0;
    for (const struct import *i = m->import; i; i = i->up)
        depth++;
    struct bk_err err;
    struct source *src = NULL;
    if (depth >= IMPORT_DEPTH)
        err_set(&err, BK_E_LIMIT, "imports are nested more than %d deep", IMPORT_DEPTH);
    else if (++m->nimports > IMPORT_MAX)
        err_set(&err, BK_E_LIMIT, "more than %d imports in one program", IMPORT_MAX);
    else
        src = locate(m, from, name->s, &err);
    if (!src) {
        machine_error(m, call_arg_pos(c, 0), "import", "%s", err.msg);
        if (err.hint[0])
            machine_hint(m, "%s", err.hint);
        return NULL;
    }
    if (in_progress(m, src->name, m->main))
        return machine_error(m, c->pos, "import-cycle", "%s imports itself, through %s", src->name,
                             from ? from->name : "?");
    const struct precompiled_text *ready;
    const struct source *sequel = sequel_of(m, src);
    if (m->fatal)
        return NULL;
    if (!is_shipped(src) || !precompiled_find(m, shipped_name(src), &ready))
        return enter(m, c, src, sequel);
    if (precompiled_import(m, ready, src) < 0)
        return NULL;
    return sequel ? enter(m, c, sequel, NULL) : &val_void;
}
