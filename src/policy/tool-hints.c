/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "policy/tool-hints.h"

#include <stdlib.h>
#include <string.h>

#include "policy/auto-presets.h"
#include "policy/presets.h"

static bool is_used(const struct assembly *now, const char *tool)
{
    for (size_t i = 0; i < now->tools.n; i++)
        if (strcmp(now->tools.at[i], tool) == 0)
            return true;
    return false;
}

static int add_words(struct arena *a, const struct words *from, struct words *to,
                     struct bk_err *err)
{
    for (size_t i = 0; i < from->n; i++)
        if (words_push(a, to, from->at[i]) < 0)
            return err_nomem(err);
    return 0;
}

static int fill(struct arena *a, const struct policy_request *q, const struct preset *tool,
                struct tool_hint *out, struct bk_err *err)
{
    const struct path_base base = {.cwd = q->cwd, .home = getenv("HOME")};
    struct access access = {0};
    struct registries found = {0};
    if (preset_apply(a, tool, &base, &access, NULL, err) < 0 ||
        registries_find(a, tool->name, q->cwd, base.home, &found, err) < 0)
        return -1;
    for (size_t i = 0; i < access.allow_write.n; i++)
        if (words_push(a, &out->paths, access.allow_write.at[i].path) < 0)
            return err_nomem(err);
    for (size_t i = 0; i < found.n; i++)
        if (!found.at[i].project && add_words(a, &found.at[i].hosts, &out->hosts, err) < 0)
            return -1;
    out->name = tool->name;
    out->called = auto_presets_calls(a, tool, q->argv, err);
    return add_words(a, &tool->tool[TOOL_REGISTRIES], &out->hosts, err) < 0
               ? -1
               : add_words(a, &tool->tool[TOOL_HOSTS], &out->hosts, err);
}

int tool_hints_find(struct arena *a, const struct policy_request *q, const struct assembly *now,
                    struct tool_hint **out, size_t *n, struct bk_err *err)
{
    struct preset_config c = {0};
    if (presets_read_tools(a, &c, err) < 0)
        return -1;
    struct tool_hint *hints = arena_array(a, c.ntools + 1, sizeof(*hints));
    size_t count = 0;
    if (!hints)
        return err_nomem(err);
    for (size_t i = 0; i < c.ntools; i++)
        if (!is_used(now, c.tools[i].name) && fill(a, q, &c.tools[i], &hints[count++], err) < 0)
            return -1;
    *out = hints;
    *n = count;
    return 0;
}
