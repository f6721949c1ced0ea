/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Checks a settings text: unknown keys, values of the wrong kind, invalid hosts. A sandbox that
 * silently ignores part of its policy is worse than none. Paths are checked as far as that needs no
 * disk; using them reports the rest.
 */

#include "settings/check-int.h"

#include <stdio.h>
#include <string.h>

struct bk_err *checker_add(struct checker *c, enum finding_level level, uint32_t at)
{
    static struct bk_err nowhere; /* out of memory: counted, not reported */
    struct settings_finding *f = arena_new(c->out->arena, struct settings_finding);
    c->out->errors += level == FINDING_ERROR;
    if (!f)
        return &nowhere;
    f->level = level;
    f->at = at;
    jt_fail(c->text, at, &f->err);
    if (c->out->last)
        c->out->last->next = f;
    else
        c->out->first = f;
    c->out->last = f;
    return &f->err;
}

void checker_hint(struct checker *c, const char *text)
{
    if (c->out->last)
        err_hint(&c->out->last->err, "%s", text);
}

static void remedy(struct checker *c, enum bk_remedy which)
{
    if (c->out->last)
        err_remedy(&c->out->last->err, which);
}

const char *checker_path(const struct checker *c)
{
    static _Thread_local char out[96];
    return setting_path(c->key, out);
}

/* ---- keys ---- */

static void note_effect(struct checker *c, const struct json *j)
{
    const struct setting_key *k = c->key;
    if (k->effect == EFFECT_NONE)
        FOUND(c, FINDING_NOTE, j->key_at, "%s has no effect here: %s", checker_path(c), k->brief);
    else if (k->effect == EFFECT_MACOS)
        FOUND(c, FINDING_NOTE, j->key_at, "%s has an effect only on macOS: %s", checker_path(c),
              k->brief);
    else if (k->effect == EFFECT_HOST)
        FOUND(c, FINDING_NOTE, j->key_at,
              "%s is for programs that start commands; `buckle run` ignores it", checker_path(c));
}

static void unknown_key(struct checker *c, const char *section, const struct json *j)
{
    char near[96], text[128];
    const struct setting_key *k = setting_nearest(section, j->key, j->nkey);
    FOUND(c, FINDING_ERROR, j->key_at, "%s%s%.60s is not a setting", section, *section ? "." : "",
          j->key);
    if (k) {
        snprintf(text, sizeof(text), "did you mean %s?", setting_path(k, near));
        checker_hint(c, text);
    } else {
        remedy(c, REMEDY_LIST_KEYS);
    }
}

/* A host application's own file, which holds more than a sandbox. */
static bool foreign_key(struct checker *c, const struct json *j)
{
    const char *host = j->nkey == strlen(j->key) ? setting_host(j->key) : NULL;
    if (host && strcmp(j->key, "permissions") == 0)
        FOUND(c, FINDING_NOTE, j->key_at,
              "permissions is a setting of %s; `buckle settings import` takes it over", host);
    else if (host)
        FOUND(c, FINDING_NOTE, j->key_at, "%s is a setting of %s; ignored", j->key, host);
    return host != NULL;
}

static void check_section(struct checker *c, const struct json *object, const char *section)
{
    for (const struct json *j = object->first; j; j = j->next) {
        c->key = setting_find(section, j->key, j->nkey);
        if (!c->key) {
            if (*section || !foreign_key(c, j))
                unknown_key(c, section, j);
            continue;
        }
        if (c->key->effect == EFFECT_LATER) {
            FOUND(c, FINDING_ERROR, j->key_at, "%s is not supported yet (%s)", checker_path(c),
                  c->key->brief);
            checker_hint(c, "remove it: if Buckle ignored it, you would not get what you wrote");
            continue;
        }
        note_effect(c, j);
        const struct setting_key *key = c->key;
        checker_value(c, j);
        if (key->shape == SHAPE_SECTION && j->kind == JT_OBJECT)
            check_section(c, j, key->name);
    }
}

/* A reason for a host that is not denied is never shown. */
static void check_reason_keys(struct checker *c, const struct json *root)
{
    const struct json *network = jt_get(root, "network");
    bool object = network && network->kind == JT_OBJECT;
    const struct json *reasons = object ? jt_get(network, "deniedDomainReasons") : NULL;
    const struct json *denied = object ? jt_get(network, "deniedDomains") : NULL;
    for (const struct json *r = reasons ? reasons->first : NULL; r; r = r->next) {
        bool found = false;
        for (const struct json *d = denied ? denied->first : NULL; d; d = d->next)
            found = found || (d->kind == JT_STRING && r->key && strcmp(d->s, r->key) == 0);
        if (!found && r->key)
            FOUND(c, FINDING_WARNING, r->key_at,
                  "network.deniedDomainReasons: %.80s is not in deniedDomains", r->key);
    }
}

/* An agent keeps its own settings in the same file, and ours below `sandbox`. */
static struct json *find_ours(struct checker *c, struct json *whole)
{
    struct json *sandbox = jt_get(whole, "sandbox");
    if (!sandbox)
        return whole;
    if (sandbox->kind != JT_OBJECT) {
        FOUND(c, FINDING_ERROR, sandbox->at, "sandbox must be an object, not %s",
              jt_kind_word(sandbox->kind));
        return whole;
    }
    for (const struct json *j = whole->first; j; j = j->next) {
        const struct setting_key *k = setting_find("", j->key, j->nkey);
        if (k && k != &setting_keys[SETTING_SCHEMA]) {
            FOUND(c, FINDING_ERROR, j->key_at, "%s is next to sandbox, where it has no effect",
                  k->name);
            checker_hint(c, "move it into sandbox, or move everything out of sandbox");
        }
    }
    return sandbox;
}

int settings_check(struct arena *a, const struct json_text *text, struct json **root,
                   struct settings_findings *out, struct bk_err *err)
{
    struct checker c = {.text = text, .out = out};
    struct json *whole = jt_read(a, text, err);
    if (!whole)
        return -1;
    if (whole->kind != JT_OBJECT) {
        err_set(err, BK_E_INPUT, "settings must be an object, not %s", jt_kind_word(whole->kind));
        return jt_fail(text, whole->at, err);
    }
    out->arena = a;
    *root = find_ours(&c, whole);
    check_section(&c, *root, "");
    check_reason_keys(&c, *root);
    return 0;
}
