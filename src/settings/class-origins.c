/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * For people who ask why a protected name can be written, or why it still cannot.
 */

#include "settings/class-origins.h"

int class_origins(struct settings *s, struct class_origins *out)
{
    struct setting_values v;
    *out = (struct class_origins){0};
    if (settings_values(s, SETTING_ALLOW_PROTECTED, &v) < 0)
        return -1;
    for (size_t i = 0; i < v.n; i++) {
        const struct setting_value *one = &v.at[i];
        enum protected_class class = protected_class_find(one->json->s, one->json->n);
        const char *by = settings_origin(s, one->layer, one->json->at);
        if (!by)
            return -1;
        if (class == PROTECTED_NO_CLASS || (one->ignored && out->by[class] && !out->ignored[class]))
            continue;
        out->by[class] = by;
        out->file[class] = one->layer->path;
        out->ignored[class] = one->ignored;
    }
    return 0;
}
