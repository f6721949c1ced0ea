/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Git reads the settings of the machine, the user and the repository, and what each of them
 * includes. Conditional includes always count here: a branch or a remote can make them true later.
 * A relative path starts at the including file, or else at the top of the working tree, where git
 * runs commands.
 */

#include "run/gitfiles.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/own.h"
#include "git/gitdir.h"
#include "git/names.h"

enum { TEXT_MAX = 256 << 10, MEMORY = 4 << 20, FILES_MAX = 64, DEPTH_MAX = 10, NAMED_MAX = 256 };

struct finder {
    struct arena arena;
    const char *cwd, *home;
    char top[PATH_MAX]; /* of the working tree; "": there is none */
    git_files_fn *each;
    void *arg;
    size_t files, named;
    int depth;
    char folder[PATH_MAX]; /* of the settings being read */
    struct bk_err *err;
};

/* ---- paths ---- */

/* Resolves the existing part of a path. */
static bool real_path(const char *path, char out[PATH_MAX])
{
    char folder[PATH_MAX];
    if (realpath(path, out))
        return true;
    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    if (!slash || slash == folder || strlen(slash) < 2)
        return false;
    *slash = '\0';
    size_t n = real_path(folder, out) ? strlen(out) : PATH_MAX;
    return n + strlen(slash + 1) + 2 < PATH_MAX &&
           snprintf(out + n, PATH_MAX - n, "/%s", slash + 1) > 0;
}

/* The name itself, unresolved: a symlink there could be replaced. */
static bool real_name(const char *path, char out[PATH_MAX])
{
    char folder[PATH_MAX], at[PATH_MAX];
    snprintf(folder, sizeof(folder), "%s", path);
    char *slash = strrchr(folder, '/');
    if (!slash || strlen(slash) < 2 || strcmp(slash, "/.") == 0 || strcmp(slash, "/..") == 0)
        return false;
    *slash = '\0';
    return real_path(slash == folder ? "/" : folder, at) &&
           snprintf(out, PATH_MAX, "%s/%s", strcmp(at, "/") == 0 ? "" : at, slash + 1) < PATH_MAX;
}

/* A setting's value as a path; false if it cannot be one. */
static bool place_of(const struct finder *f, const char *word, const char *start,
                     char out[PATH_MAX])
{
    int n;
    if (word[0] == '/')
        n = snprintf(out, PATH_MAX, "%s", word);
    else if (strncmp(word, "~/", 2) == 0 && f->home)
        n = snprintf(out, PATH_MAX, "%s/%s", f->home, word + 2);
    else if (word[0] != '~' && word[0] != '%' && start[0])
        n = snprintf(out, PATH_MAX, "%s/%s", start, word);
    else
        return false;
    return n > 0 && n < PATH_MAX;
}

static bool covers(const char *folder, const char *path)
{
    size_t n = strlen(folder);
    return strcmp(folder, "/") == 0 ||
           (strncmp(path, folder, n) == 0 && (path[n] == '/' || !path[n]));
}

/* ---- telling ---- */

static int report_path(struct finder *f, const char *path, const char *key)
{
    if (f->named++ == NAMED_MAX)
        return err_set(f->err, BK_E_LIMIT, "git's settings name more than %d files", NAMED_MAX);
    return f->each(f->arg, path, key, f->err);
}

/* Single hooks of a folder that cannot be denied as a whole, because the command works in it. */
static int report_hooks(struct finder *f, const char *folder, const char *key)
{
    static const char *const hooks[] = {
        "applypatch-msg",
        "commit-msg",
        "fsmonitor-watchman",
        "p4-changelist",
        "p4-post-changelist",
        "p4-pre-submit",
        "p4-prepare-changelist",
        "post-applypatch",
        "post-checkout",
        "post-commit",
        "post-index-change",
        "post-merge",
        "post-receive",
        "post-rewrite",
        "post-update",
        "pre-applypatch",
        "pre-auto-gc",
        "pre-commit",
        "pre-merge-commit",
        "pre-push",
        "pre-rebase",
        "pre-receive",
        "prepare-commit-msg",
        "proc-receive",
        "push-to-checkout",
        "reference-transaction",
        "sendemail-validate",
        "update",
    };
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof(hooks) / sizeof(hooks[0]); i++)
        if (snprintf(path, sizeof(path), "%s/%s", folder, hooks[i]) < PATH_MAX &&
            report_path(f, path, key) < 0)
            return -1;
    return 0;
}

static int report_place(struct finder *f, const char *place, const char *key)
{
    char real[PATH_MAX], name[PATH_MAX];
    bool has_real = real_path(place, real), has_name = real_name(place, name);
    if (has_real && covers(real, f->cwd))
        return strcmp(key, "core.hookspath") == 0 ? report_hooks(f, real, key) : 0;
    if (has_real && report_path(f, real, key) < 0)
        return -1;
    return has_name && !(has_real && strcmp(name, real) == 0) ? report_path(f, name, key) : 0;
}

/* ---- reading ---- */

static int read_settings(struct finder *f, const char *path);

static bool includes(const char *key)
{
    return strcmp(key, "include.path") == 0 || strncmp(key, "includeif.", 10) == 0;
}

static int on_word(void *arg, const char *key, const char *word, bool on_path)
{
    struct finder *f = arg;
    char place[PATH_MAX];
    bool include = includes(key);
    if (on_path || !place_of(f, word, include ? f->folder : f->top, place))
        return 0;
    if (report_place(f, place, key) < 0)
        return -1;
    return include ? read_settings(f, place) : 0;
}

static char *read_text(struct finder *f, const char *path, size_t *n)
{
    struct stat st;
    OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > TEXT_MAX)
        return NULL;
    char *text = arena_alloc(&f->arena, (size_t)st.st_size + 1);
    ssize_t got = text ? read(fd, text, (size_t)st.st_size) : -1;
    *n = got < 0 ? 0 : (size_t)got;
    return got < 0 ? NULL : text;
}

static int read_settings(struct finder *f, const char *path)
{
    char outer[PATH_MAX];
    struct git_config c;
    struct bk_err unread;
    size_t n;
    if (f->files++ == FILES_MAX || f->depth == DEPTH_MAX)
        return 0; /* git follows ten */
    char *text = read_text(f, path, &n);
    if (!text || git_config_read(&f->arena, text, n, &c, &unread) < 0)
        return 0;
    memcpy(outer, f->folder, sizeof(outer));
    snprintf(f->folder, sizeof(f->folder), "%s", path);
    char *slash = strrchr(f->folder, '/');
    if (slash)
        *slash = '\0';
    f->depth++;
    int err = git_config_files(&f->arena, &c, on_word, f);
    f->depth--;
    memcpy(f->folder, outer, sizeof(outer));
    return err;
}

static int read_named(struct finder *f, const char *folder, const char *name)
{
    char path[PATH_MAX];
    return folder && snprintf(path, sizeof(path), "%s/%s", folder, name) < PATH_MAX
               ? read_settings(f, path)
               : 0;
}

static int read_creds(struct finder *f)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *named = getenv("GIT_CONFIG_GLOBAL");
    if (named)
        return read_settings(f, named);
    if (read_named(f, f->home, ".gitconfig") < 0)
        return -1;
    return config && config[0] ? read_named(f, config, "git/config")
                               : read_named(f, f->home, ".config/git/config");
}

static int read_all(struct finder *f)
{
    const char *own = NULL, *common = NULL;
    if (git_folders(&f->arena, f->cwd, &own, &common, f->err) < 0)
        return -1;
    if (own)
        git_top(f->cwd, f->top);
    if (read_settings(f, "/etc/gitconfig") < 0 || read_creds(f) < 0)
        return -1;
    return read_named(f, common ? common : own, "config") < 0 ||
                   read_named(f, own, "config.worktree") < 0
               ? -1
               : 0;
}

int git_files_find(const char *cwd, const char *home, git_files_fn *each, void *arg,
                   struct bk_err *err)
{
    struct finder f = {.cwd = cwd, .home = home, .each = each, .arg = arg, .err = err};
    arena_init(&f.arena, MEMORY);
    int result = read_all(&f);
    arena_free(&f.arena);
    return result;
}
