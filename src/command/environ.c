/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Names of variables that hold secrets: by a word in them, or as patterns with one star at either
 * end. Case is ignored, because naming habits differ. */

#include "command/environ.h"

#include <string.h>
#include <strings.h>

/* Anywhere between underscores: SECRET_KEY_BASE, but not SECRETARY. */
static const char *const words[] = {
    "TOKEN",       "SECRET",     "SECRETS", "PASSWORD", "PASSWORDS",  "PASSWD",      "PASSPHRASE",
    "PRIVATE_KEY", "ACCESS_KEY", "API_KEY", "APIKEY",   "CREDENTIAL", "CREDENTIALS", "JWT",
};

static const char *const secrets[] = {
    /* words for a secret */
    "*TOKEN",
    "*_TOKENS",
    "*PASSWORD",
    "*_PASS",
    "*_PASSCOMMAND",
    "*_PSW",
    "*_PW",
    "*_PAT",
    "*_KEY",
    "*_KEY_BASE64",
    "*AUTHKEY",
    "*_AUTH",
    "*_AUTH_CONFIG",
    "*_AUTH_IDENT",
    "*_AUTHORIZATION",
    "*_COOKIE",
    "*_DSN",
    "*_CONNECTION_STRING",
    "*_DATABASE_URL",
    "*_WEBHOOK",
    "*_WEBHOOK_URL",
    /* variables of a service */
    "AWS_*",
    "AZURE_*",
    "GOOGLE_APPLICATION_*",
    "GCP_*",
    "DIGITALOCEAN_*",
    "VAULT_*",
    "NPM_CONFIG__AUTH*",
    "OP_SESSION_*",
    "BW_SESSION",
    "PASS",
    "SSHPASS",
    "MYSQL_PWD",
    "DB_PWD",
    "DATABASE_URL",
    "REDIS_URL",
    "MONGODB_URI",
    "KUBECONFIG",
    /* sockets of agents that act outside */
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DOCKER_HOST",
    "XAUTHORITY",
    "WAYLAND_SOCKET",
    "NOTIFY_SOCKET",
};

/* Exceptions from the patterns above. */
static const char *const harmless[] = {
    "AWS_CA_BUNDLE", "AWS_REGION",    "AWS_DEFAULT_REGION", "AWS_PAGER",
    "*_PUBLIC_KEY",  "NEXT_PUBLIC_*", "*_CACHE_KEY",        "GPG_KEY",
};

/* Whether they are the same apart from case. Most differ in their first byte. */
static bool is_same(const char *a, const char *b, size_t n)
{
    const int apart_from_case = ~('a' ^ 'A');
    return n > 0 && ((a[0] ^ b[0]) & apart_from_case) == 0 && strncasecmp(a, b, n) == 0;
}

static bool matches(const char *pattern, const char *name, size_t n)
{
    size_t m = strlen(pattern);
    bool front = pattern[0] == '*', back = pattern[m - 1] == '*';
    const char *core = pattern + front;
    size_t len = m - front - back;
    if (front)
        return n >= len && is_same(name + n - len, core, len);
    if (back)
        return n >= len && is_same(name, core, len);
    return n == len && is_same(name, core, len);
}

static bool has_word(const char *word, const char *name, size_t n)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= n; i++)
        if ((i == 0 || name[i - 1] == '_') && (i + len == n || name[i + len] == '_') &&
            is_same(name + i, word, len))
            return true;
    return false;
}

bool environ_is_secret(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
        if (matches(harmless[i], name, n))
            return false;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (has_word(words[i], name, n))
            return true;
    for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++)
        if (matches(secrets[i], name, n))
            return true;
    return false;
}

static bool is_kept(const char *name, size_t n, const char *const *keep, size_t nkeep)
{
    for (size_t i = 0; i < nkeep; i++)
        if (strcmp(keep[i], "*") == 0 || (strlen(keep[i]) == n && memcmp(keep[i], name, n) == 0))
            return true;
    return false;
}

static bool is_set(const char *name, size_t n, const char *const *set)
{
    for (; *set; set++)
        if (strncmp(*set, name, n) == 0 && (*set)[n] == '=')
            return true;
    return false;
}

int environ_make(char *const *caller, const char *const *keep, size_t nkeep, const char *const *set,
                 struct arena *arena, struct environ_result *out)
{
    size_t total = 0, extra = 0, n = 0, removed = 0;
    while (caller[total])
        total++;
    while (set[extra])
        extra++;
    char **env = arena_array(arena, total + extra + 1, sizeof(*env));
    const char **gone = arena_array(arena, total, sizeof(*gone));
    if (!env || !gone)
        return -1;
    for (size_t i = 0; i < total; i++) {
        size_t len = strcspn(caller[i], "=");
        if (is_set(caller[i], len, set))
            continue;
        if (environ_is_secret(caller[i], len) && !is_kept(caller[i], len, keep, nkeep)) {
            gone[removed] = arena_strndup(arena, caller[i], len);
            if (!gone[removed++])
                return -1;
            continue;
        }
        env[n++] = caller[i];
    }
    for (size_t i = 0; i < extra; i++)
        env[n++] = (char *)set[i];
    *out = (struct environ_result){env, gone, removed};
    return 0;
}
