/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "cli/agent/hook-install.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/json.h"
#include "base/buf.h"
#include "base/own.h"
#include "macos/sandbox-exec.h"
#include "settings/lock.h"
#include "settings/write.h"
#include "system/process.h"

static const struct agent {
    const char *name, *file; /* relative to the home directory or the project */
    const char *event, *matcher;
} agents[] = {
    {"claude", ".claude/settings.json", "PreToolUse", "Bash"},
    {"gemini", ".gemini/settings.json", "BeforeTool", "run_shell_command"},
};

/* Finds the agent and its file. A path counts as a file of the first agent. */
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
    err_set(err, BK_E_INPUT, "unknown agent %s", name);
    err_hint(err, "use claude, gemini or the path of a settings file");
    return -1;
}

/* Agents run the command if the hook cannot start or fails with any status other than 2. */
static const char hook_suffix[] = " hook || exit 2";

static bool is_ours(const json_t *hook)
{
    const char *text = json_text(hook, "command"), *at = text ? strstr(text, "buckle") : NULL;
    const char *rest = at ? strstr(at, " hook") : NULL;
    return rest && (strcmp(rest, " hook") == 0 || strcmp(rest, hook_suffix) == 0);
}

/* Uses the bare name if PATH leads to this program: it survives updates and moving the file to
 * another machine. */
static int hook_command(struct buf *out, struct bk_err *err)
{
    char self[PATH_MAX], found[PATH_MAX];
    if (process_own_path(self) < 0)
        return err_sys(err, "cannot find the path of buckle");
    const char *path = getenv("PATH");
    for (const char *at = path ? path : ""; *at; at += strspn(at, ":")) {
        size_t len = strcspn(at, ":");
        char one[PATH_MAX];
        bool fits = (size_t)snprintf(one, sizeof(one), "%.*s/buckle", (int)len, at) < sizeof(one);
        at += len;
        if (!fits || !realpath(one, found))
            continue;
        bool here = strcmp(found, self) == 0;
        shell_word(out, here ? "buckle" : self);
        break;
    }
    if (!out->n)
        shell_word(out, self);
    buf_str(out, hook_suffix);
    return buf_ok(out) ? 0 : err_nomem(err);
}

/* The object or array at a key, created if missing. NULL if it has another type. */
static json_t *member(json_t *object, const char *key, json_type type)
{
    json_t *found = json_object_get(object, key);
    if (!found) {
        found = type == JSON_ARRAY ? json_array() : json_object();
        json_object_set_new(object, key, found);
    }
    return json_typeof(found) == type ? found : NULL;
}

/* Removes our hooks, and containers that become empty. Returns how many hooks it removed. */
static size_t remove_hooks(json_t *hooks, const char *event)
{
    json_t *groups = json_object_get(hooks, event);
    size_t taken = 0;
    for (size_t i = json_array_size(groups); i-- > 0;) {
        json_t *list = json_object_get(json_array_get(groups, i), "hooks");
        size_t before = json_array_size(list);
        for (size_t k = before; k-- > 0;)
            if (is_ours(json_array_get(list, k)))
                json_array_remove(list, k);
        size_t gone = before - json_array_size(list);
        if (gone && json_array_size(list) == 0)
            json_array_remove(groups, i);
        taken += gone;
    }
    if (taken && json_array_size(groups) == 0)
        json_object_del(hooks, event);
    return taken;
}

static int add_hook(json_t *root, const struct agent *a, const char *path, struct bk_err *err)
{
    OWN(buf) struct buf command = {0};
    json_t *hooks = json_is_object(root) ? member(root, "hooks", JSON_OBJECT) : NULL;
    if (hooks)
        remove_hooks(hooks, a->event);
    json_t *groups = hooks ? member(hooks, a->event, JSON_ARRAY) : NULL;
    if (!groups)
        return err_set(err, BK_E_INPUT,
                       "%s: unexpected structure of its hooks; file left unchanged", path);
    if (hook_command(&command, err) < 0)
        return -1;
    json_array_append_new(groups, json_pack("{s:s, s:[{s:s, s:s}]}", "matcher", a->matcher, "hooks",
                                            "type", "command", "command", command.s));
    return 0;
}

static int write_file(const json_t *root, const char *path, struct bk_err *err)
{
    OWN(buf) struct buf text = {0};
    OWN(mem) char *dumped = json_dumps(root, JSON_INDENT(2));
    if (!dumped)
        return err_nomem(err);
    buf_fmt(&text, "%s\n", dumped);
    return settings_write_file(path, &text, 0644, err);
}

int hook_install(const char *name, bool project, bool install, struct bk_err *err)
{
    const struct agent *agent;
    OWN(buf) struct buf path = {0};
    json_error_t where;
    OWN(settings_lock) struct settings_lock lock = SETTINGS_UNLOCKED;
    if (find_file(name, project, &agent, &path, err) < 0 ||
        (install && settings_make_folders(path.s, err) < 0) ||
        settings_lock(&lock, path.s, err) < 0)
        return -1;
    OWN(json) json_t *root = json_load_file(path.s, JSON_REJECT_DUPLICATES, &where);
    if (!root && access(path.s, F_OK) == 0) {
        err_set(err, BK_E_INPUT, "%s; file left unchanged", where.text);
        err_place(err, path.s, (uint32_t)where.line, (uint32_t)where.column);
        return -1;
    }
    json_t *hooks = json_object_get(root, "hooks");
    if (!root && install)
        root = json_object();
    if (install && add_hook(root, agent, path.s, err) < 0)
        return -1;
    if (!install && remove_hooks(hooks, agent->event) == 0) {
        fprintf(stderr, "buckle: %s contains no hook of Buckle\n", path.s);
        return 0;
    }
    if (!install && json_object_size(hooks) == 0)
        json_object_del(root, "hooks");
    if (write_file(root, path.s, err) < 0)
        return -1;
    fprintf(stderr, "buckle: %s %s\n", install ? "added the hook to" : "removed the hook from",
            path.s);
    return 0;
}
