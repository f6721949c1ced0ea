/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Files that git, or a program that copies a repository, writes directly where git will read them:
 * pointer files, and the settings of a repository that the command creates. Their content is
 * unknown when they are opened. So the command gets a file in memory to write to, and the judge
 * publishes a copy once its content is right. It checks before each judged call, so a program that
 * writes such a file and then does anything else finds it in place.
 *
 * `commondir` is published at once: it has only one valid content, and git reads it immediately.
 */

#include "kernel/judge/git-judge.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "git/pointer.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/path-set.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/resolve.h"
#include "kernel/judge/thread-cache.h"

static const char common_text[] = "../..\n";

/* ---- pointers ---- */

static bool is_inside(const char *path, const char *folder, size_t n)
{
    return strncmp(path, folder, n) == 0 && path[n] == '/' && path[n + 1];
}

/* Reads a worktree's `gitdir`, which names its .git file. Returns false if it cannot be read. */
static bool worktree_of(const char *gitdir, size_t len, char out[PATH_BYTES])
{
    char folder[PATH_BYTES], text[PATH_BYTES];
    struct stat st;
    if (len >= sizeof(folder))
        return false;
    memcpy(folder, gitdir, len);
    folder[len] = '\0';
    OWN(fd) int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : git_read_file(fd, "gitdir", text, sizeof(text), &st);
    return n > 0 && git_pointer_read(text, (size_t)n, GIT_POINTER_GITDIR, folder, out, PATH_BYTES);
}

/* A submodule's repository is below modules/ of an enclosing repository: R/modules/..., where R is
 * the .git of an enclosing folder, or the gitdir of a worktree that encloses it. */
static bool is_own_module(const char *target, const char *folder)
{
    static const char mark[] = "/modules/";
    char file[PATH_BYTES];
    const char *at = strstr(target, mark);
    if (!at || !at[sizeof(mark) - 1])
        return false;
    size_t n = (size_t)(at - target);
    if (git_path_ends_in(target, n, ".git"))
        return is_inside(folder, target, git_parent_len(target, n));
    return worktree_of(target, n, file) && git_path_ends_in(file, strlen(file), ".git") &&
           is_inside(folder, file, git_parent_len(file, strlen(file)));
}

/* The .git file in a folder may lead to a worktree's gitdir that leads back, or to a submodule's.
 */
static bool is_own_gitdir(struct judge *j, const char *target, const char *folder, size_t n)
{
    char back[PATH_BYTES];
    size_t len = strlen(target);
    if (git_is_worktree(j, target, len))
        return worktree_of(target, len, back) && git_path_ends_in(back, strlen(back), ".git") &&
               git_parent_len(back, strlen(back)) == n && memcmp(back, folder, n) == 0;
    return is_own_module(target, folder);
}

/* A worktree must be where the command may create files. */
static bool is_own_worktree(struct judge *j, const char *target)
{
    struct stat st = {.st_mode = S_IFREG};
    size_t len = strlen(target);
    if (!git_path_ends_in(target, len, ".git"))
        return false;
    j->git.cleared = target;
    j->git.cleared_len = len;
    bool may = would_allow(j, OP_FILE_WRITE_CREATE, target, len, &st);
    j->git.cleared = NULL;
    return may;
}

bool git_pointer_is_own(struct judge *j, const char *path, size_t len, const char *text, size_t n)
{
    char target[PATH_BYTES], folder[PATH_BYTES];
    size_t in = git_parent_len(path, len);
    if (in >= sizeof(folder))
        return false;
    memcpy(folder, path, in);
    folder[in] = '\0';
    if (git_path_ends_in(path, len, ".git"))
        return git_pointer_read(text, n, GIT_POINTER_DOTGIT, folder, target, sizeof(target)) &&
               is_own_gitdir(j, target, folder, in);
    if (!git_is_worktree(j, path, in))
        return false;
    if (git_path_ends_in(path, len, "gitdir"))
        return git_pointer_read(text, n, GIT_POINTER_GITDIR, folder, target, sizeof(target)) &&
               is_own_worktree(j, target);
    return git_path_ends_in(path, len, "commondir") && n == sizeof(common_text) - 1 &&
           memcmp(text, common_text, n) == 0;
}

/* ---- holding ---- */

static bool is_held_name(struct judge *j, enum git_class class, const struct pinned *p)
{
    size_t in = git_parent_len(p->path, p->path_len);
    if (class == GIT_SETTINGS)
        return ask_is_created(j, p->path, p->path_len) ||
               git_path_ends_in(p->path, p->path_len, ".gitmodules");
    return class == GIT_POINTER && (git_path_ends_in(p->path, p->path_len, ".git") ||
                                    (git_is_worktree(j, p->path, in) &&
                                     (git_path_ends_in(p->path, p->path_len, "gitdir") ||
                                      git_path_ends_in(p->path, p->path_len, "commondir"))));
}

/* `git submodule` writes a pointer file twice, spelling the same path differently. */
static bool is_own_again(struct judge *j, enum git_class class, const struct pinned *p, int flags)
{
    return class == GIT_POINTER && (flags & O_TRUNC) && ask_is_created(j, p->path, p->path_len);
}

bool git_holds(struct judge *j, const struct pinned *p, int flags)
{
    const struct stat st = {.st_mode = S_IFREG};
    enum git_class class = git_class_of(j, OP_FILE_WRITE_CREATE, p->path, p->path_len, &st);
    if (p->found && !is_own_again(j, class, p, flags))
        return false;
    return (class == GIT_SETTINGS || class == GIT_POINTER) && is_held_name(j, class, p) &&
           strlen(p->name) < sizeof(j->git.held[0].name) &&
           !would_allow(j, OP_FILE_WRITE_CREATE, p->path, p->path_len, &st);
}

static bool is_harmless(struct judge *j, const struct git_held *h, const char *text, size_t n)
{
    size_t len = strlen(h->path);
    if (h->class == GIT_SETTINGS)
        return git_settings_are_harmless(j, h->path, len, h->folder, h->name, text, n);
    return git_pointer_is_own(j, h->path, len, text, n);
}

/* Whether the folder has not moved: what a relative path means depends on that. */
static bool is_in_place(const struct git_held *h)
{
    char name[32], path[PATH_BYTES];
    snprintf(name, sizeof(name), "self/fd/%d", h->folder);
    ssize_t n = readlink(name, path, sizeof(path));
    return n > 0 && (size_t)n == git_parent_len(h->path, strlen(h->path)) &&
           memcmp(path, h->path, (size_t)n) == 0;
}

/* Whether the file holds what the memory held when it was last checked. */
static bool is_up_to_date(const struct git_held *h, const struct stat *st)
{
    return h->published && st->st_size == h->size && st->st_mtim.tv_sec == h->seen.tv_sec &&
           st->st_mtim.tv_nsec == h->seen.tv_nsec;
}

static void publish_if_harmless(struct judge *j, struct git_held *h)
{
    static char text[GIT_TEXT_MAX];
    struct stat st;
    if (fstat(h->memory, &st) < 0 || st.st_size == 0 || st.st_size > (off_t)sizeof(text))
        return;
    ssize_t n = is_up_to_date(h, &st) ? -1 : pread(h->memory, text, sizeof(text), 0);
    if (n <= 0 || !is_in_place(h) || !is_harmless(j, h, text, (size_t)n))
        return;
    h->published = git_publish(h->folder, h->name, text, (size_t)n, h->mode) == 0;
    if (h->published && h->class == GIT_POINTER)
        path_set_add(&j->git.created, h->path, strlen(h->path));
    h->seen = st.st_mtim;
    h->size = st.st_size;
}

/* Reports the last content if it was not published. */
static void release_held(struct judge *j, struct git_held *h)
{
    struct stat st;
    publish_if_harmless(j, h);
    if (fstat(h->memory, &st) == 0 && st.st_size > 0 && !is_up_to_date(h, &st))
        ask_git_later(j, h->class, h->path, strlen(h->path));
    git_clear(j);
    close(h->memory);
    close(h->folder);
    free(h->path);
    h->path = NULL;
}

static struct git_held *take_slot(struct judge *j)
{
    struct git_judge *g = &j->git;
    if (g->nheld < GIT_HELD)
        return &g->held[g->nheld++];
    struct git_held *h = &g->held[g->oldest];
    g->oldest = (g->oldest + 1) % GIT_HELD;
    release_held(j, h);
    return h;
}

static int ask_held(struct judge *j, const struct request *r, const struct pinned *p)
{
    const struct stat st = {.st_mode = S_IFREG};
    j->git.cleared = p->path;
    j->git.cleared_len = p->path_len;
    int err = ask_name(j, r, OP_FILE_WRITE_CREATE, p->path, p->path_len, &st);
    if (err == 0)
        err = ask_name(j, r, OP_FILE_WRITE_DATA, p->path, p->path_len, &st);
    j->git.cleared = NULL;
    return err;
}

int git_hold(struct judge *j, const struct request *r, const struct pinned *p, int flags,
             mode_t mode)
{
    mode_t mask;
    int err = ask_held(j, r, p);
    if (err == 0)
        err = thread_cache_umask(j, r, &mask);
    if (err < 0)
        return err;
    mode = mode & ~mask & 0777;
    OWN(fd) int memory = memfd_create("git", MFD_CLOEXEC);
    if (memory < 0 || ((flags & O_APPEND) && fcntl(memory, F_SETFL, O_APPEND) < 0))
        return -errno;
    if (git_path_ends_in(p->path, p->path_len, "commondir")) {
        err = git_publish(p->parent, p->name, common_text, sizeof(common_text) - 1, mode);
        return err < 0 ? err : steal_fd(&memory);
    }
    OWN(fd) int folder = fcntl(p->parent, F_DUPFD_CLOEXEC, 3);
    OWN(fd) int ours = fcntl(memory, F_DUPFD_CLOEXEC, 3);
    char *path = strndup(p->path, p->path_len);
    if (folder < 0 || ours < 0 || !path) {
        free(path);
        return -ENOMEM;
    }
    enum git_class class = git_path_ends_in(p->path, p->path_len, ".git") ||
                                   git_path_ends_in(p->path, p->path_len, "gitdir")
                               ? GIT_POINTER
                               : GIT_SETTINGS;
    struct git_held *h = take_slot(j);
    *h =
        (struct git_held){steal_fd(&ours), steal_fd(&folder), "", path, mode, class, {0}, 0, false};
    memcpy(h->name, p->name, strlen(p->name) + 1);
    j->git.held_since = now_ms();
    return steal_fd(&memory);
}

void git_sync(struct judge *j)
{
    for (unsigned i = 0; i < j->git.nheld; i++)
        publish_if_harmless(j, &j->git.held[i]);
    git_clear(j);
}

void git_release_all(struct judge *j)
{
    for (unsigned i = 0; i < j->git.nheld; i++)
        release_held(j, &j->git.held[i]);
    j->git.nheld = j->git.oldest = 0;
}

long git_timeout_ns(const struct judge *j)
{
    enum { SOON_MS = 2000, LOOK_NS = 5000000 };
    return j->git.nheld && now_ms() - j->git.held_since < SOON_MS ? LOOK_NS : 0;
}
