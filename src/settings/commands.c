/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Rules about commands: reading them, and finding those that fit one. */

#include "settings/commands.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
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

/* ---- a profile by name ---- */

static int fail_at(struct reader *r, const struct json *j)
{
    return jt_fail(&r->v->layer->text, j->at, r->err);
}

/* Only regular files: a pipe could block whoever reads the settings. */
static int read_text(struct reader *r, const struct json *j, struct command_rule *rule)
{
    enum { MOST = 1 << 20 };
    struct stat st;
    OWN(fd) int fd = open(rule->profile, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(r->err, "commands: cannot read the profile %.200s", rule->profile),
               fail_at(r, j);
    if (!S_ISREG(st.st_mode) || st.st_size > MOST)
        return err_set(r->err, BK_E_INPUT, "commands: %.200s is no profile", rule->profile),
               fail_at(r, j);
    char *text = arena_array(&r->s->arena, (size_t)st.st_size + 1, 1);
    if (!text)
        return err_nomem(r->err);
    ssize_t n = 0, got = 1;
    while (n < st.st_size && got > 0) {
        got = read(fd, text + n, (size_t)(st.st_size - n));
        n += got > 0 ? got : 0;
    }
    if (n == 0 || got < 0)
        return err_set(r->err, BK_E_INPUT, "commands: the profile %.200s is empty", rule->profile),
               fail_at(r, j);
    rule->text = text;
    rule->ntext = (size_t)n;
    return 0;
}

/* As everywhere: a name with a slash or the suffix .sb is a path, any other a shipped profile. */
static int read_profile(struct reader *r, const struct json *j, struct command_rule *rule)
{
    struct places found = {0};
    bool path = memchr(j->s, '/', j->n) || (j->n > 3 && strcmp(j->s + j->n - 3, ".sb") == 0);
    rule->profile = j->s;
    rule->profile_at = (uint32_t)j->at;
    if (!path)
        return 0;
    if (read_place(r, j, true, &found) < 0)
        return -1;
    if (found.n != 1 || found.at[0].kind == PLACE_GLOB)
        return err_set(r->err, BK_E_INPUT, "commands: a profile is one file"), fail_at(r, j);
    rule->profile = found.at[0].path;
    return read_text(r, j, rule);
}

int command_rule_read(struct settings *s, const struct setting_value *v, struct command_rule *out,
                      struct bk_err *err)
{
    struct reader r = {s, v, err};
    const struct json *profile = jt_get(v->json, "profile"), *reason = jt_get(v->json, "reason");
    const struct json *named = profile && profile->kind == JT_STRING ? profile : NULL;
    const struct json *match = jt_get(v->json, "match");
    profile = named ? NULL : profile;
    struct command_rule rule = {.ask = is_set(v->json, "ask"),
                                .deny = is_set(v->json, "deny"),
                                .machine = v->layer->id == LAYER_POLICY,
                                .reason = reason ? reason->s : NULL,
                                .deny_network = is_set(profile, "denyNetwork"),
                                .caps_writes = profile && jt_get(profile, "allowWrite")};
    rule.origin = settings_origin(s, v->layer, match->at);
    if (!rule.origin)
        return err_nomem(err);
    if (read_match(&r, match, &rule.match) < 0 || (named && read_profile(&r, named, &rule) < 0))
        return -1;
    if (profile && (read_places(&r, jt_get(profile, "denyRead"), true, &rule.deny_read) < 0 ||
                    read_places(&r, jt_get(profile, "denyWrite"), true, &rule.deny_write) < 0 ||
                    read_places(&r, jt_get(profile, "allowWrite"), false, &rule.allow_write) < 0))
        return -1;
    *out = rule;
    return 0;
}

static bool has_word(const struct words *list, const char *word)
{
    for (size_t i = 0; i < list->n; i++)
        if (strcmp(list->at[i], word) == 0)
            return true;
    return false;
}

bool command_is_agreed(const struct access *p, const struct command_rule *r, const char *pattern)
{
    return has_word(&p->agreed, pattern) || (!r->machine && has_word(&p->always, pattern));
}

bool command_rule_narrows(const struct command_rule *r)
{
    return r->profile || r->deny_network || r->caps_writes || r->deny_read.n || r->deny_write.n;
}

bool command_pattern_fits(const char *pattern, const char *command, size_t n)
{
    return graph_command_fits(pattern, strlen(pattern), command, n);
}

/* asked: by a pattern that the user has not agreed to */
static bool fits(const struct access *p, const struct command_rule *r, const char *command,
                 size_t n, bool *asked)
{
    bool any = false;
    *asked = false;
    for (size_t i = 0; i < r->match.n; i++)
        if (command_pattern_fits(r->match.at[i], command, n)) {
            any = true;
            *asked = *asked || (r->ask && !command_is_agreed(p, r, r->match.at[i]));
        }
    return any;
}

void command_rules_match(const struct access *p, const char *command, size_t n,
                         struct command_match *out)
{
    for (size_t i = 0; i < p->ncommands; i++) {
        const struct command_rule *r = &p->commands[i];
        bool asked;
        if (!fits(p, r, command, n, &asked))
            continue;
        out->deny = !out->deny && r->deny ? r : out->deny;
        out->ask = !out->ask && asked ? r : out->ask;
        out->narrows = !out->narrows && command_rule_narrows(r) ? r : out->narrows;
    }
}
