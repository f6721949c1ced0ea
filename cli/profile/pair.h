/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_PROFILE_PAIR_H
#define BK_CLI_PROFILE_PAIR_H

#include "cli/profile/profile-options.h"

/* Two profiles to compare. */
struct loaded_pair {
    struct loaded sides[2];
    bool ops[OP_COUNT]; /* operations that both sides have */
};

/* Loads both positional arguments, or prints an error. If one is a compiled profile that ignores
 * case, so does the other. Returns CLI_OK or CLI_ERROR; call loaded_pair_free() even then. */
int pair_or_complain(const struct cli_args *args, struct loaded_pair *out);
void loaded_pair_free(struct loaded_pair *p);
#define OWN_loaded_pair loaded_pair_free

#endif
