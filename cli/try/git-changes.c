/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What a world has changed that git obeys: settings, hooks, pointers to other repositories, and
 * work in progress. A judge recognises these while a command runs (kernel/judge/git-class.c); a
 * command whose writes nobody judged is looked at here, before anything is kept. The rules'
 * patterns know repositories by their name .git, this also by what is in them. What is left of a
 * removed repository still counts: that asks for a class too often, never too seldom.
 *
 * Settings whose content is known to be harmless, and samples of hooks, need no class.
 */

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/own.h"
#include "cli/try/world-show.h"
#include "git/change.h"
#include "git/pointer.h"
#include "git/todo.h"
#include "vocab/protected-classes.h"

enum { TEXT_MOST = 1 << 20 };

/* A changed name, and the folder that it is in. */
struct look {
    const struct world *w;
    const struct change *c;
    const char *name;
    char folder[PATH_MAX]; /* in the place; "": the place itself */
};

static void look_at(const struct world *w, const struct change *c, struct look *out)
{
    const char *slash = strrchr(c->path, '/');
    out->w = w;
    out->c = c;
    out->name = slash ? slash + 1 : c->path;
    snprintf(out->folder, sizeof(out->folder), "%.*s", slash ? (int)(slash - c->path) : 0, c->path);
}

static bool ends_in(const char *path, const char *end)
{
    size_t n = strlen(path), k = strlen(end);
    return n >= k && strcasecmp(path + n - k, end) == 0;
}

/* Whether a path ends in this name. */
static bool is_named(const char *path, const char *name)
{
    size_t n = strlen(path), k = strlen(name);
    return ends_in(path, name) && (n == k || path[n - k - 1] == '/');
}

/* ---- folders ---- */

static bool has(const struct look *l, const char *folder, const char *name)
{
    char path[PATH_MAX * 2];
    struct stat st;
    snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", name);
    return change_finds(l->w, l->c->place, path, &st);
}

/* To git, a folder is a repository if it has HEAD, objects and refs; while a worktree has the HEAD,
 * `worktrees` counts instead. */
static bool is_repository(const struct look *l, const char *folder)
{
    const char *named = *folder ? folder : l->w->places[l->c->place].path;
    return is_named(named, ".git") || (has(l, folder, "objects") && has(l, folder, "refs") &&
                                       (has(l, folder, "HEAD") || has(l, folder, "worktrees")));
}

static void go_up(char *folder)
{
    char *slash = strrchr(folder, '/');
    *(slash ? slash : folder) = '\0';
}

/* Whether the folder's parent, or the parent of that, is a repository. */
static bool is_in_repository(const struct look *l, unsigned up)
{
    char folder[PATH_MAX];
    memcpy(folder, l->folder, sizeof(folder));
    for (; up > 0; up--)
        go_up(folder);
    return is_repository(l, folder);
}

static bool is_part(const struct look *l)
{
    return is_repository(l, l->folder) || has(l, l->folder, "HEAD") ||
           has(l, l->folder, "commondir") || is_in_repository(l, 2);
}

/* ---- texts ---- */

static ssize_t read_side(struct arena *a, int fd, char **text)
{
    OWN(fd) int owned = fd;
    *text = owned < 0 ? NULL : arena_alloc(a, TEXT_MOST);
    ssize_t n = *text ? fd_read_all(owned, *text, TEXT_MOST) : -1;
    return n < TEXT_MOST ? n : -1;
}

static bool read_settings(struct arena *a, int fd, struct git_config out[2])
{
    struct bk_err err;
    char *text;
    ssize_t n = read_side(a, fd, &text);
    return n >= 0 && git_config_read(a, text, (size_t)n, &out[0], &err) == 0 &&
           git_config_read_spaced(a, text, (size_t)n, &out[1], &err) == 0;
}

static bool is_harmless_config(struct arena *a, const struct look *l)
{
    char folder[PATH_MAX * 2];
    struct git_config old[2] = {{0}}, new[2] = {{0}};
    struct git_finding found;
    const struct change *c = l->c;
    if (!S_ISREG(c->new_mode) || (c->old_mode && !S_ISREG(c->old_mode)))
        return false;
    snprintf(folder, sizeof(folder), "%s%s%s", l->w->places[c->place].path, *l->folder ? "/" : "",
             l->folder);
    const struct git_place place = {.gitdir = folder};
    if ((c->old_mode && !read_settings(a, change_open_old(l->w, c), old)) ||
        !read_settings(a, change_open_new(l->w, c), new))
        return false;
    for (size_t i = 0; i < 2; i++) {
        const struct git_config *was = c->old_mode ? &old[i] : NULL;
        if (!git_change_is_harmless(a, &place, was, was, &new[i], &found))
            return false;
    }
    return true;
}

/* A .git file may lead to a repository's part that is new as well, in the same place. */
static bool is_own_pointer(struct arena *a, const struct look *l)
{
    char *text, folder[PATH_MAX * 2], target[PATH_MAX], path[PATH_MAX];
    const char *place = l->w->places[l->c->place].path;
    struct stat st;
    size_t n = strlen(place);
    ssize_t len = S_ISREG(l->c->new_mode) && !l->c->old_mode
                      ? read_side(a, change_open_new(l->w, l->c), &text)
                      : -1;
    snprintf(folder, sizeof(folder), "%s%s%s", place, *l->folder ? "/" : "", l->folder);
    if (len < 0 ||
        !git_pointer_read(text, (size_t)len, GIT_POINTER_DOTGIT, folder, target, sizeof(target)) ||
        strncmp(target, place, n) != 0 || target[n] != '/')
        return false;
    snprintf(path, sizeof(path), "%s", target + n + 1);
    return (strstr(path, ".git/modules/") || strstr(path, ".git/worktrees/")) &&
           change_finds(l->w, l->c->place, path, &st) && !change_found(l->w, l->c->place, path);
}

static bool is_common(struct arena *a, const struct look *l)
{
    static const char usual[] = "../..\n";
    char *text;
    ssize_t n = S_ISREG(l->c->new_mode) ? read_side(a, change_open_new(l->w, l->c), &text) : -1;
    return n == sizeof(usual) - 1 && memcmp(text, usual, (size_t)n) == 0;
}

static bool adds_nothing(struct arena *a, const struct look *l)
{
    char *was, *now;
    ssize_t n = read_side(a, change_open_old(l->w, l->c), &was);
    ssize_t m = n < 0 ? -1 : read_side(a, change_open_new(l->w, l->c), &now);
    return m >= 0 && (git_todo_is_quiet(now, (size_t)m) ||
                      git_todo_adds_nothing(was, (size_t)n, now, (size_t)m));
}

/* ---- names ---- */

typedef enum protected_class look_fn(struct arena *a, const struct look *l);

static enum protected_class settings_if(bool is)
{
    return is ? PROTECTED_GIT_SETTINGS : PROTECTED_NO_CLASS;
}

static enum protected_class see_config(struct arena *a, const struct look *l)
{
    return settings_if(is_repository(l, l->folder) && !is_harmless_config(a, l));
}

static enum protected_class see_worktree_config(struct arena *a, const struct look *l)
{
    (void)a;
    return settings_if(is_part(l));
}

static enum protected_class see_git_file(struct arena *a, const struct look *l)
{
    return settings_if(!S_ISDIR(l->c->new_mode) && !is_own_pointer(a, l));
}

static enum protected_class see_commondir(struct arena *a, const struct look *l)
{
    return settings_if(is_part(l) && !is_common(a, l));
}

static enum protected_class see_gitdir(struct arena *a, const struct look *l)
{
    (void)a;
    return settings_if(l->c->old_mode && is_part(l));
}

static enum protected_class see_folder(struct arena *a, const struct look *l)
{
    (void)a;
    return settings_if(!S_ISDIR(l->c->new_mode) && is_repository(l, l->folder));
}

/* What was there before becomes settings and hooks as soon as the folder is a repository. */
static enum protected_class see_part(struct arena *a, const struct look *l)
{
    char path[PATH_MAX * 2];
    static const char *const obeyed[] = {"config", "config.worktree", "hooks", "commondir"};
    (void)a;
    if (l->c->old_mode || is_named(l->folder, ".git") || !is_repository(l, l->folder))
        return PROTECTED_NO_CLASS;
    for (size_t i = 0; i < sizeof(obeyed) / sizeof(obeyed[0]); i++) {
        snprintf(path, sizeof(path), "%s%s%s", l->folder, *l->folder ? "/" : "", obeyed[i]);
        if (change_found(l->w, l->c->place, path))
            return PROTECTED_GIT_SETTINGS;
    }
    return PROTECTED_NO_CLASS;
}

/* Work that began in the world is the command's own. */
static enum protected_class see_list(struct arena *a, const struct look *l)
{
    bool is = l->c->old_mode && is_in_repository(l, 1) && !adds_nothing(a, l);
    return is ? PROTECTED_GIT_HOOKS : PROTECTED_NO_CLASS;
}

static enum protected_class see_state(struct arena *a, const struct look *l)
{
    (void)a;
    return l->c->old_mode && is_in_repository(l, 1) ? PROTECTED_GIT_HOOKS : PROTECTED_NO_CLASS;
}

static enum protected_class see_bisection(struct arena *a, const struct look *l)
{
    (void)a;
    return l->c->old_mode && is_part(l) ? PROTECTED_GIT_HOOKS : PROTECTED_NO_CLASS;
}

static const struct {
    const char *name;
    look_fn *see;
} names[] = {
    {"config", see_config},
    {"config.worktree", see_worktree_config},
    {".git", see_git_file},
    {"commondir", see_commondir},
    {"gitdir", see_gitdir},
    {"modules", see_folder},
    {"worktrees", see_folder},
    {"HEAD", see_part},
    {"objects", see_part},
    {"refs", see_part},
    {"git-rebase-todo", see_list},
    {"git-rebase-todo.backup", see_list},
    {"todo", see_list},
    {"author-script", see_state},
    {"apply-opt", see_state},
    {"strategy", see_state},
    {"strategy_opts", see_state},
    {"gpg_sign_opt", see_state},
    {"opts", see_state},
    {"BISECT_START", see_bisection},
    {"BISECT_NAMES", see_bisection},
    {"BISECT_TERMS", see_bisection},
};

/* Files that named remotes before git had settings, and that git still reads. */
static bool is_old_remote(const struct look *l)
{
    return !S_ISDIR(l->c->new_mode) &&
           (is_named(l->folder, "remotes") || is_named(l->folder, "branches")) &&
           is_in_repository(l, 1);
}

/* Git runs no sample. */
static bool is_template(const struct look *l)
{
    return S_ISDIR(l->c->new_mode) || (S_ISREG(l->c->new_mode) && ends_in(l->name, ".sample"));
}

/* Any folder on the path may be a repository's hooks folder, and so may the name itself. */
static bool is_hook(const struct look *l)
{
    static const char hooks[] = "hooks";
    size_t n = sizeof(hooks) - 1;
    for (const char *at = l->c->path; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL) {
        char above[PATH_MAX];
        size_t len = at == l->c->path ? 0 : (size_t)(at - l->c->path) - 1;
        if (strncasecmp(at, hooks, n) != 0 || (at[n] && at[n] != '/') || len >= sizeof(above))
            continue;
        memcpy(above, l->c->path, len);
        above[len] = '\0';
        if (is_repository(l, above))
            return true;
    }
    return false;
}

static enum protected_class see(struct arena *a, const struct look *l)
{
    if (is_hook(l))
        return is_template(l) ? PROTECTED_NO_CLASS : PROTECTED_GIT_HOOKS;
    /* most names begin with another letter */
    size_t n = strchr("aAbBcC.gGhHmMoOrRsStTwW", l->name[0]) ? sizeof(names) / sizeof(names[0]) : 0;
    for (size_t i = 0; i < n; i++)
        if (strcasecmp(l->name, names[i].name) == 0)
            return names[i].see(a, l);
    return settings_if(is_old_remote(l));
}

/* Whether what a pattern has marked is harmless by what is in it. */
static bool is_harmless(struct arena *a, const struct look *l)
{
    if (l->c->protected == PROTECTED_GIT_HOOKS)
        return is_template(l);
    return l->c->protected == PROTECTED_GIT_SETTINGS && strcasecmp(l->name, "config") == 0 &&
           is_harmless_config(a, l);
}

static void look(struct arena *a, const struct look *l, struct change *c)
{
    if (c->marks & MARK_PROTECTED) {
        if (!is_harmless(a, l))
            return;
        c->marks &= (uint8_t)~MARK_PROTECTED;
        c->protected = PROTECTED_NO_CLASS;
        return;
    }
    enum protected_class found = see(a, l);
    if (found == PROTECTED_NO_CLASS)
        return;
    c->marks |= MARK_PROTECTED;
    c->protected = (uint8_t)found;
}

void world_look_at_git(const struct world *w, struct changes *c)
{
    OWN(arena) struct arena a;
    struct look l;
    arena_init(&a, TEXT_MOST * 16);
    for (size_t i = 0; i < c->n; i++) {
        struct change *one = &c->at[i];
        if (one->kind == CHANGE_REMOVED || one->kind == CHANGE_FOLDER)
            continue;
        look_at(w, one, &l);
        look(&a, &l, one);
        arena_free(&a);
    }
}
