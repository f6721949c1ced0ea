/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Words, each with its NUL: flags, start, text, argc, argv, and env until the end. */

#include "command/order.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 4000 };

static void put(struct buf *out, const char *word)
{
    buf_add(out, word, strlen(word) + 1);
}

void order_write(const struct order *o, struct buf *out)
{
    size_t argc = 0;
    while (o->argv[argc])
        argc++;
    buf_fmt(out, "order%s%s", o->asks ? "a" : "-", o->stdio ? "s" : "-");
    buf_add(out, "", 1);
    put(out, o->start);
    put(out, o->text);
    buf_fmt(out, "%zu", argc);
    buf_add(out, "", 1);
    for (size_t i = 0; i < argc; i++)
        put(out, o->argv[i]);
    for (size_t i = 0; o->env && o->env[i]; i++)
        put(out, o->env[i]);
}

struct reader {
    char *at, *end;
};

static char *next(struct reader *r)
{
    char *word = r->at, *nul = r->at < r->end ? memchr(word, '\0', (size_t)(r->end - word)) : NULL;
    if (!nul)
        return NULL;
    r->at = nul + 1;
    return word;
}

static bool read_words(struct reader *r, struct order *out)
{
    const char *flags = next(r), *start = next(r), *text = start ? next(r) : NULL;
    const char *count = text ? next(r) : NULL;
    size_t argc = count ? strtoul(count, NULL, 10) : 0;
    if (!count || strncmp(flags, "order", 5) != 0 || strlen(flags) != 7 || argc < 1 || argc > WORDS)
        return false;
    out->asks = flags[5] == 'a';
    out->stdio = flags[6] == 's';
    out->start = start;
    out->text = text;
    for (size_t i = 0; i < argc; i++)
        if (!(out->argv[i] = next(r)))
            return false;
    for (size_t i = 0; r->at < r->end; i++)
        if (i == WORDS || !(out->env[i] = next(r)))
            return false;
    return true;
}

bool order_read(char *bytes, size_t n, struct order *out)
{
    struct reader r = {bytes, bytes + n};
    *out = (struct order){.argv = calloc(WORDS + 1, sizeof(char *)),
                          .env = calloc(WORDS + 1, sizeof(char *))};
    if (out->argv && out->env && n && read_words(&r, out))
        return true;
    order_free(out);
    return false;
}

void order_free(struct order *o)
{
    free(o->argv);
    free(o->env);
    o->argv = o->env = NULL;
}

/* ---- coming in ---- */

static int take_descriptor(struct order_in *o, int fd)
{
    if (!o->order.argv || !o->order.stdio || o->nstdio == ORDER_STDIO) {
        close(fd);
        return -1;
    }
    o->stdio[o->nstdio++] = fd;
    return o->nstdio == ORDER_STDIO;
}

int order_in_take(struct order_in *o, const char *bytes, size_t n, int passed)
{
    if (passed >= 0)
        return take_descriptor(o, passed);
    if (o->bytes || !n || n > ORDER_MOST || !(o->bytes = malloc(n)))
        return -1;
    memcpy(o->bytes, bytes, n);
    if (!order_read(o->bytes, n, &o->order)) {
        o->order.argv = NULL;
        return -1;
    }
    return !o->order.stdio;
}

void order_in_free(struct order_in *o)
{
    for (size_t i = 0; i < o->nstdio; i++)
        close(o->stdio[i]);
    o->nstdio = 0;
    order_free(&o->order);
    free(o->bytes);
    o->bytes = NULL;
}
