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

int extensions_read(const struct cli_args *args, struct extensions *out, struct bk_err *err)
{
    size_t n = args_count(args, "extension"), bytes = 1;
    for (size_t i = 0; i < n; i++)
        bytes += strlen(args_nth(args, "extension", i)) + 1;
    out->at = calloc(n + 1, sizeof(*out->at));
    out->kinds = malloc(bytes);
    if (!out->at || !out->kinds)
        return err_nomem(err);
    char *kind = out->kinds;
    for (; out->n < n; out->n++) {
        const char *given = args_nth(args, "extension", out->n);
        size_t len = strcspn(given, "=:");
        if (len == 0 || (given[len] && !given[len + 1]))
            return err_set(err, BK_E_INPUT, "--extension %s: write CLASS or CLASS=PATH", given);
        memcpy(kind, given, len);
        kind[len] = '\0';
        out->at[out->n] =
            (struct graph_extension){.kind = kind, .value = given[len] ? given + len + 1 : NULL};
        kind += len + 1;
    }
    return 0;
}

void extensions_free(struct extensions *e)
{
    free(e->at);
    free(e->kinds);
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
    struct bk_err err;
    if (extensions_read(args, &out->extensions, &err) < 0)
        return cli_fail(&err);
    out->stack.extensions = out->extensions.at;
    out->stack.nextensions = out->extensions.n;
    if (load_around(args, out) != CLI_OK)
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
    extensions_free(&s->extensions);
}
