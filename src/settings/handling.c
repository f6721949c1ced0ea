/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Keys about what the gate does with connections and requests that the policy allows: which TLS it
 * decrypts, which proxy a connection leaves through, who is asked about requests, which fields of
 * answers are removed. They decide nothing that the policy has not allowed.
 */

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "settings/settings.h"

static int add_list(struct settings *s, const struct json *list, struct words *out)
{
    const char **at = arena_array(&s->arena, list ? list->count + 1 : 1, sizeof(*at));
    if (!at)
        return -1;
    out->at = at;
    out->n = 0;
    for (const struct json *j = list ? list->first : NULL; j; j = j->next)
        at[out->n++] = j->s;
    return 0;
}

/* ~/ is the home directory; other relative paths start in the working directory. */
static const char *whole_path(struct settings *s, const char *path)
{
    OWN(buf) struct buf out = {0};
    if (path[0] == '/')
        return path;
    if (path[0] == '~' && path[1] == '/' && s->home)
        buf_fmt(&out, "%s%s", s->home, path + 1);
    else
        buf_fmt(&out, "%s/%s", s->cwd, path);
    return buf_ok(&out) ? arena_strndup(&s->arena, out.s, out.n) : NULL;
}

static int read_terminate(struct settings *s, struct settings_handling *h)
{
    const struct json *j = settings_value(s, SETTING_TLS_TERMINATE);
    if (!j)
        return 0;
    const struct json *cert = jt_get(j, "caCertPath"), *key = jt_get(j, "caKeyPath");
    const struct json *tunnels = jt_get(j, "maxTunnels");
    const struct json *ms = jt_get(j, "handshakeTimeoutMs");
    h->ends_tls = true;
    h->tunnels = tunnels ? (uint32_t)tunnels->number : 0;
    h->handshake_ms = ms ? (uint32_t)ms->number : 0;
    h->ca_cert = cert ? whole_path(s, cert->s) : NULL;
    h->ca_key = key ? whole_path(s, key->s) : NULL;
    if ((cert && !h->ca_cert) || (key && !h->ca_key) ||
        add_list(s, jt_get(j, "excludeDomains"), &h->keep_tls) < 0 ||
        add_list(s, jt_get(j, "extraCaCertPaths"), &h->extra_cas) < 0)
        return -1;
    for (size_t i = 0; i < h->extra_cas.n; i++)
        if (!(h->extra_cas.at[i] = whole_path(s, h->extra_cas.at[i])))
            return -1;
    return 0;
}

static int read_via(struct settings *s, struct settings_handling *h)
{
    const struct json *j = settings_value(s, SETTING_MITM_PROXY);
    if (!j)
        return 0;
    h->via = whole_path(s, jt_get(j, "socketPath")->s);
    return h->via ? add_list(s, jt_get(j, "domains"), &h->via_hosts) : -1;
}

/* Fields that any layer removes are removed. */
static int read_stripped(struct settings *s, struct settings_handling *h)
{
    struct setting_values v;
    if (settings_values(s, SETTING_STRIP_HEADERS, &v) < 0)
        return -1;
    h->strip.at = arena_array(&s->arena, v.n + 1, sizeof(*h->strip.at));
    if (!h->strip.at)
        return -1;
    for (size_t i = 0; i < v.n; i++)
        if (!v.at[i].ignored)
            h->strip.at[h->strip.n++] = v.at[i].json->s;
    return 0;
}

int settings_read_handling(struct settings *s, struct settings_handling *h, struct bk_err *err)
{
    const struct json *decider = settings_value(s, SETTING_FILTER_REQUEST);
    const struct json *plain = settings_value(s, SETTING_PLAIN_HEADERS);
    const struct json *targets = settings_value(s, SETTING_AMBIGUOUS_TARGET);
    h->decider = decider ? whole_path(s, decider->s) : NULL;
    h->plain_headers = plain && plain->truth;
    h->targets = targets ? targets->s : NULL;
    if ((decider && !h->decider) || read_terminate(s, h) < 0 || read_via(s, h) < 0 ||
        read_stripped(s, h) < 0)
        return err_nomem(err);
    if (h->ends_tls && h->via)
        return err_set(err, BK_E_INPUT,
                       "network.tlsTerminate and network.mitmProxy exclude each "
                       "other: the other proxy is to decrypt");
    return 0;
}

bool settings_handles(const struct settings_handling *h)
{
    return h->ends_tls || h->via || h->decider || h->strip.n;
}
