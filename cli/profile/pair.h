/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_PROFILE_PAIR_H
#define BK_CLI_PROFILE_PAIR_H

#include "cli/profile/profile-options.h"

/* Two profiles that are compared. */
struct loaded_pair {
    struct loaded sides[2];
    bool ops[OP_COUNT]; /* those that both have a say about */
};

/* Loads both positional arguments, or says on standard error why not. When one of them is a
 * compiled profile that does not mind case, the other is read so as well. Free with
 * loaded_pair_free() whatever happened. */
int pair_or_complain(const struct cli_args *args, struct loaded_pair *out);
void loaded_pair_free(struct loaded_pair *p);
#define OWN_loaded_pair loaded_pair_free

#endif
