/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "hook-install.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/json.h"
#include "base/buf.h"
#include "base/own.h"

static const struct agent {
    const char *name, *file; /* below the home folder, or the project's */
    const char *event, *matcher;
} agents[] = {
    {"claude", ".claude/settings.json", "PreToolUse", "Bash"},
    {"gemini", ".gemini/settings.json", "BeforeTool", "run_shell_command"},
};

static const char command[] = "buckle hook";

/* Which agent, and which file of its. A path is taken for one of the first's kind. */
static int find_file(const char *name, bool project, const struct agent **agent, struct buf *path,
                     struct bk_err *err)
{
    const char *home = getenv("HOME");
    *agent = &agents[0];
    if (strchr(name, '/')) {
        buf_str(path, name);
        return 0;
    }
    for (size_t i = 0; i < sizeof(agents) / sizeof(agents[0]); i++)
        if (strcmp(name, agents[i].name) == 0) {
            *agent = &agents[i];
            if (!project && !home)
                return err_set(err, BK_E_INPUT, "HOME is not set");
            buf_fmt(path, "%s/%s", project ? "." : home, agents[i].file);
            return 0;
        }
    err_set(err, BK_E_INPUT, "no agent called %s is known", name);
    err_hint(err, "claude, gemini, or the path of a settings file");
    return -1;
}

static bool is_ours(const json_t *group)
{
    const json_t *hooks = json_object_get(group, "hooks");
    for (size_t i = 0; i < json_array_size(hooks); i++) {
        const char *text = json_text(json_array_get(hooks, i), "command");
        if (text && strcmp(text, command) == 0)
            return true;
    }
    return false;
}

/* The object or array below a key; made when it is missing, NULL when it is something else. */
static json_t *member(json_t *object, const char *key, json_type type)
{
    json_t *found = json_object_get(object, key);
    if (!found) {
        found = type == JSON_ARRAY ? json_array() : json_object();
        json_object_set_new(object, key, found);
    }
    return json_typeof(found) == type ? found : NULL;
}

static int change(json_t *root, const struct agent *a, bool install, const char *path,
                  struct bk_err *err)
{
    json_t *hooks = json_is_object(root) ? member(root, "hooks", JSON_OBJECT) : NULL;
    json_t *groups = hooks ? member(hooks, a->event, JSON_ARRAY) : NULL;
    if (!groups)
        return err_set(err, BK_E_INPUT, "%s: hooks are not where they should be; left as it is",
                       path);
    for (size_t i = json_array_size(groups); i-- > 0;)
        if (is_ours(json_array_get(groups, i)))
            json_array_remove(groups, i);
    if (install)
        json_array_append_new(groups, json_pack("{s:s, s:[{s:s, s:s}]}", "matcher", a->matcher,
                                                "hooks", "type", "command", "command", command));
    return 0;
}

static void make_folder(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash && slash != folder) {
        *slash = '\0';
        mkdir(folder, 0755);
    }
}

/* Whole, or not at all. */
static int write_file(const json_t *root, const char *path, struct bk_err *err)
{
    OWN(buf) struct buf beside = {0};
    make_folder(path);
    buf_fmt(&beside, "%s.buckle-%d", path, (int)getpid());
    if (!buf_ok(&beside))
        return err_nomem(err);
    if (json_dump_file(root, beside.s, JSON_INDENT(2)) < 0 || rename(beside.s, path) < 0) {
        err_sys(err, "cannot write %s", path);
        unlink(beside.s);
        return -1;
    }
    return 0;
}

int hook_install(const char *name, bool project, bool install, struct bk_err *err)
{
    const struct agent *agent;
    OWN(buf) struct buf path = {0};
    json_error_t where;
    if (find_file(name, project, &agent, &path, err) < 0)
        return -1;
    OWN(json) json_t *root = json_load_file(path.s, JSON_REJECT_DUPLICATES, &where);
    if (!root && access(path.s, F_OK) == 0) {
        err_set(err, BK_E_INPUT, "%s; left as it is", where.text);
        err_place(err, path.s, (uint32_t)where.line, (uint32_t)where.column);
        return -1;
    }
    if (!root)
        root = json_object();
    if (change(root, agent, install, path.s, err) < 0 || write_file(root, path.s, err) < 0)
        return -1;
    fprintf(stderr, "buckle: %s %s\n", install ? "wrote the hook into" : "took the hook out of",
            path.s);
    return 0;
}
