/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_SETTINGS_KEYS_H
#define BK_SETTINGS_KEYS_H

#include "base/buf.h"
#include "settings/json.h"

enum setting_id {
#define KEY(id, section, name, shape, stance, effect, brief) SETTING_##id,
#include "settings/keys.def"
    SETTING_COUNT,
};

enum setting_shape {
    SHAPE_ANY,
    SHAPE_OBJECT,
    SHAPE_SECTION,
    SHAPE_TEXT,
    SHAPE_BOOL,
    SHAPE_COUNT,
    SHAPE_PORT,
    /* lists */
    SHAPE_STRINGS,
    SHAPE_PATHS,
    SHAPE_DOMAINS,
    SHAPE_DENIED_DOMAINS,
    SHAPE_REQUESTS,
    SHAPE_DENIED_REQUESTS,
    SHAPE_CREDENTIALS,
    SHAPE_LOGINS,
    SHAPE_ADDRESSES,
    SHAPE_PORTS,
    SHAPE_MACH,
    SHAPE_COMMANDS,
    SHAPE_CLASSES,
    /* objects */
    SHAPE_REASONS,
    SHAPE_IGNORES,
    SHAPE_PROXY,
    SHAPE_MASKS,
    SHAPE_TERMINATE,
    SHAPE_MITM,
    /* one of some words */
    SHAPE_TARGETS,
};

enum setting_stance { STANCE_PLAIN, STANCE_OPENS, STANCE_CLOSES };
enum setting_effect { EFFECT_USED, EFFECT_MACOS, EFFECT_HOST, EFFECT_NONE, EFFECT_LATER };

struct setting_key {
    const char *section; /* "", "network", "filesystem" */
    const char *name;
    enum setting_shape shape;
    enum setting_stance stance;
    enum setting_effect effect;
    const char *brief;
};

extern const struct setting_key setting_keys[SETTING_COUNT];

static inline bool setting_is_list(enum setting_shape s)
{
    return s >= SHAPE_STRINGS && s <= SHAPE_CLASSES;
}

static inline bool setting_is_map(enum setting_shape s)
{
    return s == SHAPE_REASONS || s == SHAPE_IGNORES;
}

/* NULL when there is none. */
const struct setting_key *setting_find(const char *section, const char *name, size_t n);
/* "network.allowedDomains", and "filesystem" for a section. */
const struct setting_key *setting_by_path(const char *path);
/* The nearest key to a misspelled one, in this section, or with exactly this name in another. NULL
 * if none is near. */
const struct setting_key *setting_nearest(const char *section, const char *name, size_t n);
/* The host application whose key this is, at the top level of its own file; NULL: of none. */
const char *setting_host(const char *name);
/* "network.allowedDomains" */
const char *setting_path(const struct setting_key *k, char out[96]);

/* What a value has to be, in words: "a list of paths". */
const char *setting_shape_word(enum setting_shape shape);

/* The JSON Schema, from the table. */
void settings_schema(struct buf *out);

#endif
