/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* On Linux BUCKLE_BACKEND=seatbelt chooses macOS's way, with our own sandbox-exec. */

#include "policy/target.h"

#include <stdlib.h>
#include <string.h>

bool policy_on_macos(void)
{
#ifdef __APPLE__
    return true;
#else
    const char *chosen = getenv("BUCKLE_BACKEND");
    return chosen && strcmp(chosen, "seatbelt") == 0;
#endif
}

struct access_target policy_target_here(void)
{
    bool macos = policy_on_macos();
    return (struct access_target){.macos = macos, .flattened = macos};
}
