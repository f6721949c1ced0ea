/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Entitlements as an association list, for (entitlement "key"). */

#include "sbpl/machine.h"

#include <jansson.h>
#include <string.h>

#include "base/own.h"
#include "entitlements/entitlements.h"
#include "sbpl/prim.h"

static struct val *text_value(struct machine *m, const char *s)
{
    struct val *v = val_string(m->arena, s, strlen(s));
    return v ? v : machine_no_memory(m);
}

static int add_pair(struct machine *m, struct listing *out, const char *key, struct val *value)
{
    struct val *k = value ? text_value(m, key) : NULL;
    struct val *pair = k ? machine_cons(m, k, value, 0) : NULL;
    return pair ? listing_add(m, out, pair, 0) : -1;
}

static struct val *too_deep(struct machine *m, src_pos pos)
{
    return machine_error(m, pos, "entitlements", "the entitlements are nested more than %d deep",
                         ENTITLEMENTS_DEPTH);
}

static struct val *from_json(struct machine *m, json_t *j, int depth, src_pos pos)
{
    struct listing out = {0};
    const char *key;
    json_t *item;
    size_t i;
    if (depth > ENTITLEMENTS_DEPTH)
        return too_deep(m, pos);
    switch (json_typeof(j)) {
    case JSON_OBJECT:
        json_object_foreach(j, key,
                            item) if (add_pair(m, &out, key, from_json(m, item, depth + 1, pos)) <
                                      0) return NULL;
        return listing_end(&out, &val_nil);
    case JSON_ARRAY:
        json_array_foreach(j, i, item)
        {
            struct val *v = from_json(m, item, depth + 1, pos);
            if (!v || listing_add(m, &out, v, 0) < 0)
                return NULL;
        }
        return listing_end(&out, &val_nil);
    case JSON_STRING:
        return text_value(m, json_string_value(j));
    case JSON_INTEGER:
        return checked(m, val_int(m->arena, json_integer_value(j)));
    case JSON_REAL:
        return checked(m, val_real(m->arena, json_real_value(j)));
    case JSON_TRUE:
        return &val_true;
    default:
        return &val_false;
    }
}

static struct val *load_json(struct machine *m, const char *text, src_pos pos)
{
    const char *name = m->unit->opt.entitlements;
    json_error_t why;
    json_t *j = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    if (!j)
        return machine_error(m, pos, "entitlements", "%s:%d: %s", name, why.line, why.text);
    struct val *v = NULL;
    if (json_is_object(j))
        v = from_json(m, j, 0, pos);
    else
        machine_error(m, pos, "entitlements", "%s: expected an object of entitlements", name);
    json_decref(j);
    return v;
}

struct val *entitlements_load(struct machine *m, src_pos pos)
{
    if (m->entitlements)
        return m->entitlements;
    const struct sbpl_options *opt = &m->unit->opt;
    OWN(buf) struct buf read = {0};
    struct bk_err err = {0};
    if (!opt->entitlements)
        return m->entitlements = &val_nil;
    if (!opt->entitlements_json && entitlements_read(opt->entitlements, &read, &err) < 0) {
        machine_error(m, pos, "entitlements", "%s", err.msg);
        if (err.hint[0])
            machine_hint(m, "%s", err.hint);
        return NULL;
    }
    const char *text = opt->entitlements_json ? opt->entitlements_json : read.s;
    return m->entitlements = load_json(m, text, pos);
}
