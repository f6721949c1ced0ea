/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Which variables reach a command. */

#include "command/environ.h"

#include <string.h>

#include "tap.h"

static bool secret(const char *name)
{
    return environ_is_secret(name, strlen(name));
}

static void check_names(void)
{
    static const char *const gone[] = {
        "GITHUB_TOKEN",
        "NPM_TOKEN",
        "github_token",
        "MY_SECRET",
        "OAUTH_SECRET_KEY",
        "DB_PASSWORD",
        "OPENAI_API_KEY",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AZURE_CLIENT_ID",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "SSH_AUTH_SOCK",
        "DBUS_SESSION_BUS_ADDRESS",
        "DOCKER_HOST",
        "KUBECONFIG",
        "PGPASSWORD",
        "DATABASE_URL",
        "VAULT_ADDR",
        "PRIVATE_KEY",
        "SECRET_KEY_BASE",
        "SECRET",
        "SIGNING_PASSPHRASE",
        "PASSPHRASE_FILE",
        "SSHPASS",
        "DOCKER_AUTH_CONFIG",
        "RAILS_MASTER_KEY",
        "APP_PRIVATE_KEY_BASE64",
        "APP_KEY",
        "CI_JOB_JWT_V2",
    };
    static const char *const stay[] = {
        "PATH",          "HOME",         "LANG",
        "TERM",          "EDITOR",       "TOKENIZERS_PARALLELISM",
        "SECRETARY",     "COMPASS",      "AWS_REGION",
        "AWS_CA_BUNDLE", "PASSWORDLESS", "KEYBOARD",
        "NODE_OPTIONS",  "CFLAGS",       "GPG_TTY",
        "SSH_ASKPASS",   "OLDPWD",       "DEPLOY_PUBLIC_KEY",
        "MONKEY",        "KEYS",         "GIT_CONFIG_KEY_0",
    };
    for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
        ok(secret(gone[i]), "%s is removed", gone[i]);
    for (size_t i = 0; i < sizeof(stay) / sizeof(stay[0]); i++)
        ok(!secret(stay[i]), "%s stays", stay[i]);
}

static void check_making(void)
{
    char entries[][16] = {"A=1", "X_TOKEN=t", "Y_TOKEN=u", "TMPDIR=/old", "odd", "=strange"};
    char *caller[7] = {NULL};
    for (size_t i = 0; i < 6; i++)
        caller[i] = entries[i];
    const char *keep[] = {"Y_TOKEN"}, *set[] = {"TMPDIR=/new", "NEW=n", NULL};
    struct environ_result r;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    if (ok(environ_make(caller, keep, 1, set, &arena, &r) == 0, "made")) {
        static const char *const want[] = {"A=1",      "Y_TOKEN=u",   "odd",
                                           "=strange", "TMPDIR=/new", "NEW=n"};
        size_t n = sizeof(want) / sizeof(want[0]);
        for (size_t i = 0; i < n && r.env[i]; i++)
            is_str(r.env[i], want[i], "entry %zu", i);
        ok(r.env[n] == NULL, "and no more");
        is_int(r.nremoved, 1, "one removed");
        is_str(r.removed[0], "X_TOKEN", "by name, without its value");
    }
    arena_free(&arena);
    arena_init(&arena, 16);
    ok(environ_make(caller, keep, 1, set, &arena, &r) < 0, "no room is an error");
    arena_free(&arena);
}

int main(void)
{
    check_names();
    check_making();
    return done_testing();
}
