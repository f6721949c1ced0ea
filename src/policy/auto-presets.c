/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "policy/auto-presets.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "policy/auto-command.h"
#include "policy/presets.h"
#include "policy/registries.h"

static bool has_word(const struct words *list, const char *word)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->at[i], word) == 0)
            return true;
    return false;
}

static int add_new(struct settings *s, const struct words *named, const char *name,
                   struct words *out, struct bk_err *err)
{
    if (has_word(named, name) || has_word(out, name))
        return 0;
    return words_push(&s->arena, out, name) < 0 ? err_nomem(err) : 0;
}

static bool is_called(const struct preset *tool, const struct words *programs)
{
    const struct words *names = &tool->tool[TOOL_PROGRAMS];
    for (size_t p = 0; p < programs->n; p++)
        for (size_t i = 0; i < names->n; i++)
            if (auto_command_is(programs->at[p], names->at[i]))
                return true;
    return false;
}

bool auto_presets_calls(struct arena *a, const struct preset *tool, char *const *argv,
                        struct bk_err *err)
{
    struct words programs = {0};
    return auto_command_programs(a, argv, &programs, err) == 0 && is_called(tool, &programs);
}

int auto_presets_find(struct settings *s, const struct preset_config *c, char *const *argv,
                      const struct words *named, struct words *out, struct bk_err *err)
{
    struct words programs = {0}, more = {0};
    if (auto_command_programs(&s->arena, argv, &programs, err) < 0)
        return -1;
    for (size_t i = 0; i < c->ntools; i++)
        if (is_called(&c->tools[i], &programs) && add_new(s, named, c->tools[i].name, out, err) < 0)
            return -1;
    if ((argv && argv[0] && preset_automatic(&s->arena, c, argv[0], &more, err) < 0) ||
        settings_trusted_presets(s, &more, err) < 0)
        return -1;
    for (size_t i = 0; i < more.n; i++)
        if (add_new(s, named, more.at[i], out, err) < 0)
            return -1;
    return 0;
}

/* ---- the project's files ---- */

enum { ENTRIES = 10000 };

static bool ends_in(const char *name, const char *suffix)
{
    size_t n = strlen(name), m = strlen(suffix);
    return n >= m && strcmp(name + n - m, suffix) == 0;
}

/* name: "package.json", or "*.csproj". */
static bool has_file(const char *folder, const char *name)
{
    char path[PATH_MAX];
    if (name[0] != '*')
        return snprintf(path, sizeof(path), "%s/%s", folder, name) < PATH_MAX &&
               access(path, F_OK) == 0;
    OWN(dir) DIR *dir = opendir(folder);
    const struct dirent *e;
    for (size_t i = 0; dir && i < ENTRIES && (e = readdir(dir)); i++)
        if (ends_in(e->d_name, name + 1))
            return true;
    return false;
}

static bool is_wanted(const char *folder, const struct preset *tool)
{
    const struct words *names = &tool->tool[TOOL_FILES];
    for (size_t i = 0; i < names->n; i++)
        if (has_file(folder, names->at[i]))
            return true;
    return false;
}

static int add_files(struct settings *s, const char *tool, struct trust_more *out,
                     struct bk_err *err)
{
    struct registries found = {0};
    if (registries_find(&s->arena, tool, s->cwd, NULL, &found, err) < 0)
        return -1;
    for (size_t i = 0; i < found.n; i++)
        if (found.at[i].project && (words_push(&s->arena, &out->names, found.at[i].name) < 0 ||
                                    words_push(&s->arena, &out->texts, found.at[i].text) < 0))
            return err_nomem(err);
    return 0;
}

int auto_presets_of_project(struct settings *s, struct trust_more *out, struct bk_err *err)
{
    struct preset_config c = {0};
    if (presets_read_tools(&s->arena, &c, err) < 0)
        return -1;
    for (size_t i = 0; i < c.ntools; i++) {
        if (add_files(s, c.tools[i].name, out, err) < 0)
            return -1;
        if (is_wanted(s->cwd, &c.tools[i]) &&
            words_push(&s->arena, &out->presets, c.tools[i].name) < 0)
            return err_nomem(err);
    }
    return 0;
}
