/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The description that all readers fill: lists of fixed size in one arena. Rules are in the tool's
 * order. Paths are checked here and nowhere else, so a rule never has one that is relative, or that
 * has ".." or a NUL in it.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "import/import-int.h"

enum { ARENA = 64 << 20, SHOWN = 200 };

const struct imp_tool imp_tools[] = {
    {"bwrap", "a bubblewrap command line", imp_read_bwrap},
    {"firejail", "a firejail profile or command line", imp_read_firejail},
    {"docker", "a `docker run` command line or a compose file", imp_read_docker},
    {"systemd", "a systemd unit or a `systemd-run` command line", imp_read_systemd},
    {"landrun", "a landrun command line", imp_read_landrun},
    {"nono", "a nono profile or command line", imp_read_nono},
    {"codex", "Codex CLI's config.toml or command line", imp_read_codex},
    {NULL, NULL, NULL},
};

const struct imp_tool *imp_find(const char *name)
{
    for (const struct imp_tool *t = imp_tools; t->name; t++)
        if (strcmp(t->name, name) == 0)
            return t;
    return NULL;
}

int imp_read(struct imp *im, const struct imp_tool *tool, const struct imp_env *env,
             const struct imp_input *in, struct bk_err *err)
{
    *im = (struct imp){.env = env, .tool = tool->name, .arguments = !in->text};
    im->source = im->first = in->text ? in->name : "argument";
    arena_init(&im->arena, ARENA);
    im->rules = arena_array(&im->arena, IMP_RULES, sizeof(*im->rules));
    im->notes = arena_array(&im->arena, IMP_NOTES, sizeof(*im->notes));
    im->ports = arena_array(&im->arena, IMP_PORTS, sizeof(*im->ports));
    im->mounts = arena_array(&im->arena, IMP_RULES, sizeof(*im->mounts));
    if (!im->rules || !im->notes || !im->ports || !im->mounts)
        return err_nomem(err);
    if (in->n > IMP_TEXT)
        return err_set(err, BK_E_LIMIT, "%s: larger than %d bytes", in->name, IMP_TEXT);
    return tool->read(im, in, err);
}

void imp_free(struct imp *im)
{
    arena_free(&im->arena);
}

int imp_fail(const struct imp *im, uint32_t line, struct bk_err *err, const char *fmt, ...)
{
    char text[320];
    OWN(buf) struct buf safe = {0};
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    buf_safe(&safe, text, strlen(text));
    err_set(err, BK_E_INPUT, "%s", safe.s ? safe.s : "");
    err_place(err, im->source, line, line ? 1 : 0);
    return -1;
}

/* ---- paths ---- */

int imp_join(struct imp *im, const char *a, const char *b, const char **out, struct bk_err *err)
{
    size_t na = strlen(a), nb = strlen(b);
    char *s = arena_alloc(&im->arena, na + nb + 1);
    if (!s)
        return err_nomem(err);
    memcpy(s, a, na);
    memcpy(s + na, b, nb + 1);
    *out = s;
    return 0;
}

/* Drops "." and double slashes. */
static int tidy(struct imp *im, const char *text, uint32_t line, const char **out,
                struct bk_err *err)
{
    size_t n = 0;
    char *s = arena_alloc(&im->arena, strlen(text) + 2);
    if (!s)
        return err_nomem(err);
    for (const char *at = text; *at;) {
        at += strspn(at, "/");
        size_t part = strcspn(at, "/");
        if (part == 2 && memcmp(at, "..", 2) == 0)
            return imp_fail(im, line, err, "%.*s: write the path without \"..\"", SHOWN, text);
        if (part && !(part == 1 && at[0] == '.')) {
            s[n++] = '/';
            memcpy(s + n, at, part);
            n += part;
        }
        at += part;
    }
    if (n >= IMP_PATH)
        return imp_fail(im, line, err, "a path of more than %d bytes", IMP_PATH);
    if (n == 0)
        s[n++] = '/';
    s[n] = '\0';
    *out = s;
    return 0;
}

int imp_path(struct imp *im, const char *text, uint32_t line, const char **out, struct bk_err *err)
{
    static const char *const homes[] = {"~", "$HOME", "${HOME}"};
    const char *base = NULL, *rest = text, *whole = NULL;
    for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++) {
        size_t n = strlen(homes[i]);
        if (strncmp(text, homes[i], n) == 0 && (text[n] == '/' || !text[n]))
            base = im->env->home, rest = text + n;
    }
    if (!*text)
        return imp_fail(im, line, err, "a path is empty");
    if (!base && text[0] != '/') {
        base = im->env->cwd;
        if (base && imp_join(im, "/", text, &rest, err) < 0)
            return -1;
    }
    if (!base && text[0] != '/')
        return imp_fail(im, line, err, "%.*s: the folder that it starts at is not known", SHOWN,
                        text);
    if (imp_join(im, base ? base : "", rest, &whole, err) < 0)
        return -1;
    return tidy(im, whole, line, out, err);
}

/* ---- rules ---- */

int imp_add(struct imp *im, struct imp_rule r, struct bk_err *err)
{
    if (im->nrules == IMP_RULES)
        return err_set(err, BK_E_LIMIT, "%s: more than %d rules", im->source, IMP_RULES);
    im->rules[im->nrules++] = r;
    return 0;
}

int imp_rule(struct imp *im, const char *path, unsigned grant, unsigned revoke, uint32_t line,
             struct bk_err *err)
{
    struct imp_rule r = {.path = path, .line = line};
    r.grant = (uint8_t)grant;
    r.revoke = (uint8_t)revoke;
    if (imp_add(im, r, err) < 0)
        return -1;
    const char *real = im->env->real ? im->env->real(im->env->ctx, path) : NULL;
    if (!real || strcmp(real, path) == 0)
        return 0;
    r.path = arena_strndup(&im->arena, real, strlen(real));
    return r.path ? imp_add(im, r, err) : err_nomem(err);
}

int imp_each(struct imp *im, const char *const *paths, unsigned grant, unsigned revoke,
             uint32_t line, struct bk_err *err)
{
    for (; *paths; paths++)
        if (strpbrk(*paths, "*?[") ? imp_glob(im, *paths, grant, revoke, line, err) < 0
                                   : imp_rule(im, *paths, grant, revoke, line, err) < 0)
            return -1;
    return 0;
}

/* One […] of a glob; how many bytes it has, or 0 if it is not closed. */
static size_t put_class(const char *at, struct buf *out)
{
    size_t n = 1 + (at[1] == '!' || at[1] == '^');
    size_t first = n;
    while (at[n] && (at[n] != ']' || n == first))
        n++;
    if (!at[n])
        return 0;
    buf_str(out, first == 2 ? "[^/" : "[");
    for (size_t i = first; i < n; i++) {
        if (strchr("\\[]^", at[i]))
            buf_chr(out, '\\');
        buf_chr(out, at[i]);
    }
    buf_chr(out, ']');
    return n + 1;
}

int imp_glob(struct imp *im, const char *pattern, unsigned grant, unsigned revoke, uint32_t line,
             struct bk_err *err)
{
    OWN(buf) struct buf out = {0};
    if (!strpbrk(pattern, "*?["))
        return imp_rule(im, pattern, grant, revoke, line, err);
    buf_chr(&out, '^');
    for (const char *at = pattern; *at; at++) {
        size_t n = *at == '[' ? put_class(at, &out) : 0;
        if (n) {
            at += n - 1;
        } else if (*at == '*') {
            /* ** is any depth to some tools: taken so where that closes more */
            bool deep = at[1] == '*' && !grant;
            at += at[1] == '*';
            buf_str(&out, deep ? ".*" : "[^/]*");
        } else if (*at == '?') {
            buf_str(&out, "[^/]");
        } else {
            if (strchr("\\^$.|+(){}[]", *at))
                buf_chr(&out, '\\');
            buf_chr(&out, *at);
        }
    }
    buf_str(&out, "(/|$)");
    struct imp_rule r = {.where = IMP_PATTERN, .line = line};
    r.grant = (uint8_t)grant;
    r.revoke = (uint8_t)revoke;
    r.path = buf_ok(&out) ? arena_strndup(&im->arena, out.s, out.n) : NULL;
    return r.path ? imp_add(im, r, err) : err_nomem(err);
}

int imp_devices(struct imp *im, uint32_t line, struct bk_err *err)
{
    static const char *const plain[] = {"/dev/null",   "/dev/zero",    "/dev/full", "/dev/tty",
                                        "/dev/random", "/dev/urandom", "/dev/ptmx"};
    struct imp_rule r = {.where = IMP_FILE, .line = line};
    r.grant = MAY_READ | MAY_WRITE | MAY_DEVICE;
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        r.path = plain[i];
        if (imp_add(im, r, err) < 0)
            return -1;
    }
    r.where = IMP_PATTERN;
    r.path = "^/dev/pts/([0-9]+|ptmx)$";
    return imp_add(im, r, err);
}

/* ---- the network ---- */

int imp_port(struct imp *im, struct imp_port p, struct bk_err *err)
{
    if (im->nports == IMP_PORTS)
        return err_set(err, BK_E_LIMIT, "%s: more than %d hosts and ports", im->source, IMP_PORTS);
    im->ports[im->nports++] = p;
    return 0;
}

int imp_port_range(struct imp *im, const char *text, uint32_t line, uint16_t *lo, uint16_t *hi,
                   struct bk_err *err)
{
    char *end;
    const char *second = text;
    unsigned long a = strtoul(text, &end, 10), b = a;
    bool digit = text[0] >= '0' && text[0] <= '9';
    if (*end == '-') {
        second = end + 1;
        b = strtoul(second, &end, 10);
    }
    digit = digit && second[0] >= '0' && second[0] <= '9';
    if (!digit || *end || a > 65535 || b > 65535 || a > b)
        return imp_fail(im, line, err, "%.*s: a port must be between 0 and 65535", SHOWN, text);
    *lo = (uint16_t)a;
    *hi = (uint16_t)b;
    return 0;
}

bool imp_is_domain(const char *text)
{
    static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    if (strncmp(text, "*.", 2) == 0)
        text += 2;
    return *text && *text != '.' && strspn(text, chars) == strlen(text) && strlen(text) < 254;
}

/* ---- notes ---- */

static int note(struct imp *im, bool lost, uint32_t line, const char *what, const char *why,
                struct bk_err *err)
{
    if (im->nnotes == IMP_NOTES)
        return err_set(err, BK_E_LIMIT, "%s: more than %d options without a counterpart",
                       im->source, IMP_NOTES);
    size_t n = strlen(what);
    struct imp_note *at = &im->notes[im->nnotes];
    *at = (struct imp_note){.lost = lost, .line = line, .why = why};
    at->source = im->source == im->first ? NULL : im->source;
    at->what = arena_strndup(&im->arena, what, n < SHOWN ? n : SHOWN);
    if (!at->what)
        return err_nomem(err);
    im->nnotes++;
    im->nlost += lost;
    return 0;
}

int imp_lost(struct imp *im, uint32_t line, const char *what, const char *why, struct bk_err *err)
{
    return note(im, true, line, what, why, err);
}

int imp_differs(struct imp *im, uint32_t line, const char *what, const char *why,
                struct bk_err *err)
{
    return note(im, false, line, what, why, err);
}
