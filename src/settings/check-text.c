/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Checks a settings text: unknown keys, values of the wrong kind, invalid hosts. A sandbox that
 * silently ignores part of its policy is worse than none. Paths are checked as far as that needs no
 * disk; using them reports the rest.
 */

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/spelling.h"
#include "graph/command.h"
#include "graph/net.h"
#include "graph/proxy-url.h"
#include "settings/credential-rule.h"
#include "settings/masks.h"
#include "settings/request-rule.h"
#include "settings/settings.h"
#include "settings/ssh-rule.h"
#include "vocab/protected-classes.h"

struct checker {
    const struct json_text *text;
    struct settings_findings *out;
    const struct setting_key *key; /* being checked */
};

static struct bk_err *add_finding(struct checker *c, enum finding_level level, uint32_t at)
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

/* err_set() clears the place. */
#define FOUND(c, level, at, ...)                                                                   \
    do {                                                                                           \
        struct bk_err *e_ = add_finding(c, level, at), place_ = *e_;                               \
        err_set(e_, BK_E_INPUT, __VA_ARGS__);                                                      \
        err_place(e_, place_.file, place_.line, place_.col);                                       \
    } while (0)

static void hint(struct checker *c, const char *text)
{
    if (c->out->last)
        err_hint(&c->out->last->err, "%s", text);
}

static void remedy(struct checker *c, enum bk_remedy which)
{
    if (c->out->last)
        err_remedy(&c->out->last->err, which);
}

static const char *path_of(const struct checker *c)
{
    static _Thread_local char out[96];
    return setting_path(c->key, out);
}

static bool wants(struct checker *c, const struct json *j, enum json_kind kind)
{
    if (j->kind == kind)
        return true;
    FOUND(c, FINDING_ERROR, j->at, "%s must be %s, not %s", path_of(c),
          setting_shape_word(c->key->shape), jt_kind_word(j->kind));
    return false;
}

static bool element_is(struct checker *c, const struct json *j, enum json_kind kind)
{
    if (j->kind == kind)
        return true;
    FOUND(c, FINDING_ERROR, j->at, "%s must be %s, but this is %s", path_of(c),
          setting_shape_word(c->key->shape), jt_kind_word(j->kind));
    return false;
}

/* ---- elements ---- */

static void check_path(struct checker *c, const struct json *j)
{
    if (j->kind == JT_OBJECT) {
        const struct json *path = jt_get(j, "path"), *literal = jt_get(j, "literal");
        if (j->count != 2 || !path || path->kind != JT_STRING || !literal ||
            literal->kind != JT_BOOL || !literal->truth) {
            FOUND(c, FINDING_ERROR, j->at,
                  "%s: an entry must be a string or {\"path\": …, \"literal\": true}", path_of(c));
            return;
        }
        j = path;
    }
    if (!element_is(c, j, JT_STRING))
        return;
    if (!j->n)
        FOUND(c, FINDING_ERROR, j->at, "%s: the path is empty", path_of(c));
}

/* Where it permits, "*.a.b" needs two labels behind the star: "*.com" is half of the world. */
static bool too_broad(const struct json *j)
{
    size_t n = j->n > 2 && j->s[j->n - 1] == '.' ? j->n - 1 : j->n;
    return j->n > 2 && strncmp(j->s, "*.", 2) == 0 && !memchr(j->s + 2, '.', n - 2);
}

static bool is_everything(const struct json *j)
{
    return j->n && j->s[0] == '*' && (j->n == 1 || j->s[1] == ':');
}

static void check_domain(struct checker *c, const struct json *j)
{
    struct net_endpoint end;
    bool denies = c->key->shape == SHAPE_DENIED_DOMAINS;
    if (!element_is(c, j, JT_STRING))
        return;
    bool host = net_endpoint_parse(j->s, j->n, &end, NULL, NULL) == 0 ||
                net_domain_check(j->s, j->n, NULL) == 0;
    if (!host) {
        FOUND(c, FINDING_ERROR, j->at, "%s: %.80s is not a host name or address", path_of(c), j->s);
        hint(c, "write a name, *.name, an address or [address]; :port limits it to one port");
    } else if (!denies && is_everything(j)) {
        FOUND(c, FINDING_ERROR, j->at, "%s: * would match every host", path_of(c));
        hint(c, "use allowAllDomains for that");
    } else if (!denies && too_broad(j)) {
        FOUND(c, FINDING_ERROR, j->at, "%s: %.80s would match too many hosts", path_of(c), j->s);
        hint(c, "write at least two labels after the star: *.example.com");
    }
}

static void check_credential(struct checker *c, const struct json *j)
{
    struct credential_rule rule;
    struct bk_err why;
    if (!element_is(c, j, JT_STRING))
        return;
    if (strlen(j->s) == j->n && credential_rule_read(j->s, c->out->arena, &rule, &why) == 0)
        return;
    FOUND(c, FINDING_ERROR, j->at, "%s: %s", path_of(c),
          strlen(j->s) == j->n ? why.msg : "this is not a credential");
    hint(c, "write NAME -> HOST, for example \"GITHUB_TOKEN -> api.github.com\"");
}

static void check_login(struct checker *c, const struct json *j)
{
    struct ssh_login rule;
    struct bk_err why;
    if (element_is(c, j, JT_STRING) && ssh_rule_read(j->s, c->out->arena, &rule, &why) < 0)
        FOUND(c, FINDING_ERROR, j->at, "%s: %s", path_of(c), why.msg);
}

static void check_masks(struct checker *c, const struct json *j)
{
    struct masks *m = arena_alloc(c->out->arena, sizeof(*m));
    const struct masks_base base = {.cwd = "/", .arena = c->out->arena};
    const struct json *where = j;
    struct bk_err why;
    if (!wants(c, j, JT_OBJECT) || !m)
        return;
    if (masks_read(j, &base, m, &where, &why) < 0)
        FOUND(c, FINDING_ERROR, where->at, "%s: %s", path_of(c), why.msg);
}

static void check_request(struct checker *c, const struct json *j)
{
    OWN(buf) struct buf filter = {0};
    struct bk_err why;
    if (!element_is(c, j, JT_STRING))
        return;
    if (strlen(j->s) == j->n && request_rule_filter(j->s, &filter, &why) == 0)
        return;
    FOUND(c, FINDING_ERROR, j->at, "%s: %s", path_of(c),
          strlen(j->s) == j->n ? why.msg : "this is not a request");
    hint(c, "write METHOD HOST/PATH, for example \"GET,HEAD api.example.com/v1/**\" or "
            "\"read-only github.com\"");
}

static void check_address(struct checker *c, const struct json *j)
{
    struct net_endpoint end = {0};
    if (!element_is(c, j, JT_STRING))
        return;
    bool good = net_endpoint_parse(j->s, j->n, &end, NULL, NULL) == 0 &&
                end.host == NET_HOST_ADDRESS && end.port_lo == 0 && end.port_hi == UINT16_MAX;
    if (good)
        return;
    FOUND(c, FINDING_ERROR, j->at, "%s: %.80s is not an address or a range", path_of(c), j->s);
    hint(c, "for example 10.0.0.0/8 or fc00::/7, without a port");
}

static bool is_port(const struct json *j)
{
    return j->kind == JT_NUMBER && j->integral && j->number >= 1 && j->number <= UINT16_MAX;
}

static void check_port(struct checker *c, const struct json *j)
{
    if (!is_port(j))
        FOUND(c, FINDING_ERROR, j->at, "%s: a port must be between 1 and 65535", path_of(c));
}

static void check_mach(struct checker *c, const struct json *j)
{
    if (!element_is(c, j, JT_STRING))
        return;
    const char *star = memchr(j->s, '*', j->n);
    if (!j->n || (star && star + 1 != j->s + j->n))
        FOUND(c, FINDING_ERROR, j->at, "%s: * can only be the last character", path_of(c));
}

static void check_class(struct checker *c, const struct json *j)
{
    const char *names[PROTECTED_CLASSES];
    char text[64];
    if (!element_is(c, j, JT_STRING) || protected_class_find(j->s, j->n) != PROTECTED_NO_CLASS)
        return;
    FOUND(c, FINDING_ERROR, j->at, "%s: there is no class %.40s", path_of(c), j->s);
    for (size_t i = 0; i < PROTECTED_CLASSES; i++)
        names[i] = protected_classes[i].name;
    const char *near = spelling_nearest(j->s, names, PROTECTED_CLASSES);
    snprintf(text, sizeof(text), "did you mean %s?", near ? near : "");
    hint(c, near ? text : c->key->brief);
}

static void check_string(struct checker *c, const struct json *j)
{
    element_is(c, j, JT_STRING);
}

/* ---- rules for commands ---- */

static void check_pattern(struct checker *c, const struct json *j)
{
    struct bk_err why;
    if (element_is(c, j, JT_STRING) && graph_command_check(j->s, j->n, &why) < 0)
        FOUND(c, FINDING_ERROR, j->at, "%s: %s", path_of(c), why.msg);
}

static void check_member(struct checker *c, const struct json *j, enum json_kind kind,
                         void (*element)(struct checker *, const struct json *))
{
    if (!element_is(c, j, kind) || kind != JT_ARRAY)
        return;
    for (const struct json *e = j->first; e; e = e->next)
        element(c, e);
}

/* The members of an object and what each has to be. */
struct member {
    const char *name;
    enum json_kind kind;
    void (*element)(struct checker *, const struct json *); /* of a list */
};

static const struct member *find_member(const struct member *list, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static void check_members(struct checker *c, const struct json *object, const struct member *list,
                          size_t n, const char *all)
{
    for (const struct json *j = object->first; j; j = j->next) {
        const struct member *m = find_member(list, n, j->key);
        if (m) {
            check_member(c, j, m->kind, m->element);
            continue;
        }
        FOUND(c, FINDING_ERROR, j->key_at, "%s has no member %.40s", path_of(c), j->key);
        hint(c, all);
    }
}

static void check_profile(struct checker *c, const struct json *j)
{
    static const struct member members[] = {{"denyNetwork", JT_BOOL, NULL},
                                            {"denyRead", JT_ARRAY, check_path},
                                            {"denyWrite", JT_ARRAY, check_path},
                                            {"allowWrite", JT_ARRAY, check_path}};
    if (j && j->kind == JT_STRING) {
        if (!j->n)
            FOUND(c, FINDING_ERROR, j->at, "%s: the profile has no name", path_of(c));
        return;
    }
    if (j && element_is(c, j, JT_OBJECT))
        check_members(c, j, members, sizeof(members) / sizeof(members[0]),
                      "a profile has denyNetwork, denyRead, denyWrite and allowWrite");
}

static void check_command(struct checker *c, const struct json *j)
{
    static const struct member members[] = {
        {"ask", JT_BOOL, NULL}, {"deny", JT_BOOL, NULL}, {"reason", JT_STRING, NULL}};
    static const char all[] = "a rule has match, ask, deny, reason and profile";
    if (!element_is(c, j, JT_OBJECT))
        return;
    const struct json *match = jt_get(j, "match"), *profile = jt_get(j, "profile");
    const struct json *ask = jt_get(j, "ask"), *deny = jt_get(j, "deny");
    for (const struct json *e = j->first; e; e = e->next)
        if (e != match && e != profile && !find_member(members, 3, e->key)) {
            FOUND(c, FINDING_ERROR, e->key_at, "%s has no member %.40s", path_of(c), e->key);
            hint(c, all);
        } else if (e != match && e != profile) {
            check_member(c, e, find_member(members, 3, e->key)->kind, NULL);
        }
    if (!match || (match->kind == JT_ARRAY && !match->first))
        FOUND(c, FINDING_ERROR, j->at, "%s: a rule needs match, a pattern of commands", path_of(c));
    else if (match->kind == JT_ARRAY)
        check_member(c, match, JT_ARRAY, check_pattern);
    else
        check_pattern(c, match);
    check_profile(c, profile);
    if (!(ask && ask->truth) && !(deny && deny->truth) && !profile) {
        FOUND(c, FINDING_ERROR, j->at, "%s: this rule does nothing", path_of(c));
        hint(c, "give it \"ask\": true, \"deny\": true or a profile");
    }
}

static void check_list(struct checker *c, const struct json *j,
                       void (*check)(struct checker *, const struct json *))
{
    if (!wants(c, j, JT_ARRAY))
        return;
    for (const struct json *e = j->first; e; e = e->next)
        check(c, e);
}

/* ---- objects ---- */

static void check_reasons(struct checker *c, const struct json *j)
{
    if (!wants(c, j, JT_OBJECT))
        return;
    for (const struct json *e = j->first; e; e = e->next)
        if (element_is(c, e, JT_STRING) && !e->n)
            FOUND(c, FINDING_ERROR, e->at, "%s: the reason is empty", path_of(c));
}

static void check_ignores(struct checker *c, const struct json *j)
{
    if (!wants(c, j, JT_OBJECT))
        return;
    for (const struct json *e = j->first; e; e = e->next)
        if (element_is(c, e, JT_ARRAY))
            for (const struct json *t = e->first; t; t = t->next)
                check_string(c, t);
}

static void check_proxy(struct checker *c, const struct json *j)
{
    static const char *const names[] = {"http", "https", "noProxy"};
    struct upstream up;
    if (!wants(c, j, JT_OBJECT))
        return;
    for (const struct json *e = j->first; e; e = e->next) {
        bool known = false;
        for (size_t i = 0; i < 3; i++)
            known = known || strcmp(e->key, names[i]) == 0;
        if (!known) {
            FOUND(c, FINDING_ERROR, e->key_at, "%s has no member %.40s", path_of(c), e->key);
            hint(c, "its members are http, https and noProxy");
        } else if (element_is(c, e, JT_STRING) && strcmp(e->key, "noProxy") != 0) {
            struct bk_err why;
            if (upstream_parse(e->s, &up, &why) < 0) {
                FOUND(c, FINDING_ERROR, e->at, "%s: %s", path_of(c), why.msg);
                hint(c, why.hint);
            }
        }
    }
}

static void check_range(struct checker *c, const struct json *object, const char *name, int64_t low,
                        int64_t high)
{
    const struct json *j = jt_get(object, name);
    if (j && j->kind == JT_NUMBER && (!j->integral || j->number < low || j->number > high))
        FOUND(c, FINDING_ERROR, j->at, "%s: %s must be between %lld and %lld", path_of(c), name,
              (long long)low, (long long)high);
}

static void check_terminate(struct checker *c, const struct json *j)
{
    static const struct member members[] = {{"caCertPath", JT_STRING, NULL},
                                            {"caKeyPath", JT_STRING, NULL},
                                            {"excludeDomains", JT_ARRAY, check_domain},
                                            {"extraCaCertPaths", JT_ARRAY, check_path},
                                            {"maxTunnels", JT_NUMBER, NULL},
                                            {"handshakeTimeoutMs", JT_NUMBER, NULL}};
    if (!wants(c, j, JT_OBJECT))
        return;
    check_members(c, j, members, sizeof(members) / sizeof(members[0]),
                  setting_shape_word(SHAPE_TERMINATE));
    check_range(c, j, "maxTunnels", 1, 65536);
    check_range(c, j, "handshakeTimeoutMs", 100, 600000);
    if (!jt_get(j, "caCertPath") != !jt_get(j, "caKeyPath"))
        FOUND(c, FINDING_ERROR, j->at, "%s: caCertPath and caKeyPath belong together", path_of(c));
}

static void check_mitm(struct checker *c, const struct json *j)
{
    static const struct member members[] = {{"socketPath", JT_STRING, NULL},
                                            {"domains", JT_ARRAY, check_domain}};
    if (!wants(c, j, JT_OBJECT))
        return;
    check_members(c, j, members, 2, setting_shape_word(SHAPE_MITM));
    const struct json *socket = jt_get(j, "socketPath"), *hosts = jt_get(j, "domains");
    if (!socket || !socket->n || !hosts || !hosts->count)
        FOUND(c, FINDING_ERROR, j->at, "%s needs socketPath and domains", path_of(c));
}

static void check_targets(struct checker *c, const struct json *j)
{
    if (!wants(c, j, JT_STRING) || strcmp(j->s, "refuse") == 0 || strcmp(j->s, "asSpelled") == 0 ||
        strcmp(j->s, "normalize") == 0)
        return;
    FOUND(c, FINDING_ERROR, j->at, "%s must be %s", path_of(c), setting_shape_word(SHAPE_TARGETS));
}

/* ---- keys ---- */

static void check_plain(struct checker *c, const struct json *j)
{
    switch (c->key->shape) {
    case SHAPE_TEXT:
        wants(c, j, JT_STRING);
        break;
    case SHAPE_BOOL:
        wants(c, j, JT_BOOL);
        break;
    case SHAPE_COUNT:
        if (wants(c, j, JT_NUMBER) && (!j->integral || j->number < 0))
            FOUND(c, FINDING_ERROR, j->at, "%s must be a whole number", path_of(c));
        break;
    case SHAPE_PORT:
        check_port(c, j);
        break;
    case SHAPE_OBJECT:
    case SHAPE_SECTION:
        wants(c, j, JT_OBJECT);
        break;
    default:
        break;
    }
}

static void check_value(struct checker *c, const struct json *j)
{
    static void (*const elements[])(struct checker *, const struct json *) = {
        [SHAPE_STRINGS] = check_string,
        [SHAPE_PATHS] = check_path,
        [SHAPE_DOMAINS] = check_domain,
        [SHAPE_DENIED_DOMAINS] = check_domain,
        [SHAPE_ADDRESSES] = check_address,
        [SHAPE_PORTS] = check_port,
        [SHAPE_MACH] = check_mach,
        [SHAPE_CLASSES] = check_class,
        [SHAPE_REQUESTS] = check_request,
        [SHAPE_DENIED_REQUESTS] = check_request,
        [SHAPE_LOGINS] = check_login,
        [SHAPE_COMMANDS] = check_command,
        [SHAPE_CREDENTIALS] = check_credential,
    };
    static void (*const objects[])(struct checker *, const struct json *) = {
        [SHAPE_REASONS] = check_reasons,     [SHAPE_IGNORES] = check_ignores,
        [SHAPE_PROXY] = check_proxy,         [SHAPE_MITM] = check_mitm,
        [SHAPE_TERMINATE] = check_terminate, [SHAPE_TARGETS] = check_targets,
        [SHAPE_MASKS] = check_masks,
    };
    if (setting_is_list(c->key->shape))
        check_list(c, j, elements[c->key->shape]);
    else if (c->key->shape >= SHAPE_REASONS)
        objects[c->key->shape](c, j);
    else
        check_plain(c, j);
}

static void note_effect(struct checker *c, const struct json *j)
{
    const struct setting_key *k = c->key;
    if (k->effect == EFFECT_NONE)
        FOUND(c, FINDING_NOTE, j->key_at, "%s has no effect here: %s", path_of(c), k->brief);
    else if (k->effect == EFFECT_MACOS)
        FOUND(c, FINDING_NOTE, j->key_at, "%s has an effect only on macOS: %s", path_of(c),
              k->brief);
    else if (k->effect == EFFECT_HOST)
        FOUND(c, FINDING_NOTE, j->key_at,
              "%s is for programs that start commands; `buckle run` ignores it", path_of(c));
}

static void unknown_key(struct checker *c, const char *section, const struct json *j)
{
    char near[96], text[128];
    const struct setting_key *k = setting_nearest(section, j->key, j->nkey);
    FOUND(c, FINDING_ERROR, j->key_at, "%s%s%.60s is not a setting", section, *section ? "." : "",
          j->key);
    if (k) {
        snprintf(text, sizeof(text), "did you mean %s?", setting_path(k, near));
        hint(c, text);
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
            FOUND(c, FINDING_ERROR, j->key_at, "%s is not supported yet (%s)", path_of(c),
                  c->key->brief);
            hint(c, "remove it: if Buckle ignored it, you would not get what you wrote");
            continue;
        }
        note_effect(c, j);
        const struct setting_key *key = c->key;
        check_value(c, j);
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
            hint(c, "move it into sandbox, or move everything out of sandbox");
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
