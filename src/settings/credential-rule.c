/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Takes "NAME=SOURCE -> HOST/PATH …" apart. */

#include "settings/credential-rule.h"

#include <string.h>

#include "graph/net.h"

static int reject(const char *text, const char *what, struct bk_err *err)
{
    err_set(err, BK_E_INPUT, "%.120s: %s", text, what);
    err_hint(err, "write NAME -> HOST, for example \"GITHUB_TOKEN -> api.github.com\" or "
                  "\"TOKEN=command:pass show token -> api.example.com\"");
    return -1;
}

static bool is_name(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool letter = (s[i] >= 'A' && s[i] <= 'Z') || (s[i] >= 'a' && s[i] <= 'z') || s[i] == '_';
        if (!letter && !(i && s[i] >= '0' && s[i] <= '9'))
            return false;
    }
    return n > 0;
}

static int read_source(const char *text, const char *s, size_t n, struct arena *a,
                       struct credential_rule *out, struct bk_err *err)
{
    static const struct {
        const char *word;
        enum credential_source source;
    } sources[] = {
        {"file:", CREDENTIAL_FILE},
        {"command:", CREDENTIAL_COMMAND},
        {"keyring:", CREDENTIAL_KEYRING},
    };
    enum { SOURCES = sizeof(sources) / sizeof(sources[0]) };
    size_t i = 0, skip = 0;
    for (; i < SOURCES; i++) {
        skip = strlen(sources[i].word);
        if (n > skip && memcmp(s, sources[i].word, skip) == 0)
            break;
    }
    if (i == SOURCES)
        return reject(text, "the source is not file:PATH, command:WORDS or keyring:NAME VALUE",
                      err);
    out->source = sources[i].source;
    out->from = arena_strndup(a, s + skip, n - skip);
    return out->from ? 0 : err_nomem(err);
}

bool credential_host(const char *s, size_t n)
{
    struct net_endpoint end;
    return net_endpoint_parse(s, n, &end, NULL, NULL) == 0 ? end.host == NET_HOST_LOCALHOST
                                                           : net_domain_check(s, n, NULL) == 0;
}

static int read_place(const char *text, const char *s, size_t n, struct arena *a,
                      struct credential_rule *out, struct bk_err *err)
{
    const char *slash = memchr(s, '/', n);
    size_t nhost = slash ? (size_t)(slash - s) : n, npath = n - nhost;
    struct credential_place *p = &out->places[out->nplaces];
    if (out->nplaces == CREDENTIAL_PLACES)
        return reject(text, "it names too many hosts", err);
    if (!credential_host(s, nhost))
        return reject(text, "a credential is for hosts with a name", err);
    if (npath >= 3 && memcmp(slash + npath - 3, "/**", 3) == 0)
        p->below = true, npath -= 2;
    if (memchr(s + nhost, '*', npath) || memchr(s + nhost, '%', npath) ||
        memchr(s + nhost, '?', npath))
        return reject(text, "a path is plain, or ends in /**", err);
    p->host = arena_strndup(a, s, nhost);
    p->path = slash ? arena_strndup(a, slash, npath) : NULL;
    out->nplaces++;
    return p->host && (!slash || p->path) ? 0 : err_nomem(err);
}

static bool is_word(const char *s, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(s, word, n) == 0;
}

static bool read_part(const char *s, size_t n, struct credential_rule *out)
{
    static const char *const parts[] = {"header", "query", "body"};
    for (unsigned i = 0; i < 3; i++)
        if (is_word(s, n, parts[i])) {
            out->parts |= 1u << i;
            return true;
        }
    return false;
}

/* HOST/PATH … [in PART …] */
static int read_target(const char *text, const char *rest, struct arena *a,
                       struct credential_rule *out, struct bk_err *err)
{
    bool in = false;
    size_t n;
    for (; *(rest += strspn(rest, " ,")); rest += n) {
        n = strcspn(rest, " ,");
        if (!in && out->nplaces && is_word(rest, n, "in"))
            in = true;
        else if (in && !read_part(rest, n, out))
            return reject(text, "after \"in\" there are header, query and body", err);
        else if (!in && read_place(text, rest, n, a, out, err) < 0)
            return -1;
    }
    if (in && !out->parts)
        return reject(text, "after \"in\" there are header, query and body", err);
    if (!in)
        out->parts = CREDENTIAL_HEADER | CREDENTIAL_QUERY;
    return out->nplaces ? 0 : reject(text, "it names no host", err);
}

int credential_rule_read(const char *text, struct arena *a, struct credential_rule *out,
                         struct bk_err *err)
{
    const char *arrow = strstr(text, "->");
    *out = (struct credential_rule){0};
    if (!arrow)
        return reject(text, "it names no host", err);
    size_t n = (size_t)(arrow - text);
    while (n && text[n - 1] == ' ')
        n--;
    const char *equals = memchr(text, '=', n);
    size_t nname = equals ? (size_t)(equals - text) : n;
    if (!is_name(text, nname))
        return reject(text, "it starts with the name of a variable", err);
    out->name = arena_strndup(a, text, nname);
    if (!out->name)
        return err_nomem(err);
    if (equals && read_source(text, equals + 1, n - nname - 1, a, out, err) < 0)
        return -1;
    return read_target(text, arrow + 2, a, out, err);
}

void credential_host_sbpl(const char *host, struct buf *out)
{
    struct net_endpoint end;
    bool remote = net_endpoint_parse(host, strlen(host), &end, NULL, NULL) == 0;
    buf_fmt(out, "(deny network-outbound (require-all (%s ", remote ? "remote ip" : "domain");
    buf_sbpl(out, host, strlen(host));
    buf_str(out, ") (require-not (http-request))) (with message \"only requests can carry "
                 "credentials\"))\n");
}

void credential_rule_sbpl(const struct credential_rule *r, struct buf *out)
{
    for (size_t i = 0; i < r->nplaces; i++)
        credential_host_sbpl(r->places[i].host, out);
}
