/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Strings, characters, symbols and the little I/O that profiles do. Strings are byte strings, as
 * paths are. */

#include "sbpl/prim.h"

#include <string.h>

#include "sbpl/read.h"

static struct val *all_strings(struct machine *m, const struct call *c, size_t *total)
{
    *total = 0;
    for (struct call at = *c; at.args->type == V_PAIR; at = call_rest(&at)) {
        struct val *s = want(m, &at, 0, V_STRING);
        if (!s)
            return NULL;
        if (__builtin_add_overflow(*total, s->n, total))
            return machine_no_memory(m);
    }
    return c->args;
}

struct val *prim_string_append(struct machine *m, const struct call *c)
{
    size_t n;
    if (!all_strings(m, c, &n))
        return NULL;
    char *text = n < SIZE_MAX ? arena_alloc(m->arena, n + 1) : NULL;
    if (!text)
        return machine_no_memory(m);
    char *to = text;
    const struct val *of = &val_nil;
    for (struct val *l = c->args; l->type == V_PAIR; l = l->cdr) {
        memcpy(to, l->car->s, l->car->n);
        to += l->car->n;
        of = l->car->id ? l->car : of;
    }
    return checked_string(m, val_string_take(m->arena, text, n), of);
}

struct val *prim_string_length(struct machine *m, const struct call *c)
{
    struct val *s = want(m, c, 0, V_STRING);
    return s ? checked(m, val_int(m->arena, (int64_t)s->n)) : NULL;
}

/* Returns the i-th argument as an index from `low` to `high`, or NULL after an error. */
static struct val *want_index(struct machine *m, const struct call *c, int i, size_t low,
                              size_t high)
{
    struct val *v = want(m, c, i, V_INT);
    if (v && (v->num < (int64_t)low || v->num > (int64_t)high))
        return machine_error(m, call_arg_pos(c, i), "out-of-range",
                             "%lld is outside the string: must be between %zu and %zu",
                             (long long)v->num, low, high);
    return v;
}

struct val *prim_string_ref(struct machine *m, const struct call *c)
{
    struct val *s = want(m, c, 0, V_STRING);
    if (!s)
        return NULL;
    if (s->n == 0)
        return machine_error(m, c->pos, "out-of-range", "the string is empty");
    struct val *i = want_index(m, c, 1, 0, s->n - 1);
    return i ? checked(m, val_char(m->arena, (unsigned char)s->s[i->num])) : NULL;
}

struct val *prim_substring(struct machine *m, const struct call *c)
{
    struct val *s = want(m, c, 0, V_STRING);
    struct val *from = s ? want_index(m, c, 1, 0, s->n) : NULL;
    if (!from)
        return NULL;
    size_t end = s->n;
    if (c->args->cdr->cdr->type == V_PAIR) {
        struct val *to = want_index(m, c, 2, (size_t)from->num, s->n);
        if (!to)
            return NULL;
        end = (size_t)to->num;
    }
    return checked_string(m, val_string(m->arena, s->s + from->num, end - (size_t)from->num), s);
}

/* Whether a string is split at this byte: between words if no separator is given. */
static bool splits(char ch, const struct val *at)
{
    if (!at)
        return ch == ' ' || (ch >= '\t' && ch <= '\r');
    return at->type == V_CHAR ? (unsigned char)ch == at->num : memchr(at->s, ch, at->n) != NULL;
}

/* (split-string "a,b" #\,): its parts, at each byte that is the character or one of the string's.
 * Without a separator, its words. */
struct val *prim_split_string(struct machine *m, const struct call *c)
{
    struct val *s = want(m, c, 0, V_STRING), *at = NULL;
    struct listing out = {0};
    if (!s)
        return NULL;
    if (c->args->cdr->type == V_PAIR && (at = arg(c, 1))->type != V_CHAR && at->type != V_STRING)
        return wrong_type(m, c, 1, "a character or a string");
    machine_charge(m, s->n);
    for (size_t from = 0, i = 0; i <= s->n; i++) {
        if (i < s->n && !splits(s->s[i], at))
            continue;
        if (at || i > from) {
            struct val *part = checked_string(m, val_string(m->arena, s->s + from, i - from), s);
            if (!part || listing_add(m, &out, part, c->pos) < 0)
                return NULL;
        }
        from = i + 1;
    }
    return listing_end(&out, &val_nil);
}

struct val *prim_string_copy(struct machine *m, const struct call *c)
{
    struct val *s = want(m, c, 0, V_STRING);
    return s ? checked_string(m, val_string(m->arena, s->s, s->n), s) : NULL;
}

static char lower(char ch)
{
    return ch >= 'A' && ch <= 'Z' ? (char)(ch | 0x20) : ch;
}

static char upper(char ch)
{
    return ch >= 'a' && ch <= 'z' ? (char)(ch & ~0x20) : ch;
}

static struct val *map_bytes(struct machine *m, const struct call *c, char (*how)(char))
{
    struct val *s = want(m, c, 0, V_STRING);
    char *text = s ? arena_strndup(m->arena, s->s, s->n) : NULL;
    if (!s || !text)
        return s ? machine_no_memory(m) : NULL;
    for (size_t i = 0; i < s->n; i++)
        text[i] = how(text[i]);
    return checked_string(m, val_string_take(m->arena, text, s->n), s);
}

struct val *prim_string_downcase(struct machine *m, const struct call *c)
{
    return map_bytes(m, c, lower);
}

struct val *prim_string_upcase(struct machine *m, const struct call *c)
{
    return map_bytes(m, c, upper);
}

/* ---- comparing ---- */

static int order_bytes(const struct val *a, const struct val *b)
{
    int order = memcmp(a->s, b->s, a->n < b->n ? a->n : b->n);
    return order ? order : (a->n > b->n) - (a->n < b->n);
}

/* A missing parameter (#f) equals no string: profiles write (string=? (param "K") "YES"). */
#define STRING_COMPARISON(name, test)                                                              \
    struct val *prim_##name(struct machine *m, const struct call *c)                               \
    {                                                                                              \
        for (int i = 0; i < 2; i++) {                                                              \
            if (arg(c, i) == &val_false && m->missing_param)                                       \
                return &val_false;                                                                 \
            if (!want(m, c, i, V_STRING))                                                          \
                return NULL;                                                                       \
        }                                                                                          \
        int order = order_bytes(arg(c, 0), arg(c, 1));                                             \
        return val_bool(test);                                                                     \
    }
STRING_COMPARISON(string_equal, order == 0)
STRING_COMPARISON(string_less, order < 0)
STRING_COMPARISON(string_greater, order > 0)
STRING_COMPARISON(string_at_most, order <= 0)
STRING_COMPARISON(string_at_least, order >= 0)

struct val *prim_string_ci_equal(struct machine *m, const struct call *c)
{
    struct val *a = want(m, c, 0, V_STRING), *b = a ? want(m, c, 1, V_STRING) : NULL;
    bool same = b && a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
        same = lower(a->s[i]) == lower(b->s[i]);
    return b ? val_bool(same) : NULL;
}

/* ---- characters ---- */

static struct val *compare_chars(struct machine *m, const struct call *c, int sign)
{
    bool holds = true;
    struct val *prev = want(m, c, 0, V_CHAR);
    for (struct call at = call_rest(c); prev && at.args->type == V_PAIR; at = call_rest(&at)) {
        struct val *v = want(m, &at, 0, V_CHAR);
        if (!v)
            return NULL;
        int order = (prev->num > v->num) - (prev->num < v->num);
        holds = holds && order == sign;
        prev = v;
    }
    return prev ? val_bool(holds) : NULL;
}

struct val *prim_char_equal(struct machine *m, const struct call *c)
{
    return compare_chars(m, c, 0);
}

struct val *prim_char_less(struct machine *m, const struct call *c)
{
    return compare_chars(m, c, -1);
}

struct val *prim_char_greater(struct machine *m, const struct call *c)
{
    return compare_chars(m, c, 1);
}

#define CHAR_TEST(name, condition)                                                                 \
    struct val *prim_##name(struct machine *m, const struct call *c)                               \
    {                                                                                              \
        struct val *v = want(m, c, 0, V_CHAR);                                                     \
        return v ? val_bool(condition) : NULL;                                                     \
    }
CHAR_TEST(char_is_alphabetic, (v->num | 0x20) >= 'a' && (v->num | 0x20) <= 'z')
CHAR_TEST(char_is_numeric, v->num >= '0' && v->num <= '9')
CHAR_TEST(char_is_whitespace, v->num == ' ' || (v->num >= '\t' && v->num <= '\r'))

static struct val *map_char(struct machine *m, const struct call *c, char (*how)(char))
{
    struct val *v = want(m, c, 0, V_CHAR);
    if (!v || v->num > 0x7f)
        return v;
    return checked(m, val_char(m->arena, how((char)v->num)));
}

struct val *prim_char_upcase(struct machine *m, const struct call *c)
{
    return map_char(m, c, upper);
}

struct val *prim_char_downcase(struct machine *m, const struct call *c)
{
    return map_char(m, c, lower);
}

struct val *prim_char_to_integer(struct machine *m, const struct call *c)
{
    struct val *v = want(m, c, 0, V_CHAR);
    return v ? checked(m, val_int(m->arena, v->num)) : NULL;
}

struct val *prim_integer_to_char(struct machine *m, const struct call *c)
{
    struct val *v = want(m, c, 0, V_INT);
    if (!v)
        return NULL;
    if (v->num < 0 || v->num > 0xff)
        return wrong_type(m, c, 0, "a number from 0 to 255");
    return checked(m, val_char(m->arena, v->num));
}

/* ---- between types ---- */

struct val *prim_string_to_list(struct machine *m, const struct call *c)
{
    struct listing out = {0};
    struct val *s = want(m, c, 0, V_STRING);
    for (size_t i = 0; s && i < s->n; i++) {
        struct val *ch = checked(m, val_char(m->arena, (unsigned char)s->s[i]));
        if (!ch || listing_add(m, &out, ch, 0) < 0)
            return NULL;
    }
    return s ? listing_end(&out, &val_nil) : NULL;
}

static struct val *string_of_chars(struct machine *m, const struct call *c, int i, struct val *list)
{
    int64_t n = val_length(list);
    char *text = arena_alloc(m->arena, (size_t)n + 1), *to = text;
    if (!text)
        return machine_no_memory(m);
    for (; list->type == V_PAIR; list = list->cdr) {
        if (list->car->type != V_CHAR || list->car->num > 0xff)
            return wrong_type(m, c, i, "characters");
        *to++ = (char)list->car->num;
    }
    return checked(m, val_string_take(m->arena, text, (size_t)n));
}

struct val *prim_list_to_string(struct machine *m, const struct call *c)
{
    struct val *list = want_list(m, c, 0);
    return list ? string_of_chars(m, c, 0, list) : NULL;
}

struct val *prim_string(struct machine *m, const struct call *c)
{
    return c->args->type == V_NIL ? checked(m, val_string(m->arena, "", 0))
                                  : string_of_chars(m, c, 0, c->args);
}

struct val *prim_string_to_symbol(struct machine *m, const struct call *c)
{
    struct val *s = want(m, c, 0, V_STRING);
    struct symbol *y = s ? symbol_intern(&m->syms, s->s, s->n) : NULL;
    return s ? checked(m, y ? &y->v : NULL) : NULL;
}

struct val *prim_symbol_to_string(struct machine *m, const struct call *c)
{
    struct val *s = want(m, c, 0, V_SYMBOL);
    return s ? checked(m, val_string_take(m->arena, s->s, s->n)) : NULL;
}

/* ---- reading and writing ---- */

struct val *prim_open_input_string(struct machine *m, const struct call *c)
{
    struct val *s = want(m, c, 0, V_STRING), *v = s ? arena_new(m->arena, struct val) : NULL;
    struct port *p = v ? arena_new(m->arena, struct port) : NULL;
    if (!p)
        return s ? machine_no_memory(m) : NULL;
    *p = (struct port){.s = s->s, .n = s->n, .base = call_arg_pos(c, 0)};
    v->type = V_PORT;
    v->port = p;
    return v;
}

/* Reads from a string. Its data have no position in a text, so their pairs carry position 0, and
 * errors are reported at the call. */
struct val *prim_read(struct machine *m, const struct call *c)
{
    struct val *v = want(m, c, 0, V_PORT), *out = NULL;
    if (!v)
        return NULL;
    struct diags trial;
    diags_init(&trial);
    struct reader r = {.arena = m->arena,
                       .syms = &m->syms,
                       .diags = &trial,
                       .s = v->port->s,
                       .n = v->port->n,
                       .at = v->port->at,
                       .max_depth = m->unit->opt.max_depth,
                       .unplaced = true};
    src_pos pos;
    enum read_result got = read_datum(&r, &out, &pos);
    v->port->at = r.at;
    if (got == READ_ERROR)
        machine_error(
            m, v->port->base, r.exhausted && trial.first ? trial.first->code : "bad-datum",
            "this string cannot be read: %s", trial.first ? trial.first->msg : "no memory");
    diags_free(&trial);
    return got == READ_END ? &val_eof : got == READ_DATUM ? out : NULL;
}

enum { MESSAGE_MAX = 500 }; /* bytes of a profile's message */

/* Profiles have no terminal, so what they display becomes a note. */
struct val *prim_display(struct machine *m, const struct call *c)
{
    struct buf text = {0};
    struct val *v = arg(c, 0);
    if (v->type == V_STRING)
        buf_safe(&text, v->s, v->n < MESSAGE_MAX ? v->n : MESSAGE_MAX);
    else
        val_print(v, 200, &text);
    diag_add(m->diags, DIAG_NOTE, "display", c->pos, "%s", text.s ? text.s : "");
    buf_free(&text);
    return &val_void;
}

struct val *prim_error(struct machine *m, const struct call *c)
{
    struct buf text = {0};
    for (struct val *l = c->args; l->type == V_PAIR && text.n < MESSAGE_MAX; l = l->cdr) {
        if (text.n)
            buf_chr(&text, ' ');
        if (l->car->type == V_STRING)
            buf_safe(&text, l->car->s, l->car->n < MESSAGE_MAX ? l->car->n : MESSAGE_MAX);
        else
            val_print(l->car, 100, &text);
    }
    machine_error(m, c->pos, "profile-error", "%s",
                  text.n ? text.s : "the profile reports an error");
    buf_free(&text);
    return NULL;
}
