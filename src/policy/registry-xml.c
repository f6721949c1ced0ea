/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The registries in settings of Maven (mirrors and repositories) and NuGet (packageSources). Walks
 * the tags and remembers which elements are open, up to a depth; nothing is expanded.
 */

#include <ctype.h>
#include <string.h>

#include "policy/registries.h"

enum { OPEN = 32 };

struct name {
    const char *s;
    size_t n;
};

struct walk {
    struct arena *arena;
    struct registry_source *out;
    struct bk_err *err;
    struct name open[OPEN];
    size_t nopen;
    bool dropped; /* the usual registries are not used */
};

static bool is_named(const struct name *x, const char *name)
{
    return x->n == strlen(name) && memcmp(x->s, name, x->n) == 0;
}

static bool is_inside(const struct walk *w, const char *name)
{
    for (size_t i = 0; i < w->nopen; i++)
        if (is_named(&w->open[i], name))
            return true;
    return false;
}

static int take(struct walk *w, const char *s, size_t n)
{
    return registry_read_value(w->arena, s, n, false, w->out, w->err);
}

/* Text of the innermost open element. */
static int maven_text(struct walk *w, const char *s, size_t n)
{
    const struct name *in = w->nopen ? &w->open[w->nopen - 1] : NULL;
    if (!in)
        return 0;
    if (is_named(in, "mirrorOf"))
        w->dropped |= memchr(s, '*', n) || memmem(s, n, "central", 7);
    bool lists =
        is_inside(w, "mirror") || is_inside(w, "repository") || is_inside(w, "pluginRepository");
    return is_named(in, "url") && lists && !is_inside(w, "distributionManagement") ? take(w, s, n)
                                                                                   : 0;
}

/* A tag with its attributes. */
static int nuget_tag(struct walk *w, const struct name *name, const char *s, size_t n)
{
    if (!is_inside(w, "packageSources"))
        return 0;
    w->dropped |= is_named(name, "clear");
    const char *value = memmem(s, n, "value=", 6);
    return is_named(name, "add") && value ? take(w, value, n - (size_t)(value - s)) : 0;
}

/* Length of a tag from its '<', including the '>'. */
static size_t tag_len(const char *s, size_t n)
{
    const char *end;
    if (n >= 4 && memcmp(s, "<!--", 4) == 0)
        return (end = memmem(s + 4, n - 4, "-->", 3)) ? (size_t)(end - s) + 3 : n;
    char quote = 0;
    for (size_t i = 1; i < n; i++) {
        if (quote ? s[i] == quote : (s[i] == '"' || s[i] == '\''))
            quote = quote ? 0 : s[i];
        else if (s[i] == '>' && !quote)
            return i + 1;
    }
    return n;
}

static int read_tag(struct walk *w, enum registry_format format, const char *s, size_t n)
{
    struct name name = {s + 1, 0};
    if (n < 3 || s[1] == '!' || s[1] == '?')
        return 0;
    if (s[1] == '/') {
        w->nopen -= w->nopen > 0;
        return 0;
    }
    while (name.n + 2 < n && !isspace((unsigned char)name.s[name.n]) && name.s[name.n] != '/')
        name.n++;
    if (format == FORMAT_NUGET && nuget_tag(w, &name, s, n) < 0)
        return -1;
    if (s[n - 2] == '/')
        return 0;
    if (w->nopen == OPEN) /* deeper than any of these files: nothing more is taken from it */
        return 1;
    w->open[w->nopen++] = name;
    return 0;
}

int registry_read_xml(struct arena *a, enum registry_format format, struct registry_source *out,
                      struct bk_err *err)
{
    struct walk w = {.arena = a, .out = out, .err = err};
    const char *s = out->text, *end = s + out->n;
    while (s < end) {
        const char *tag = memchr(s, '<', (size_t)(end - s));
        const char *stop = tag ? tag : end;
        if (format == FORMAT_MAVEN && maven_text(&w, s, (size_t)(stop - s)) < 0)
            return -1;
        if (!tag)
            break;
        size_t n = tag_len(tag, (size_t)(end - tag));
        int went = read_tag(&w, format, tag, n);
        if (went)
            return went < 0 ? -1 : 0;
        s = tag + n;
    }
    out->replaces = w.dropped && out->hosts.n;
    return 0;
}
