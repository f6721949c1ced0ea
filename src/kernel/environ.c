/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Names of variables that hold secrets, as patterns with one star at either end. Matched without
 * regard to case, because so are the habits of those who name them. */

#include "kernel/environ.h"

#include <string.h>
#include <strings.h>

static const char *const secrets[] = {
    "*_TOKEN",
    "*_TOKENS",
    "*_SECRET",
    "*_SECRET_*",
    "*_SECRETS",
    "*_PASSWORD",
    "*_PASSWD",
    "*_PASS",
    "*_API_KEY",
    "*_APIKEY",
    "*_ACCESS_KEY",
    "*_ACCESS_KEY_ID",
    "*_PRIVATE_KEY",
    "*_CREDENTIALS",
    "*_AUTH",
    "*_COOKIE",
    "*_DSN",
    "*_WEBHOOK_URL",
    "AWS_*",
    "AZURE_*",
    "GOOGLE_APPLICATION_*",
    "GCP_*",
    "DIGITALOCEAN_*",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PGPASSWORD",
    "MYSQL_PWD",
    "DATABASE_URL",
    "REDIS_URL",
    "MONGODB_URI",
    "NPM_CONFIG__AUTH*",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DOCKER_HOST",
    "KUBECONFIG",
    "VAULT_*",
    "XAUTHORITY",
    "WAYLAND_SOCKET",
    "NOTIFY_SOCKET",
};

/* What the patterns above catch without need. */
static const char *const harmless[] = {"AWS_CA_BUNDLE", "AWS_REGION", "AWS_DEFAULT_REGION",
                                       "AWS_PAGER"};

static bool matches(const char *pattern, const char *name, size_t n)
{
    size_t m = strlen(pattern);
    bool front = pattern[0] == '*', back = pattern[m - 1] == '*';
    const char *core = pattern + front;
    size_t len = m - front - back;
    if (front && back) {
        for (size_t i = 0; i + len <= n; i++)
            if (strncasecmp(name + i, core, len) == 0)
                return true;
        return false;
    }
    if (front)
        return n >= len && strncasecmp(name + n - len, core, len) == 0;
    if (back)
        return n >= len && strncasecmp(name, core, len) == 0;
    return n == len && strncasecmp(name, core, len) == 0;
}

bool environ_is_secret(const char *name, size_t n)
{
    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
        if (matches(harmless[i], name, n))
            return false;
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
