/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Arithmetic. Integers have 64 bits; a result that overflows becomes a real number. */

#include "sbpl/prim.h"

#include <stdio.h>

#include "sbpl/read.h"

static double as_real(const struct val *v)
{
    return v->type == V_INT ? (double)v->num : v->real;
}

static bool fits_int(double d)
{
    return d >= -9223372036854775808.0 && d < 9223372036854775808.0;
}

enum arith { ADD, SUBTRACT, MULTIPLY };

static struct val *combine(struct machine *m, enum arith op, const struct val *a,
                           const struct val *b)
{
    int64_t n = 0;
    bool over = true;
    if (a->type == V_INT && b->type == V_INT)
        over = op == ADD        ? __builtin_add_overflow(a->num, b->num, &n)
               : op == SUBTRACT ? __builtin_sub_overflow(a->num, b->num, &n)
                                : __builtin_mul_overflow(a->num, b->num, &n);
    if (!over)
        return checked(m, val_int(m->arena, n));
    double x = as_real(a), y = as_real(b);
    return checked(m, val_real(m->arena, op == ADD ? x + y : op == SUBTRACT ? x - y : x * y));
}

static struct val *fold(struct machine *m, struct call at, enum arith op, struct val *start)
{
    struct val *sum = start;
    for (; at.args->type == V_PAIR && sum; at = call_rest(&at)) {
        struct val *v = want_number(m, &at, 0);
        sum = v ? combine(m, op, sum, v) : NULL;
    }
    return sum;
}

struct val *prim_add(struct machine *m, const struct call *c)
{
    return fold(m, *c, ADD, checked(m, val_int(m->arena, 0)));
}

struct val *prim_multiply(struct machine *m, const struct call *c)
{
    return fold(m, *c, MULTIPLY, checked(m, val_int(m->arena, 1)));
}

struct val *prim_subtract(struct machine *m, const struct call *c)
{
    struct val *first = want_number(m, c, 0);
    if (!first)
        return NULL;
    if (c->args->cdr->type == V_NIL)
        return combine(m, SUBTRACT, &(struct val){.type = V_INT, .num = 0}, first);
    return fold(m, call_rest(c), SUBTRACT, first);
}

static struct val *divide(struct machine *m, const struct call *c, const struct val *a,
                          const struct val *b)
{
    if (as_real(b) == 0)
        return machine_error(m, call_arg_pos(c, 0), "division-by-zero", "division by zero");
    bool whole = a->type == V_INT && b->type == V_INT && b->num != -1 && a->num % b->num == 0;
    return checked(m, whole ? val_int(m->arena, a->num / b->num)
                            : val_real(m->arena, as_real(a) / as_real(b)));
}

struct val *prim_divide(struct machine *m, const struct call *c)
{
    struct val *q = want_number(m, c, 0);
    if (q && c->args->cdr->type == V_NIL)
        return divide(m, c, &(struct val){.type = V_INT, .num = 1}, q);
    for (struct call at = call_rest(c); q && at.args->type == V_PAIR; at = call_rest(&at)) {
        struct val *v = want_number(m, &at, 0);
        q = v ? divide(m, &at, q, v) : NULL;
    }
    return q;
}

/* Gets both arguments as integers, the second not zero. */
static bool two_integers(struct machine *m, const struct call *c, int64_t *a, int64_t *b)
{
    struct val *x = want(m, c, 0, V_INT), *y = x ? want(m, c, 1, V_INT) : NULL;
    if (!y)
        return false;
    if (y->num == 0)
        return machine_error(m, call_arg_pos(c, 1), "division-by-zero", "division by zero"), false;
    *a = x->num;
    *b = y->num;
    return true;
}

struct val *prim_quotient(struct machine *m, const struct call *c)
{
    int64_t a, b;
    if (!two_integers(m, c, &a, &b))
        return NULL;
    if (b == -1)
        return combine(m, SUBTRACT, &(struct val){.type = V_INT}, arg(c, 0));
    return checked(m, val_int(m->arena, a / b));
}

struct val *prim_remainder(struct machine *m, const struct call *c)
{
    int64_t a, b;
    return two_integers(m, c, &a, &b) ? checked(m, val_int(m->arena, b == -1 ? 0 : a % b)) : NULL;
}

struct val *prim_modulo(struct machine *m, const struct call *c)
{
    int64_t a, b;
    if (!two_integers(m, c, &a, &b))
        return NULL;
    int64_t r = b == -1 ? 0 : a % b;
    return checked(m, val_int(m->arena, r && (r < 0) != (b < 0) ? r + b : r));
}

/* ---- comparing ---- */

static int order(const struct val *a, const struct val *b)
{
    if (a->type == V_INT && b->type == V_INT)
        return (a->num > b->num) - (a->num < b->num);
    double x = as_real(a), y = as_real(b);
    return (x > y) - (x < y);
}

/* Whether each neighbouring pair is in one of the wanted orders (bits 1 <, 2 =, 4 >). */
static struct val *compare(struct machine *m, const struct call *c, int wanted)
{
    struct val *prev = want_number(m, c, 0);
    bool holds = true;
    for (struct call at = call_rest(c); prev && at.args->type == V_PAIR; at = call_rest(&at)) {
        struct val *v = want_number(m, &at, 0);
        if (!v)
            return NULL;
        holds = holds && (wanted & (1 << (order(prev, v) + 1)));
        prev = v;
    }
    return prev ? val_bool(holds) : NULL;
}

enum { LESS = 1, EQUAL = 2, GREATER = 4 };

#define COMPARISON(name, wanted)                                                                   \
    struct val *prim_##name(struct machine *m, const struct call *c)                               \
    {                                                                                              \
        return compare(m, c, wanted);                                                              \
    }
COMPARISON(less, LESS)
COMPARISON(at_most, LESS | EQUAL)
COMPARISON(equal_numbers, EQUAL)
COMPARISON(greater, GREATER)
COMPARISON(at_least, GREATER | EQUAL)

static struct val *extreme(struct machine *m, const struct call *c, int sign)
{
    struct val *best = want_number(m, c, 0);
    for (struct call at = call_rest(c); best && at.args->type == V_PAIR; at = call_rest(&at)) {
        struct val *v = want_number(m, &at, 0);
        if (!v)
            return NULL;
        best = order(v, best) * sign > 0 ? v : best;
    }
    return best;
}

struct val *prim_max(struct machine *m, const struct call *c)
{
    return extreme(m, c, 1);
}

struct val *prim_min(struct machine *m, const struct call *c)
{
    return extreme(m, c, -1);
}

#define SIGN_TEST(name, condition)                                                                 \
    struct val *prim_##name(struct machine *m, const struct call *c)                               \
    {                                                                                              \
        struct val *v = want_number(m, c, 0);                                                      \
        return v ? val_bool(condition) : NULL;                                                     \
    }
SIGN_TEST(is_zero, as_real(v) == 0)
SIGN_TEST(is_positive, as_real(v) > 0)
SIGN_TEST(is_negative, as_real(v) < 0)

#define PARITY(name, odd)                                                                          \
    struct val *prim_##name(struct machine *m, const struct call *c)                               \
    {                                                                                              \
        struct val *v = want(m, c, 0, V_INT);                                                      \
        return v ? val_bool((v->num & 1) == (odd)) : NULL;                                         \
    }
PARITY(is_even, 0)
PARITY(is_odd, 1)

struct val *prim_abs(struct machine *m, const struct call *c)
{
    struct val *v = want_number(m, c, 0);
    if (!v || as_real(v) >= 0)
        return v;
    return combine(m, SUBTRACT, &(struct val){.type = V_INT}, v);
}

/* Rounds toward zero. Numbers too large for an integer have no fraction. Done by hand because libm
 * would be another library to load at every start. */
static double cut(double d)
{
    return fits_int(d) ? (double)(int64_t)d : d;
}

static double down(double d)
{
    double t = cut(d);
    return t > d ? t - 1 : t;
}

/* Rounds to the nearest integer, halves to even. */
static double nearest(double d)
{
    double low = down(d), rest = d - low;
    bool odd = fits_int(low) && ((int64_t)low & 1);
    return rest > 0.5 || (rest == 0.5 && odd) ? low + 1 : low;
}

static struct val *rounded(struct machine *m, const struct call *c, double (*how)(double))
{
    struct val *v = want_number(m, c, 0);
    if (!v || v->type == V_INT)
        return v;
    double d = how(v->real);
    return checked(m, fits_int(d) ? val_int(m->arena, (int64_t)d) : val_real(m->arena, d));
}

struct val *prim_floor(struct machine *m, const struct call *c)
{
    return rounded(m, c, down);
}

struct val *prim_round(struct machine *m, const struct call *c)
{
    return rounded(m, c, nearest);
}

struct val *prim_truncate(struct machine *m, const struct call *c)
{
    return rounded(m, c, cut);
}

struct val *prim_is_integer(struct machine *m, const struct call *c)
{
    (void)m;
    const struct val *v = arg(c, 0);
    return val_bool(v->type == V_INT || (v->type == V_REAL && cut(v->real) == v->real));
}

struct val *prim_to_real(struct machine *m, const struct call *c)
{
    struct val *v = want_number(m, c, 0);
    return v ? checked(m, val_real(m->arena, as_real(v))) : NULL;
}

/* ---- spelling ---- */

static bool want_radix(struct machine *m, const struct call *c, int *radix)
{
    *radix = 10;
    if (c->args->cdr->type == V_NIL)
        return true;
    struct val *v = want(m, c, 1, V_INT);
    if (!v)
        return false;
    if (v->num != 2 && v->num != 8 && v->num != 10 && v->num != 16)
        return wrong_type(m, c, 1, "2, 8, 10 or 16"), false;
    *radix = (int)v->num;
    return true;
}

struct val *prim_number_to_string(struct machine *m, const struct call *c)
{
    struct val *v = want_number(m, c, 0);
    int radix;
    if (!v || !want_radix(m, c, &radix))
        return NULL;
    char text[80], *end = text + sizeof(text), *p = end;
    if (v->type == V_REAL) {
        int n = snprintf(text, sizeof(text), "%.15g", v->real);
        return checked(m, val_string(m->arena, text, (size_t)n));
    }
    uint64_t u = v->num < 0 ? -(uint64_t)v->num : (uint64_t)v->num;
    do
        *--p = "0123456789abcdef"[u % (unsigned)radix];
    while (u /= (unsigned)radix);
    if (v->num < 0)
        *--p = '-';
    return checked(m, val_string(m->arena, p, (size_t)(end - p)));
}

struct val *prim_string_to_number(struct machine *m, const struct call *c)
{
    int radix;
    struct val *v = arg(c, 0);
    /* (string->number (param "K")) without K is #f, as everywhere else */
    if (v == &val_false)
        return v;
    if (!want(m, c, 0, V_STRING) || !want_radix(m, c, &radix))
        return NULL;
    struct val *n = read_number(m->arena, v->s, v->n, radix);
    return n ? n : &val_false;
}
