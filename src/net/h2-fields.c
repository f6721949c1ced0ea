/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Between HPACK's fields and those of HTTP/1, which the rest of the gate knows. */

#include "net/h2-fields.h"

#include <stdint.h>
#include <string.h>

#include "net/h2.h"

void h2_fields_add(struct buf *fields, const void *name, size_t n, const void *value, size_t m)
{
    const uint32_t sizes[2] = {(uint32_t)n, (uint32_t)m};
    buf_add(fields, (const char *)sizes, sizeof(sizes));
    buf_add(fields, name, n);
    buf_add(fields, value, m);
}

size_t h2_fields_list(const struct buf *fields, nghttp2_nv *list, size_t cap)
{
    size_t n = 0;
    for (size_t at = 0; at < fields->n && n < cap; n++) {
        uint32_t sizes[2];
        memcpy(sizes, fields->s + at, sizeof(sizes));
        at += sizeof(sizes);
        uint8_t *name = (uint8_t *)fields->s + at;
        list[n] = (nghttp2_nv){name, name + sizes[0], sizes[0], sizes[1], 0};
        at += (size_t)sizes[0] + sizes[1];
    }
    return n;
}

static struct slice name_of(const nghttp2_nv *nv)
{
    return (struct slice){(const char *)nv->name, nv->namelen};
}

bool h2_fields_head(const struct buf *fields, struct http_head *out)
{
    nghttp2_nv list[H2_FIELDS_MAX];
    size_t n = h2_fields_list(fields, list, H2_FIELDS_MAX);
    *out = (struct http_head){0};
    for (size_t i = 0; i < n; i++) {
        if (list[i].name[0] == ':')
            continue;
        if (out->nfields == HTTP_FIELDS)
            return false;
        out->fields[out->nfields++] =
            (struct http_field){name_of(&list[i]), {(const char *)list[i].value, list[i].valuelen}};
    }
    return true;
}

static bool is_removed(const struct text_list *l, struct slice name)
{
    for (size_t i = 0; i < l->n; i++)
        if (handling_same_field(name.s, name.n, l->at[i], strlen(l->at[i])))
            return true;
    return false;
}

/* "name: value\r\n" each. */
static void add_lines(struct buf *out, const char *s, size_t n)
{
    for (const char *end; n && (end = memchr(s, '\n', n));) {
        size_t size = (size_t)(end + 1 - s);
        const char *colon = memchr(s, ':', size);
        if (colon && size > (size_t)(colon - s) + 4)
            h2_fields_add(out, s, (size_t)(colon - s), colon + 2, (size_t)(end - 1 - (colon + 2)));
        else if (colon)
            h2_fields_add(out, s, (size_t)(colon - s), "", 0);
        s += size;
        n -= size;
    }
}

void h2_fields_edit(struct buf *fields, const struct head_edit *e)
{
    static const char path[] = ":path";
    nghttp2_nv list[H2_FIELDS_MAX];
    size_t n = h2_fields_list(fields, list, H2_FIELDS_MAX);
    struct buf out = {0};
    for (size_t i = 0; i < n; i++) {
        struct slice name = name_of(&list[i]);
        bool is_path = name.n == sizeof(path) - 1 && memcmp(name.s, path, name.n) == 0;
        if (is_path && e->target.s)
            h2_fields_add(&out, path, name.n, e->target.s, e->target.n);
        else if (name.s[0] == ':' || !is_removed(&e->remove, name))
            h2_fields_add(&out, name.s, name.n, list[i].value, list[i].valuelen);
    }
    add_lines(&out, e->add, e->nadd);
    buf_free(fields);
    *fields = out;
}
