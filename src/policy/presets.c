/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "policy/presets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "git/gitdir.h"

int presets_load(struct arena *a, const char *path, struct preset_config *out, struct bk_err *err)
{
    *out = (struct preset_config){0};
    return presets_read_shipped(a, out, err) < 0 ? -1 : preset_load(a, path, out, err);
}

int presets_parse(struct arena *a, const char *name, const char *text, size_t n,
                  struct preset_config *out, struct bk_err *err)
{
    struct preset_config c = {0};
    if (presets_read_shipped(a, &c, err) < 0 || preset_parse(a, name, text, n, &c, err) < 0)
        return -1;
    *out = c;
    return 0;
}

static int allow_git(struct arena *a, const char *cwd, struct access *access, struct bk_err *err)
{
    const char *folders[2];
    if (git_folders(a, cwd, &folders[0], &folders[1], err) < 0)
        return -1;
    for (size_t i = 0; i < 2; i++) {
        struct place place = {.path = folders[i], .origin = "allow-git"};
        if (folders[i] && (places_push(a, &access->allow_read, &place) < 0 ||
                           places_push(a, &access->allow_write, &place) < 0))
            return err_nomem(err);
    }
    return 0;
}

int presets_apply(struct arena *a, const struct preset *sum, const struct path_base *base,
                  struct access *access, struct words *unset, struct bk_err *err)
{
    if (preset_apply(a, sum, base, access, unset, err) < 0)
        return -1;
    return sum->flags[PRESET_ALLOW_GIT] ? allow_git(a, base->cwd, access, err) : 0;
}

/* ---- hosts ---- */

static bool has_word(const struct words *list, const char *word)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->at[i], word) == 0)
            return true;
    return false;
}

static int allow_hosts(struct arena *a, const struct words *hosts, struct access *access,
                       struct bk_err *err)
{
    for (size_t i = 0; i < hosts->n; i++)
        if (!has_word(&access->allowed_domains, hosts->at[i]) &&
            words_push(a, &access->allowed_domains, hosts->at[i]) < 0)
            return err_nomem(err);
    return 0;
}

static int hand_over(struct arena *a, const struct registry_source *r, struct settings_result *out,
                     struct bk_err *err)
{
    char setting[REGISTRY_URL + 64];
    const char *variable = registries_variable(r->tool);
    if (!r->hidden || !r->url || !variable || getenv(variable))
        return 0;
    int n = snprintf(setting, sizeof(setting), "%s=%s", variable, r->url);
    const char *kept = arena_strndup(a, setting, (size_t)n);
    return !kept || words_push(a, &out->env, kept) < 0 ? err_nomem(err) : 0;
}

static int open_tool(struct arena *a, const struct preset *tool,
                     const struct registries *registries, struct settings_result *out,
                     struct bk_err *err)
{
    bool replaced = false;
    for (size_t i = 0; i < registries->n; i++) {
        const struct registry_source *r = &registries->at[i];
        if (!r->counts || strcmp(r->tool, tool->name) != 0)
            continue;
        replaced |= r->replaces;
        if (allow_hosts(a, &r->hosts, &out->policy, err) < 0 || hand_over(a, r, out, err) < 0)
            return -1;
    }
    if (!replaced && allow_hosts(a, &tool->tool[TOOL_REGISTRIES], &out->policy, err) < 0)
        return -1;
    return allow_hosts(a, &tool->tool[TOOL_HOSTS], &out->policy, err);
}

int presets_open_hosts(struct arena *a, const struct preset_config *c, const struct preset *sum,
                       const struct registries *registries, struct settings_result *out,
                       struct bk_err *err)
{
    for (size_t i = 0; i < sum->tools.n; i++)
        for (size_t t = 0; t < c->ntools; t++)
            if (strcmp(c->tools[t].name, sum->tools.at[i]) == 0 &&
                open_tool(a, &c->tools[t], registries, out, err) < 0)
                return -1;
    return 0;
}
