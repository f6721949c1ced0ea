/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A hash set of paths. A lookup hashes the path once from its start and looks in the set at each
 * slash, so its cost does not depend on the number of folders.
 */

#include "kernel/judge/path-set.h"

#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 1 << 20, SLOTS = 2 * PATH_SET_MAX };

int path_set_init(struct path_set *m)
{
    m->text = malloc(TEXT_BYTES);
    return m->text ? 0 : -1;
}

/* Whether entry i is the first n bytes of head + tail. */
static bool is_entry(const struct path_set *m, uint32_t i, const char *head, size_t nhead,
                     const char *tail, size_t n)
{
    const char *text = m->text + m->start[i];
    size_t first = n < nhead ? n : nhead;
    return m->start[i + 1] - m->start[i] == n && memcmp(text, head, first) == 0 &&
           (n == first || memcmp(text + first, tail, n - first) == 0);
}

static bool is_member(const struct path_set *m, uint64_t hash, const char *head, size_t nhead,
                      const char *tail, size_t n)
{
    for (size_t s = hash % SLOTS; m->slots[s]; s = (s + 1) % SLOTS)
        if (is_entry(m, m->slots[s] - 1u, head, nhead, tail, n))
            return true;
    return false;
}

size_t path_set_covering(const struct path_set *m, const char *head, size_t nhead, const char *tail,
                         size_t ntail)
{
    uint64_t hash = PATH_HASH_START;
    for (size_t i = 0; m->n > 0 && i <= nhead + ntail; i++) {
        char c = i < nhead ? head[i] : i < nhead + ntail ? tail[i - nhead] : '/';
        if (c == '/' && i > 0 && is_member(m, hash, head, nhead, tail, i))
            return i;
        hash = path_hash_step(hash, c);
    }
    return 0;
}

bool path_set_covers(const struct path_set *m, const char *head, size_t nhead, const char *tail,
                     size_t ntail)
{
    return path_set_covering(m, head, nhead, tail, ntail) > 0;
}

void path_set_add(struct path_set *m, const char *path, size_t len)
{
    uint64_t hash = PATH_HASH_START;
    for (size_t i = 0; i < len; i++)
        hash = path_hash_step(hash, path[i]);
    if (m->n == PATH_SET_MAX || TEXT_BYTES - m->used < len ||
        is_member(m, hash, path, len, "", len))
        return;
    memcpy(m->text + m->used, path, len);
    m->used += len;
    m->start[++m->n] = (uint32_t)m->used;
    size_t s = hash % SLOTS;
    while (m->slots[s])
        s = (s + 1) % SLOTS;
    m->slots[s] = (uint16_t)m->n;
}

const char *path_set_at(const struct path_set *m, uint32_t i, size_t *len)
{
    *len = m->start[i + 1] - m->start[i];
    return m->text + m->start[i];
}

static bool is_below(const struct path_set *m, uint32_t i, const char *path, size_t len)
{
    const char *text = m->text + m->start[i];
    size_t n = m->start[i + 1] - m->start[i];
    return n >= len && memcmp(text, path, len) == 0 && (n == len || text[len] == '/');
}

/* An entry whose first byte is not a slash matches no path. */
void path_set_forget(struct path_set *m, const char *path, size_t len)
{
    for (uint32_t i = 0; i < m->n; i++)
        if (is_below(m, i, path, len))
            m->text[m->start[i]] = '\0';
}

void path_set_moved(struct path_set *m, const char *from, size_t nfrom, const char *to, size_t nto)
{
    char path[8192];
    for (uint32_t i = 0, n = m->n; i < n; i++) {
        const char *text = m->text + m->start[i];
        size_t len = m->start[i + 1] - m->start[i];
        if (!is_below(m, i, from, nfrom))
            continue;
        size_t rest = len - nfrom;
        if (nto + rest > sizeof(path))
            continue;
        memcpy(path, to, nto);
        memcpy(path + nto, text + nfrom, rest);
        path_set_add(m, path, nto + rest);
    }
}
