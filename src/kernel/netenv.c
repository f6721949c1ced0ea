/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The way to the proxies, in words that programs know. All of it is in netenv.def. ssh gets out by
 * itself; git is told to call it with a ProxyCommand all the same, as people who move here from
 * elsewhere expect, which says in plain words when a host is denied.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/netgate.h"
#include "net/lay.h"

enum value {
    VALUE_HTTP,
    VALUE_SOCKS,
    VALUE_RSYNC,
    VALUE_HTTP_PORT,
    VALUE_SOCKS_PORT,
    VALUE_HOST,
    VALUE_USER,
    VALUE_TOKEN,
    VALUE_PROXY_TYPE,
    VALUE_NO_PROXY,
    VALUE_SSH,
};

static const struct {
    const char *name;
    enum value value;
} variables[] = {
#define VARIABLE(name, value) {#name, VALUE_##value},
#include "net/netenv.def"
#undef VARIABLE
};

enum { VARIABLES = sizeof(variables) / sizeof(variables[0]) };

/* Only what is plain everywhere it is read: by git, by the shell it starts, by ssh and by the shell
 * that that starts. */
static bool is_plain(const char *path)
{
    return path[0] == '/' &&
           !path[strspn(path, "/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789._+-")];
}

static bool may(const struct graph *g, struct graph_cache *cache, enum vocab_op op,
                const char *path)
{
    struct graph_fact f = {.filter = FILTER_PATH, .str = path, .len = (uint32_t)strlen(path)};
    struct graph_query q = {.op = (uint16_t)op, .facts = &f, .nfacts = 1};
    return graph_eval(g, cache, &q).allow;
}

/* Whether the command could start the program that connects. */
static bool can_connect(const struct stage *s)
{
    const char *path = s->launch->connector;
    struct graph_cache *cache = path && is_plain(path) ? graph_cache_new(s->graph) : NULL;
    bool can = cache && may(s->graph, cache, OP_PROCESS_EXEC, path) &&
               may(s->graph, cache, OP_FILE_READ_DATA, path);
    graph_cache_free(cache);
    return can;
}

static char *value_of(const struct netgate *n, const struct stage *s, enum value v)
{
    static const char user[] = "buckle", host[] = "localhost";
    uint16_t http = lay_proxy_port(LAY_HTTP_PORT, n->local, n->nlocal);
    uint16_t socks = lay_proxy_port(LAY_SOCKS_PORT, n->local, n->nlocal);
    if (s->plan->dials) {
        http = n->ports.http;
        socks = n->ports.socks;
    }
    char *out = NULL;
    int len = -1;
    switch (v) {
    case VALUE_HTTP:
        len = asprintf(&out, "http://%s:%s@%s:%d", user, n->token, host, http);
        break;
    case VALUE_SOCKS:
        len = asprintf(&out, "socks5h://%s:%s@%s:%d", user, n->token, host, socks);
        break;
    case VALUE_RSYNC:
        len = asprintf(&out, "%s:%s@%s:%d", user, n->token, host, http);
        break;
    case VALUE_HTTP_PORT:
    case VALUE_SOCKS_PORT:
        len = asprintf(&out, "%d", v == VALUE_HTTP_PORT ? http : socks);
        break;
    case VALUE_SSH:
        len = asprintf(&out, "ssh -o ProxyCommand='%s connect %%h %%p'", s->launch->connector);
        break;
    default:
        out = strdup(v == VALUE_HOST         ? host
                     : v == VALUE_USER       ? user
                     : v == VALUE_TOKEN      ? n->token
                     : v == VALUE_PROXY_TYPE ? "http"
                                             : "localhost,127.0.0.1,::1,*.local");
        return out;
    }
    return len < 0 ? NULL : out;
}

static bool is_named(const char *entry, const char *name)
{
    size_t n = strlen(name);
    return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

static bool is_ours(const char *entry)
{
    for (size_t i = 0; i < VARIABLES; i++)
        if (variables[i].value != VALUE_SSH && is_named(entry, variables[i].name))
            return true;
    return false;
}

/* Whether NAME=scheme://…localhost:PORT names a port that leads to the host: somebody else's proxy,
 * which the policy opens. */
static bool leads_out(const struct netgate *n, const char *entry)
{
    const char *colon = strrchr(entry, ':');
    unsigned long port = colon ? strtoul(colon + 1, NULL, 10) : 0;
    bool here = strstr(entry, "//localhost:") || strstr(entry, "//127.0.0.1:") ||
                strstr(entry, "@localhost:") || strstr(entry, "@127.0.0.1:");
    for (size_t i = 0; here && i < n->nlocal; i++)
        if (n->local[i].tcp && n->local[i].port == port)
            return true;
    return false;
}

/* The caller's entry of this name that stays; NULL when there is none. */
static char *find_kept(const struct netgate *n, char *const *env, const char *name)
{
    for (; *env; env++)
        if (is_named(*env, name))
            return leads_out(n, *env) ? *env : NULL;
    return NULL;
}

char **netgate_environ(const struct netgate *n, const struct stage *s)
{
    char *const *env = s->launch->env;
    size_t count = 0, kept = 0;
    bool ssh = can_connect(s);
    while (env[count])
        count++;
    static char resolver[] = "RES_OPTIONS=use-vc"; /* the judge leads connections only */
    char **out = calloc(count + VARIABLES + 2, sizeof(*out));
    if (out && s->plan->dials)
        out[kept++] = resolver;
    for (size_t i = 0; out && i < count; i++) {
        ssh = ssh && !is_named(env[i], "GIT_SSH_COMMAND") && !is_named(env[i], "GIT_SSH");
        if (!is_ours(env[i]) && !(s->plan->dials && is_named(env[i], "RES_OPTIONS")))
            out[kept++] = env[i];
    }
    for (size_t i = 0; out && i < VARIABLES; i++) {
        if (variables[i].value == VALUE_SSH && !ssh)
            continue;
        char *theirs = find_kept(n, env, variables[i].name);
        if (theirs) {
            out[kept++] = theirs;
            continue;
        }
        char *value = value_of(n, s, variables[i].value);
        if (!value || asprintf(&out[kept++], "%s=%s", variables[i].name, value) < 0)
            return NULL; /* the worker gives up */
        free(value);
    }
    return out;
}
