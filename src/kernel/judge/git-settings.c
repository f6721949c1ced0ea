/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Judges content that git obeys before it takes effect. Git replaces settings by renaming a file
 * that it wrote next to them, so the judge reads the new settings at the rename. It puts a copy in
 * place: the writer may still have a descriptor, or another name, of its own file.
 *
 * A folder becomes a bare repository as soon as it has HEAD, objects and refs, in any order. The
 * call that would complete it judges the settings that already exist there.
 */

#include "kernel/judge/git-judge.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/own.h"
#include "git/change.h"
#include "git/config.h"
#include "git/todo.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/path-set.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/resolve.h"

enum { MEMORY = 12 * GIT_TEXT_MAX, FIRST_MEMORY = 512 << 10 };

void git_clear(struct judge *j)
{
    j->git.cleared = NULL;
    j->git.detail[0] = '\0';
}

static void set_detail(struct judge *j, const char *what)
{
    snprintf(j->git.detail, sizeof(j->git.detail), "%s", what);
}

/* ---- files ---- */

ssize_t git_read_file(int folder, const char *name, char *text, size_t max, struct stat *st)
{
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    OWN(fd) int fd = openat(folder, name, flags);
    if (fd < 0 || fstat(fd, st) < 0)
        return -errno;
    if (!S_ISREG(st->st_mode))
        return -EFBIG;
    ssize_t n = fd_read_all(fd, text, max);
    return n < 0 ? -errno : (size_t)n == max ? -EFBIG : n;
}

int git_publish(int folder, const char *name, const char *text, size_t n, mode_t mode)
{
    char temporary[32];
    uint64_t number;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return -EIO;
    snprintf(temporary, sizeof(temporary), ".buckle-%016llx", (unsigned long long)number);
    OWN(fd) int fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    int err = fd_write_all(fd, text, n) < 0 ? -errno : 0;
    if (err == 0 && (fchmod(fd, mode & 0777) < 0 || renameat(folder, temporary, folder, name) < 0))
        err = -errno;
    if (err < 0)
        unlinkat(folder, temporary, 0);
    return err;
}

/* ---- settings ---- */

/* A submodule's working tree must be inside that of the enclosing repository. */
static void place_submodule(const char *path, size_t len, struct arena *a, struct git_place *place)
{
    static const char inside[] = "/.git/modules/";
    const char *at = memmem(path, len, inside, sizeof(inside) - 1);
    if (!at)
        return;
    place->submodule = true;
    place->worktree = at == path ? "/" : arena_strndup(a, path, (size_t)(at - path));
}

/* Returns the settings from before the command first changed them, and remembers them. */
static bool first_text(struct judge *j, const char *path, size_t len, const char *was, size_t n,
                       struct git_first *out)
{
    struct git_judge *g = &j->git;
    for (unsigned i = 0; i < g->nfirst; i++)
        if (strlen(g->first[i].path) == len && memcmp(g->first[i].path, path, len) == 0) {
            *out = g->first[i];
            return true;
        }
    if (!g->memory.limit)
        arena_init(&g->memory, FIRST_MEMORY);
    *out = (struct git_first){arena_strndup(&g->memory, path, len),
                              arena_strndup(&g->memory, was, n), n};
    if (g->nfirst == GIT_FIRSTS || !out->path || !out->text)
        return false;
    g->first[g->nfirst++] = *out;
    return true;
}

struct reading {
    struct arena a;
    struct git_config first, was, now, beside;
    bool has_first, has_was, has_beside;
};

static bool parse_settings(struct judge *j, struct arena *a, const char *text, size_t n,
                           struct git_config *out)
{
    struct bk_err err;
    if (git_config_read(a, text, n, out, &err) == 0)
        return true;
    set_detail(j, "not valid as git's settings");
    return false;
}

/* Reads the settings that will be replaced, and those from before. */
static bool read_old(struct judge *j, const char *path, size_t len, int folder, const char *name,
                     struct reading *r)
{
    struct stat st;
    struct git_first first;
    char *text = arena_alloc(&r->a, GIT_TEXT_MAX);
    ssize_t n = text ? git_read_file(folder, name, text, GIT_TEXT_MAX, &st) : -ENOMEM;
    bool own = ask_is_created(j, path, len);
    if (n == -ENOENT)
        n = 0;
    else if (n >= 0)
        r->has_was = true;
    if (n < 0 || (r->has_was && !parse_settings(j, &r->a, text, (size_t)n, &r->was)))
        return false;
    if (own)
        return true;
    r->has_first = true;
    return first_text(j, path, len, text, (size_t)n, &first) &&
           parse_settings(j, &r->a, first.text, first.len, &r->first);
}

/* Reads the settings that git combines with this file: a worktree's come after the repository's.
 * Ignores unreadable ones; git would stop there. */
static void read_beside(struct judge *j, const char *path, size_t len, int folder,
                        struct reading *r)
{
    static const char *const others[] = {"config", "../../config"};
    struct stat st;
    char *text = arena_alloc(&r->a, GIT_TEXT_MAX);
    bool worktree = git_path_ends_in(path, len, "config.worktree");
    const char *other =
        worktree ? others[git_is_worktree(j, path, git_parent_len(path, len))] : "config.worktree";
    ssize_t n = text ? git_read_file(folder, other, text, GIT_TEXT_MAX, &st) : -ENOMEM;
    r->has_beside = n >= 0 && parse_settings(j, &r->a, text, (size_t)n, &r->beside);
}

/* core.worktree must not lead out through a symlink. */
static bool worktree_is_real(struct judge *j, const struct git_place *place,
                             const struct git_config *now)
{
    char path[PATH_BYTES];
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS};
    for (size_t i = 0; i < now->n; i++) {
        const struct git_entry *e = &now->entries[i];
        if (strcmp(e->key, "core.worktree") != 0 || !place->submodule)
            continue;
        bool inside = e->value && git_worktree_of(place, e->value, path, sizeof(path));
        OWN(fd) int fd = inside ? (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how)) : -1;
        if (!inside || (fd < 0 && errno != ENOENT)) {
            set_detail(j, "core.worktree");
            return false;
        }
    }
    return true;
}

bool git_settings_are_harmless(struct judge *j, const char *path, size_t len, int folder,
                               const char *name, const char *text, size_t n)
{
    struct reading r = {.has_first = false};
    struct git_place place = {0};
    struct git_finding found = {0};
    bool harmless = false;
    arena_init(&r.a, MEMORY);
    set_detail(j, "too many settings");
    place.gitdir = arena_strndup(&r.a, path, git_parent_len(path, len));
    place_submodule(path, len, &r.a, &place);
    const struct git_config *beside = &r.beside;
    if (folder >= 0)
        read_beside(j, path, len, folder, &r);
    place.beside = &beside;
    place.nbeside = r.has_beside;
    if (place.gitdir && (folder < 0 || read_old(j, path, len, folder, name, &r)) &&
        parse_settings(j, &r.a, text, n, &r.now)) {
        harmless = git_change_is_harmless(&r.a, &place, r.has_first ? &r.first : NULL,
                                          r.has_was ? &r.was : NULL, &r.now, &found);
        if (!harmless)
            set_detail(j, found.key ? found.key : "too many settings");
        else
            harmless = worktree_is_real(j, &place, &r.now);
    }
    arena_free(&r.a);
    if (harmless)
        j->git.detail[0] = '\0';
    return harmless;
}

/* ---- moving a file into place ---- */

/* What was judged is what is put in place. Only one thread performs calls. */
static char judged[GIT_TEXT_MAX], replaced[GIT_TEXT_MAX];
static size_t judged_len;

/* In a rebase that began before the command, a todo list may lose lines that execute, but not gain
 * any. */
static bool todo_is_harmless(struct judge *j, const struct pinned *new)
{
    struct stat st;
    ssize_t n = git_read_file(new->parent, new->name, replaced, sizeof(replaced), &st);
    if (n >= 0 && git_todo_adds_nothing(replaced, (size_t)n, judged, judged_len))
        return true;
    set_detail(j, "exec");
    return false;
}

static bool is_todo(const struct pinned *p)
{
    return strcasecmp(p->name, "git-rebase-todo") == 0 || strcasecmp(p->name, "todo") == 0;
}

static bool content_is_harmless(struct judge *j, enum git_class class, const struct pinned *new)
{
    const char *path = new->path;
    switch (class) {
    case GIT_SETTINGS:
        return git_settings_are_harmless(j, path, new->path_len, new->parent, new->name, judged,
                                         judged_len);
    case GIT_POINTER:
        return git_pointer_is_own(j, path, new->path_len, judged, judged_len) && !new->found;
    case GIT_STATE:
        return is_todo(new) ? todo_is_harmless(j, new)
                            : git_state_is_safe(new->name, judged, judged_len);
    default:
        return false;
    }
}

int git_judge_move(struct judge *j, const struct request *r, const struct pinned *old,
                   const struct pinned *new, unsigned flags)
{
    struct stat st;
    enum git_class class =
        git_class_of(j, OP_FILE_WRITE_CREATE, new->path, new->path_len, &old->st);
    if (class <= GIT_JUDGED || !S_ISREG(old->st.st_mode) || flags ||
        would_allow(j, OP_FILE_WRITE_CREATE, new->path, new->path_len, &old->st))
        return 0;
    set_detail(j, "a file that cannot be read");
    ssize_t n = git_read_file(old->parent, old->name, judged, sizeof(judged), &st);
    judged_len = n < 0 ? 0 : (size_t)n;
    bool read = n >= 0 && st.st_ino == old->st.st_ino && st.st_dev == old->st.st_dev;
    if (read)
        j->git.detail[0] = '\0';
    if (!read || !content_is_harmless(j, class, new))
        return ask_git(j, r, class, new->path, new->path_len, &old->st);
    j->git.cleared = new->path;
    j->git.cleared_len = new->path_len;
    return 1;
}

int git_put_copy(const struct pinned *old, const struct pinned *new)
{
    int err = git_publish(new->parent, new->name, judged, judged_len, old->st.st_mode);
    if (err == 0 && unlinkat(old->parent, old->name, 0) < 0)
        err = -errno;
    return err;
}

/* ---- moving folders ---- */

/* `commondir` says ../.., so a worktree's folder in another place would belong to another
 * repository, which may not have been judged. */
int git_ask_folder_move(struct judge *j, const struct request *r, const struct pinned *old,
                        const struct pinned *new)
{
    struct stat st = {.st_mode = S_IFREG};
    bool whole = git_path_ends_in(old->path, old->path_len, "worktrees") &&
                 git_is_gitdir(j, old->path, git_parent_len(old->path, old->path_len));
    if (!whole && !git_has(j, old->path, old->path_len, "commondir"))
        return 0;
    return ask_git(j, r, GIT_POINTER, new->path, new->path_len, &st);
}

/* ---- completing a repository ---- */

/* A folder that becomes a repository, and room for the paths of its entries. */
struct completing {
    struct judge *j;
    const struct request *r;
    int folder;
    char path[PATH_BYTES * 2];
    size_t len; /* of the folder's path */
};

static int ask_entry(struct completing *c, enum git_class class, const char *name, mode_t type)
{
    struct stat st = {.st_mode = type};
    size_t n = strlen(name);
    if (c->len + n + 2 > sizeof(c->path))
        return -ENAMETOOLONG;
    snprintf(c->path + c->len, n + 2, "/%s", name);
    return ask_git(c->j, c->r, class, c->path, c->len + 1 + n, &st);
}

/* A copy to which nobody has a descriptor. It has the old time: the command changed nothing. */
static int publish_again(const struct completing *c, const char *name, const struct stat *was)
{
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, was->st_mtim};
    int err = git_publish(c->folder, name, judged, judged_len, was->st_mode);
    if (err == 0)
        utimensat(c->folder, name, times, AT_SYMLINK_NOFOLLOW);
    return err;
}

static int check_present_settings(struct completing *c, const char *name)
{
    struct stat st;
    if (fstatat(c->folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -errno;
    size_t n = (size_t)snprintf(c->path + c->len, sizeof(c->path) - c->len, "/%s", name);
    ssize_t have = git_read_file(c->folder, name, judged, sizeof(judged), &st);
    judged_len = have < 0 ? 0 : (size_t)have;
    set_detail(c->j, "a file that cannot be read");
    if (have >= 0 &&
        git_settings_are_harmless(c->j, c->path, c->len + n, -1, name, judged, judged_len))
        return publish_again(c, name, &st);
    int err = ask_entry(c, GIT_SETTINGS, name, S_IFREG);
    git_clear(c->j);
    return err;
}

/* Hooks may only be samples, which git does not run. */
static int check_present_hooks(struct completing *c)
{
    struct stat st;
    int fd = openat(c->folder, "hooks", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d)
        return ask_entry(c, GIT_HOOKS, "hooks", S_IFLNK);
    int err = 0;
    for (struct dirent *e; err == 0 && (e = readdir(d));) {
        char name[300];
        bool dots = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
        bool plain = fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
        snprintf(name, sizeof(name), "hooks/%s", e->d_name);
        if (!dots && !(plain && git_is_sample(e->d_name, strlen(e->d_name))))
            err = ask_entry(c, GIT_HOOKS, name, S_IFREG);
    }
    closedir(d);
    return err;
}

/* `modules` and `worktrees` must be folders, and `commondir` must not lead to another repository.
 */
static int check_present_pointers(struct completing *c)
{
    static const char *const names[] = {"modules", "worktrees"};
    char text[16];
    struct stat st;
    int err = 0;
    for (size_t i = 0; err == 0 && i < 2; i++)
        if (fstatat(c->folder, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode))
            err = ask_entry(c, GIT_POINTER, names[i], st.st_mode & S_IFMT);
    if (err < 0 ||
        (fstatat(c->folder, "commondir", &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT))
        return err;
    ssize_t n = git_read_file(c->folder, "commondir", text, sizeof(text), &st);
    bool own = n == 6 && memcmp(text, "../..\n", 6) == 0 && st.st_nlink == 1 &&
               git_is_worktree(c->j, c->path, c->len);
    return own ? 0 : ask_entry(c, GIT_POINTER, "commondir", S_IFREG);
}

/* Whether creating this name makes the folder a repository to git. */
static bool completes_repo(const struct judge *j, const char *folder, size_t len, const char *name,
                           size_t n)
{
    static const char *const parts[] = {"HEAD", "objects", "refs", "worktrees"};
    bool has[4] = {false}, is_part = false;
    while (n > 1 && (name[n - 1] == '.' || name[n - 1] == ' '))
        n--; /* some file systems drop these */
    for (size_t i = 0; i < 4; i++) {
        has[i] = strlen(parts[i]) == n && strncasecmp(name, parts[i], n) == 0;
        is_part |= has[i];
    }
    if (!is_part)
        return false;
    for (size_t i = 0; i < 4; i++)
        if (!has[i])
            has[i] = git_has(j, folder, len, parts[i]);
        else if (git_has(j, folder, len, parts[i]))
            return false; /* it already existed */
    return (has[1] && has[2] && (has[0] || has[3])) ||
           (has[0] && git_has(j, folder, len, "commondir"));
}

/* Whether a folder was created after the command started: taking a repository apart and putting it
 * together again does not make it the command's. */
static bool is_new_folder(const struct judge *j, int folder)
{
    struct statx st;
    return statx(folder, "", AT_EMPTY_PATH, STATX_BTIME, &st) == 0 && (st.stx_mask & STATX_BTIME) &&
           st.stx_btime.tv_sec > j->git.started;
}

int git_before_name(struct judge *j, const struct request *r, const struct pinned *p)
{
    size_t len = git_parent_len(p->path, p->path_len);
    const char *name = p->path + len + 1;
    if (!j->git.wanted || p->path_len == 0 || !strchr("HhOoRrWw", name[0]) ||
        !completes_repo(j, p->path, len, name, p->path_len - len - 1))
        return 0;
    struct completing c = {.j = j, .r = r, .folder = p->parent, .len = len};
    if (len >= sizeof(c.path) - 300)
        return -ENAMETOOLONG;
    memcpy(c.path, p->path, len);
    int err = check_present_settings(&c, "config");
    if (err == 0)
        err = check_present_settings(&c, "config.worktree");
    if (err == 0)
        err = check_present_hooks(&c);
    if (err == 0)
        err = check_present_pointers(&c);
    if (err == 0 && is_new_folder(j, p->parent))
        path_set_add(&j->git.created, c.path, len);
    return err;
}
