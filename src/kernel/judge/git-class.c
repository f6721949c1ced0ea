/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What a path is to git. The last component alone decides about most paths; only if it is one of
 * git's names does the judge look at the folder. To git, a folder is a repository if it has HEAD,
 * objects and refs; while a worktree has the HEAD, `worktrees` counts instead. The type of these
 * entries does not matter, because git follows symlinks.
 *
 * Names are compared without regard to case, for file systems that ignore it.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "kernel/judge/ask.h"
#include "kernel/judge/git-judge.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/resolve.h"

static const char *const extensions[] = {
    [GIT_JUDGED] = "buckle.git-judged", [GIT_SETTINGS] = "buckle.git-settings",
    [GIT_HOOKS] = "buckle.git-hooks",   [GIT_POINTER] = "buckle.git-pointer",
    [GIT_STATE] = "buckle.git-state",
};

void git_read_policy(struct judge *j)
{
    static const char prefix[] = "buckle.git-";
    j->git.wanted = false;
    for (uint32_t i = 0; !j->unjudged && i < graph_test_count(j->graph); i++) {
        const struct graph_test *t = graph_test_at(j->graph, i);
        if (t->filter == FILTER_EXTENSION && t->len > sizeof(prefix) - 1 &&
            memcmp(t->str, prefix, sizeof(prefix) - 1) == 0)
            j->git.wanted = true;
    }
}

size_t git_facts(enum git_class class, struct graph_fact *f)
{
    size_t n = 0;
    if (class == GIT_PLAIN)
        return 0;
    f[n++] = graph_extension_fact(extensions[GIT_JUDGED]);
    if (class != GIT_JUDGED)
        f[n++] = graph_extension_fact(extensions[class]);
    return n;
}

/* ---- paths ---- */

size_t git_parent_len(const char *path, size_t len)
{
    while (len > 0 && path[len - 1] != '/')
        len--;
    return len > 0 ? len - 1 : 0;
}

bool git_path_ends_in(const char *path, size_t len, const char *name)
{
    size_t n = strlen(name);
    return len > n && path[len - n - 1] == '/' && strncasecmp(path + len - n, name, n) == 0;
}

/* While a folder moves, its entries are still at the old path. */
static size_t place_of(const struct judge *j, const char *path, size_t len, char *out, size_t cap)
{
    const struct pinned *from = j->git.moving, *to = j->git.moving_to;
    size_t skip = 0, n = 0;
    if (to && len >= to->path_len && memcmp(path, to->path, to->path_len) == 0 &&
        (len == to->path_len || path[to->path_len] == '/')) {
        skip = to->path_len;
        n = from->path_len;
    }
    if (n + len - skip >= cap)
        return 0;
    memcpy(out, n ? from->path : "", n);
    memcpy(out + n, path + skip, len - skip);
    n += len - skip;
    out[n] = '\0';
    return n;
}

bool git_has(const struct judge *j, const char *path, size_t len, const char *name)
{
    char place[PATH_BYTES * 2];
    struct stat st;
    size_t n = place_of(j, path, len, place, sizeof(place) - 64);
    snprintf(place + n, 64, "/%s", name);
    /* assume that what cannot be read exists */
    return n == 0 || fstatat(AT_FDCWD, place, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
           (errno != ENOENT && errno != ENOTDIR);
}

bool git_is_gitdir(const struct judge *j, const char *path, size_t len)
{
    if (git_path_ends_in(path, len, ".git"))
        return true;
    return git_has(j, path, len, "objects") && git_has(j, path, len, "refs") &&
           (git_has(j, path, len, "HEAD") || git_has(j, path, len, "worktrees"));
}

bool git_is_worktree(const struct judge *j, const char *path, size_t len)
{
    size_t n = git_parent_len(path, len);
    return git_path_ends_in(path, n, "worktrees") &&
           git_is_gitdir(j, path, git_parent_len(path, n));
}

/* ---- classes ---- */

enum action { ACTION_NONE, ACTION_CONTENT, ACTION_REMOVE, ACTION_ATTRIBUTES };

static enum action action_of(enum vocab_op op)
{
    switch ((int)op) {
    case OP_FILE_WRITE:
    case OP_FILE_WRITE_CREATE:
    case OP_FILE_WRITE_DATA:
        return ACTION_CONTENT;
    case OP_FILE_WRITE_UNLINK:
        return ACTION_REMOVE;
    case OP_FILE_WRITE_ACL:
    case OP_FILE_WRITE_FLAGS:
    case OP_FILE_WRITE_MODE:
    case OP_FILE_WRITE_OWNER:
    case OP_FILE_WRITE_SETUGID:
    case OP_FILE_WRITE_TIMES:
    case OP_FILE_WRITE_XATTR:
        return ACTION_ATTRIBUTES;
    }
    return ACTION_NONE;
}

/* The question. */
struct asked {
    const struct judge *j;
    enum action action;
    const char *path;
    size_t len, parent; /* of the path, and of its folder's */
    mode_t type;        /* S_IFMT of the object; 0: unknown */
};

static bool is_created(const struct asked *a)
{
    return ask_is_created(a->j, a->path, a->len);
}

static bool in_gitdir(const struct asked *a)
{
    return git_is_gitdir(a->j, a->path, a->parent);
}

/* Whether the folder that the user works in, or one above it, has a file .git: its repository is
 * somewhere else. */
static bool cwd_is_linked(const char *cwd)
{
    char path[PATH_BYTES + 8];
    struct stat st;
    for (size_t n = strlen(cwd); n > 0 && n < PATH_BYTES; n--)
        if (cwd[n] == '\0' || cwd[n] == '/') {
            snprintf(path, sizeof(path), "%.*s/.git", (int)n, cwd);
            if (lstat(path, &st) == 0)
                return !S_ISDIR(st.st_mode);
        }
    return false;
}

/* Whether a repository, the first bytes of the path, may be removed: it is not the one that the
 * user works in. */
static bool is_removable(const struct asked *a, size_t gitdir)
{
    const char *cwd = a->j->own_folders.cwd;
    size_t n = git_parent_len(a->path, gitdir), len = strlen(cwd);
    if (!git_path_ends_in(a->path, gitdir, ".git"))
        return true;
    bool above = strncmp(a->path, cwd, n) == 0 && (cwd[n] == '\0' || cwd[n] == '/');
    bool below = n > len && strncmp(a->path, cwd, len) == 0 && a->path[len] == '/';
    return len > 0 && !above && (below || !cwd_is_linked(cwd));
}

/* Removing settings plants nothing, but those of the working tree must stay. */
static enum git_class classify_settings(const struct asked *a)
{
    if (!in_gitdir(a) || (a->action != ACTION_CONTENT && is_created(a)))
        return GIT_JUDGED;
    return a->action == ACTION_REMOVE && is_removable(a, a->parent) ? GIT_JUDGED : GIT_SETTINGS;
}

/* No other file has this name. */
static enum git_class classify_worktree_settings(const struct asked *a)
{
    if (a->action == ACTION_REMOVE && git_path_ends_in(a->path, a->parent, ".git") &&
        is_removable(a, a->parent))
        return GIT_JUDGED;
    return a->action != ACTION_CONTENT && is_created(a) ? GIT_JUDGED : GIT_SETTINGS;
}

/* A working tree's .gitmodules comes and goes with branches. */
static enum git_class classify_submodules(const struct asked *a)
{
    return a->action == ACTION_CONTENT ? GIT_SETTINGS : GIT_JUDGED;
}

static enum git_class pointer_class_if(const struct asked *a, bool is)
{
    return is && a->action == ACTION_CONTENT && a->type != S_IFDIR ? GIT_POINTER : GIT_JUDGED;
}

/* The policy has its own rule about symlinks. */
static enum git_class classify_git_file(const struct asked *a)
{
    return pointer_class_if(a, a->type != S_IFLNK);
}

static enum git_class classify_commondir(const struct asked *a)
{
    return pointer_class_if(a, in_gitdir(a) || git_is_worktree(a->j, a->path, a->parent) ||
                                   git_has(a->j, a->path, a->parent, "HEAD"));
}

static enum git_class classify_gitdir(const struct asked *a)
{
    return pointer_class_if(a, in_gitdir(a) || git_is_worktree(a->j, a->path, a->parent));
}

static enum git_class classify_folder(const struct asked *a)
{
    return pointer_class_if(a, in_gitdir(a));
}

/* A file of a rebase or sequence of commits that began before the command. */
static enum git_class classify_state(const struct asked *a, const char *folder)
{
    size_t n = git_parent_len(a->path, a->parent);
    if (a->action != ACTION_CONTENT || !git_path_ends_in(a->path, a->parent, folder) ||
        !(git_is_gitdir(a->j, a->path, n) || git_is_worktree(a->j, a->path, n)))
        return GIT_JUDGED;
    return is_created(a) ? GIT_JUDGED : GIT_STATE;
}

static enum git_class classify_rebase(const struct asked *a)
{
    return classify_state(a, "rebase-merge");
}

static enum git_class classify_apply(const struct asked *a)
{
    return classify_state(a, "rebase-apply");
}

static enum git_class classify_sequence(const struct asked *a)
{
    return classify_state(a, "sequencer");
}

/* These files are in the repository itself; a bisection that begins inside creates them. */
static enum git_class classify_bisect(const struct asked *a)
{
    if (a->action != ACTION_CONTENT || is_created(a) ||
        !(in_gitdir(a) || git_is_worktree(a->j, a->path, a->parent)))
        return GIT_JUDGED;
    return git_has(a->j, a->path, a->parent, a->path + a->parent + 1) ? GIT_STATE : GIT_JUDGED;
}

static const struct {
    const char *name;
    enum git_class (*class)(const struct asked *a);
} names[] = {
    {"config", classify_settings},        {"config.worktree", classify_worktree_settings},
    {".gitmodules", classify_submodules}, {".git", classify_git_file},
    {"commondir", classify_commondir},    {"gitdir", classify_gitdir},
    {"modules", classify_folder},         {"worktrees", classify_folder},
    {"git-rebase-todo", classify_rebase}, {"git-rebase-todo.backup", classify_rebase},
    {"author-script", classify_rebase},   {"apply-opt", classify_apply},
    {"strategy", classify_rebase},        {"strategy_opts", classify_rebase},
    {"gpg_sign_opt", classify_rebase},    {"todo", classify_sequence},
    {"opts", classify_sequence},          {"BISECT_START", classify_bisect},
    {"BISECT_NAMES", classify_bisect},    {"BISECT_TERMS", classify_bisect},
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

bool git_is_sample(const char *name, size_t len)
{
    static const char end[] = ".sample";
    size_t n = sizeof(end) - 1;
    return len > n && memcmp(name + len - n, end, n) == 0;
}

/* Whether a path, of which `in` bytes are below the hooks folder, is one that `git init` puts into
 * a new repository: the folder, and samples. */
static bool is_template(const struct asked *a, size_t in)
{
    const char *rest = a->path + a->len - in;
    if (in == 0)
        return a->type == S_IFDIR;
    return a->type == S_IFREG && !memchr(rest + 1, '/', in - 1) && git_is_sample(rest + 1, in - 1);
}

static enum git_class classify_hook(const struct asked *a, size_t gitdir, size_t in)
{
    bool created = is_created(a);
    if (created && (a->action == ACTION_REMOVE || is_template(a, in)))
        return GIT_JUDGED;
    bool named = git_path_ends_in(a->path, gitdir, ".git");
    bool harmless = !named || (is_template(a, in) && is_removable(a, gitdir));
    return a->action == ACTION_REMOVE && harmless ? GIT_JUDGED : GIT_HOOKS;
}

/* Any folder on the path may be a repository's hooks folder. */
static enum git_class classify_hooks(const struct asked *a)
{
    static const char name[] = "/hooks";
    size_t n = sizeof(name) - 1;
    enum git_class found = GIT_PLAIN;
    for (size_t i = 0; i + n <= a->len; i++) {
        if (a->path[i] != '/' || strncasecmp(a->path + i, name, n) != 0 ||
            (i + n < a->len && a->path[i + n] != '/'))
            continue;
        found = GIT_JUDGED;
        if (git_is_gitdir(a->j, a->path, i))
            return classify_hook(a, i, a->len - i - n);
    }
    return found;
}

/* Files that named remotes before git had settings, and that git still reads. */
static bool is_old_remote(const struct asked *a)
{
    return a->action == ACTION_CONTENT && a->type != S_IFDIR &&
           (git_path_ends_in(a->path, a->parent, "remotes") ||
            git_path_ends_in(a->path, a->parent, "branches")) &&
           git_is_gitdir(a->j, a->path, git_parent_len(a->path, a->parent));
}

enum git_class git_class_of(const struct judge *j, enum vocab_op op, const char *path, size_t len,
                            const struct stat *st)
{
    struct asked a = {j, action_of(op), path, len, git_parent_len(path, len), 0};
    size_t n = len - a.parent - 1;
    if (a.action == ACTION_NONE || len == 0 || path[0] != '/')
        return GIT_PLAIN;
    a.type = st ? st->st_mode & S_IFMT : 0;
    if (j->git.cleared && len == j->git.cleared_len && memcmp(path, j->git.cleared, len) == 0)
        return GIT_JUDGED;
    /* most names begin with another letter */
    for (size_t i = strchr("aAbBcC.gGmMoOsStTwW", path[a.parent + 1]) ? 0 : NAMES; i < NAMES; i++)
        if (strncasecmp(path + a.parent + 1, names[i].name, n) == 0 && !names[i].name[n])
            return names[i].class(&a);
    return is_old_remote(&a) ? GIT_SETTINGS : classify_hooks(&a);
}
