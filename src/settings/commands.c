/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Rules about commands: reading them, and finding those that fit one. */

#include "settings/commands.h"

#include <string.h>

#include "graph/command.h"

struct reader {
    struct settings *s;
    const struct setting_value *v;
    struct bk_err *err;
};

static bool is_set(const struct json *object, const char *key)
{
    const struct json *j = object ? jt_get(object, key) : NULL;
    return j && j->truth;
}

static int read_match(struct reader *r, const struct json *match, struct words *out)
{
    bool list = match->kind == JT_ARRAY;
    for (const struct json *j = list ? match->first : match; j; j = list ? j->next : NULL)
        if (words_push(&r->s->arena, out, j->s) < 0)
            return err_nomem(r->err);
    return 0;
}

static int read_place(struct reader *r, const struct json *j, bool denies, struct places *out)
{
    bool literal = j->kind == JT_OBJECT;
    const struct json *text = literal ? jt_get(j, "path") : j;
    const struct settings_layer *l = r->v->layer;
    struct path_base base = {.cwd = l->project ? l->project : r->s->cwd,
                             .home = r->s->home,
                             .elsewhere = r->s->elsewhere};
    struct path_entry e = {.text = text->s,
                           .n = text->n,
                           .origin = settings_origin(r->s, l, text->at),
                           .literal = literal,
                           .denies = denies};
    if (!e.origin)
        return err_nomem(r->err);
    if (path_places(&r->s->arena, &base, &e, out, r->err) == 0)
        return 0;
    struct bk_err why = *r->err;
    err_set(r->err, why.code, "commands: %.200s", why.msg);
    err_hint(r->err, "%s", why.hint);
    return jt_fail(&l->text, text->at, r->err);
}

static int read_places(struct reader *r, const struct json *list, bool denies, struct places *out)
{
    for (const struct json *j = list ? list->first : NULL; j; j = j->next)
        if (read_place(r, j, denies, out) < 0)
            return -1;
    return 0;
}

int command_rule_read(struct settings *s, const struct setting_value *v, struct command_rule *out,
                      struct bk_err *err)
{
    struct reader r = {s, v, err};
    const struct json *profile = jt_get(v->json, "profile"), *reason = jt_get(v->json, "reason");
    const struct json *match = jt_get(v->json, "match");
    struct command_rule rule = {.ask = is_set(v->json, "ask"),
                                .deny = is_set(v->json, "deny"),
                                .reason = reason ? reason->s : NULL,
                                .deny_network = is_set(profile, "denyNetwork"),
                                .caps_writes = profile && jt_get(profile, "allowWrite")};
    rule.origin = settings_origin(s, v->layer, match->at);
    if (!rule.origin)
        return err_nomem(err);
    if (read_match(&r, match, &rule.match) < 0)
        return -1;
    if (profile && (read_places(&r, jt_get(profile, "denyRead"), true, &rule.deny_read) < 0 ||
                    read_places(&r, jt_get(profile, "denyWrite"), true, &rule.deny_write) < 0 ||
                    read_places(&r, jt_get(profile, "allowWrite"), false, &rule.allow_write) < 0))
        return -1;
    *out = rule;
    return 0;
}

bool command_rule_narrows(const struct command_rule *r)
{
    return r->deny_network || r->caps_writes || r->deny_read.n || r->deny_write.n;
}

bool command_pattern_fits(const char *pattern, const char *command, size_t n)
{
    return graph_command_fits(pattern, strlen(pattern), command, n);
}

static bool fits(const struct command_rule *r, const char *command, size_t n)
{
    for (size_t i = 0; i < r->match.n; i++)
        if (command_pattern_fits(r->match.at[i], command, n))
            return true;
    return false;
}

void command_rules_match(const struct access *p, const char *command, size_t n,
                         struct command_match *out)
{
    for (size_t i = 0; i < p->ncommands; i++) {
        const struct command_rule *r = &p->commands[i];
        if (!fits(r, command, n))
            continue;
        out->deny = !out->deny && r->deny ? r : out->deny;
        out->ask = !out->ask && r->ask ? r : out->ask;
        out->narrows = !out->narrows && command_rule_narrows(r) ? r : out->narrows;
    }
}
