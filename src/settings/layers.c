/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Finds and reads settings. Most runs have none, and a missing file costs only one failed open.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "settings/settings.h"

#define POLICY_FILE "/etc/buckle/policy.json"

static const char *const layer_names[LAYER_COUNT] = {"default", "user",  "project",
                                                     "local",   "flags", "policy"};

const char *settings_layer_name(enum layer_id id)
{
    return layer_names[id];
}

bool settings_by_file(const struct settings *s, const struct settings_layer *l)
{
    return l->id == LAYER_FLAGS || (l->project && l->project != s->project);
}

bool settings_has(const struct settings *s, enum layer_id id)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->layers[i].id == id)
            return true;
    return false;
}

/* ---- places ---- */

/* No policy opens them; run/own-rules.c has the same list. */

static const char *joined(struct settings *s, const char *folder, const char *name)
{
    char path[PATH_MAX];
    int n = folder ? snprintf(path, sizeof(path), "%s/%s", folder, name) : -1;
    return n > 0 && n < PATH_MAX ? arena_strndup(&s->arena, path, (size_t)n) : NULL;
}

static const char project_file[] = ".buckle/settings.json",
                  local_file[] = ".buckle/settings.local.json";

/* A file that cannot be inspected counts as existing. */
static bool is_there(const char *path)
{
    return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ||
           (errno != ENOENT && errno != ENOTDIR);
}

static bool has_settings(const char *folder, size_t n)
{
    const char *const names[] = {project_file, local_file};
    char path[PATH_MAX];
    for (size_t i = 0; i < 2; i++) {
        int len = snprintf(path, sizeof(path), "%.*s/%s", (int)n, folder, names[i]);
        if (len < PATH_MAX && is_there(path))
            return true;
    }
    return false;
}

/* Length of the nearest folder with settings, among the first n bytes of the working directory's
 * path; 0 if none has. The home folder and its parents are no projects. */
static size_t project_within(const struct settings *s, size_t n)
{
    size_t home = s->home ? strlen(s->home) : 0;
    while (n > 1) {
        bool above =
            home >= n && strncmp(s->home, s->cwd, n) == 0 && (s->home[n] == '/' || !s->home[n]);
        if (above)
            return 0;
        if (has_settings(s->cwd, n))
            return n;
        while (n > 1 && s->cwd[--n] != '/')
            ;
    }
    return 0;
}

static void find_project(struct settings *s)
{
    size_t n = project_within(s, strlen(s->cwd));
    s->project = n ? arena_strndup(&s->arena, s->cwd, n) : NULL;
}

int settings_init(struct settings *s, const char *cwd, struct bk_err *err)
{
    char real[PATH_MAX];
    const char *home = getenv("HOME"), *xdg = getenv("XDG_CONFIG_HOME");
    *s = (struct settings){0};
    arena_init(&s->arena, 64 << 20);
    s->cwd = arena_strndup(&s->arena, cwd, strlen(cwd));
    if (home && home[0] == '/' && realpath(home, real))
        s->home = arena_strndup(&s->arena, real, strlen(real));
    if (xdg && xdg[0] == '/')
        s->config = joined(s, xdg, "buckle");
    else if (s->home)
        s->config = joined(s, s->home, ".config/buckle");
    return s->cwd ? 0 : err_nomem(err);
}

void settings_for_elsewhere(struct settings *s)
{
    const char *home = getenv("HOME");
    s->elsewhere = true;
    if (home && home[0] == '/')
        s->home = arena_strndup(&s->arena, home, strlen(home));
}

void settings_free(struct settings *s)
{
    arena_free(&s->arena);
}

/* A second policy besides the machine's: it can only restrict further. */
static const char *more_policy(void)
{
    const char *path = getenv("BUCKLE_POLICY");
    return path && *path ? path : NULL;
}

const char *settings_layer_path(struct settings *s, enum layer_id id)
{
    if (id != LAYER_USER && id != LAYER_POLICY && !s->project)
        find_project(s);
    const char *folder = s->project ? s->project : s->cwd;
    switch (id) {
    case LAYER_USER:
        return joined(s, s->config, "settings.json");
    case LAYER_PROJECT:
        return joined(s, folder, project_file);
    case LAYER_LOCAL:
        return joined(s, folder, local_file);
    case LAYER_POLICY:
        return more_policy() ? more_policy() : POLICY_FILE;
    default:
        return NULL;
    }
}

/* ---- reading ---- */

static int add_layer(struct settings *s, const struct settings_layer *layer, struct bk_err *err)
{
    if (s->n == SETTINGS_LAYERS)
        return err_set(err, BK_E_INPUT, "too many settings files");
    size_t at = s->n;
    while (at > 0 && s->layers[at - 1].id > layer->id)
        at--;
    memmove(&s->layers[at + 1], &s->layers[at], (s->n - at) * sizeof(*layer));
    s->layers[at] = *layer;
    s->n++;
    return 0;
}

static int add_text(struct settings *s, enum layer_id id, const char *path,
                    const struct json_text *text, struct bk_err *err)
{
    struct settings_findings found = {0};
    struct settings_layer layer = {
        .id = id, .trusted = id != LAYER_PROJECT && id != LAYER_LOCAL, .path = path, .text = *text};
    if (settings_check(&s->arena, text, &layer.root, &found, err) < 0)
        return -1;
    for (const struct settings_finding *f = found.first; f; f = f->next)
        if (f->level == FINDING_ERROR) {
            *err = f->err;
            return -1;
        }
    return found.errors ? err_nomem(err) : add_layer(s, &layer, err);
}

int settings_add_text(struct settings *s, enum layer_id id, const char *name, const char *text,
                      size_t n, struct bk_err *err)
{
    struct json_text t = {.name = arena_strndup(&s->arena, name, strlen(name)),
                          .s = arena_strndup(&s->arena, text, n),
                          .n = n};
    return t.s && t.name ? add_text(s, id, NULL, &t, err) : err_nomem(err);
}

int settings_add_file(struct settings *s, enum layer_id id, const char *path, struct bk_err *err)
{
    struct json_text text;
    if (jt_load(&s->arena, path, &text, err) < 0)
        return -1;
    return add_text(s, id, text.once || strcmp(path, "-") == 0 ? NULL : text.name, &text, err);
}

/* A missing file is fine. */
static int add_if_there(struct settings *s, enum layer_id id, const char *path, struct bk_err *err)
{
    if (!path || settings_add_file(s, id, path, err) == 0)
        return 0;
    return err->code == BK_E_SYSTEM && (err->sys == ENOENT || err->sys == ENOTDIR) ? 0 : -1;
}

int settings_add_policy(struct settings *s, struct bk_err *err)
{
    if (add_if_there(s, LAYER_POLICY, POLICY_FILE, err) < 0)
        return -1;
    const char *more = more_policy();
    if (more && *more != '/')
        return err_set(err, BK_E_INPUT, "BUCKLE_POLICY: %.200s is not an absolute path", more);
    return more ? settings_add_file(s, LAYER_POLICY, more, err) : 0;
}

int settings_add_defaults(struct settings *s, struct bk_err *err)
{
    static const char text[] = "{\"filesystem\": {\"allowWrite\": [\".\"]}}";
    return settings_add_text(s, LAYER_DEFAULTS, "default", text, sizeof(text) - 1, err);
}

bool settings_list_writes(struct settings *s)
{
    struct setting_values v;
    if (settings_values(s, SETTING_ALLOW_WRITE, &v) < 0)
        return false;
    for (size_t i = 0; i < v.n; i++)
        if (v.at[i].layer->id == LAYER_DEFAULTS && !v.at[i].ignored)
            return false;
    return true;
}

bool settings_policy_there(void)
{
    return more_policy() || is_there(POLICY_FILE);
}

bool settings_there(struct settings *s)
{
    const char *user = settings_layer_path(s, LAYER_USER);
    find_project(s);
    return s->project || settings_policy_there() || (user && is_there(user));
}

static struct settings_layer *last_of(struct settings *s, enum layer_id id)
{
    for (size_t i = s->n; i > 0; i--)
        if (s->layers[i - 1].id == id)
            return &s->layers[i - 1];
    return NULL;
}

static int add_project(struct settings *s, const char *folder, struct bk_err *err)
{
    const char *const names[] = {project_file, local_file};
    for (size_t i = 0; i < 2; i++) {
        size_t before = s->n;
        if (add_if_there(s, LAYER_PROJECT + i, joined(s, folder, names[i]), err) < 0)
            return -1;
        if (s->n > before)
            last_of(s, LAYER_PROJECT + i)->project = folder;
    }
    bool trusted = settings_trust(s, folder) == TRUST_GIVEN;
    for (size_t i = 0; i < s->n; i++)
        if (s->layers[i].project == folder)
            s->layers[i].trusted = trusted;
    return 0;
}

/* All projects around this folder, the outermost first. If only the nearest counted, a project
 * inside another could lift its denials. */
static int add_projects(struct settings *s, struct bk_err *err)
{
    const char *folders[SETTINGS_PROJECTS];
    size_t count = 0, n = strlen(s->cwd);
    while ((n = project_within(s, n))) {
        if (count == SETTINGS_PROJECTS)
            return err_set(err, BK_E_INPUT, "%.200s is inside too many projects", s->cwd);
        if (!(folders[count++] = arena_strndup(&s->arena, s->cwd, n)))
            return err_nomem(err);
        while (n > 1 && s->cwd[--n] != '/')
            ;
    }
    s->project = count ? folders[0] : NULL;
    for (; count > 0; count--)
        if (add_project(s, folders[count - 1], err) < 0)
            return -1;
    return 0;
}

int settings_add_found(struct settings *s, struct bk_err *err)
{
    if (add_if_there(s, LAYER_USER, settings_layer_path(s, LAYER_USER), err) < 0 ||
        settings_add_policy(s, err) < 0)
        return -1;
    return add_projects(s, err);
}
