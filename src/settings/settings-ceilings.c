/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The machine's ceilings for any other policy. */

#include "settings/settings.h"

unsigned settings_ceilings(const struct settings *s)
{
    return (settings_policy_owns(s, SETTING_ALLOW_WRITE) ? CEILING_WRITES : 0u) |
           (settings_policy_owns(s, SETTING_ALLOWED_DOMAINS) ? CEILING_HOSTS : 0u) |
           (settings_policy_owns(s, SETTING_UNIX_SOCKETS) ? CEILING_SOCKETS : 0u) |
           (settings_policy_owns(s, SETTING_ALLOW_PROTECTED) ? CEILING_PROTECTED : 0u);
}

int settings_check_userns(struct settings *s, struct bk_err *err)
{
    struct setting_values v;
    if (settings_values(s, SETTING_NESTED_USERNS, &v) < 0)
        return err_nomem(err);
    for (size_t i = 0; i < v.n; i++)
        if (v.at[i].layer->id == LAYER_POLICY && !v.at[i].json->truth)
            return err_set(err, BK_E_INPUT,
                           "the machine's policy does not allow user namespaces inside");
    return 0;
}
