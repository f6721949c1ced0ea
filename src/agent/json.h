/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_JSON_H
#define BK_AGENT_JSON_H

#include <jansson.h>

static inline void json_free(json_t **j)
{
    json_decref(*j);
}
#define OWN_json json_free

/* The string value of a key, or NULL if it is missing or not a string. */
static inline const char *json_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

#endif
