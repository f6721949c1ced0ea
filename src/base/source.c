/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Texts get consecutive ranges of one position space. Lines and columns are found by scanning. */

#include "base/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/own.h"
#include "base/utf8.h"

enum { COUNTED = 4096 };

void source_map_init(struct source_map *map, struct arena *arena)
{
    memset(map, 0, sizeof(*map));
    map->arena = arena;
    map->next = 1;
}

struct source *source_lend(struct source_map *map, const char *name, const char *text, size_t len,
                           struct bk_err *err)
{
    struct source *s = arena_new(map->arena, struct source);
    char *copy = arena_strndup(map->arena, name, strlen(name));
    if (!s || !copy || len >= UINT32_MAX - map->next) {
        err_set(err, BK_E_LIMIT, "%s: too much text in one program", name);
        return NULL;
    }
    s->name = copy;
    s->text = text;
    s->len = len;
    s->base = map->next;
    map->next += (src_pos)len + 1; /* the end of a text is a position too */
    if (map->last)
        map->last->next = s;
    else
        map->first = s;
    map->last = s;
    return s;
}

static int too_large(const char *name, struct bk_err *err)
{
    err_set(err, BK_E_LIMIT, "%s: larger than %d MiB", name, SOURCE_MAX >> 20);
    err_hint(err, "profiles are small texts; is this the right file?");
    return -1;
}

struct source *source_add(struct source_map *map, const char *name, const char *text, size_t len,
                          struct bk_err *err)
{
    if (len > SOURCE_MAX) {
        too_large(name, err);
        return NULL;
    }
    char *copy = arena_strndup(map->arena, text, len);
    if (!copy) {
        err_set(err, BK_E_LIMIT, "%s: not enough memory for its text", name);
        return NULL;
    }
    return source_lend(map, name, copy, len, err);
}

struct source *source_read(struct source_map *map, const char *path, struct bk_err *err)
{
    bool standard = strcmp(path, "-") == 0;
    const char *name = standard ? "<stdin>" : path;
    OWN(fd) int fd = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0) {
        err_sys(err, "cannot read %s", name);
        return NULL;
    }
    if (S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        err_sys(err, "cannot read %s", name);
        return NULL;
    }
    size_t cap = S_ISREG(st.st_mode) ? (size_t)st.st_size : SOURCE_MAX;
    if (cap > SOURCE_MAX) {
        too_large(name, err);
        return NULL;
    }
    OWN(mem) char *text = malloc(cap + 2);
    if (!text) {
        err_nomem(err);
        return NULL;
    }
    ssize_t n = fd_read_all(fd, text, cap + 1);
    if (n < 0) {
        err_sys(err, "cannot read %s", name);
        return NULL;
    }
    return source_add(map, name, text, (size_t)n, err);
}

static uint32_t count_chars(const char *s, size_t n)
{
    uint32_t chars = 0;
    for (size_t i = 0; i < n; chars++) {
        size_t w = (unsigned char)s[i] < 0x80 ? 1 : utf8_width(s + i, n - i);
        i += w ? w : 1;
    }
    return chars;
}

static uint32_t count_lines(const char *text, size_t n)
{
    uint32_t lines = 0;
    for (const char *p = text, *end = text + n; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        lines++;
    return lines;
}

static size_t line_start(const char *text, size_t at)
{
    while (at > 0 && text[at - 1] != '\n')
        at--;
    return at;
}

static bool index_lines(struct arena *arena, struct source *s)
{
    s->lines = arena_array(arena, count_lines(s->text, s->len) + 1, sizeof(*s->lines));
    if (!s->lines)
        return false;
    s->nlines = 1;
    const char *p = s->text, *end = s->text + s->len;
    for (; (p = memchr(p, '\n', (size_t)(end - p))); p++)
        s->lines[s->nlines++] = (uint32_t)(p - s->text) + 1;
    return true;
}

/* The last line that starts at or before `at`. */
static uint32_t line_of(const struct source *s, size_t at)
{
    uint32_t lo = 0, hi = s->nlines;
    while (hi - lo > 1) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (s->lines[mid] <= at)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Counts the characters before `at` in the line that starts at `start`. Past COUNTED it counts
 * bytes: the cost must not grow with the line's length, because a loop can ask for many
 * positions. */
static uint32_t column_of(const struct source *s, size_t start, size_t at)
{
    size_t n = at - start, counted = n < COUNTED ? n : COUNTED;
    return count_chars(s->text + start, counted) + (uint32_t)(n - counted);
}

struct source_place source_find(struct source_map *map, src_pos pos)
{
    struct source_place p = {0};
    struct source *s = map && pos ? map->first : NULL;
    while (s && pos - s->base > s->len)
        s = s->next;
    if (!s)
        return p;
    size_t at = pos - s->base;
    /* the message about exhausted memory should still have a position */
    bool indexed = s->lines || index_lines(map->arena, s);
    uint32_t line = indexed ? line_of(s, at) : count_lines(s->text, at);
    size_t start = indexed ? s->lines[line] : line_start(s->text, at);
    p.source = s;
    p.line = line + 1;
    p.line_text = s->text + start;
    p.line_len = s->len - start;
    if (indexed && line + 1 < s->nlines) {
        p.line_len = s->lines[line + 1] - 1 - start;
    } else if (!indexed) {
        const char *end = memchr(p.line_text, '\n', p.line_len);
        p.line_len = end ? (size_t)(end - p.line_text) : p.line_len;
    }
    p.col = column_of(s, start, at) + 1;
    return p;
}

static src_pos position_in(const struct source *s, uint32_t line, uint32_t col)
{
    const char *at = s->text, *end = s->text + s->len;
    for (uint32_t l = 1; at && l < line; l++) {
        at = memchr(at, '\n', (size_t)(end - at));
        at = at ? at + 1 : NULL;
    }
    for (uint32_t c = 1; at && c < col && at < end; c++) {
        size_t width = utf8_width(at, (size_t)(end - at));
        at += width ? width : 1;
    }
    return at ? s->base + (src_pos)(at - s->text) : 0;
}

src_pos source_position(const struct source_map *map, const char *name, size_t cap, uint32_t line,
                        uint32_t col)
{
    src_pos pos = 0;
    for (const struct source *s = map->first; s && !pos; s = s->next)
        if (strncmp(s->name, name, cap) == 0)
            pos = position_in(s, line, col);
    return pos;
}
