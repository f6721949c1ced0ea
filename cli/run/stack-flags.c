/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* What is around the profile of a run. Paths of extensions are resolved, as the kernel resolves
 * what a program opens. */

#include "cli/run/stack-flags.h"

#include <stdlib.h>
#include <string.h>

/* Classes of ours say what a run has, and nobody issues them. */
static const char ours[] = "buckle.";

static int take_extensions(struct stack_flags *f, const struct cli_args *args, struct bk_err *err)
{
    struct extensions *e = &f->extensions;
    if (extensions_read(args, e, err) < 0)
        return -1;
    f->paths = calloc(e->n + 1, sizeof(*f->paths));
    if (!f->paths)
        return err_nomem(err);
    for (size_t i = 0; i < e->n; i++) {
        struct graph_extension *x = &e->at[i];
        if (strncmp(x->kind, ours, sizeof(ours) - 1) == 0)
            return err_set(err, BK_E_INPUT, "--extension %s: classes of this name are Buckle's own",
                           x->kind);
        if (x->value && strchr(x->value, '/'))
            x->value = f->paths[i] = realpath(x->value, NULL);
        if (!x->value && f->paths[i] == NULL && strchr(args_nth(args, "extension", i), '/'))
            return err_sys(err, "--extension %s", args_nth(args, "extension", i));
    }
    return 0;
}

int stack_flags_read(struct stack_flags *f, const struct cli_args *args, struct run_spec *spec,
                     struct bk_err *err)
{
    size_t n = args_count(args, "platform");
    spec->entitlements = args_value(args, "entitlements");
    if (args_has(args, "extension") && take_extensions(f, args, err) < 0)
        return -1;
    spec->extensions = f->extensions.at;
    spec->nextensions = f->extensions.n;
    f->platforms = n ? calloc(n, sizeof(*f->platforms)) : NULL;
    if (n && !f->platforms)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++)
        f->platforms[i] = args_nth(args, "platform", i);
    spec->platforms = f->platforms;
    spec->nplatforms = n;
    return 0;
}

void stack_flags_free(struct stack_flags *f)
{
    for (size_t i = 0; f->paths && i < f->extensions.n; i++)
        free(f->paths[i]);
    free(f->paths);
    free(f->platforms);
    extensions_free(&f->extensions);
}
