/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_ERR_H
#define BK_BASE_ERR_H

#include <stdint.h>

/*
 * One failure signal: a negative return. The details go into a fixed-size record that the caller
 * owns, so that the error path allocates nothing. Deny is a value, never an error.
 */
enum bk_code {
    BK_OK = 0,
    BK_E_INPUT,  /* the user's input is wrong: a profile, an argument, a settings file */
    BK_E_LIMIT,  /* a budget (steps, depth, bytes, states) ran out */
    BK_E_SYSTEM, /* a system call failed; sys holds errno */
    BK_E_MEMORY, /* the machine, not a budget, is out of memory */
    BK_E_BUG,    /* one of our invariants does not hold */
};

/* What the user can do about an error. It differs between the library and the command line, so an
 * error carries an ID, and a table has the words. */
enum bk_remedy {
    REMEDY_NONE,
#define REMEDY(id, words) REMEDY_##id,
#include "base/remedies.def"
#undef REMEDY
    REMEDY_COUNT,
};

struct bk_err {
    enum bk_code code;
    int sys;               /* errno for BK_E_SYSTEM, else 0 */
    uint32_t line, col;    /* 1-based; 0 if the error has no position in a text */
    char file[128];        /* name of the text, empty if there is none */
    char msg[320];         /* what was wrong */
    char hint[192];        /* what to do about it, may be empty */
    enum bk_remedy remedy; /* of the hint, if it has an ID */
};

/* Each fills *err (which may be NULL) and returns -1, so that callers write `return err_set(…)`. */
int err_set(struct bk_err *err, enum bk_code code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int err_sys(struct bk_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int err_nomem(struct bk_err *err);

/* Each adds to an error that is already set: a hint, a remedy as the hint, or a position. */
void err_hint(struct bk_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void err_remedy(struct bk_err *err, enum bk_remedy remedy);
void err_place(struct bk_err *err, const char *file, uint32_t line, uint32_t col);

/* "file:line:col: what was wrong", without a newline. */
struct buf;
void err_line(const struct bk_err *err, struct buf *out);
/* The same with a newline, and a line for the hint if there is one. */
void err_lines(const struct bk_err *err, struct buf *out);

/* The words for a remedy; "" for REMEDY_NONE. */
const char *remedy_words(enum bk_remedy remedy);
/* Replaces the words for the whole process, where words[remedy] is not NULL. The array must stay
 * valid. Only main() of a program calls it, before it starts a thread. */
void remedy_use(const char *const words[REMEDY_COUNT]);

#endif
