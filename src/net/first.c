/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "net/first.h"

enum { WHOLE = 6 }; /* "http/" and a digit */

static bool is_http(const struct first *f)
{
    return f->word ? !f->mismatch && f->matched == WHOLE : f->last_http;
}

static void end_word(struct first *f)
{
    f->last_http = is_http(f);
    f->word = f->mismatch = false;
    f->matched = 0;
}

static void add_to_word(struct first *f, char c)
{
    static const char http[] = "http/";
    f->word = f->begun = true;
    if (f->matched == WHOLE)
        return; /* whatever follows the digit */
    bool fits = f->matched < WHOLE - 1 ? (c | 0x20) == (http[f->matched] | 0x20)
                                       : c >= '0' && c <= '9';
    if (fits && !f->mismatch)
        f->matched++;
    else
        f->mismatch = true;
}

static void next_line(struct first *f)
{
    *f = (struct first){.blank_first = true};
}

enum first_result first_read(struct first *f, const char *data, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = data[i];
        bool end = c == '\r' || c == '\n';
        if (end && f->begun && is_http(f))
            return FIRST_HTTP;
        if ((c == '\n' && f->begun) || ++f->size > FIRST_MAX)
            return FIRST_OTHER;
        if (c == '\n')
            next_line(f);
        else if (end || c == ' ' || c == '\t' || c == '\v' || c == '\f')
            end_word(f);
        else
            add_to_word(f, c);
    }
    return FIRST_MORE;
}

enum first_result first_end(const struct first *f)
{
    return f->begun && is_http(f) ? FIRST_HTTP : FIRST_OTHER;
}
