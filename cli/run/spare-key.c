/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A spare was started by another process of the same user. Its command must find everything as if
 * this process had started it.
 */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "base/sha256.h"
#include "cli/run/spare-words.h"
#include "system/inherited.h"
#include "system/process.h"

extern char **environ;

const char *const spare_volatile[] = {"PWD", "OLDPWD", "SHLVL", "_", NULL};

static bool is_volatile(const char *variable)
{
    size_t n = strcspn(variable, "=");
    for (const char *const *v = spare_volatile; *v; v++)
        if (strlen(*v) == n && memcmp(*v, variable, n) == 0)
            return true;
    return false;
}

/* ---- the spare's command line ---- */

static bool is_for_spare(const char *option)
{
    static const char *const others[] = {"command-text", "command", "spare"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(others[i], option) == 0)
            return false;
    return true;
}

bool spare_words(const struct spare_call *c, struct buf *out)
{
    char own[PATH_MAX];
    const char *program = c->program ? c->program : process_own_path(own) == 0 ? own : NULL;
    if (!program)
        return false;
    buf_add(out, program, strlen(program) + 1);
    buf_add(out, c->name, strlen(c->name) + 1);
    for (size_t i = 0; i < c->args->ngiven; i++) {
        const struct cli_given *g = &c->args->given[i];
        if (!is_for_spare(g->option->name))
            continue;
        buf_fmt(out, "--%s%s%s", g->option->name, g->value ? "=" : "", g->value ? g->value : "");
        buf_add(out, "", 1);
    }
    buf_str(out, "--spare=session");
    buf_add(out, "", 1);
    buf_add(out, c->argv[0], strlen(c->argv[0]) + 1);
    return buf_ok(out);
}

/* Names in these are looked up in the working folder. */
static bool names_paths(const struct cli_args *args)
{
    static const char *const options[] = {
        "allow-write",  "deny-write", "allow-read", "deny-read", "profile",
        "cd",           "tmpdir",     "config",     "define",    "allow-socket",
        "entitlements", "extension",  "platform"};
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (args_has(args, options[i]))
            return true;
    const char *file;
    for (size_t i = 0; (file = args_nth(args, "settings", i)); i++)
        if (file[0] != '/')
            return true;
    return false;
}

bool spare_is_anywhere(const struct spare_call *c)
{
    const char *root = strcmp(c->name, "run") == 0 ? args_value(c->args, "root") : NULL;
    return root && root[0] == '/' && !names_paths(c->args);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Shells change their order. */
static bool put_variables(struct buf *out)
{
    size_t n = 0;
    while (environ[n])
        n++;
    OWN(mem) char **sorted = calloc(n + 1, sizeof(*sorted));
    if (!sorted)
        return false;
    memcpy(sorted, environ, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), by_text);
    for (size_t i = 0; i < n; i++)
        if (!is_volatile(sorted[i]))
            buf_add(out, sorted[i], strlen(sorted[i]) + 1);
    return true;
}

bool spare_key(const struct spare_call *c, char out[SHA256_HEX + 1])
{
    char folder[PATH_MAX] = "";
    OWN(buf) struct buf all = {0};
    if (!spare_words(c, &all) || (!spare_is_anywhere(c) && !getcwd(folder, sizeof(folder))))
        return false;
    buf_add(&all, folder, strlen(folder) + 1);
    process_put_blocked(&all);
    if (!put_variables(&all) || !buf_ok(&all))
        return false;
    sha256_hex(all.s, all.n, out);
    return true;
}
