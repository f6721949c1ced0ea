/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Shipped presets are profiles (profiles/preset-NAME.sb, and tool-NAME.sb for tools), written with
 * the procedures of preset.sb, so that profiles can import them too. This reads them as data: each
 * form calls one of those procedures, and each path is a string, (home "/x"), (here "x") or
 * (variable "NAME" "/x").
 */

#include <stdio.h>
#include <string.h>

#include "policy/presets.h"
#include "sbpl/read.h"
#include "sbpl/sbpl.h"
#include "settings/preset-int.h"

static const char PREFIX[] = "preset-", TOOL_PREFIX[] = "tool-";

static const char *const tool_keys[TOOL_WORDS] = {[TOOL_HOSTS] = "hosts",
                                                  [TOOL_REGISTRIES] = "registries",
                                                  [TOOL_PROGRAMS] = "programs",
                                                  [TOOL_FILES] = "files"};

struct text {
    struct arena *arena;
    struct symtab *syms;
    const char *name;
    const struct val
        *imported; /* forms of an imported text such as secrets.sb, which defines names of lists */
    struct bk_err *err;
};

static const struct val *read_forms(struct text *t, const struct sbpl_builtin *b)
{
    struct source source = {.name = b->name, .text = b->text, .len = b->len, .base = 1};
    struct diags diags;
    diags_init(&diags);
    const struct val *forms = read_all_data(t->arena, t->syms, &diags, &source, 64);
    bool broken = !forms || diags.errors;
    diags_free(&diags);
    return broken ? NULL : forms;
}

static int bad(struct text *t, const struct val *v)
{
    struct buf shown = {0};
    val_print(v, 100, &shown);
    err_set(t->err, BK_E_BUG, "%s: %s is not a form of a preset", t->name, shown.s ? shown.s : "");
    buf_free(&shown);
    return -1;
}

static bool is_word(const struct val *v, const char *name)
{
    return val_is(v, V_SYMBOL) && strlen(name) == v->n && memcmp(v->s, name, v->n) == 0;
}

/* (variable "NAME" "/x") → "${NAME}/x" */
static const char *read_variable(struct text *t, const struct val *args)
{
    char path[PATH_MAX];
    if (val_length(args) != 2 || !val_is(args->car, V_STRING) || !val_is(args->cdr->car, V_STRING))
        return NULL;
    const struct val *name = args->car, *rest = args->cdr->car;
    int len =
        snprintf(path, sizeof(path), "${%.*s}%.*s", (int)name->n, name->s, (int)rest->n, rest->s);
    return arena_strndup(t->arena, path, (size_t)len);
}

/* One of these as presets in YAML spell it. NULL: not a path. */
static const char *read_path(struct text *t, const struct val *v)
{
    char path[PATH_MAX];
    if (val_is(v, V_STRING))
        return arena_strndup(t->arena, v->s, v->n);
    if (!val_is(v, V_PAIR))
        return NULL;
    if (is_word(v->car, "variable"))
        return read_variable(t, v->cdr);
    const struct val *rest = v->cdr, *word = val_is(rest, V_PAIR) ? rest->car : NULL;
    bool home = is_word(v->car, "home");
    if ((!home && !is_word(v->car, "here")) || (word && !val_is(word, V_STRING)))
        return NULL;
    const char *s = word ? word->s : "";
    int n = word ? (int)word->n : 0;
    int len = snprintf(path, sizeof(path), "%s%.*s", home ? "$HOME" : n ? "" : ".", n, s);
    return arena_strndup(t->arena, path, (size_t)len);
}

static int read_words(struct text *t, const struct val *list, const char *prefix, struct words *out)
{
    for (; val_is(list, V_PAIR); list = list->cdr) {
        const char *one = read_path(t, list->car);
        char word[128];
        if (!one)
            return bad(t, list->car);
        int len = snprintf(word, sizeof(word), "%s%s", prefix, one);
        const char *kept = prefix[0] ? arena_strndup(t->arena, word, (size_t)len) : one;
        if (!kept || words_push(t->arena, out, kept) < 0)
            return err_nomem(t->err);
    }
    return 0;
}

/* (preset-deny path exception …): one denial; the other lists have a path each. */
static int read_list(struct text *t, const struct val *args, enum preset_list list,
                     struct preset *p)
{
    bool denial = list == PRESET_DENY || list == PRESET_DENY_READ;
    for (; val_is(args, V_PAIR); args = args->cdr) {
        struct preset_path path = {.path = read_path(t, args->car), .origin = p->name};
        if (!path.path)
            return bad(t, args->car);
        if (denial && read_words(t, args->cdr, "", &path.except) < 0)
            return -1;
        if (preset_push(t->arena, &p->lists[list], &path) < 0)
            return err_nomem(t->err);
        if (denial)
            break;
    }
    return 0;
}

static const struct val *quoted_list(const struct val *v)
{
    bool quoted = val_is(v, V_PAIR) && val_length(v) == 2 && is_word(v->car, "quote");
    return quoted ? v->cdr->car : NULL;
}

/* '("x" …), or the list that (define name '("x" …)) of the imported forms gives to the name. */
static const struct val *find_list(const struct text *t, const struct val *name)
{
    const struct val *itself = quoted_list(name);
    if (itself)
        return itself;
    for (const struct val *f = t->imported; f && val_is(f, V_PAIR); f = f->cdr) {
        const struct val *form = f->car;
        if (val_length(form) != 3 || !is_word(form->car, "define") || form->cdr->car != name)
            continue;
        return quoted_list(form->cdr->cdr->car);
    }
    return NULL;
}

/* (preset-deny-home list …) */
static int read_home_lists(struct text *t, const struct val *args, struct preset *p)
{
    for (; val_is(args, V_PAIR); args = args->cdr) {
        const struct val *list = find_list(t, args->car);
        if (!list)
            return bad(t, args->car);
        for (; val_is(list, V_PAIR); list = list->cdr) {
            char path[PATH_MAX];
            if (!val_is(list->car, V_STRING))
                return bad(t, list->car);
            int n = snprintf(path, sizeof(path), "$HOME/%.*s", (int)list->car->n, list->car->s);
            struct preset_path one = {.path = arena_strndup(t->arena, path, (size_t)n),
                                      .origin = p->name};
            if (!one.path || preset_push(t->arena, &p->lists[PRESET_DENY], &one) < 0)
                return err_nomem(t->err);
        }
    }
    return 0;
}

static int read_import(struct text *t, const struct val *args)
{
    for (const struct sbpl_builtin *b = sbpl_builtins; b->name; b++)
        if (val_is(args, V_PAIR) && val_is(args->car, V_STRING) &&
            strcmp(b->name, args->car->s) == 0 && strcmp(b->name, "preset.sb") != 0)
            t->imported = read_forms(t, b);
    return 0;
}

static int read_form(struct text *t, const struct val *form, struct preset *p)
{
    if (!val_is(form, V_PAIR) || !val_is(form->car, V_SYMBOL))
        return bad(t, form);
    const struct val *head = form->car, *args = form->cdr;
    if (is_word(head, "version"))
        return 0;
    if (is_word(head, "import"))
        return read_import(t, args);
    if (head->n <= strlen(PREFIX) || memcmp(head->s, PREFIX, strlen(PREFIX)) != 0)
        return bad(t, form);
    struct val word = *head;
    word.s += strlen(PREFIX);
    word.n -= strlen(PREFIX);
    if (is_word(&word, "deny-home"))
        return read_home_lists(t, args, p);
    if (is_word(&word, "extends"))
        return read_words(t, args, "builtin:", &p->extends);
    if (is_word(&word, "about") && val_is(args, V_PAIR) && val_is(args->car, V_STRING)) {
        p->about = arena_strndup(t->arena, args->car->s, args->car->n);
        return p->about ? 0 : err_nomem(t->err);
    }
    for (size_t i = 0; i < PRESET_FLAGS; i++)
        if (is_word(&word, preset_flag_keys[i]))
            return p->flags[i] = true, 0;
    for (size_t i = 0; i < PRESET_LISTS; i++)
        if (is_word(&word, preset_list_keys[i]))
            return read_list(t, args, (enum preset_list)i, p);
    for (size_t i = 0; i < TOOL_WORDS; i++)
        if (is_word(&word, tool_keys[i]))
            return read_words(t, args, "", &p->tool[i]);
    return bad(t, form);
}

/* file: what the profile's name starts with; name: what the preset's does. */
struct kind {
    const char *file, *name;
};

static int read_one(struct arena *a, const struct sbpl_builtin *b, const struct kind *kind,
                    struct preset *p, struct bk_err *err)
{
    char name[128];
    struct symtab syms;
    struct text t = {a, &syms, b->name, NULL, err};
    size_t skip = strlen(kind->file);
    int len = snprintf(name, sizeof(name), "%s%.*s", kind->name,
                       (int)(strlen(b->name) - skip - strlen(".sb")), b->name + skip);
    *p = (struct preset){.name = arena_strndup(a, name, (size_t)len)};
    if (!p->name || symtab_init(&syms, a) < 0)
        return err_nomem(err);
    const struct val *forms = read_forms(&t, b);
    if (!forms)
        return err_set(err, BK_E_BUG, "cannot read %s", b->name);
    for (; val_is(forms, V_PAIR); forms = forms->cdr)
        if (read_form(&t, forms->car, p) < 0)
            return -1;
    return 0;
}

static bool is_kind(const struct sbpl_builtin *b, const struct kind *kind)
{
    return strncmp(b->name, kind->file, strlen(kind->file)) == 0;
}

static int read_kind(struct arena *a, const struct kind *kind, struct preset **out, size_t *count,
                     struct bk_err *err)
{
    size_t n = 0;
    for (const struct sbpl_builtin *b = sbpl_builtins; b->name; b++)
        n += is_kind(b, kind);
    struct preset *all = arena_array(a, n + 1, sizeof(*all));
    if (!all)
        return err_nomem(err);
    n = 0;
    for (const struct sbpl_builtin *b = sbpl_builtins; b->name; b++)
        if (is_kind(b, kind) && read_one(a, b, kind, &all[n++], err) < 0)
            return -1;
    *out = all;
    *count = n;
    return 0;
}

int presets_read_shipped(struct arena *a, struct preset_config *c, struct bk_err *err)
{
    return read_kind(a, &(struct kind){PREFIX, "builtin:"}, &c->shipped, &c->nshipped, err);
}

int presets_read_tools(struct arena *a, struct preset_config *c, struct bk_err *err)
{
    return read_kind(a, &(struct kind){TOOL_PREFIX, ""}, &c->tools, &c->ntools, err);
}
