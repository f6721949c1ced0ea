/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Environment variables that lead programs to the proxies (proxy-vars.def). ssh gets out without
 * them. git still gets a ProxyCommand, as users of similar tools expect: it explains a denied host
 * in plain words.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "kernel/gate/gate-main.h"
#include "net/netns-setup.h"
#include "net/proxy-vars.h"

static bool may(const struct graph *g, struct graph_cache *cache, enum vocab_op op,
                const char *path)
{
    struct graph_fact f = {.filter = FILTER_PATH, .str = path, .len = (uint32_t)strlen(path)};
    struct graph_query q = {.op = (uint16_t)op, .facts = &f, .nfacts = 1};
    return graph_eval(g, cache, &q).allow;
}

/* Whether the command could start the connecting program. */
static bool can_connect(const struct setup *s)
{
    const char *path = s->launch->connector;
    struct graph_cache *cache =
        path && proxy_vars_is_plain(path) ? graph_cache_new(s->graph) : NULL;
    bool can = cache && may(s->graph, cache, OP_PROCESS_EXEC, path) &&
               may(s->graph, cache, OP_FILE_READ_DATA, path);
    graph_cache_free(cache);
    return can;
}

static struct proxy_vars proxies(const struct gate_process *n, const struct setup *s)
{
    struct proxy_vars e = {.http = n->ports.http,
                           .socks = n->ports.socks,
                           .token = n->token,
                           .connector = s->launch->connector};
    if (!s->plan->dials) {
        e.http = netns_proxy_port(NETNS_HTTP_PORT, n->local, n->nlocal);
        e.socks = netns_proxy_port(NETNS_SOCKS_PORT, n->local, n->nlocal);
    }
    return e;
}

static bool is_named(const char *entry, const char *name)
{
    size_t n = strlen(name);
    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

static bool is_ours(const char *entry)
{
    for (size_t i = 0; i < NETENV_COUNT; i++)
        if (i != NETENV_GIT_SSH_COMMAND && is_named(entry, proxy_vars_name(i)))
            return true;
    return false;
}

/* Variables by which single programs name a proxy, in either case. They change only if the caller
 * has set them: the caller's proxy cannot be reached, and may have a login in its URL. */
static const char *const single[] = {
    "npm_config_proxy", "npm_config_http_proxy",   "npm_config_https_proxy",
    "yarn_http_proxy",  "yarn_https_proxy",        "pip_proxy",
    "cargo_http_proxy", "global_agent_http_proxy", "global_agent_https_proxy",
};

static bool is_single(const char *entry)
{
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
        if (strncasecmp(entry, single[i], strlen(single[i])) == 0 &&
            entry[strlen(single[i])] == '=')
            return true;
    return false;
}

/* Whether NAME=scheme://…localhost:PORT names a port that leads to the host: another proxy, which
 * the policy allows. */
static bool leads_out(const struct gate_process *n, const struct setup *s, const char *entry)
{
    struct local_port hosts[NETNS_LOCAL];
    const struct local_port *local = n->local;
    size_t nlocal = n->nlocal;
    if (s->plan->dials) { /* without a network namespace every port is the host's */
        nlocal = rules_local_ports(s->graph, hosts, NETNS_LOCAL);
        local = hosts;
    }
    const char *colon = strrchr(entry, ':');
    unsigned long port = colon ? strtoul(colon + 1, NULL, 10) : 0;
    bool here = strstr(entry, "//localhost:") || strstr(entry, "//127.0.0.1:") ||
                strstr(entry, "@localhost:") || strstr(entry, "@127.0.0.1:");
    for (size_t i = 0; here && i < nlocal; i++)
        if (local[i].tcp && local[i].port == port)
            return true;
    return false;
}

/* The caller's entry of this name that stays, or NULL. */
static char *find_kept(const struct gate_process *n, const struct setup *s, const char *name)
{
    for (char *const *env = s->launch->env; *env; env++)
        if (is_named(*env, name))
            return leads_out(n, s, *env) ? *env : NULL;
    return NULL;
}

/* Returns NAME=value, or NULL without memory. */
static char *entry_of(const struct proxy_vars *e, size_t variable)
{
    OWN(buf) struct buf entry = {0};
    buf_fmt(&entry, "%s=", proxy_vars_name(variable));
    proxy_vars_value(e, variable, &entry);
    return buf_ok(&entry) ? steal_ptr(&entry.s) : NULL;
}

/* The same variable with our proxy, or NULL without memory. */
static char *entry_like(const struct proxy_vars *e, const char *theirs)
{
    OWN(buf) struct buf entry = {0};
    buf_add(&entry, theirs, strcspn(theirs, "=") + 1);
    proxy_vars_value(e, NETENV_HTTP_PROXY, &entry);
    return buf_ok(&entry) ? steal_ptr(&entry.s) : NULL;
}

char **gate_process_environ(const struct gate_process *n, const struct setup *s)
{
    char *const *env = s->launch->env;
    size_t count = 0, kept = 0;
    bool ssh = can_connect(s);
    const struct proxy_vars e = proxies(n, s);
    while (env[count])
        count++;
    static char resolver[] = "RES_OPTIONS=use-vc"; /* the judge leads only connections */
    char **out = calloc(count + NETENV_COUNT + 2, sizeof(*out));
    if (out && s->plan->dials)
        out[kept++] = resolver;
    for (size_t i = 0; out && i < count; i++) {
        ssh = ssh && !is_named(env[i], "GIT_SSH_COMMAND") && !is_named(env[i], "GIT_SSH");
        if (is_ours(env[i]) || (s->plan->dials && is_named(env[i], "RES_OPTIONS")))
            continue;
        out[kept] = is_single(env[i]) && !leads_out(n, s, env[i]) ? entry_like(&e, env[i]) : env[i];
        if (!out[kept++])
            return NULL;
    }
    for (size_t i = 0; out && i < NETENV_COUNT; i++) {
        if (i == NETENV_GIT_SSH_COMMAND && !ssh)
            continue;
        char *theirs = find_kept(n, s, proxy_vars_name(i));
        out[kept] = theirs ? theirs : entry_of(&e, i);
        if (!out[kept++])
            return NULL; /* the judge gives up */
    }
    return out;
}
