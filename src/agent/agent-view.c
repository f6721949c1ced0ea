/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Reads the settings for a program that runs an agent's commands: all layers, plus files given on
 * the command line.
 */

#include "agent/agent-view.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/path.h"
#include "command/tmpdir.h"
#include "command/own-record.h"
#include "run/run-policy.h"

int view_read(struct agent_view *v, const char *cwd, const char *const *files, size_t nfiles,
              struct bk_err *err)
{
    struct settings *s = &v->settings;
    if (settings_init(s, cwd, err) < 0 || settings_add_found(s, err) < 0)
        return -1;
    for (size_t i = 0; i < nfiles; i++)
        if (settings_add_file(s, LAYER_FLAGS, files[i], err) < 0)
            return -1;
    if (settings_add_defaults(s, err) < 0)
        return -1;
    return settings_build(s, v->tmpdir[0] ? v->tmpdir : NULL, &v->result, err);
}

void view_free(struct agent_view *v)
{
    settings_free(&v->settings);
}

const char *view_root_is_all(struct agent_view *v, const char *root)
{
    return settings_list_writes(&v->settings) ? NULL : run_place_is_all(root);
}

void view_provenance(const char *folder, struct buf *out)
{
    size_t n = 0;
    char path[PATH_MAX];
    OWN(fd) int record = own_record_path(path) ? own_record_open(path, false) : -1;
    enum own_mark mark = own_record_above(record, folder, &n);
    if (mark == MARK_NONE)
        return;
    buf_safe(out, folder, n);
    buf_str(out, mark == MARK_OWN ? " was created by a sandboxed command and is its own until you "
                                    "start a run in it"
                                  : " was created by a sandboxed command; you have adopted it");
}

const char *view_tmpdir_place(const struct agent_view *v, const char *root)
{
    const char *place = v->result.tmpdir_in;
    char real[PATH_MAX];
    if (!place || place[0] != '/')
        place = tmpdir_wanted();
    return place && realpath(place, real) && path_is_in(real, root) ? NULL : place;
}

bool view_can_wait(const struct agent_view *v)
{
    return !v->result.policy.ncommands && !v->result.record.path;
}

bool view_asks(const struct agent_view *v)
{
    const struct access *p = &v->result.policy;
    for (size_t i = 0; i < p->ncommands; i++)
        if (p->commands[i].ask)
            return true;
    return false;
}

/* Out of memory: the user is asked again. */
void view_agree(struct agent_view *v, const json_t *grants)
{
    size_t i;
    json_t *g;
    json_array_foreach(grants, i, g)
    {
        const char *option = json_text(g, "grant"), *what = json_text(g, "what");
        const char *own = option && what && strcmp(option, "allow-command") == 0
                              ? arena_strndup(&v->settings.arena, what, strlen(what))
                              : NULL;
        if (own)
            (void)words_push(&v->settings.arena, &v->result.policy.agreed, own);
    }
}

struct decide_settings view_decides(const struct agent_view *v)
{
    bool prompt = v->mode == PERMISSION_CLIENT && v->result.prompt;
    enum permission_mode mode = prompt ? PERMISSION_PROMPT : v->mode;
    return (struct decide_settings){.enabled = v->result.enabled,
                                    .auto_allow = v->result.auto_allow,
                                    .allow_unsandboxed = v->result.unsandboxed,
                                    .excluded = v->result.excluded.at,
                                    .nexcluded = v->result.excluded.n,
                                    .mode = mode,
                                    .planning = v->planning,
                                    .access = &v->result.policy};
}

bool view_mode(const char *word, enum permission_mode *mode, bool *plan)
{
    static const struct {
        const char *word;
        enum permission_mode mode;
        bool plan;
    } words[] = {
        {"client", PERMISSION_CLIENT, false},
        {"prompt", PERMISSION_PROMPT, false},
        {"open", PERMISSION_OPEN, false},
        {"none", PERMISSION_NONE, false},
        /* an agent's own modes: it applies them itself */
        {"default", PERMISSION_CLIENT, false},
        {"acceptEdits", PERMISSION_CLIENT, false},
        {"dontAsk", PERMISSION_CLIENT, false},
        {"auto", PERMISSION_CLIENT, false},
        {"bypassPermissions", PERMISSION_CLIENT, false},
        {"plan", PERMISSION_CLIENT, true},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(word, words[i].word) == 0) {
            *mode = words[i].mode;
            *plan = words[i].plan;
            return true;
        }
    return false;
}
