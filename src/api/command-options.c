/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The command to run. Setters only store their arguments; the process that runs the command checks
 * them, and can report mistakes in words. */

#include "api/command-options.h"

#include <stdlib.h>
#include <string.h>

enum { COMMAND_BYTES = 64 << 20 };

static int set_argv(struct buckle_command *c, const char *const *argv)
{
    size_t n = 0;
    while (argv[n])
        n++;
    c->argv = arena_array(&c->arena, n + 1, sizeof(*c->argv));
    for (size_t i = 0; c->argv && i < n; i++)
        if (!(c->argv[i] = api_copy(&c->arena, argv[i])))
            return -1;
    return c->argv ? 0 : -1;
}

struct buckle_command *buckle_command_new(const char *const *argv)
{
    struct buckle_command *c = calloc(1, sizeof(*c));
    if (!c)
        return NULL;
    arena_init(&c->arena, COMMAND_BYTES);
    for (int i = 0; i < 3; i++)
        c->stdio[i] = i;
    if (!argv || set_argv(c, argv) == 0)
        return c;
    buckle_command_free(c);
    return NULL;
}

void buckle_command_free(struct buckle_command *command)
{
    if (!command)
        return;
    arena_free(&command->arena);
    free(command);
}

static int set_text(struct buckle_command *c, const char **field, const char *text)
{
    const char *copy = api_copy(&c->arena, text);
    if (!copy)
        return -1;
    *field = copy;
    return 0;
}

static int add_pair(struct buckle_command *c, struct api_pairs *list, const char *key,
                    const char *value, size_t n)
{
    struct api_pair p = {api_copy(&c->arena, key), arena_strndup(&c->arena, value, n), n};
    struct api_pair *more = api_grown(&c->arena, list->at, list->n, sizeof(*more));
    if (!p.key || !p.value || !more)
        return -1;
    list->at = more;
    more[list->n++] = p;
    return 0;
}

/* ---- the policy ---- */

int buckle_command_profile(struct buckle_command *command, const char *profile)
{
    return set_text(command, &command->profile, profile);
}

int buckle_command_settings(struct buckle_command *command, const char *json, size_t len)
{
    const char *copy = arena_strndup(&command->arena, json, len);
    if (!copy)
        return -1;
    command->settings = copy;
    command->nsettings = len;
    return 0;
}

void buckle_command_found_settings(struct buckle_command *command, int on)
{
    command->found = on != 0;
}

int buckle_command_text(struct buckle_command *command, const char *name, const char *text,
                        size_t len)
{
    return add_pair(command, &command->texts, name, text, len);
}

int buckle_command_rule(struct buckle_command *command, const char *rule, const char *value)
{
    return add_pair(command, &command->rules, rule, value, strlen(value));
}

int buckle_command_param(struct buckle_command *command, const char *key, const char *value)
{
    return add_pair(command, &command->params, key, value, strlen(value));
}

/* ---- where, and with what ---- */

int buckle_command_directory(struct buckle_command *command, const char *path)
{
    return set_text(command, &command->directory, path);
}

int buckle_command_tmpdir(struct buckle_command *command, const char *path)
{
    return set_text(command, &command->tmpdir, path);
}

int buckle_command_set_env(struct buckle_command *command, const char *name, const char *value)
{
    return add_pair(command, &command->env, name, value, strlen(value));
}

int buckle_command_keep_env(struct buckle_command *command, const char *name)
{
    struct words *list = &command->keep_env;
    const char *copy = api_copy(&command->arena, name);
    const char **more = api_grown(&command->arena, list->at, list->n, sizeof(*more));
    if (!copy || !more)
        return -1;
    list->at = more;
    more[list->n++] = copy;
    return 0;
}

void buckle_command_stdio(struct buckle_command *command, int in, int out, int err)
{
    command->stdio[0] = in;
    command->stdio[1] = out;
    command->stdio[2] = err;
}

int buckle_command_keep_fd(struct buckle_command *command, int fd)
{
    struct buckle_command *c = command;
    int *more = api_grown(&c->arena, c->keep_fds, c->nkeep_fds, sizeof(*more));
    if (!more)
        return -1;
    c->keep_fds = more;
    more[c->nkeep_fds++] = fd;
    return 0;
}

/* ---- how ---- */

void buckle_command_timeout(struct buckle_command *command, uint32_t milliseconds)
{
    command->timeout_ms = milliseconds;
}

void buckle_command_max_memory(struct buckle_command *command, uint64_t bytes)
{
    command->max_memory = bytes;
}

void buckle_command_max_procs(struct buckle_command *command, uint32_t count)
{
    command->max_procs = count;
}

int buckle_command_flag(struct buckle_command *command, enum buckle_flag flag, int on)
{
    if (flag < BUCKLE_NEW_SESSION || flag > BUCKLE_WHOLE_ENV)
        return -1;
    command->flags[flag] = on != 0;
    return 0;
}

void buckle_command_on_event(struct buckle_command *command, buckle_event_fn *fn, void *arg)
{
    command->on_event = fn;
    command->event_arg = arg;
}

void buckle_command_on_question(struct buckle_command *command, buckle_question_fn *fn, void *arg,
                                uint32_t wait_ms)
{
    command->on_question = fn;
    command->question_arg = arg;
    command->ask_ms = wait_ms;
}

int buckle_command_store(struct buckle_command *command, struct buckle_store *store, uint64_t id,
                         const char *text)
{
    command->store = store;
    command->id = id;
    return set_text(command, &command->text, text ? text : "");
}
