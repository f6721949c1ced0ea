/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Takes "KEY -> USER@HOST:PORT …" apart. */

#include "settings/ssh-rule.h"

#include <stdio.h>
#include <string.h>

static int reject(const char *text, const char *what, struct bk_err *err)
{
    err_set(err, BK_E_INPUT, "%.120s: %s", text, what);
    err_hint(err,
             "write KEY -> USER@HOST, for example \"~/.ssh/id_ed25519.pub -> git@github.com\"");
    return -1;
}

static bool is_host(const char *s, size_t n)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:";
    return n && n < 256 && s[0] != '-' && strspn(s, allowed) >= n;
}

static int read_host(const char *text, const char *s, size_t n, struct arena *a,
                     struct ssh_login *out, struct bk_err *err)
{
    char name[300];
    const char *at = memchr(s, '@', n);
    size_t nuser = at ? (size_t)(at - s) : 0;
    const char *host = at ? at + 1 : s;
    size_t nhost = n - (size_t)(host - s);
    const char *colon = memchr(host, ':', nhost);
    size_t nname = colon ? (size_t)(colon - host) : nhost;
    if (out->n == SSH_RULE_HOSTS)
        return reject(text, "it names too many hosts", err);
    if ((at && !nuser) || memchr(s, '\t', n) || !is_host(host, nname) ||
        (colon && (nname + 1 == nhost || strspn(colon + 1, "0123456789") < nhost - nname - 1)))
        return reject(text, "a login is to USER@HOST or USER@HOST:PORT", err);
    bool usual = !colon || (nhost - nname == 3 && memcmp(colon, ":22", 3) == 0);
    int size = usual ? snprintf(name, sizeof(name), "%.*s", (int)nname, host)
                     : snprintf(name, sizeof(name), "[%.*s]%.*s", (int)nname, host,
                                (int)(nhost - nname), colon);
    struct ssh_login_host *to = &out->hosts[out->n++];
    to->user = at ? arena_strndup(a, s, nuser) : NULL;
    to->host = arena_strndup(a, name, (size_t)size);
    return to->host && (!at || to->user) ? 0 : err_nomem(err);
}

int ssh_rule_read(const char *text, struct arena *a, struct ssh_login *out, struct bk_err *err)
{
    const char *arrow = strstr(text, "->");
    *out = (struct ssh_login){0};
    size_t n = arrow ? (size_t)(arrow - text) : 0;
    while (n && text[n - 1] == ' ')
        n--;
    if (!n || memchr(text, '\t', n))
        return reject(text, arrow ? "it names no key" : "it names no host", err);
    if (!(out->key = arena_strndup(a, text, n)))
        return err_nomem(err);
    for (const char *rest = arrow + 2; *(rest += strspn(rest, " ,")); rest += n) {
        n = strcspn(rest, " ,");
        if (read_host(text, rest, n, a, out, err) < 0)
            return -1;
    }
    return out->n ? 0 : reject(text, "it names no host", err);
}
