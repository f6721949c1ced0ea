/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Evaluates shipped profiles and prints the result of importing them (src/sbpl/precompiled.h):
 * precompile NAME… > precompiled-texts.c. Runs at build time.
 *
 * Each profile is evaluated alone, with placeholders for paths, and again with other placeholders:
 * if the results differ only in those, the actual values do not matter. What cannot be represented
 * this way fails the build.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "built-in-names.h"
#include "graph/build.h"
#include "sbpl/read.h"
#include "sbpl/precompiled.h"

static const char *at_work; /* the text */

static void __attribute__((noreturn, format(printf, 1, 2))) give_up(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "precompile: %s: ", at_work);
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n");
    va_end(ap);
    exit(1);
}

/* ---- numbers and texts ---- */

static void put_number(struct buf *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        buf_chr(out, (char)(value | 0x80));
    buf_chr(out, (char)value);
}

static void put_signed(struct buf *out, int64_t value)
{
    put_number(out, value < 0 ? (uint64_t)(-(value + 1)) << 1 | 1 : (uint64_t)value << 1);
}

static void put_bytes(struct buf *out, const char *s, size_t n)
{
    buf_add(out, s, n);
    buf_chr(out, '\0');
}

/* ---- rules ---- */

/* Placeholders for the values of parameters. */
static const char *const letters[2][PRECOMPILED_PARAMS] = {{"/\1H", "/\1T", "/\1O"},
                                                           {"/\1/home", "/\1/temporary", "/\1"}};

struct recording {
    struct machine *m;
    const struct source *src;
    const char *const *values;
    struct buf *out;
};

static void put_string(const struct recording *r, const struct graph_test *t)
{
    const char *s = t->str;
    size_t n = t->len, hole = 0;
    for (size_t i = 0; i < PRECOMPILED_ORDINARY && !hole; i++) {
        size_t k = strlen(r->values[i]);
        if (n < k || memcmp(s, r->values[i], k) != 0)
            continue;
        hole = i + 1;
        s += k;
        n -= k;
    }
    if (memchr(s, '\1', n) || (hole && t->how == GRAPH_REGEX))
        give_up("a parameter must be at the start of a path: %.*s", (int)n, s);
    put_number(r->out, hole);
    put_number(r->out, n);
    put_bytes(r->out, s, n);
}

static void put_test(const struct recording *r, const struct graph_test *t)
{
    put_number(r->out, t->filter);
    put_number(r->out, t->how);
    if (t->how <= GRAPH_REGEX)
        put_string(r, t);
    else if (t->how == GRAPH_NET || t->how == GRAPH_DOMAIN)
        give_up("hosts and addresses cannot be precompiled");
    else
        put_signed(r->out, t->num);
}

/* Writes items, operands first; returns how many. Shipped texts are not nested deeply. */
static size_t put_items(const struct recording *r, const struct graph_expr *e)
{
    size_t n = 1;
    for (uint32_t i = 0; e->kind != GRAPH_TEST && i < e->nkids; i++)
        n += put_items(r, e->kids[i]);
    put_number(r->out, e->kind);
    if (e->kind == GRAPH_TEST)
        put_test(r, &e->test);
    else
        put_number(r->out, e->nkids);
    return n;
}

static void put_condition(const struct recording *r, const struct graph_expr *when)
{
    OWN(buf) struct buf items = {0};
    struct recording inner = *r;
    inner.out = &items;
    size_t n = when ? put_items(&inner, when) : 0;
    if (n > PRECOMPILED_STACK)
        give_up("a condition of %zu parts", n);
    put_number(r->out, n);
    buf_add(r->out, items.s, items.n);
}

static void put_modifiers(const struct recording *r, const struct sbpl_rule *rule)
{
    put_number(r->out, rule->nmods);
    for (size_t i = 0; i < rule->nmods; i++) {
        const struct graph_mod *mod = &rule->mods[i];
        size_t n = mod->str ? strlen(mod->str) : 0;
        if (mod->id == MOD_MESSAGE_FILTER || memchr(mod->str ? mod->str : "", '\1', n))
            give_up("a modifier that cannot be precompiled");
        put_number(r->out, mod->id);
        put_signed(r->out, mod->num);
        put_number(r->out, mod->str ? n + 1 : 0);
        if (mod->str)
            put_bytes(r->out, mod->str, n);
    }
}

static void put_offset(const struct recording *r, src_pos pos)
{
    if (pos < r->src->base || pos > r->src->base + r->src->len)
        give_up("a rule comes from another text");
    put_number(r->out, pos - r->src->base);
}

static void put_place(const struct recording *r, const struct sbpl_rule *rule)
{
    struct graph_origin o = {0};
    put_offset(r, rule->pos);
    put_offset(r, rule->top);
    rule_origin(r->m, rule, &o);
    put_number(r->out, o.line);
    put_number(r->out, o.col);
    put_number(r->out, o.via_line);
}

static void put_rule(const struct recording *r, const struct sbpl_rule *rule)
{
    put_number(r->out, rule->allow);
    put_number(r->out, rule->flags);
    put_place(r, rule);
    put_number(r->out, rule->nops);
    for (size_t i = 0; i < rule->nops; i++)
        put_number(r->out, rule->ops[i]);
    put_modifiers(r, rule);
    put_condition(r, rule->when);
}

static void put_rules(const struct recording *r)
{
    size_t n = 0;
    for (const struct sbpl_rule *rule = r->m->profile.first; rule; rule = rule->next)
        n++;
    put_number(r->out, n);
    for (const struct sbpl_rule *rule = r->m->profile.first; rule; rule = rule->next)
        put_rule(r, rule);
}

/* ---- names ---- */

/* The name that a top-level form defines, or NULL. */
static const struct symbol *defined_by(struct val *form)
{
    const struct symbol *head = form->type == V_PAIR ? val_symbol(form->car) : NULL;
    if (!head || strcmp(head->v.s, "define") != 0)
        return NULL;
    struct val *what = form->cdr->car;
    return val_symbol(what->type == V_PAIR ? what->car : what);
}

static void put_definitions(const struct recording *r)
{
    struct val *forms =
        read_all_data(r->m->arena, &r->m->syms, r->m->diags, r->src, r->m->unit->opt.max_depth);
    size_t n = 0;
    for (struct val *l = forms; l->type == V_PAIR; l = l->cdr)
        n += defined_by(l->car) != NULL;
    put_number(r->out, n);
    for (struct val *l = forms; l->type == V_PAIR; l = l->cdr) {
        const struct symbol *name = defined_by(l->car);
        if (!name)
            continue;
        put_number(r->out, name->v.n);
        put_bytes(r->out, name->v.s, name->v.n);
        put_number(r->out, l->pos - r->src->base);
    }
}

/* ---- texts ---- */

static void check_effects(const struct machine *m, bool ordinary)
{
    const char *missing = m->missing_param;
    if (missing && (ordinary || strcmp(missing, precompiled_params[PRECOMPILED_ORDINARY]) != 0))
        give_up("it uses the parameter %s", missing);
    if (m->diags->kept || m->policies || m->trace || m->debug || m->no_inference || m->unchecked ||
        m->lifted || m->kept || m->nimports != 1)
        give_up("it does more than add rules");
}

static void __attribute__((noreturn)) refuse_pattern(const char *pattern)
{
    give_up("names that cannot be listed: %s", pattern);
}

/* The paths that these two deny are also denied under other names (src/run/link-targets.h). */
static bool closes_names(const char *name)
{
    return strcmp(name, "protected.sb") == 0 || strcmp(name, "secrets.sb") == 0;
}

static void record(const char *name, bool ordinary, const char *const *values, struct buf *out)
{
    struct sbpl_param params[PRECOMPILED_PARAMS];
    for (size_t i = 0; i < PRECOMPILED_PARAMS; i++)
        params[i] = (struct sbpl_param){precompiled_params[i], values[i]};
    struct sbpl_options opt = {.os = VOCAB_OS_ANY,
                               .params = params,
                               .nparams = ordinary ? PRECOMPILED_PARAMS : PRECOMPILED_ORDINARY,
                               .shipped_only = true};
    OWN(sbpl_unit) struct sbpl_unit unit;
    OWN(buf) struct buf text = {0};
    struct machine m;
    struct bk_err err;
    sbpl_unit_init(&unit, &opt);
    buf_fmt(&text, "(version 1)\n(import \"%s\")\n", name);
    if (sbpl_add_text(&unit, "<precompile>", text.s, text.n, &err) < 0 ||
        machine_init(&m, &unit) < 0 || machine_load(&m, &err) < 0)
        give_up("%s", err.msg);
    check_effects(&m, ordinary);
    struct recording r = {&m, unit.map.last, values, out};
    put_definitions(&r);
    put_rules(&r);
    if (closes_names(name))
        precompiled_names_add(m.profile.first, values[PRECOMPILED_HOME], ordinary, refuse_pattern);
    machine_free(&m);
}

static void record_twice(const char *name, bool ordinary, struct buf *out)
{
    OWN(buf) struct buf again = {0};
    record(name, ordinary, letters[0], out);
    record(name, ordinary, letters[1], &again);
    if (again.n != out->n || memcmp(again.s, out->s, out->n) != 0)
        give_up("its rules depend on the values of parameters");
}

static void print(const char *name, const char *who, const struct buf *bytes)
{
    printf("    {\"%s\", %s, (const unsigned char *)\n     \"", name, who);
    for (size_t i = 0; i < bytes->n; i++)
        printf("%s\\%03o", i && i % 16 == 0 ? "\"\n     \"" : "", (unsigned char)bytes->s[i]);
    printf("\"},\n");
}

int main(int argc, char **argv)
{
    printf("#include \"sbpl/precompiled.h\"\n\nconst struct precompiled_text precompiled_texts[] = "
           "{\n");
    for (int i = 1; i < argc; i++) {
        OWN(buf) struct buf root = {0};
        OWN(buf) struct buf others = {0};
        at_work = argv[i];
        record_twice(argv[i], false, &root);
        record_twice(argv[i], true, &others);
        bool either = root.n == others.n && memcmp(root.s, others.s, root.n) == 0;
        print(argv[i], either ? "true, false" : "false, false", &root);
        if (!either)
            print(argv[i], "false, true", &others);
    }
    printf("    {0},\n};\n\n");
    precompiled_names_print();
    return 0;
}
