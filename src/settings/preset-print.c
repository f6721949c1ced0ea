/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Prints presets as text and as YAML: lists sorted, without duplicates. */

#include <stdlib.h>
#include <string.h>

#include "settings/preset-int.h"

static const char *const list_words[] = {
#define FLAG(id, key)
#define LIST(id, key, words) words,
#include "settings/presets.def"
};

static int by_path(const void *a, const void *b)
{
    const struct preset_path *x = a, *y = b;
    return strcmp(x->path, y->path);
}

/* Characters that YAML takes for the end of a line, or does not take at all. */
static uint32_t odd_character(const unsigned char *s, size_t *width)
{
    *width = 1;
    if (s[0] < 0x20 || s[0] == 0x7f)
        return s[0];
    if (s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0)
        return *width = 2, s[1];
    *width = 3;
    if (s[0] == 0xe2 && s[1] == 0x80 && (s[2] == 0xa8 || s[2] == 0xa9))
        return s[2] == 0xa8 ? 0x2028 : 0x2029;
    if (s[0] == 0xef && s[1] == 0xbb && s[2] == 0xbf)
        return 0xfeff;
    if (s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe)
        return s[2] == 0xbe ? 0xfffe : 0xffff;
    return *width = 1, 0;
}

/* A double-quoted text of YAML. */
static void add_quoted(struct buf *out, const char *s)
{
    buf_chr(out, '"');
    for (size_t width; *s; s += width) {
        uint32_t odd = odd_character((const unsigned char *)s, &width);
        if (odd)
            buf_fmt(out, "\\u%04x", odd);
        else if (*s == '"' || *s == '\\')
            buf_fmt(out, "\\%c", *s);
        else
            buf_chr(out, *s);
    }
    buf_chr(out, '"');
}

static void add_text(struct buf *out, enum preset_format format, const char *s)
{
    if (format == PRESET_YAML)
        add_quoted(out, s);
    else
        buf_safe(out, s, strlen(s));
}

static bool is_twin(const struct preset_paths *list, size_t i)
{
    return i > 0 && strcmp(list->at[i].path, list->at[i - 1].path) == 0 && !list->at[i].except.n;
}

static void print_entry(const struct preset_path *p, enum preset_format format, struct buf *out)
{
    const char *in = format == PRESET_YAML ? "      " : "  ";
    bool map = format == PRESET_YAML && (p->except.n || p->eval_symlinks);
    buf_fmt(out, "%s- %s", in, map ? "path: " : "");
    add_text(out, format, p->path);
    buf_chr(out, '\n');
    if (map && p->eval_symlinks)
        buf_fmt(out, "%s  eval-symlinks: true\n", in);
    if (map && p->except.n)
        buf_fmt(out, "%s  except:\n", in);
    for (size_t i = 0; i < p->except.n; i++) {
        buf_fmt(out, map ? "%s    - " : "%s  except: ", in);
        add_text(out, format, p->except.at[i]);
        buf_chr(out, '\n');
    }
}

static void print_list(const struct preset *p, enum preset_list which, enum preset_format format,
                       struct buf *out)
{
    struct preset_paths list = p->lists[which];
    if (!list.n)
        return;
    struct preset_path *sorted = malloc(list.n * sizeof(*sorted));
    if (!sorted) {
        out->failed = true;
        return;
    }
    memcpy(sorted, list.at, list.n * sizeof(*sorted));
    list.at = sorted;
    qsort(sorted, list.n, sizeof(*sorted), by_path);
    if (format == PRESET_YAML)
        buf_fmt(out, "    %s:\n", preset_list_keys[which]);
    else
        buf_fmt(out, "\n%s (%s):\n", preset_list_keys[which], list_words[which]);
    for (size_t i = 0; i < list.n; i++)
        if (!is_twin(&list, i))
            print_entry(&sorted[i], format, out);
    free(sorted);
}

static void print_extends(const struct preset *p, enum preset_format format, struct buf *out)
{
    for (size_t i = 0; i < p->extends.n; i++) {
        buf_str(out, i ? ", " : format == PRESET_YAML ? "# Extends: " : "Extends: ");
        buf_safe(out, p->extends.at[i], strlen(p->extends.at[i]));
    }
    if (p->extends.n)
        buf_chr(out, '\n');
}

void preset_print(const struct preset *p, enum preset_format format, struct buf *out)
{
    bool yaml = format == PRESET_YAML;
    const char *name = strncmp(p->name, "builtin:", 8) == 0 && yaml ? p->name + 8 : p->name;
    if (!yaml) {
        buf_str(out, "Preset: ");
        buf_safe(out, name, strlen(name));
        buf_chr(out, '\n');
    }
    if (p->about)
        buf_fmt(out, "%s%s\n", yaml ? "# " : "", p->about);
    print_extends(p, format, out);
    if (yaml) {
        buf_str(out, "presets:\n  ");
        add_quoted(out, name);
        buf_str(out, ":\n");
    }
    size_t before = out->n;
    for (size_t f = 0; f < PRESET_FLAGS; f++)
        if (p->flags[f])
            buf_fmt(out, "%s%s: true\n", yaml ? "    " : "", preset_flag_keys[f]);
    for (size_t l = 0; l < PRESET_LISTS; l++)
        print_list(p, (enum preset_list)l, format, out);
    if (yaml && out->n == before)
        buf_str(out, "    {}\n");
}

void preset_names(const struct preset_config *c, struct buf *out)
{
    buf_str(out, "Available presets:\n");
    for (size_t i = 0; i < c->nshipped; i++)
        buf_fmt(out, "  - %s\n", c->shipped[i].name);
    for (size_t i = 0; i < c->npresets; i++) {
        buf_str(out, "  - ");
        buf_safe(out, c->presets[i].name, strlen(c->presets[i].name));
        buf_chr(out, '\n');
    }
}
