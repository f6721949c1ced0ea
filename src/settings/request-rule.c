/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Takes "METHODS HOST/PATH?QUERY" apart, and writes the parts as filters. */

#include "settings/request-rule.h"

#include <string.h>

#include "base/own.h"
#include "graph/net.h"

struct part {
    const char *s;
    size_t n;
};

struct request_words {
    struct part methods, host, path, query;
    bool read_only, grpc;
    bool git, push; /* a repository: fetching, and pushing as well */
};

static bool part_is(struct part p, const char *word)
{
    return p.n == strlen(word) && memcmp(p.s, word, p.n) == 0;
}

static int reject(const char *text, const char *what, struct bk_err *err)
{
    err_set(err, BK_E_INPUT, "%.120s: %s", text, what);
    err_hint(err, "write METHOD HOST/PATH, for example \"GET,HEAD api.example.com/v1/**\" or "
                  "\"read-only github.com\"");
    return -1;
}

static bool is_method(struct part p)
{
    for (size_t i = 0; i < p.n; i++)
        if (!((p.s[i] >= 'A' && p.s[i] <= 'Z') || (i && (p.s[i] == '-' || p.s[i] == '_'))))
            return false;
    return p.n > 0 && p.n <= 20;
}

static struct part next_method(struct part *list)
{
    const char *comma = memchr(list->s, ',', list->n);
    struct part one = {list->s, comma ? (size_t)(comma - list->s) : list->n};
    size_t used = comma ? one.n + 1 : one.n;
    list->s += used;
    list->n -= used;
    return one;
}

static int check_methods(const char *text, struct request_words *w, struct bk_err *err)
{
    struct part list = w->methods;
    w->read_only = part_is(list, "read-only");
    w->grpc = part_is(list, "grpc");
    w->push = part_is(list, "git-push");
    w->git = w->push || part_is(list, "git-fetch");
    if (w->read_only || w->grpc || w->git || part_is(list, "*"))
        w->methods.n = 0;
    else
        while (list.n)
            if (!is_method(next_method(&list)))
                return reject(text, "a method has only capital letters", err);
    return 0;
}

static int take_apart(const char *text, struct request_words *w, struct bk_err *err)
{
    *w = (struct request_words){0};
    const char *rest = text + strspn(text, " "), *space = strchr(rest, ' ');
    if (space) {
        w->methods = (struct part){rest, (size_t)(space - rest)};
        rest = space + strspn(space, " ");
    }
    if (strpbrk(rest, " \t\r\n"))
        return reject(text, "there is a space too many", err);
    if (strncmp(rest, "https://", 8) == 0)
        rest += 8;
    w->host = (struct part){rest, strcspn(rest, "/?")};
    rest += w->host.n;
    w->path = (struct part){rest, strcspn(rest, "?")};
    rest += w->path.n;
    if (*rest)
        w->query = (struct part){rest + 1, strlen(rest + 1)};
    if (strchr(text, '#') || strchr(text, '%'))
        return reject(text, "write the path without escapes and fragments", err);
    if (w->grpc && w->path.n < 2)
        return reject(text, "a gRPC request needs a service", err);
    if (check_methods(text, w, err) < 0)
        return -1;
    if (w->git && (w->path.n < 2 || w->query.n || memchr(w->path.s, '?', w->path.n)))
        return reject(text, "it names no repository", err);
    return 0;
}

static void write_methods(struct buf *out, struct part list)
{
    if (!list.n)
        return;
    buf_str(out, " (method");
    while (list.n) {
        struct part one = next_method(&list);
        buf_chr(out, ' ');
        buf_sbpl(out, one.s, one.n);
    }
    buf_chr(out, ')');
}

static void write_part(struct buf *out, const char *word, struct part p)
{
    if (!p.n)
        return;
    buf_fmt(out, " (%s ", word);
    buf_sbpl(out, p.s, p.n);
    buf_chr(out, ')');
}

/* What git asks for over HTTP: first which service, then the service itself. */
static void write_git(struct buf *out, const struct request_words *w)
{
    static const char *const services[] = {"git-upload-pack", "git-receive-pack"};
    size_t n = w->path.n;
    if (n > 4 && memcmp(w->path.s + n - 4, ".git", 4) == 0)
        n -= 4;
    buf_str(out, "(require-any");
    for (size_t i = 0; i < (w->push ? 2 : 1); i++)
        for (size_t k = 0; k < 2; k++) { /* servers take both names */
            OWN(buf) struct buf path = {0};
            buf_add(&path, w->path.s, n);
            buf_str(&path, k ? ".git" : "");
            size_t base = path.n;
            buf_str(&path, "/info/refs");
            buf_str(out, " (http-request (method \"GET\") (path ");
            buf_sbpl(out, path.s ? path.s : "", path.n);
            buf_fmt(out, ") (query \"service=%s\"))", services[i]);
            path.n = base;
            buf_fmt(&path, "/%s", services[i]);
            buf_str(out, " (http-request (method \"POST\") (path ");
            buf_sbpl(out, path.s ? path.s : "", path.n);
            buf_str(out, "))");
            out->failed |= !buf_ok(&path);
        }
    buf_str(out, ")");
}

int request_rule_filter(const char *text, struct buf *out, struct bk_err *err)
{
    struct request_words w;
    struct net_endpoint end;
    if (take_apart(text, &w, err) < 0)
        return -1;
    bool remote = net_endpoint_parse(w.host.s, w.host.n, &end, NULL, NULL) == 0;
    if (!remote && net_domain_check(w.host.s, w.host.n, NULL) < 0)
        return reject(text, "it names no host", err);
    buf_fmt(out, "(require-all (%s ", remote ? "remote ip" : "domain");
    buf_sbpl(out, w.host.s, w.host.n);
    buf_str(out, ") ");
    if (w.git) {
        write_git(out, &w);
        buf_chr(out, ')');
        return 0;
    }
    buf_str(out, "(http-request");
    write_methods(out, w.methods);
    if (w.read_only)
        buf_str(out, " (read-only)");
    if (w.grpc)
        write_part(out, "grpc", (struct part){w.path.s + 1, w.path.n - 1});
    else
        write_part(out, "path", w.path);
    write_part(out, "query", w.query);
    buf_str(out, "))");
    return 0;
}
