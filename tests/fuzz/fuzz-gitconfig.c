/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: git settings, and after a NUL byte a second version of them. Reading twice gives the same
 * result, reverting a change is harmless, and a disarmed rebase list executes nothing.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/own.h"
#include "git/change.h"
#include "git/config.h"
#include "git/names.h"
#include "git/pointer.h"
#include "git/todo.h"
#include "git/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool read_settings(struct arena *a, const char *text, size_t n, struct git_config *out)
{
    struct bk_err err = {0};
    if (git_config_read(a, text, n, out, &err) == 0)
        return true;
    require(err.msg[0] && err.code != BK_E_BUG);
    return false;
}

static int count(void *arg, const char *key, const char *word, bool on_path)
{
    require(git_key_names(key) != GIT_NAMES_NOTHING && (!on_path || !strchr(word, '/')));
    return ++*(int *)arg > 100000 ? -1 : 0;
}

/* An option, or an address that git would pass to a helper. */
static bool is_helped(const char *url)
{
    size_t n = strspn(url, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");
    return url[0] == '-' || !strncmp(url + n, "::", 2);
}

static void look(struct arena *a, const struct git_config *c)
{
    int files = 0;
    git_config_files(a, c, count, &files);
    git_state_opts_are_safe(c);
    for (size_t i = 0; i < c->n; i++)
        if (c->entries[i].value && git_value_is_url(c->entries[i].value))
            require(!is_helped(c->entries[i].value));
}

static void compare(struct arena *a, const struct git_config *was, const struct git_config *now)
{
    static const struct git_place place = {
        .gitdir = "/w/.git/modules/x", .worktree = "/w", .submodule = true};
    struct git_finding found = {0};
    bool harmless = git_change_is_harmless(a, &place, was, was, now, &found);
    require(harmless || (found.key && found.why));
    require(git_change_is_harmless(a, &place, was, was, was, &found));
    if (harmless) /* the first version may come back */
        require(git_change_is_harmless(a, &place, was, now, was, &found));
    git_change_is_harmless(a, &place, NULL, NULL, now, &found);
}

static void state(struct arena *a, const char *text, size_t n)
{
    char path[256];
    const char *out;
    size_t len;
    git_todo_disarm(a, text, n, &out, &len);
    require(out && (memchr(out, '\0', len) || git_todo_is_quiet(out, len)));
    git_state_word_is_safe(text, n);
    git_state_options_are_safe(text, n);
    git_state_apply_is_safe(text, n);
    git_state_author_is_safe(text, n);
    for (int kind = GIT_POINTER_DOTGIT; kind <= GIT_POINTER_COMMONDIR; kind++)
        if (git_pointer_read(text, n, (enum git_pointer)kind, "/w/x", path, sizeof(path)))
            require(path[0] == '/' && !strstr(path, "/../") && !strchr(path, '\n'));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    OWN(arena) struct arena a;
    arena_init(&a, 64 << 20);
    const char *text = (const char *)data;
    const char *nul = size ? memchr(text, '\0', size) : NULL;
    size_t first = nul ? (size_t)(nul - text) : size;
    struct git_config was, now;
    if (size)
        state(&a, text, size);
    if (!read_settings(&a, text, first, &was))
        return 0;
    look(&a, &was);
    if (nul && read_settings(&a, nul + 1, size - first - 1, &now))
        compare(&a, &was, &now);
    return 0;
}
