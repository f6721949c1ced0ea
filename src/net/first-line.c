/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A state machine over single bytes. It tracks only the current word and whether the previous one
 * was "HTTP/<digit>", so a line of any length needs no buffer.
 */

#include "net/first-line.h"

enum { WHOLE = 6 }; /* "http/" and a digit */

static bool is_http(const struct first_line *f)
{
    bool last = f->word ? !f->mismatch && f->matched == WHOLE : f->last_http;
    return f->begun && last && (!f->following || f->words == 3);
}

static void end_word(struct first_line *f)
{
    if (f->word)
        f->last_http = !f->mismatch && f->matched == WHOLE;
    f->word = f->mismatch = false;
    f->matched = 0;
}

static void add_to_word(struct first_line *f, char c)
{
    static const char http[] = "http/";
    if (!f->word && f->words < 4)
        f->words++;
    f->word = f->begun = true;
    if (f->matched == WHOLE)
        return; /* anything may follow the digit */
    bool fits = f->matched < WHOLE - 1 ? (c | 0x20) == http[f->matched] : c >= '0' && c <= '9';
    if (fits && !f->mismatch)
        f->matched++;
    else
        f->mismatch = true;
}

static void next_line(struct first_line *f)
{
    *f = (struct first_line){.blank_first = !f->following || f->blank_first,
                             .following = f->following,
                             .size = f->following ? f->size : 0};
}

enum first_line_result first_line_read(struct first_line *f, const char *data, size_t n)
{
    uint32_t most = f->following ? FIRST_FOLLOWING : FIRST_MAX;
    for (size_t i = 0; i < n; i++) {
        char c = data[i];
        bool end = c == '\r' || c == '\n';
        f->left = n - i - 1;
        if (end && is_http(f))
            return FIRST_HTTP;
        if ((c == '\n' && f->begun && !f->following) || ++f->size > most)
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

enum first_line_result first_line_end(const struct first_line *f)
{
    return is_http(f) ? FIRST_HTTP : FIRST_OTHER;
}

void first_line_follow(struct first_line *f)
{
    *f = (struct first_line){.following = true};
}
