/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_RULE_H
#define BK_SETTINGS_RULE_H

#include "settings/policy.h"

/* One rule for the end of a profile, as the flag --OPTION=VALUE of `buckle run` makes it:
 * "allow-read", "deny-write", "allow-net"… shipped: the policy began with a shipped profile. cwd is
 * for paths only. */
int rule_write(const char *option, const char *value, const char *cwd, bool shipped,
               struct buf *out, struct bk_err *err);
/* The places that such a flag's path means. */
int rule_places(struct arena *a, const char *option, const char *given, const char *cwd,
                bool denies, struct places *out, struct bk_err *err);

#endif
