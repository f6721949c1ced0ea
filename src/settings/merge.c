/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * All layers' values of a key. Lists and maps are united, element by element; of anything else the
 * last layer's value counts. Values that don't count stay in the result with the reason, to be
 * shown.
 */

#include <string.h>

#include "settings/settings.h"

static const char untrusted[] = "the project is not trusted";
static const char overruled[] = "a later layer overrides it";
static const char by_policy[] = "the machine's policy overrides it";
static const char replaced[] = "it was only the default";
static const char only_policy[] = "only the machine's policy can set it";

static const struct json *key_value(const struct settings_layer *l, const struct setting_key *k)
{
    const struct json *section = *k->section ? jt_get(l->root, k->section) : l->root;
    return section ? jt_get(section, k->name) : NULL;
}

/* A bool opens if it is true, or false for a key that closes; an empty list opens nothing. */
bool setting_opens(const struct setting_key *k, const struct json *j)
{
    bool empty = (j->kind == JT_ARRAY || j->kind == JT_OBJECT) && !j->count;
    if (k->shape == SHAPE_BOOL)
        return (k->stance == STANCE_OPENS && j->truth) || (k->stance == STANCE_CLOSES && !j->truth);
    return k->stance == STANCE_OPENS && !empty;
}

static int push_value(struct settings *s, struct setting_values *out, const struct setting_value *v)
{
    size_t n = out->n;
    if (!n || !(n & (n - 1))) {
        struct setting_value *more = arena_array(&s->arena, n ? 2 * n : 1, sizeof(*more));
        if (!more)
            return -1;
        if (n)
            memcpy(more, out->at, n * sizeof(*more));
        out->at = more;
    }
    out->at[out->n++] = *v;
    return 0;
}

/* Keys that open everything of which the policy's list opens a part. */
static const struct {
    enum setting_id wide, list;
} caps[] = {
    {SETTING_ALL_DOMAINS, SETTING_ALLOWED_DOMAINS},
    {SETTING_ALLOWED_REQUESTS, SETTING_ALLOWED_DOMAINS},
    {SETTING_HTTP_PORT, SETTING_ALLOWED_DOMAINS},
    {SETTING_SOCKS_PORT, SETTING_ALLOWED_DOMAINS},
    {SETTING_PARENT_PROXY, SETTING_ALLOWED_DOMAINS},
    {SETTING_MITM_PROXY, SETTING_ALLOWED_DOMAINS},
    {SETTING_ALL_UNIX_SOCKETS, SETTING_UNIX_SOCKETS},
    {SETTING_LOCAL_BINDING, SETTING_LOCAL_PORTS},
    {SETTING_FS_DISABLED, SETTING_DENY_READ},
    {SETTING_FS_DISABLED, SETTING_ALLOW_WRITE},
    {SETTING_FS_DISABLED, SETTING_DENY_WRITE},
};

/* Keys by which the policy keeps a list for itself, even if it does not give one. */
static const struct {
    enum setting_id key, list;
} managed[] = {
    {SETTING_MANAGED_DOMAINS, SETTING_ALLOWED_DOMAINS},
    {SETTING_MANAGED_READS, SETTING_ALLOW_READ},
};

static bool is_managing(const struct setting_key *k)
{
    return k == &setting_keys[SETTING_MANAGED_DOMAINS] || k == &setting_keys[SETTING_MANAGED_READS];
}

static bool layer_owns(const struct settings_layer *l, const struct setting_key *k)
{
    bool owns = key_value(l, k) != NULL;
    for (size_t m = 0; m < sizeof(managed) / sizeof(managed[0]); m++) {
        const struct json *j = k == &setting_keys[managed[m].list]
                                   ? key_value(l, &setting_keys[managed[m].key])
                                   : NULL;
        owns = owns || (j && j->truth);
    }
    return owns;
}

bool settings_policy_owns(const struct settings *s, enum setting_id id)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->layers[i].id == LAYER_POLICY && layer_owns(&s->layers[i], &setting_keys[id]))
            return true;
    return false;
}

static bool capped(const struct settings *s, const struct setting_key *k)
{
    for (size_t c = 0; c < sizeof(caps) / sizeof(caps[0]); c++)
        if (k == &setting_keys[caps[c].wide] && settings_policy_owns(s, caps[c].list))
            return true;
    return false;
}

/* Why a whole layer's value does not count. */
static const char *refusal(const struct settings *s, const struct setting_key *k,
                           const struct settings_layer *l, const struct json *j)
{
    bool policy = false, others = false;
    for (size_t i = 0; i < s->n; i++) {
        const struct settings_layer *o = &s->layers[i];
        const struct json *value = key_value(o, k);
        policy = policy || (o->id == LAYER_POLICY && layer_owns(o, k));
        others = others ||
                 (value && o->id != LAYER_DEFAULTS && (o->trusted || !setting_opens(k, value)));
    }
    if (!l->trusted && setting_opens(k, j))
        return untrusted;
    if (l->id != LAYER_POLICY && is_managing(k))
        return only_policy;
    if (l->id == LAYER_DEFAULTS && others)
        return replaced;
    if (l->id != LAYER_POLICY && setting_opens(k, j) && capped(s, k))
        return by_policy;
    /* a list of permissions replaces; a list of denials only grows */
    bool list = setting_is_list(k->shape) || setting_is_map(k->shape);
    if (policy && l->id != LAYER_POLICY && list && k->stance == STANCE_OPENS)
        return by_policy;
    return NULL;
}

/* The last value that counts; it overrules the others. */
static void choose_last(struct setting_values *v)
{
    const struct setting_value *last = NULL;
    for (size_t i = v->n; i > 0; i--) {
        struct setting_value *x = &v->at[i - 1];
        if (x->ignored)
            continue;
        if (last)
            x->ignored = last->layer->id == LAYER_POLICY ? by_policy : overruled;
        else
            last = x;
    }
}

int settings_values(struct settings *s, enum setting_id id, struct setting_values *out)
{
    const struct setting_key *k = &setting_keys[id];
    bool many = setting_is_list(k->shape) || setting_is_map(k->shape);
    *out = (struct setting_values){0};
    for (size_t i = 0; i < s->n; i++) {
        struct setting_value v = {.layer = &s->layers[i], .json = key_value(&s->layers[i], k)};
        if (!v.json)
            continue;
        v.ignored = refusal(s, k, v.layer, v.json);
        if (!many) {
            if (push_value(s, out, &v) < 0)
                return -1;
            continue;
        }
        for (const struct json *e = v.json->first; e; e = e->next) {
            v.json = e;
            if (push_value(s, out, &v) < 0)
                return -1;
        }
    }
    if (!many)
        choose_last(out);
    return 0;
}

const struct json *settings_value(struct settings *s, enum setting_id id)
{
    struct setting_values v;
    if (settings_values(s, id, &v) < 0)
        return NULL;
    for (size_t i = 0; i < v.n; i++)
        if (!v.at[i].ignored)
            return v.at[i].json;
    return NULL;
}

const char *settings_distrusted(struct settings *s)
{
    for (size_t l = s->n; l > 0; l--)
        for (size_t id = 0; !s->layers[l - 1].trusted && id < SETTING_COUNT; id++) {
            const struct json *j = key_value(&s->layers[l - 1], &setting_keys[id]);
            if (j && setting_opens(&setting_keys[id], j))
                return s->layers[l - 1].project;
        }
    return NULL;
}
