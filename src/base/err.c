/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Errors: fixed-size, owned by the caller, worded where they arise. Making one allocates nothing.
 */

#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

static const char *const library_words[REMEDY_COUNT] = {
    [REMEDY_NONE] = "",
#define REMEDY(id, words) [REMEDY_##id] = words,
#include "base/remedies.def"
#undef REMEDY
};

static const char *const *program_words;

void remedy_use(const char *const words[REMEDY_COUNT])
{
    program_words = words;
}

const char *remedy_words(enum bk_remedy remedy)
{
    const char *words = program_words ? program_words[remedy] : NULL;
    return words ? words : library_words[remedy];
}

static void fill(struct bk_err *err, enum bk_code code, int sys, const char *fmt, va_list ap)
{
    memset(err, 0, sizeof(*err));
    err->code = code;
    err->sys = sys;
    vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
}

int err_set(struct bk_err *err, enum bk_code code, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        fill(err, code, 0, fmt, ap);
        va_end(ap);
    }
    return -1;
}

int err_sys(struct bk_err *err, const char *fmt, ...)
{
    int sys = errno;
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        fill(err, BK_E_SYSTEM, sys, fmt, ap);
        va_end(ap);
        size_t n = strlen(err->msg);
        snprintf(err->msg + n, sizeof(err->msg) - n, ": %s", strerror(sys));
    }
    errno = sys;
    return -1;
}

int err_nomem(struct bk_err *err)
{
    return err_set(err, BK_E_MEMORY, "out of memory");
}

void err_hint(struct bk_err *err, const char *fmt, ...)
{
    if (!err)
        return;
    va_list ap;
    va_start(ap, fmt);
    err->remedy = REMEDY_NONE;
    vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
    va_end(ap);
}

void err_remedy(struct bk_err *err, enum bk_remedy remedy)
{
    if (!err)
        return;
    err->remedy = remedy;
    snprintf(err->hint, sizeof(err->hint), "%s", remedy_words(remedy));
}

void err_place(struct bk_err *err, const char *file, uint32_t line, uint32_t col)
{
    if (!err)
        return;
    snprintf(err->file, sizeof(err->file), "%s", file ? file : "");
    err->line = line;
    err->col = col;
}

void err_line(const struct bk_err *err, struct buf *out)
{
    if (err->file[0]) {
        buf_safe(out, err->file, strlen(err->file));
        if (err->line)
            buf_fmt(out, ":%u:%u", err->line, err->col);
        buf_str(out, ": ");
    }
    buf_safe(out, err->msg, strlen(err->msg));
}

void err_lines(const struct bk_err *err, struct buf *out)
{
    err_line(err, out);
    buf_chr(out, '\n');
    if (err->hint[0]) {
        buf_str(out, "  hint: ");
        buf_safe(out, err->hint, strlen(err->hint));
        buf_chr(out, '\n');
    }
}
