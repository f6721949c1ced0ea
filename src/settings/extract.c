/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A pattern becomes steps of a small machine. It runs all its threads over the text side by side,
 * in the order of their preference, and keeps one thread for each step: the first one there. So it
 * finds the match that a backtracking engine would try first.
 */

#include "settings/extract.h"

#include <stdlib.h>
#include <string.h>

#include "base/hex.h"

enum op { BYTE, CLASS, SPLIT, JUMP, SAVE, BEGIN, END, WORD, NOT_WORD, MATCH };

enum { DEPTH_MAX = 32, REPEAT_MAX = 255, SAVES = 4 };

struct compiler {
    struct extract *x;
    const char *at;
    const char *wrong;
    unsigned depth;
};

/* ---- classes ---- */

static void set_add(uint8_t set[32], unsigned c)
{
    set[c >> 3] |= (uint8_t)(1u << (c & 7));
}

static bool set_has(const uint8_t set[32], uint8_t c)
{
    return set[c >> 3] >> (c & 7) & 1;
}

static bool is_word(int c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Adds \d, \w, \s or the opposite. Returns false for other letters. */
static bool add_named(uint8_t set[32], char name)
{
    char small = (char)(name | 0x20);
    if (!strchr("dws", small))
        return false;
    for (int c = 0; c < 256; c++) {
        bool is = small == 'd'   ? c >= '0' && c <= '9'
                  : small == 'w' ? is_word(c)
                                 : c == ' ' || (c >= '\t' && c <= '\r');
        if (is == (name == small))
            set_add(set, (unsigned)c);
    }
    return true;
}

static int new_class(struct compiler *c, const uint8_t set[32])
{
    if (c->x->nclasses == EXTRACT_CLASSES) {
        c->wrong = "it is too long";
        return 0;
    }
    memcpy(c->x->classes[c->x->nclasses], set, 32);
    return (int)c->x->nclasses++;
}

/* The character of an escape such as \n or \x41, at the letter; moves on. */
static int read_escape(struct compiler *c)
{
    static const char names[] = "nrtfv0", values[] = "\n\r\t\f\v";
    char e = *c->at;
    const char *found = e ? strchr(names, e) : NULL;
    if (!e) {
        c->wrong = "it ends in a backslash";
        return 0;
    }
    c->at++;
    if (found)
        return values[found - names];
    if (e == 'x' && hex_digit(c->at[0]) >= 0 && hex_digit(c->at[1]) >= 0) {
        int v = hex_digit(c->at[0]) << 4 | hex_digit(c->at[1]);
        c->at += 2;
        return v;
    }
    if (is_word(e))
        c->wrong = "it has an escape that is not understood";
    return (uint8_t)e;
}

/* One end of a range in brackets; -1 after a named class, which is added. */
static int read_member(struct compiler *c, uint8_t set[32])
{
    if (*c->at != '\\')
        return (uint8_t)*c->at++;
    c->at++;
    if (*c->at && add_named(set, *c->at)) {
        c->at++;
        return -1;
    }
    if (*c->at == 'b') {
        c->at++;
        return '\b';
    }
    return read_escape(c);
}

static int read_class(struct compiler *c)
{
    uint8_t set[32] = {0};
    bool negated = *c->at == '^';
    c->at += negated;
    while (*c->at != ']' && !c->wrong) {
        if (!*c->at) {
            c->wrong = "a bracket is open";
            break;
        }
        int first = read_member(c, set), last = first;
        if (first >= 0 && c->at[0] == '-' && c->at[1] && c->at[1] != ']') {
            c->at++;
            last = read_member(c, set);
            if (last < first)
                c->wrong = "a range is empty";
        }
        for (int i = first; i >= 0 && i <= last; i++)
            set_add(set, (unsigned)i);
    }
    c->at += *c->at == ']';
    for (size_t i = 0; negated && i < 32; i++)
        set[i] = (uint8_t)~set[i];
    return new_class(c, set);
}

/* ---- steps ---- */

static size_t emit(struct compiler *c, enum op op, unsigned byte)
{
    if (c->x->nsteps + 1 >= EXTRACT_STEPS) {
        c->wrong = "it is too long";
        return 0;
    }
    c->x->steps[c->x->nsteps] = (struct extract_step){.op = (uint8_t)op, .c = (uint8_t)byte};
    return c->x->nsteps++;
}

/* Makes room for a step before those from `from` on. */
static void insert(struct compiler *c, size_t from)
{
    struct extract_step *s = c->x->steps;
    emit(c, JUMP, 0);
    if (c->wrong)
        return;
    memmove(s + from + 1, s + from, (c->x->nsteps - 1 - from) * sizeof(*s));
    for (size_t i = from + 1; i < c->x->nsteps; i++) {
        if (s[i].op == SPLIT || s[i].op == JUMP) {
            s[i].to += s[i].to >= from;
            s[i].other += s[i].other >= from;
        }
    }
}

static void set_split(struct compiler *c, size_t at, size_t first, size_t second, bool lazy)
{
    c->x->steps[at] = (struct extract_step){.op = SPLIT,
                                            .to = (uint16_t)(lazy ? second : first),
                                            .other = (uint16_t)(lazy ? first : second)};
}

static void copy(struct compiler *c, size_t from, size_t n)
{
    size_t base = c->x->nsteps;
    for (size_t i = 0; i < n && !c->wrong; i++) {
        struct extract_step s = c->x->steps[from + i];
        size_t at = emit(c, JUMP, 0);
        if (s.op == SPLIT || s.op == JUMP) {
            s.to = (uint16_t)(s.to - from + base);
            s.other = (uint16_t)(s.other - from + base);
        }
        if (!c->wrong)
            c->x->steps[at] = s;
    }
}

static void star(struct compiler *c, size_t from, bool lazy)
{
    insert(c, from);
    size_t back = emit(c, JUMP, 0);
    if (c->wrong)
        return;
    c->x->steps[back].to = (uint16_t)from;
    set_split(c, from, from + 1, back + 1, lazy);
}

static void optional(struct compiler *c, size_t from, bool lazy)
{
    insert(c, from);
    if (!c->wrong)
        set_split(c, from, from + 1, c->x->nsteps, lazy);
}

/* {least,most}; most -1: any number. The steps from `from` on are one repetition. */
static void repeat(struct compiler *c, size_t from, int least, int most, bool lazy)
{
    size_t n = c->x->nsteps - from;
    if (least == 0 && most == -1) {
        star(c, from, lazy);
        return;
    }
    if (least == 0 && most == 0) {
        c->x->nsteps = from;
        return;
    }
    for (int i = 1; i < least && !c->wrong; i++)
        copy(c, from, n);
    if (most == -1 && !c->wrong) {
        size_t last = c->x->nsteps;
        copy(c, from, n);
        star(c, last, lazy);
    }
    if (least == 0)
        optional(c, from, lazy);
    size_t one = from + (least == 0); /* its first copy */
    for (int i = least ? least : 1; i < most && !c->wrong; i++) {
        size_t last = c->x->nsteps;
        copy(c, one, n);
        optional(c, last, lazy);
    }
}

static int read_count(struct compiler *c)
{
    int v = 0;
    if (*c->at < '0' || *c->at > '9')
        return -1;
    while (*c->at >= '0' && *c->at <= '9' && v <= REPEAT_MAX)
        v = 10 * v + *c->at++ - '0';
    return v;
}

static void read_repeat(struct compiler *c, size_t from)
{
    int least, most = -1;
    const char *brace = c->at;
    switch (*c->at) {
    case '*':
    case '+':
    case '?':
        least = *c->at == '+';
        most = *c->at == '?' ? 1 : -1;
        c->at++;
        break;
    case '{':
        c->at++;
        least = most = read_count(c);
        if (least >= 0 && *c->at == ',') {
            c->at++;
            most = read_count(c);
        }
        if (least < 0 || *c->at != '}') {
            c->at = brace;
            c->wrong = "a brace is not understood; write \\{";
            return;
        }
        c->at++;
        if (least > REPEAT_MAX || most > REPEAT_MAX || (most >= 0 && most < least))
            c->wrong = "a count is too large";
        break;
    default:
        return;
    }
    bool lazy = *c->at == '?';
    c->at += lazy;
    if (!c->wrong)
        repeat(c, from, least, most, lazy);
    if (*c->at && strchr("*+?{", *c->at))
        c->wrong = "there is nothing to repeat";
}

static void read_choice(struct compiler *c);

static void read_group(struct compiler *c)
{
    size_t group = 0;
    if (c->at[0] == '?' && c->at[1] == ':') {
        c->at += 2;
    } else if (c->at[0] == '?' && c->at[1] == '<' && c->at[2] != '=' && c->at[2] != '!') {
        c->at += strcspn(c->at, ">)");
        c->at += *c->at == '>';
        group = ++c->x->ngroups;
    } else if (*c->at == '?') {
        c->wrong = "it looks ahead or back, which is not understood";
        return;
    } else {
        group = ++c->x->ngroups;
    }
    if (group == 1)
        emit(c, SAVE, 2);
    read_choice(c);
    if (group == 1)
        emit(c, SAVE, 3);
    if (*c->at != ')')
        c->wrong = "a parenthesis is open";
    else
        c->at++;
}

static void read_atom(struct compiler *c)
{
    uint8_t set[32] = {0};
    char a = *c->at++;
    switch (a) {
    case '(':
        read_group(c);
        return;
    case '[':
        emit(c, CLASS, (unsigned)read_class(c));
        return;
    case '.':
        memset(set, 0xff, sizeof(set));
        set['\n' >> 3] &= (uint8_t) ~(1u << ('\n' & 7));
        set['\r' >> 3] &= (uint8_t) ~(1u << ('\r' & 7));
        emit(c, CLASS, (unsigned)new_class(c, set));
        return;
    case '^':
    case '$':
        emit(c, a == '^' ? BEGIN : END, 0);
        return;
    case '*':
    case '+':
    case '?':
    case '{':
        c->wrong = "there is nothing to repeat";
        return;
    case '\\':
        break;
    default:
        emit(c, BYTE, (uint8_t)a);
        return;
    }
    if (*c->at == 'b' || *c->at == 'B')
        emit(c, *c->at++ == 'b' ? WORD : NOT_WORD, 0);
    else if (*c->at && add_named(set, *c->at))
        c->at++, emit(c, CLASS, (unsigned)new_class(c, set));
    else
        emit(c, BYTE, (unsigned)read_escape(c));
}

static void read_sequence(struct compiler *c)
{
    while (*c->at && *c->at != '|' && *c->at != ')' && !c->wrong) {
        size_t from = c->x->nsteps;
        read_atom(c);
        if (!c->wrong)
            read_repeat(c, from);
    }
}

/* a|b|c */
static void read_choice(struct compiler *c)
{
    size_t from = c->x->nsteps;
    if (++c->depth > DEPTH_MAX) {
        c->wrong = "it is too deep";
        return;
    }
    read_sequence(c);
    if (*c->at == '|' && !c->wrong) {
        c->at++;
        insert(c, from);
        size_t jump = emit(c, JUMP, 0);
        set_split(c, from, from + 1, c->x->nsteps, false);
        read_choice(c);
        if (!c->wrong)
            c->x->steps[jump].to = (uint16_t)c->x->nsteps;
    }
    c->depth--;
}

int extract_compile(const char *pattern, struct extract *out, struct bk_err *err)
{
    struct compiler c = {.x = out, .at = pattern};
    out->nsteps = out->nclasses = out->ngroups = 0;
    emit(&c, SAVE, 0);
    read_choice(&c);
    if (!c.wrong && *c.at)
        c.wrong = "a parenthesis is closed that was not open";
    emit(&c, SAVE, 1);
    if (!c.wrong && out->nsteps + 1 < EXTRACT_STEPS)
        out->steps[out->nsteps++] = (struct extract_step){.op = MATCH};
    if (!c.wrong && out->ngroups == 0)
        c.wrong = "it has no group; what the first one captures is the secret";
    return c.wrong ? err_set(err, BK_E_INPUT, "the pattern %.80s: %s", pattern, c.wrong) : 0;
}

/* ---- matching ---- */

struct thread {
    uint16_t step;
    size_t saved[SAVES];
};

struct threads {
    struct thread *at;
    size_t n;
};

struct machine {
    const struct extract *x;
    const char *text;
    size_t n;
    uint32_t *seen; /* by step: the position that it was last reached at, and one */
    struct thread *stack;
};

static bool is_between(const struct machine *m, size_t at)
{
    bool before = at > 0 && is_word((uint8_t)m->text[at - 1]);
    return before != (at < m->n && is_word((uint8_t)m->text[at]));
}

/* Follows the steps that take no byte, in the order of preference. */
static void add_thread(struct machine *m, struct threads *list, struct thread t, size_t at)
{
    size_t top = 0;
    m->stack[top++] = t;
    while (top) {
        t = m->stack[--top];
        const struct extract_step *s = &m->x->steps[t.step];
        if (m->seen[t.step] == at + 1)
            continue;
        m->seen[t.step] = (uint32_t)at + 1;
        uint16_t next = (uint16_t)(t.step + 1);
        bool goes_on = true;
        switch (s->op) {
        case JUMP:
            next = s->to;
            break;
        case SPLIT:
            m->stack[top] = t;
            m->stack[top++].step = s->other;
            next = s->to;
            break;
        case SAVE:
            t.saved[s->c] = at;
            break;
        case BEGIN:
            goes_on = at == 0;
            break;
        case END:
            goes_on = at == m->n;
            break;
        case WORD:
        case NOT_WORD:
            goes_on = is_between(m, at) == (s->op == WORD);
            break;
        default:
            list->at[list->n++] = t;
            goes_on = false;
        }
        t.step = next;
        if (goes_on)
            m->stack[top++] = t;
    }
}

static bool run(struct machine *m, struct threads lists[2], size_t from, struct thread *won)
{
    bool found = false;
    struct threads *now = &lists[0], *next = &lists[1];
    now->n = 0;
    for (size_t at = from;; at++) {
        struct thread fresh = {0, {at, at, SIZE_MAX, SIZE_MAX}};
        if (!found)
            add_thread(m, now, fresh, at);
        next->n = 0;
        /* the steps of the next position are marked anew */
        for (size_t i = 0; i < now->n; i++) {
            struct thread t = now->at[i];
            const struct extract_step *s = &m->x->steps[t.step];
            if (s->op == MATCH) {
                *won = t;
                found = true;
                break; /* the others are less preferred */
            }
            uint8_t c = at < m->n ? (uint8_t)m->text[at] : 0;
            bool takes = at < m->n && (s->op == BYTE ? s->c == c : set_has(m->x->classes[s->c], c));
            t.step++;
            if (takes)
                add_thread(m, next, t, at + 1);
        }
        if (at >= m->n || (found && next->n == 0))
            return found;
        struct threads *other = now;
        now = next;
        next = other;
    }
}

int extract_next(const struct extract *x, const char *text, size_t n, size_t from,
                 struct extract_match *out)
{
    size_t each = x->nsteps;
    struct thread won, *rooms = calloc(4 * each + 2, sizeof(*rooms));
    uint32_t *seen = calloc(each, sizeof(*seen));
    int result = -1;
    if (rooms && seen && n < UINT32_MAX - 1) {
        struct machine m = {x, text, n, seen, rooms + 2 * each};
        struct threads lists[2] = {{rooms, 0}, {rooms + each, 0}};
        result = run(&m, lists, from, &won);
    }
    if (result > 0)
        *out = (struct extract_match){won.saved[0], won.saved[1], won.saved[2], won.saved[3]};
    free(rooms);
    free(seen);
    return result;
}
