/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Finds the repository of a working directory. Git's rules are simple enough to follow here, and
 * running git itself would obey untrusted settings outside the sandbox.
 *
 * What is found here becomes writable, so a pointer counts only if its target agrees. A .git file
 * may be an earlier command's work; the folder that it leads to is not, unless that command could
 * write there anyway. So that folder must be where git puts such folders, and must name this
 * working tree.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "git/config.h"
#include "git/gitdir.h"

/* The first line of a small file, without its end. False when there is none. */
static bool first_line(const char *folder, const char *name, char out[PATH_MAX])
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= PATH_MAX)
        return false;
    OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return false;
    ssize_t n = read(fd, out, PATH_MAX - 1);
    if (n <= 0)
        return false;
    out[n] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
    return out[0] != '\0';
}

/* A path that begins in `folder` unless it is absolute, canonical. */
static bool resolve(const char *folder, const char *path, char out[PATH_MAX])
{
    char joined[PATH_MAX];
    int n = path[0] == '/' ? snprintf(joined, sizeof(joined), "%s", path)
                           : snprintf(joined, sizeof(joined), "%s/%s", folder, path);
    return n < PATH_MAX && realpath(joined, out);
}

static bool has(const char *folder, const char *name)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof(path), "%s/%s", folder, name) < PATH_MAX &&
           access(path, F_OK) == 0;
}

/* A worktree's folder names the .git file that leads to it. */
static bool names_worktree(const char *gitdir, const char *top)
{
    char line[PATH_MAX], file[PATH_MAX], want[PATH_MAX];
    return first_line(gitdir, "gitdir", line) && resolve(gitdir, line, file) &&
           snprintf(want, sizeof(want), "%s/.git", top) < PATH_MAX && strcmp(file, want) == 0;
}

/* Git keeps submodules in modules/ of a repository, which is called .git or NAME.git unless a
 * worktree of it has them. Other folders called modules are everyday names. */
static bool is_in_modules(const char *gitdir)
{
    const char *modules = strstr(gitdir, ".git/");
    return modules && strstr(modules, "/modules/");
}

/* A submodule's settings name the folder that it is checked out to. */
static bool names_submodule(const char *gitdir, const char *top)
{
    enum { TEXT_MAX = 64 << 10 };
    char path[PATH_MAX], tree[PATH_MAX];
    struct git_config c = {0};
    struct bk_err unread;
    const char *named = NULL;
    if (!is_in_modules(gitdir) || snprintf(path, sizeof(path), "%s/config", gitdir) >= PATH_MAX)
        return false;
    OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    OWN(mem) char *text = fd < 0 ? NULL : malloc(TEXT_MAX);
    ssize_t n = text ? read(fd, text, TEXT_MAX) : -1;
    if (n <= 0 || n == TEXT_MAX)
        return false;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    if (git_config_read(&arena, text, (size_t)n, &c, &unread) == 0)
        for (size_t i = 0; i < c.n; i++)
            if (strcmp(c.entries[i].key, "core.worktree") == 0)
                named = c.entries[i].value; /* the last one counts */
    bool is = named && resolve(gitdir, named, tree) && strcmp(tree, top) == 0;
    arena_free(&arena);
    return is;
}

/* `top` has a .git file. */
static bool follow_file(const char *top, char gitdir[PATH_MAX], char common[PATH_MAX])
{
    static const char label[] = "gitdir: ";
    char line[PATH_MAX];
    if (!first_line(top, ".git", line) || strncmp(line, label, strlen(label)) != 0 ||
        !resolve(top, line + strlen(label), gitdir) || !has(gitdir, "HEAD"))
        return false;
    if (!first_line(gitdir, "commondir", line))
        return names_submodule(gitdir, top) && has(gitdir, "objects") && has(gitdir, "refs") &&
               snprintf(common, PATH_MAX, "%s", gitdir) < PATH_MAX;
    /* a worktree's own folder is COMMON/worktrees/NAME */
    static const char worktrees[] = "/worktrees/";
    size_t n = resolve(gitdir, line, common) ? strlen(common) : 0;
    return n && strncmp(gitdir, common, n) == 0 &&
           strncmp(gitdir + n, worktrees, strlen(worktrees)) == 0 &&
           !strchr(gitdir + n + strlen(worktrees), '/') && has(common, "objects") &&
           has(common, "refs") && has(common, "HEAD") && names_worktree(gitdir, top);
}

/* The nearest folder with a .git, from a canonical path upwards. */
static bool climb(char top[PATH_MAX], char git[PATH_MAX], struct stat *st)
{
    for (;; *strrchr(top, '/') = '\0') {
        if (snprintf(git, PATH_MAX, "%s/.git", top) >= PATH_MAX)
            return false;
        if (lstat(git, st) == 0)
            return true;
        if (!top[0] || strcmp(top, "/") == 0)
            return false;
    }
}

static bool find_top(const char *cwd, char top[PATH_MAX], char git[PATH_MAX], struct stat *st)
{
    return realpath(cwd, top) && climb(top, git, st);
}

void git_top(const char *cwd, char top[PATH_MAX])
{
    char git[PATH_MAX];
    struct stat st;
    if (!find_top(cwd, top, git, &st))
        top[0] = '\0';
}

int git_folders(struct arena *a, const char *cwd, const char **own, const char **common,
                struct bk_err *err)
{
    char top[PATH_MAX], git[PATH_MAX], shared[PATH_MAX];
    struct stat st;
    *own = *common = NULL;
    if (!find_top(cwd, top, git, &st))
        return 0;
    if (S_ISDIR(st.st_mode) && has(git, "HEAD") && has(git, "objects"))
        snprintf(shared, sizeof(shared), "%s", git);
    else if (!S_ISREG(st.st_mode) || !follow_file(top, git, shared))
        return 0;
    *own = arena_strndup(a, git, strlen(git));
    *common = strcmp(git, shared) == 0 ? NULL : arena_strndup(a, shared, strlen(shared));
    return *own && (*common || strcmp(git, shared) == 0) ? 0 : err_nomem(err);
}

/* Git refuses other people's repositories. */
static bool is_ours(uid_t owner)
{
    const char *sudo = getenv("SUDO_UID");
    return owner == geteuid() ||
           (geteuid() == 0 && sudo && sudo[0] && strtoul(sudo, NULL, 10) == owner);
}

/* Git doesn't look beyond the file system. The repository of a whole home, or of the machine, is
 * about more than this folder: who could write there would decide about start-up files. */
static bool may_be_above(const char *cwd, const char *top, const char *home)
{
    struct stat here, there;
    size_t n = strlen(top);
    if (!n || (home && strncmp(home, top, n) == 0 && (home[n] == '/' || !home[n])))
        return false;
    return stat(cwd, &here) == 0 && stat(top, &there) == 0 && here.st_dev == there.st_dev &&
           is_ours(there.st_uid);
}

bool git_outside(const char *cwd, const char *home, struct git_outside *out)
{
    struct stat st;
    size_t n = strlen(cwd);
    if (n >= sizeof(out->top))
        return false;
    memcpy(out->top, cwd, n + 1);
    if (!climb(out->top, out->own, &st))
        return false;
    bool above = strcmp(out->top, cwd) != 0;
    if (above && (!is_ours(st.st_uid) || !may_be_above(cwd, out->top, home)))
        return false;
    bool found = false;
    if (S_ISREG(st.st_mode)) {
        found = follow_file(out->top, out->own, out->common);
    } else if (above && S_ISDIR(st.st_mode)) {
        found = has(out->own, "HEAD") && has(out->own, "objects") && has(out->own, "refs");
        memcpy(out->common, out->own, sizeof(out->common));
    }
    if (!above)
        out->top[0] = '\0';
    return found;
}
