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
    static const char file[] = "file:", command[] = "command:";
    size_t skip;
    if (n > sizeof(file) - 1 && memcmp(s, file, sizeof(file) - 1) == 0)
        out->source = CREDENTIAL_FILE, skip = sizeof(file) - 1;
    else if (n > sizeof(command) - 1 && memcmp(s, command, sizeof(command) - 1) == 0)
        out->source = CREDENTIAL_COMMAND, skip = sizeof(command) - 1;
    else
        return reject(text, "the source is neither file:PATH nor command:WORDS", err);
    out->from = arena_strndup(a, s + skip, n - skip);
    return out->from ? 0 : err_nomem(err);
}

static int read_place(const char *text, const char *s, size_t n, struct arena *a,
                      struct credential_rule *out, struct bk_err *err)
{
    struct net_endpoint end;
    const char *slash = memchr(s, '/', n);
    size_t nhost = slash ? (size_t)(slash - s) : n, npath = n - nhost;
    struct credential_place *p = &out->places[out->nplaces];
    if (out->nplaces == CREDENTIAL_PLACES)
        return reject(text, "it names too many hosts", err);
    if (net_endpoint_parse(s, nhost, &end, NULL, NULL) == 0 ? end.host != NET_HOST_LOCALHOST
                                                            : net_domain_check(s, nhost, NULL) < 0)
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

int credential_rule_read(const char *text, struct arena *a, struct credential_rule *out,
                         struct bk_err *err)
{
    const char *arrow = strstr(text, "->"), *rest;
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
    for (rest = arrow + 2; *(rest += strspn(rest, " ,")); rest += n) {
        n = strcspn(rest, " ,");
        if (read_place(text, rest, n, a, out, err) < 0)
            return -1;
    }
    return out->nplaces ? 0 : reject(text, "it names no host", err);
}

void credential_rule_sbpl(const struct credential_rule *r, struct buf *out)
{
    for (size_t i = 0; i < r->nplaces; i++) {
        const char *host = r->places[i].host;
        struct net_endpoint end;
        bool remote = net_endpoint_parse(host, strlen(host), &end, NULL, NULL) == 0;
        buf_fmt(out, "(deny network-outbound (require-all (%s ", remote ? "remote ip" : "domain");
        buf_sbpl(out, host, strlen(host));
        buf_str(out, ") (require-not (http-request))) (with message \"only requests can carry "
                     "credentials\"))\n");
    }
}
