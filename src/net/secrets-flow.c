/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Bytes on their way, with secrets replaced in one direction or the other. Framing between the
 * bytes of a body may divide a secret, so bytes are marked, and a body is replaced without its
 * framing. What may be the start of a secret waits for the rest.
 */

#include "net/secrets.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

unsigned secrets_two_bytes(const char *s)
{
    return (unsigned)(uint8_t)s[0] | (unsigned)(uint8_t)s[1] << 8;
}

/* The text that is replaced; NULL: this form is not, in that way. */
static const char *from_of(const struct secret_form *f, uint32_t which, enum secrets_way way)
{
    if (!(which >> f->which & 1) || (way == SECRETS_INSERT && !f->inserted))
        return NULL;
    return way == SECRETS_INSERT ? f->fake : f->value;
}

static const struct secret_form *form_at(const struct secrets *s, uint32_t which,
                                         enum secrets_way way, const char *text, size_t n)
{
    for (size_t i = 0; i < s->nforms; i++) {
        const struct secret_form *f = &s->forms[i];
        const char *from = from_of(f, which, way);
        if (from && f->n <= n && memcmp(from, text, f->n) == 0)
            return f;
    }
    return NULL;
}

void secrets_replace(const struct secrets *s, uint32_t which, enum secrets_way way, char *text,
                     size_t n)
{
    for (size_t at = 0; at + 1 < n && which;) {
        unsigned two = secrets_two_bytes(text + at);
        bool may = s->starts[way][two >> 3] >> (two & 7) & 1;
        const struct secret_form *f = may ? form_at(s, which, way, text + at, n - at) : NULL;
        if (f)
            memcpy(text + at, way == SECRETS_INSERT ? f->value : f->fake, f->n);
        at += f ? f->n : 1;
    }
}

void secrets_flow_add(struct secrets_flow *f, const char *data, size_t n, bool body)
{
    char marks[1024];
    memset(marks, body, n < sizeof(marks) ? n : sizeof(marks));
    buf_add(&f->raw, data, n);
    for (size_t left = n; left;) {
        size_t part = left < sizeof(marks) ? left : sizeof(marks);
        buf_add(&f->marks, marks, part);
        left -= part;
    }
}

/* How many of the last bytes may be the start of a form. */
static size_t count_open(const struct secrets *s, uint32_t which, enum secrets_way way,
                         const char *text, size_t n)
{
    size_t most = s->longest ? s->longest - 1 : 0;
    for (size_t k = n < most ? n : most; k; k--)
        for (size_t i = 0; i < s->nforms; i++) {
            const char *from = from_of(&s->forms[i], which, way);
            if (from && s->forms[i].n > k && memcmp(from, text + n - k, k) == 0)
                return k;
        }
    return 0;
}

/* A body without its framing, replaced, and put back. *open: how many of its last bytes may belong
 * to a secret that goes on. */
static bool replace_body(const struct secrets *s, uint32_t which, struct secrets_flow *f,
                         size_t *open)
{
    size_t n = 0, at = 0;
    char *body = malloc(f->raw.n);
    if (!body)
        return false;
    for (size_t i = 0; i < f->raw.n; i++)
        if (f->marks.s[i])
            body[n++] = f->raw.s[i];
    secrets_replace(s, which, f->way, body, n);
    for (size_t i = 0; i < f->raw.n; i++)
        if (f->marks.s[i])
            f->raw.s[i] = body[at++];
    *open = count_open(s, which, f->way, body, n);
    free(body);
    return true;
}

ssize_t secrets_flow_ready(const struct secrets *s, uint32_t which, struct secrets_flow *f,
                           bool end)
{
    bool hide = f->way == SECRETS_HIDE;
    if (!buf_ok(&f->raw) || !buf_ok(&f->marks))
        return -1;
    if (f->raw.n == 0)
        return 0;
    if (hide) /* header fields, also those at the end */
        secrets_replace(s, which, f->way, f->raw.s, f->raw.n);
    size_t open, n = f->raw.n;
    if (!replace_body(s, which, f, &open))
        return -1;
    if (end)
        return (ssize_t)n;
    while (open)
        open -= f->marks.s[--n] ? 1 : 0;
    size_t waits = hide ? count_open(s, which, f->way, f->raw.s, f->raw.n) : 0;
    return (ssize_t)(n < f->raw.n - waits ? n : f->raw.n - waits);
}

void secrets_flow_sent(struct secrets_flow *f, size_t n)
{
    memmove(f->raw.s, f->raw.s + n, f->raw.n - n);
    memmove(f->marks.s, f->marks.s + n, f->marks.n - n);
    f->raw.n -= n;
    f->marks.n -= n;
}

void secrets_flow_free(struct secrets_flow *f)
{
    buf_free(&f->raw);
    buf_free(&f->marks);
}

bool secrets_answer_is_encoded(const char *head, size_t n)
{
    static const char name[] = "content-encoding:", plain[] = "identity";
    for (const char *end; n && (end = memchr(head, '\n', n));) {
        size_t size = (size_t)(end - head) + 1;
        if (size > sizeof(name) && strncasecmp(head, name, sizeof(name) - 1) == 0) {
            const char *at = head + sizeof(name) - 1;
            at += strspn(at, " \t");
            if (strcspn(at, " \t\r\n") != sizeof(plain) - 1 ||
                strncasecmp(at, plain, sizeof(plain) - 1) != 0)
                return true;
        }
        head += size;
        n -= size;
    }
    return false;
}
