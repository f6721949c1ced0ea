/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Builds a policy stack from options. All profiles are read with the same options. */

#include "cli/profile/policy-stack.h"

#include <stdlib.h>
#include <string.h>

size_t stack_first(const struct cli_args *args)
{
    return load_from_text(args) || args_has(args, "profile") ? 0 : 1;
}

bool stack_asked(const struct cli_args *args)
{
    return args_has(args, "platform") || args_has(args, "stack") || args_has(args, "extension");
}

/* CLASS or CLASS:VALUE. */
static int take_extensions(const struct cli_args *args, struct stacked *s)
{
    size_t n = args_count(args, "extension"), bytes = 1;
    for (size_t i = 0; i < n; i++)
        bytes += strlen(args_nth(args, "extension", i)) + 1;
    s->extensions = calloc(n + 1, sizeof(*s->extensions));
    s->kinds = malloc(bytes);
    if (!s->extensions || !s->kinds) {
        struct bk_err err;
        err_nomem(&err);
        return cli_fail(&err);
    }
    char *at = s->kinds;
    for (size_t i = 0; i < n; i++) {
        const char *given = args_nth(args, "extension", i);
        size_t len = strcspn(given, ":");
        if (len == 0 || (given[len] && !given[len + 1]))
            return cli_usage(args, "--extension %s: write CLASS or CLASS:VALUE", given);
        memcpy(at, given, len);
        at[len] = '\0';
        s->extensions[i] =
            (struct graph_extension){.kind = at, .value = given[len] ? given + len + 1 : NULL};
        at += len + 1;
    }
    s->stack.extensions = s->extensions;
    s->stack.nextensions = n;
    return CLI_OK;
}

static int load_layer(const struct cli_args *args, struct stacked *s, const char *role,
                      const char *name, bool file)
{
    struct loaded *l = &s->loaded[s->stack.nlayers];
    int status = file ? load_file_or_complain(args, name, l) : load_or_complain(args, name, l);
    s->layers[s->stack.nlayers++] = (struct graph_layer){
        .role = role, .name = name ? name : "<text>", .graph = l->graph, .cache = l->cache};
    return status;
}

/* What is around the process's own profile: the option's name, and what its layers are called. */
static const struct {
    const char *option, *role;
} around[] = {{"platform", "platform"}, {"stack", "outer"}};
enum { AROUND = sizeof(around) / sizeof(around[0]) };

static int load_around(const struct cli_args *args, struct stacked *s)
{
    for (size_t k = 0; k < AROUND; k++)
        for (size_t i = 0; i < args_count(args, around[k].option); i++)
            if (load_layer(args, s, around[k].role, args_nth(args, around[k].option, i), true) !=
                CLI_OK)
                return CLI_ERROR;
    return CLI_OK;
}

int stack_or_complain(const struct cli_args *args, struct stacked *out)
{
    size_t n = 1;
    const char *profile = args_value(args, "profile");
    for (size_t k = 0; k < AROUND; k++)
        n += args_count(args, around[k].option);
    *out = (struct stacked){.loaded = calloc(n, sizeof(*out->loaded)),
                            .layers = calloc(n, sizeof(*out->layers))};
    out->stack.layers = out->layers;
    if (!out->loaded || !out->layers) {
        struct bk_err err;
        err_nomem(&err);
        return cli_fail(&err);
    }
    if (profile && load_from_text(args))
        return cli_usage(args, "give --profile or --text, not both");
    if (take_extensions(args, out) != CLI_OK || load_around(args, out) != CLI_OK)
        return CLI_ERROR;
    if (profile)
        return load_layer(args, out, "profile", profile, true);
    return load_layer(args, out, "profile", load_from_text(args) ? NULL : args->pos[0], false);
}

void stacked_free(struct stacked *s)
{
    for (size_t i = 0; i < s->stack.nlayers; i++)
        loaded_free(&s->loaded[i]);
    free(s->loaded);
    free(s->layers);
    free(s->extensions);
    free(s->kinds);
}
