/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Reads the settings of tools for URLs of registries. Most formats are lines of a key and a value,
 * with sections; one reader with a table of keys serves them all, as a URL looks the same in each.
 * It need not be exact: a file counts only if commands cannot write it, so the worst that a
 * misreading does is to open a host that the user's own settings name.
 */

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "policy/registries.h"
#include "settings/json.h"
#include "settings/paths.h"

enum { HOSTS = 64 };

/* ---- values ---- */

static int add_url(struct arena *a, const char *url, size_t n, bool replaces,
                   struct registry_source *out, struct bk_err *err)
{
    char host[REGISTRY_HOST], plain[REGISTRY_URL];
    if (registry_host(url, n, host) < 0 || out->hosts.n == HOSTS)
        return 0;
    out->replaces |= replaces;
    if (replaces && !out->url && registry_plain(url, n, plain) == 0 &&
        !(out->url = arena_strndup(a, plain, strlen(plain))))
        return err_nomem(err);
    for (size_t i = 0; i < out->hosts.n; i++)
        if (strcmp(out->hosts.at[i], host) == 0)
            return 0;
    const char *kept = arena_strndup(a, host, strlen(host));
    return !kept || words_push(a, &out->hosts, kept) < 0 ? err_nomem(err) : 0;
}

static bool starts_url(const char *s, size_t n)
{
    return (n > 7 && strncasecmp(s, "http://", 7) == 0) ||
           (n > 8 && strncasecmp(s, "https://", 8) == 0);
}

static bool ends_url(char c)
{
    return isspace((unsigned char)c) || memchr("\"',|]}<>)", c, 9) != NULL;
}

int registry_read_value(struct arena *a, const char *s, size_t n, bool replaces,
                        struct registry_source *out, struct bk_err *err)
{
    for (size_t i = 0, end; i < n; i = end) {
        end = i + 1;
        if ((i > 0 && isalnum((unsigned char)s[i - 1])) || !starts_url(s + i, n - i))
            continue;
        while (end < n && !ends_url(s[end]))
            end++;
        if (add_url(a, s + i, end - i, replaces, out, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- lines ---- */

enum effect { REPLACES, ADDS, DROPS }; /* DROPS: the usual registries, and names no URL */

/* A "*" at one end of a section or in a key stands for anything. */
static const struct {
    enum registry_format format;
    const char *section, *key;
    enum effect effect;
} keys[] = {
    {FORMAT_NPM, "", "registry", REPLACES},
    {FORMAT_NPM, "", "@*:registry", ADDS},
    {FORMAT_YARN, "", "registry", REPLACES},
    {FORMAT_YARN, "", "@*:registry", ADDS},
    {FORMAT_BERRY, "", "npmRegistryServer", REPLACES},
    {FORMAT_BUN, "install", "registry", REPLACES},
    {FORMAT_BUN, "install.scopes", "*", ADDS},
    {FORMAT_PIP, "*", "index-url", REPLACES},
    {FORMAT_PIP, "*", "index_url", REPLACES},
    {FORMAT_PIP, "*", "extra-index-url", ADDS},
    {FORMAT_PIP, "*", "extra_index_url", ADDS},
    {FORMAT_PIP, "*", "find-links", ADDS},
    {FORMAT_UV, "", "index-url", REPLACES},
    {FORMAT_UV, "", "extra-index-url", ADDS},
    {FORMAT_UV, "", "find-links", ADDS},
    {FORMAT_UV, "pip", "index-url", REPLACES},
    {FORMAT_UV, "pip", "extra-index-url", ADDS},
    {FORMAT_UV, "index", "url", ADDS},
    {FORMAT_UV, "tool.uv", "index-url", REPLACES},
    {FORMAT_UV, "tool.uv", "extra-index-url", ADDS},
    {FORMAT_UV, "tool.uv.index", "url", ADDS},
    {FORMAT_UV, "tool.poetry.source", "url", ADDS},
    {FORMAT_UV, "tool.pdm.source", "url", ADDS},
    {FORMAT_CARGO, "source.crates-io", "replace-with", DROPS},
    {FORMAT_CARGO, "source.*", "registry", ADDS},
    {FORMAT_CARGO, "registries.*", "index", ADDS},
    {FORMAT_CARGO, "registry", "index", ADDS},
    {FORMAT_GO, "", "GOPROXY", REPLACES},
    {FORMAT_GEM, "", ":sources", REPLACES},
    {FORMAT_GEM, "", "sources", REPLACES},
    {FORMAT_BUNDLE, "", "BUNDLE_MIRROR__*", ADDS},
    {FORMAT_GEMFILE, "", "source", ADDS},
};

struct line_reader {
    enum registry_format format;
    char section[128];
    const char *key; /* of the line before, for values of several lines */
    size_t nkey;
    bool dropped, inner; /* inner: the key is indented */
};

static bool matches(const char *pattern, const char *s, size_t n)
{
    const char *star = strchr(pattern, '*');
    size_t head = star ? (size_t)(star - pattern) : strlen(pattern);
    size_t tail = star ? strlen(star + 1) : 0;
    if (!star)
        return n == head && memcmp(s, pattern, n) == 0;
    return n >= head + tail && memcmp(s, pattern, head) == 0 &&
           memcmp(s + n - tail, star + 1, tail) == 0;
}

/* The key's effect, or -1 if it is not about registries. */
static int effect_of(const struct line_reader *r)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        if (keys[i].format != r->format || !r->key || !matches(keys[i].key, r->key, r->nkey) ||
            !matches(keys[i].section, r->section, strlen(r->section)))
            continue;
        /* a scope's registry, in YAML */
        return r->format == FORMAT_BERRY && r->inner ? ADDS : (int)keys[i].effect;
    }
    return -1;
}

static void trim(const char **s, size_t *n, const char *also)
{
    while (*n && (isspace((unsigned char)**s) || strchr(also, **s))) {
        (*s)++;
        (*n)--;
    }
    while (*n && (isspace((unsigned char)(*s)[*n - 1]) || strchr(also, (*s)[*n - 1])))
        (*n)--;
}

/* Where the value begins; n if the line has no key. */
static size_t separator(enum registry_format format, const char *s, size_t n)
{
    bool yaml = format == FORMAT_BERRY || format == FORMAT_GEM || format == FORMAT_BUNDLE;
    bool words = format == FORMAT_YARN || format == FORMAT_GEMFILE;
    for (size_t i = 1; i < n; i++) {
        if (words ? s[i] == ' ' || s[i] == '\t' : !yaml && s[i] == '=')
            return i;
        if (yaml && s[i] == ':' && (i + 1 == n || s[i + 1] == ' '))
            return i;
    }
    return n;
}

static bool read_section(struct line_reader *r, const char *s, size_t n)
{
    if (n < 3 || s[0] != '[' || s[n - 1] != ']' || r->format == FORMAT_BERRY)
        return false;
    trim(&s, &n, "[]");
    if (n >= sizeof(r->section))
        n = 0;
    memcpy(r->section, s, n);
    r->section[n] = '\0';
    r->key = NULL;
    return true;
}

/* A comment at the end of a line. */
static size_t without_comment(const char *s, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (s[i] == '#' && (s[i - 1] == ' ' || s[i - 1] == '\t'))
            return i;
    return n;
}

static int read_line(struct arena *a, struct line_reader *r, const char *s, size_t n,
                     struct registry_source *out, struct bk_err *err)
{
    bool inner = n && isspace((unsigned char)s[0]);
    trim(&s, &n, "");
    if (!n || s[0] == '#' || s[0] == ';')
        return 0;
    n = without_comment(s, n);
    trim(&s, &n, "");
    const char *more = s;
    size_t nmore = n;
    trim(&more, &nmore, "-\"'[, ");
    bool goes_on = starts_url(more, nmore) || (nmore > 7 && strncasecmp(more, "sparse+", 7) == 0);
    if (!goes_on) {
        if (read_section(r, s, n))
            return 0;
        size_t at = separator(r->format, s, n);
        if (at == n && r->format != FORMAT_BERRY)
            return 0;
        r->key = s;
        r->nkey = at;
        r->inner = inner;
        trim(&r->key, &r->nkey, "\"'");
        s += at;
        n -= at;
    }
    int effect = effect_of(r);
    r->dropped |= effect == DROPS;
    return effect < 0 ? 0 : registry_read_value(a, s, n, effect == REPLACES, out, err);
}

static int read_lines(struct arena *a, enum registry_format format, struct registry_source *s,
                      struct bk_err *err)
{
    struct line_reader r = {.format = format};
    for (size_t i = 0, end; i < s->n; i = end + 1) {
        const char *newline = memchr(s->text + i, '\n', s->n - i);
        end = newline ? (size_t)(newline - s->text) : s->n;
        if (read_line(a, &r, s->text + i, end - i, s, err) < 0)
            return -1;
    }
    s->replaces |= r.dropped && s->hosts.n;
    return 0;
}

/* ---- composer ---- */

/* {"repositories": [{"type": "composer", "url": "…"}, {"packagist.org": false}]}, or an object. */
static int read_composer(struct arena *a, struct registry_source *s, struct bk_err *err)
{
    struct json_text text = {.name = s->name, .s = s->text, .n = s->n};
    struct bk_err ignored;
    const struct json *root = jt_read(a, &text, &ignored);
    const struct json *list = root && root->kind == JT_OBJECT ? jt_get(root, "repositories") : NULL;
    bool dropped = false;
    if (!list || (list->kind != JT_ARRAY && list->kind != JT_OBJECT))
        return 0;
    for (const struct json *e = list->first; e; e = e->next) {
        const struct json *off = e->kind == JT_OBJECT ? jt_get(e, "packagist.org") : e;
        bool named = e->kind == JT_OBJECT || (e->key && strcmp(e->key, "packagist.org") == 0);
        dropped |= named && off && off->kind == JT_BOOL && !off->truth;
        const struct json *url = e->kind == JT_OBJECT ? jt_get(e, "url") : NULL;
        if (url && url->kind == JT_STRING &&
            registry_read_value(a, url->s, url->n, false, s, err) < 0)
            return -1;
    }
    s->replaces = dropped && s->hosts.n;
    return 0;
}

int registry_read(struct arena *a, enum registry_format format, struct registry_source *s,
                  struct bk_err *err)
{
    if (memchr(s->text, '\0', s->n))
        return 0;
    if (format == FORMAT_COMPOSER)
        return read_composer(a, s, err);
    if (format == FORMAT_MAVEN || format == FORMAT_NUGET)
        return registry_read_xml(a, format, s, err);
    return read_lines(a, format, s, err);
}
