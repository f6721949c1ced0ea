/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Finds the repository of a working directory. Git's rules are simple enough to follow here, and
 * running git itself would obey untrusted settings outside the sandbox.
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

/* A submodule's settings name the folder that it is checked out to. */
static bool names_submodule(const char *gitdir, const char *top)
{
    char path[PATH_MAX], line[PATH_MAX], tree[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/config", gitdir) >= PATH_MAX)
        return false;
    OWN(file) FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f)) {
        const char *at = line + strspn(line, " \t");
        if (strncmp(at, "worktree", 8) != 0)
            continue;
        at += 8;
        at += strspn(at, " \t");
        if (*at++ != '=')
            continue;
        at += strspn(at, " \t");
        line[strcspn(line, "\r\n")] = '\0';
        return resolve(gitdir, at, tree) && strcmp(tree, top) == 0;
    }
    return false;
}

/* `top` has a .git file. */
static bool follow_file(const char *top, char gitdir[PATH_MAX], char common[PATH_MAX])
{
    static const char label[] = "gitdir: ";
    char line[PATH_MAX];
    if (!first_line(top, ".git", line) || strncmp(line, label, strlen(label)) != 0 ||
        !resolve(top, line + strlen(label), gitdir) || !has(gitdir, "HEAD"))
        return false;
    if (!names_worktree(gitdir, top) && !names_submodule(gitdir, top))
        return false;
    if (!first_line(gitdir, "commondir", line))
        snprintf(common, PATH_MAX, "%s", gitdir);
    else if (!resolve(gitdir, line, common))
        return false;
    /* a worktree's own folder lies in the repository that it belongs to */
    size_t n = strlen(common);
    return has(common, "objects") && has(common, "refs") && strncmp(gitdir, common, n) == 0 &&
           (gitdir[n] == '/' || !gitdir[n]);
}

bool git_linked(const char *cwd, char own[PATH_MAX], char common[PATH_MAX])
{
    char path[PATH_MAX];
    struct stat st;
    return snprintf(path, sizeof(path), "%s/.git", cwd) < PATH_MAX && lstat(path, &st) == 0 &&
           S_ISREG(st.st_mode) && follow_file(cwd, own, common);
}

/* The nearest folder with a .git. */
static bool find_top(const char *cwd, char top[PATH_MAX], char git[PATH_MAX], struct stat *st)
{
    if (!realpath(cwd, top))
        return false;
    for (;; *strrchr(top, '/') = '\0') {
        if (snprintf(git, PATH_MAX, "%s/.git", top) >= PATH_MAX)
            return false;
        if (lstat(git, st) == 0)
            return true;
        if (!top[0] || strcmp(top, "/") == 0)
            return false;
    }
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
