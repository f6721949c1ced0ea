/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Disarms rebases that the command began. Inside the sandbox, a todo list may execute anything: the
 * command could as well. But the user's next command is likely `git rebase --continue`. So once no
 * process of the sandbox is left, and before the user gets the terminal back, the judge turns lines
 * that execute something into comments, and reports it.
 */

#include "kernel/judge/git-judge.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "git/config.h"
#include "git/todo.h"
#include "kernel/judge/ask.h"
#include "kernel/judge/path-set.h"
#include "kernel/judge/judge.h"

static const char *const folders[] = {"rebase-merge", "rebase-apply", "sequencer"};
static const char *const todos[] = {"git-rebase-todo", "git-rebase-todo.backup", "todo"};

static bool opts_are_safe(const char *text, size_t n)
{
    struct arena a;
    struct bk_err err;
    struct git_config c;
    arena_init(&a, 1 << 20);
    bool safe = git_config_read(&a, text, n, &c, &err) == 0 && git_state_opts_are_safe(&c);
    arena_free(&a);
    return safe;
}

/* Files whose content ends up in a command line or in settings. */
static const struct {
    const char *name;
    bool (*is_safe)(const char *text, size_t n);
} others[] = {
    {"strategy", git_state_word_is_safe},
    {"strategy_opts", git_state_options_are_safe},
    {"apply-opt", git_state_apply_is_safe},
    {"author-script", git_state_author_is_safe},
    {"opts", opts_are_safe},
};

bool git_is_state_folder(const char *path, size_t len)
{
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (git_path_ends_in(path, len, folders[i]))
            return true;
    return false;
}

bool git_is_state_file(const char *path, size_t len)
{
    static const char *const names[] = {"BISECT_START", "BISECT_NAMES", "BISECT_TERMS"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (git_path_ends_in(path, len, names[i]))
            return true;
    return false;
}

static void disarm_todo(struct judge *j, int folder, const char *path, const char *name)
{
    struct stat st;
    struct arena a;
    char *text = malloc(GIT_TEXT_MAX);
    const char *out;
    size_t out_len;
    ssize_t n = text ? git_read_file(folder, name, text, GIT_TEXT_MAX, &st) : -ENOMEM;
    arena_init(&a, 4 * GIT_TEXT_MAX);
    if (n == -ENOENT) {
        free(text);
        return;
    }
    size_t found = n < 0 ? SIZE_MAX : git_todo_disarm(&a, text, (size_t)n, &out, &out_len);
    /* remove what cannot be read or written back */
    if (found == SIZE_MAX || (found && git_publish(folder, name, out, out_len, st.st_mode) < 0))
        unlinkat(folder, name, 0);
    if (found) {
        strcpy(j->git.detail, "exec");
        ask_git_later(j, GIT_STATE, path, strlen(path));
        git_clear(j);
    }
    arena_free(&a);
    free(text);
}

bool git_state_is_safe(const char *name, const char *text, size_t n)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcasecmp(name, others[i].name) == 0)
            return others[i].is_safe(text, n);
    return false;
}

static void disarm_other(struct judge *j, int folder, const char *path, size_t i)
{
    struct stat st;
    char text[8192];
    ssize_t n = git_read_file(folder, others[i].name, text, sizeof(text), &st);
    if (n == -ENOENT || (n >= 0 && others[i].is_safe(text, (size_t)n)))
        return;
    unlinkat(folder, others[i].name, 0);
    ask_git_later(j, GIT_STATE, path, strlen(path));
}

static void disarm_folder(struct judge *j, const char *path, size_t len)
{
    char name[PATH_BYTES];
    if (len + 32 > sizeof(name))
        return;
    memcpy(name, path, len);
    name[len] = '\0';
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS};
    OWN(fd) int folder = (int)syscall(SYS_openat2, AT_FDCWD, name, &how, sizeof(how));
    if (folder < 0)
        return;
    name[len] = '/';
    for (size_t i = 0; i < sizeof(todos) / sizeof(todos[0]); i++) {
        strcpy(name + len + 1, todos[i]);
        disarm_todo(j, folder, name, todos[i]);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        strcpy(name + len + 1, others[i].name);
        disarm_other(j, folder, name, i);
    }
}

bool git_has_unfinished(const struct judge *j)
{
    bool state = false;
    for (uint32_t i = 0; j->git.wanted && i < j->git.created.n && !state; i++) {
        size_t len;
        const char *path = path_set_at(&j->git.created, i, &len);
        state = git_is_state_folder(path, len);
    }
    return state || j->git.nheld > 0;
}

void git_finish(struct judge *j)
{
    git_release_all(j);
    for (uint32_t i = 0; j->git.wanted && i < j->git.created.n; i++) {
        size_t len;
        const char *path = path_set_at(&j->git.created, i, &len);
        if (git_is_state_folder(path, len))
            disarm_folder(j, path, len);
    }
}
