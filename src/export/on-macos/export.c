/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The planner is Linux's alone. */

#include "export/export.h"

int export_graph(const struct graph *g, enum export_to to, struct exported *out, struct bk_err *err)
{
    (void)g, (void)to, (void)out;
    return err_set(err, BK_E_INPUT, "only Buckle on Linux knows what this policy means there");
}
