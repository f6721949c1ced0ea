/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Loads two profiles with the same case sensitivity. */

#include "cli/profile/pair.h"

#include <string.h>

static bool folds(const struct loaded *l)
{
    return graph_options_of(l->graph)->fold_case;
}

/* Reloads a text profile if the other side differs in case sensitivity. */
static int read_alike(const struct cli_args *args, struct loaded *sides, int side)
{
    struct loaded again;
    if (sides[side].compiled || folds(&sides[side]) == folds(&sides[!side]))
        return CLI_OK;
    int status = load_folded_or_complain(args, args->pos[side], folds(&sides[!side]), &again);
    loaded_free(status == CLI_OK ? &sides[side] : &again);
    if (status == CLI_OK)
        sides[side] = again;
    return status;
}

int pair_or_complain(const struct cli_args *args, struct loaded_pair *out)
{
    struct loaded *sides = out->sides;
    memset(out, 0, sizeof(*out));
    if (args->npos != 2)
        return cli_usage(args, "give two profiles");
    if (strcmp(args->pos[0], "-") == 0 || strcmp(args->pos[1], "-") == 0)
        return cli_usage(args, "cannot compare a profile from standard input");
    for (int s = 0; s < 2; s++)
        if (load_or_complain(args, args->pos[s], &sides[s]) != CLI_OK)
            return CLI_ERROR;
    for (int s = 0; s < 2; s++)
        if (read_alike(args, sides, s) != CLI_OK)
            return CLI_ERROR;
    for (uint32_t op = 0; op < OP_COUNT; op++)
        out->ops[op] =
            (!sides[0].compiled || sides[0].ops[op]) && (!sides[1].compiled || sides[1].ops[op]);
    return CLI_OK;
}

void loaded_pair_free(struct loaded_pair *p)
{
    loaded_free(&p->sides[0]);
    loaded_free(&p->sides[1]);
}
