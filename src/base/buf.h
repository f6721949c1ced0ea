/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_BASE_BUF_H
#define BK_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A growing byte string for output. Failure is sticky: after a failed allocation all further calls
 * do nothing. Check buf_ok() once at the end.
 */
/* What turns "1 rule" into "2 rules". */
static inline const char *plural(unsigned long long n)
{
    return n == 1 ? "" : "s";
}

struct buf {
    char *s; /* always NUL-terminated once anything was written; NULL while empty */
    size_t n, cap;
    bool failed;
};

void buf_free(struct buf *b);
bool buf_ok(const struct buf *b);
void buf_add(struct buf *b, const char *s, size_t n);
/* Appends n itself and then the bytes, so that what follows cannot be taken for part of them. */
void buf_sized(struct buf *b, const void *bytes, size_t n);
void buf_str(struct buf *b, const char *s);
void buf_chr(struct buf *b, char c);
void buf_fmt(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends s as a quoted JSON string. Bytes that are not UTF-8 become U+FFFD; control and hidden
 * characters (utf8.h) become \uXXXX. */
void buf_json(struct buf *b, const char *s, size_t n);
/* Appends JSON that something else wrote, with hidden characters and DEL in its strings as
 * \uXXXX. */
void buf_json_text(struct buf *b, const char *json, size_t n);

/* Appends s as a quoted SBPL string: \" \\ \n \t, and \xHH for other control bytes and hidden
 * characters. */
void buf_sbpl(struct buf *b, const char *s, size_t n);

/* Appends s for a terminal: control bytes, hidden characters (utf8.h) and invalid UTF-8 become
 * \xHH. */
void buf_safe(struct buf *b, const char *s, size_t n);

#define OWN_buf buf_free

#endif
