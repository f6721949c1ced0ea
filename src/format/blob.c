/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Reading an opened blob: nodes, tables, records, the profiles of a collection. */

#include <string.h>

#include "base/own.h"
#include "format/format-int.h"

enum { BINARY_WITHIN = 512, NAMES_SHOWN = 8 };

/* A text begins with a form, a comment or white space, followed by something readable, whatever
 * comes later. */
bool blob_is_binary(const void *data, size_t n)
{
    static const char text[] = "(;# \t\r\n\xef", space[] = "\t\r\n";
    const uint8_t *p = data;
    bool readable = n < 2 || p[1] >= 0x20 || (p[1] && strchr(space, p[1]));
    if (n == 0 || (readable && memchr(text, p[0], sizeof(text) - 1)))
        return false;
    return memchr(data, '\0', n < BINARY_WITHIN ? n : BINARY_WITHIN) != NULL;
}

/* ---- nodes ---- */

/* Edges are indices in eras D and E, else offsets / 8. */
static uint32_t edge(const struct blob *b, const uint8_t *p)
{
    uint32_t v = get16(p);
    return b->era >= BLOB_D ? v : v - (uint32_t)(b->nodes / BLOB_NODE_SIZE);
}

uint32_t blob_op_entry(const struct blob *b, uint32_t op)
{
    return edge(b, b->data + b->ops + 2 * (size_t)op);
}

static void read_terminal(const struct blob *b, const uint8_t *p, struct blob_node *n)
{
    if (b->era < BLOB_C || (b->era == BLOB_C && !b->late)) {
        n->flags = get16(p + 2);
        return;
    }
    n->flags = (uint32_t)p[1] | (uint32_t)p[2] << 8 | (uint32_t)(p[3] & 0x7f) << 16;
    n->inlined = b->era == BLOB_E && p[3] & 0x80;
    n->mod = p[4];
    n->mod_op = p[5];
    n->mod_arg = get16(p + 6);
}

struct blob_node blob_node_at(const struct blob *b, uint32_t node)
{
    struct blob_node n = {.offset = b->nodes + (size_t)node * BLOB_NODE_SIZE};
    const uint8_t *p = b->data + n.offset;
    n.terminal = p[0] == 1;
    if (n.terminal) {
        read_terminal(b, p, &n);
        return n;
    }
    n.filter = p[1];
    n.arg = get16(p + 2);
    n.match = edge(b, p + 4);
    n.unmatch = edge(b, p + 6);
    return n;
}

/* ---- records ---- */

int blob_record(const struct blob *b, uint16_t arg, struct span *out, struct bk_err *err)
{
    size_t at = b->pool + (size_t)arg * 8, head = b->era >= BLOB_D ? 2 : 4;
    if (at > b->size || b->size - at < head)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: outside the file, which ends at 0x%zx", at,
                       b->size);
    size_t n = head == 2 ? get16(b->data + at) : get32(b->data + at);
    if (b->size - at - head < n)
        return err_set(err, BK_E_INPUT,
                       "offset 0x%zx: a length of %zu exceeds the file, which ends at 0x%zx", at, n,
                       b->size);
    *out = (struct span){b->data + at + head, n, at + head};
    return 0;
}

int blob_text(const struct blob *b, uint16_t arg, struct span *out, struct bk_err *err)
{
    if (blob_record(b, arg, out, err) < 0)
        return -1;
    if (out->n && out->p[out->n - 1] == '\0')
        out->n--;
    if (out->n && memchr(out->p, '\0', out->n))
        return err_set(err, BK_E_INPUT, "offset 0x%zx: a text contains a NUL byte", out->offset);
    return 0;
}

int blob_variable(const struct blob *b, uint32_t index, size_t offset, struct span *name,
                  struct bk_err *err)
{
    if (index >= b->nvars)
        return err_set(err, BK_E_INPUT, "offset 0x%zx: no variable %u: there are %u", offset, index,
                       b->nvars);
    return blob_text(b, get16(b->data + b->vars + 2 * (size_t)index), name, err);
}

/* ---- collections ---- */

bool blob_is_collection(const struct blob *b)
{
    return b->nprofiles > 0;
}

int blob_profile_name(const struct blob *b, uint32_t profile, struct buf *out, struct bk_err *err)
{
    struct span s = {0};
    if (blob_text(b, get16(b->data + b->rows + profile * b->row), &s, err) < 0)
        return -1;
    buf_add(out, (const char *)s.p, s.n);
    return 0;
}

void blob_choose(struct blob *b, uint32_t profile)
{
    b->chosen = profile;
    b->ops = b->rows + profile * b->row + b->row_head;
}

/* Adds some of the existing names as a hint. */
static void hint_names(const struct blob *b, struct bk_err *err)
{
    OWN(buf) struct buf names = {0};
    for (uint32_t i = 0; i < b->nprofiles && i < NAMES_SHOWN; i++) {
        OWN(buf) struct buf name = {0};
        if (blob_profile_name(b, i, &name, NULL) < 0 || !buf_ok(&name))
            continue;
        buf_str(&names, names.n ? ", " : "");
        buf_safe(&names, name.s ? name.s : "", name.n);
    }
    if (buf_ok(&names) && names.n)
        err_hint(err, "it has %s%s", names.s, b->nprofiles > NAMES_SHOWN ? ", …" : "");
}

int blob_choose_name(struct blob *b, const char *name, struct bk_err *err)
{
    for (uint32_t i = 0; name && i < b->nprofiles; i++) {
        OWN(buf) struct buf found = {0};
        if (blob_profile_name(b, i, &found, err) < 0)
            return -1;
        if (buf_ok(&found) && strcmp(found.s ? found.s : "", name) == 0) {
            blob_choose(b, i);
            return 0;
        }
    }
    if (!b->nprofiles)
        err_set(err, BK_E_INPUT, "this is a single profile, not a collection that contains %s",
                name);
    else if (name)
        err_set(err, BK_E_INPUT, "none of its %u profiles is called %s", b->nprofiles, name);
    else
        err_set(err, BK_E_INPUT, "a collection of %u profiles: which one?", b->nprofiles);
    hint_names(b, err);
    return -1;
}
