/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What a path is to git. Most paths are told apart by their last name alone; only where that is one
 * of git's, a look at the folder follows. Git takes a folder for a repository when it has HEAD,
 * objects and refs; where a worktree has HEAD instead, `worktrees` stands for it. Names count
 * whatever their type, since git follows links.
 *
 * Names are compared without regard to case, for file systems that do not tell it apart.
 */

#include "kernel/judge/git-judge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "kernel/judge/ask.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/resolve.h"

static const char *const extensions[] = {
    [GIT_JUDGED] = "buckle.git-judged", [GIT_SETTINGS] = "buckle.git-settings",
    [GIT_HOOKS] = "buckle.git-hooks",   [GIT_POINTER] = "buckle.git-pointer",
    [GIT_STATE] = "buckle.git-state",
};

void git_heed(struct judge *w)
{
    static const char prefix[] = "buckle.git-";
    w->git.wanted = false;
    for (uint32_t i = 0; i < graph_test_count(w->graph); i++) {
        const struct graph_test *t = graph_test_at(w->graph, i);
        if (t->filter == FILTER_EXTENSION && t->len > sizeof(prefix) - 1 &&
            memcmp(t->str, prefix, sizeof(prefix) - 1) == 0)
            w->git.wanted = true;
    }
}

size_t git_facts(enum git_class class, struct graph_fact *f)
{
    size_t n = 0;
    if (class == GIT_PLAIN)
        return 0;
    f[n++] = (struct graph_fact){.filter = FILTER_EXTENSION,
                                 .str = extensions[GIT_JUDGED],
                                 .len = (uint32_t)strlen(extensions[GIT_JUDGED])};
    if (class != GIT_JUDGED)
        f[n++] = (struct graph_fact){.filter = FILTER_EXTENSION,
                                     .str = extensions[class],
                                     .len = (uint32_t)strlen(extensions[class])};
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

/* A folder that is about to move is looked at where it still is. */
static size_t place_of(const struct judge *w, const char *path, size_t len, char *out, size_t cap)
{
    const struct pinned *from = w->moving, *to = w->moving_to;
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

bool git_has(const struct judge *w, const char *path, size_t len, const char *name)
{
    char place[PATH_BYTES * 2];
    struct stat st;
    size_t n = place_of(w, path, len, place, sizeof(place) - 64);
    snprintf(place + n, 64, "/%s", name);
    /* what cannot be seen may be there */
    return n == 0 || fstatat(AT_FDCWD, place, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
           (errno != ENOENT && errno != ENOTDIR);
}

bool git_is_gitdir(const struct judge *w, const char *path, size_t len)
{
    if (git_path_ends_in(path, len, ".git"))
        return true;
    return git_has(w, path, len, "objects") && git_has(w, path, len, "refs") &&
           (git_has(w, path, len, "HEAD") || git_has(w, path, len, "worktrees"));
}

bool git_is_worktree(const struct judge *w, const char *path, size_t len)
{
    size_t n = git_parent_len(path, len);
    return git_path_ends_in(path, n, "worktrees") &&
           git_is_gitdir(w, path, git_parent_len(path, n));
}

/* ---- classes ---- */

enum doing { DOES_NOTHING, DOES_CONTENT, DOES_REMOVE, DOES_ATTRIBUTES };

static enum doing doing_of(enum vocab_op op)
{
    switch ((int)op) {
    case OP_FILE_WRITE:
    case OP_FILE_WRITE_CREATE:
    case OP_FILE_WRITE_DATA:
        return DOES_CONTENT;
    case OP_FILE_WRITE_UNLINK:
        return DOES_REMOVE;
    case OP_FILE_WRITE_ACL:
    case OP_FILE_WRITE_FLAGS:
    case OP_FILE_WRITE_MODE:
    case OP_FILE_WRITE_OWNER:
    case OP_FILE_WRITE_SETUGID:
    case OP_FILE_WRITE_TIMES:
    case OP_FILE_WRITE_XATTR:
        return DOES_ATTRIBUTES;
    }
    return DOES_NOTHING;
}

/* What is asked about. */
struct asked {
    const struct judge *w;
    enum doing doing;
    const char *path;
    size_t len, parent; /* of the path, and of the folder's */
    mode_t type;        /* S_IFMT of it; 0: unknown */
};

static bool is_created(const struct asked *a)
{
    return ask_is_created(a->w, a->path, a->len);
}

static bool in_gitdir(const struct asked *a)
{
    return git_is_gitdir(a->w, a->path, a->parent);
}

/* Removing settings plants nothing; but those of a working tree are not removed. */
static enum git_class settings(const struct asked *a)
{
    if (!in_gitdir(a) || (a->doing != DOES_CONTENT && is_created(a)))
        return GIT_JUDGED;
    bool named = git_path_ends_in(a->path, a->parent, ".git");
    return a->doing == DOES_REMOVE && !named ? GIT_JUDGED : GIT_SETTINGS;
}

/* Nothing else is called so. */
static enum git_class worktree_settings(const struct asked *a)
{
    return a->doing != DOES_CONTENT && is_created(a) ? GIT_JUDGED : GIT_SETTINGS;
}

/* The working tree's own settings of submodules come and go with branches. */
static enum git_class submodules(const struct asked *a)
{
    return a->doing == DOES_CONTENT ? GIT_SETTINGS : GIT_JUDGED;
}

static enum git_class pointer_if(const struct asked *a, bool is)
{
    return is && a->doing == DOES_CONTENT && a->type != S_IFDIR ? GIT_POINTER : GIT_JUDGED;
}

/* A link is the policy's own affair: it has a rule about those. */
static enum git_class git_file(const struct asked *a)
{
    return pointer_if(a, a->type != S_IFLNK);
}

static enum git_class common_folder(const struct asked *a)
{
    return pointer_if(a, in_gitdir(a) || git_is_worktree(a->w, a->path, a->parent) ||
                             git_has(a->w, a->path, a->parent, "HEAD"));
}

static enum git_class worktree_pointer(const struct asked *a)
{
    return pointer_if(a, in_gitdir(a) || git_is_worktree(a->w, a->path, a->parent));
}

static enum git_class folder_only(const struct asked *a)
{
    return pointer_if(a, in_gitdir(a));
}

/* The folder of a rebase or a sequence of commits that somebody began before. */
static enum git_class state_in(const struct asked *a, const char *folder)
{
    size_t n = git_parent_len(a->path, a->parent);
    if (a->doing != DOES_CONTENT || !git_path_ends_in(a->path, a->parent, folder) ||
        !(git_is_gitdir(a->w, a->path, n) || git_is_worktree(a->w, a->path, n)))
        return GIT_JUDGED;
    return is_created(a) ? GIT_JUDGED : GIT_STATE;
}

static enum git_class rebase_state(const struct asked *a)
{
    return state_in(a, "rebase-merge");
}

static enum git_class apply_state(const struct asked *a)
{
    return state_in(a, "rebase-apply");
}

static enum git_class sequence_state(const struct asked *a)
{
    return state_in(a, "sequencer");
}

/* These lie in the repository itself; a bisection begun inside makes them. */
static enum git_class bisect_state(const struct asked *a)
{
    if (a->doing != DOES_CONTENT || is_created(a) ||
        !(in_gitdir(a) || git_is_worktree(a->w, a->path, a->parent)))
        return GIT_JUDGED;
    return git_has(a->w, a->path, a->parent, a->path + a->parent + 1) ? GIT_STATE : GIT_JUDGED;
}

static const struct {
    const char *name;
    enum git_class (*class)(const struct asked *a);
} names[] = {
    {"config", settings},
    {"config.worktree", worktree_settings},
    {".gitmodules", submodules},
    {".git", git_file},
    {"commondir", common_folder},
    {"gitdir", worktree_pointer},
    {"modules", folder_only},
    {"worktrees", folder_only},
    {"git-rebase-todo", rebase_state},
    {"git-rebase-todo.backup", rebase_state},
    {"author-script", rebase_state},
    {"apply-opt", apply_state},
    {"strategy", rebase_state},
    {"strategy_opts", rebase_state},
    {"gpg_sign_opt", rebase_state},
    {"todo", sequence_state},
    {"opts", sequence_state},
    {"BISECT_START", bisect_state},
    {"BISECT_NAMES", bisect_state},
    {"BISECT_TERMS", bisect_state},
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

bool git_is_sample(const char *name, size_t len)
{
    static const char end[] = ".sample";
    size_t n = sizeof(end) - 1;
    return len > n && memcmp(name + len - n, end, n) == 0;
}

/* Whether a path inside the folder of hooks, of which `in` bytes remain, is what `git init` puts
 * into a repository that the command makes: the folder, and samples. */
static bool is_template(const struct asked *a, size_t in)
{
    const char *rest = a->path + a->len - in;
    if (in == 0)
        return a->type == S_IFDIR;
    return a->type == S_IFREG && !memchr(rest + 1, '/', in - 1) && git_is_sample(rest + 1, in - 1);
}

static enum git_class hook_class(const struct asked *a, size_t gitdir, size_t in)
{
    bool created = is_created(a);
    if (created && (a->doing == DOES_REMOVE || is_template(a, in)))
        return GIT_JUDGED;
    bool named = git_path_ends_in(a->path, gitdir, ".git");
    return a->doing == DOES_REMOVE && !named ? GIT_JUDGED : GIT_HOOKS;
}

/* Any folder on the way may be the one of a repository's hooks. */
static enum git_class hooks(const struct asked *a)
{
    static const char name[] = "/hooks";
    size_t n = sizeof(name) - 1;
    enum git_class found = GIT_PLAIN;
    for (size_t i = 0; i + n <= a->len; i++) {
        if (a->path[i] != '/' || strncasecmp(a->path + i, name, n) != 0 ||
            (i + n < a->len && a->path[i + n] != '/'))
            continue;
        found = GIT_JUDGED;
        if (git_is_gitdir(a->w, a->path, i))
            return hook_class(a, i, a->len - i - n);
    }
    return found;
}

/* What git read before it had settings: files that say where a remote is. */
static bool is_old_remote(const struct asked *a)
{
    return a->doing == DOES_CONTENT && a->type != S_IFDIR &&
           (git_path_ends_in(a->path, a->parent, "remotes") ||
            git_path_ends_in(a->path, a->parent, "branches")) &&
           git_is_gitdir(a->w, a->path, git_parent_len(a->path, a->parent));
}

enum git_class git_class_of(const struct judge *w, enum vocab_op op, const char *path, size_t len,
                            const struct stat *st)
{
    struct asked a = {w, doing_of(op), path, len, git_parent_len(path, len), 0};
    size_t n = len - a.parent - 1;
    if (a.doing == DOES_NOTHING || len == 0 || path[0] != '/')
        return GIT_PLAIN;
    a.type = st ? st->st_mode & S_IFMT : 0;
    if (w->git.cleared && len == w->git.cleared_len && memcmp(path, w->git.cleared, len) == 0)
        return GIT_JUDGED;
    /* most names begin otherwise */
    for (size_t i = strchr("aAbBcC.gGmMoOsStTwW", path[a.parent + 1]) ? 0 : NAMES; i < NAMES; i++)
        if (strncasecmp(path + a.parent + 1, names[i].name, n) == 0 && !names[i].name[n])
            return names[i].class(&a);
    return is_old_remote(&a) ? GIT_SETTINGS : hooks(&a);
}
