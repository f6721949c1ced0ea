/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What the value of each kind of setting has to be: paths, hosts, rules, objects with members. The
 * tables in checker_value() lead from a key's shape to its check.
 */

#include "settings/check-int.h"

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
#include "settings/ssh-rule.h"
#include "vocab/protected-classes.h"

static bool wants(struct checker *c, const struct json *j, enum json_kind kind)
{
    if (j->kind == kind)
        return true;
    FOUND(c, FINDING_ERROR, j->at, "%s must be %s, not %s", checker_path(c),
          setting_shape_word(c->key->shape), jt_kind_word(j->kind));
    return false;
}

static bool element_is(struct checker *c, const struct json *j, enum json_kind kind)
{
    if (j->kind == kind)
        return true;
    FOUND(c, FINDING_ERROR, j->at, "%s must be %s, but this is %s", checker_path(c),
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
                  "%s: an entry must be a string or {\"path\": …, \"literal\": true}",
                  checker_path(c));
            return;
        }
        j = path;
    }
    if (!element_is(c, j, JT_STRING))
        return;
    if (!j->n)
        FOUND(c, FINDING_ERROR, j->at, "%s: the path is empty", checker_path(c));
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
        FOUND(c, FINDING_ERROR, j->at, "%s: %.80s is not a host name or address", checker_path(c),
              j->s);
        checker_hint(c,
                     "write a name, *.name, an address or [address]; :port limits it to one port");
    } else if (!denies && is_everything(j)) {
        FOUND(c, FINDING_ERROR, j->at, "%s: * would match every host", checker_path(c));
        checker_hint(c, "use allowAllDomains for that");
    } else if (!denies && too_broad(j)) {
        FOUND(c, FINDING_ERROR, j->at, "%s: %.80s would match too many hosts", checker_path(c),
              j->s);
        checker_hint(c, "write at least two labels after the star: *.example.com");
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
    FOUND(c, FINDING_ERROR, j->at, "%s: %s", checker_path(c),
          strlen(j->s) == j->n ? why.msg : "this is not a credential");
    checker_hint(c, "write NAME -> HOST, for example \"GITHUB_TOKEN -> api.github.com\"");
}

static void check_login(struct checker *c, const struct json *j)
{
    struct ssh_login rule;
    struct bk_err why;
    if (element_is(c, j, JT_STRING) && ssh_rule_read(j->s, c->out->arena, &rule, &why) < 0)
        FOUND(c, FINDING_ERROR, j->at, "%s: %s", checker_path(c), why.msg);
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
        FOUND(c, FINDING_ERROR, where->at, "%s: %s", checker_path(c), why.msg);
}

static void check_request(struct checker *c, const struct json *j)
{
    OWN(buf) struct buf filter = {0};
    struct bk_err why;
    if (!element_is(c, j, JT_STRING))
        return;
    if (strlen(j->s) == j->n && request_rule_filter(j->s, &filter, &why) == 0)
        return;
    FOUND(c, FINDING_ERROR, j->at, "%s: %s", checker_path(c),
          strlen(j->s) == j->n ? why.msg : "this is not a request");
    checker_hint(c, "write METHOD HOST/PATH, for example \"GET,HEAD api.example.com/v1/**\" or "
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
    FOUND(c, FINDING_ERROR, j->at, "%s: %.80s is not an address or a range", checker_path(c), j->s);
    checker_hint(c, "for example 10.0.0.0/8 or fc00::/7, without a port");
}

static bool is_port(const struct json *j)
{
    return j->kind == JT_NUMBER && j->integral && j->number >= 1 && j->number <= UINT16_MAX;
}

static void check_port(struct checker *c, const struct json *j)
{
    if (!is_port(j))
        FOUND(c, FINDING_ERROR, j->at, "%s: a port must be between 1 and 65535", checker_path(c));
}

static void check_mach(struct checker *c, const struct json *j)
{
    if (!element_is(c, j, JT_STRING))
        return;
    const char *star = memchr(j->s, '*', j->n);
    if (!j->n || (star && star + 1 != j->s + j->n))
        FOUND(c, FINDING_ERROR, j->at, "%s: * can only be the last character", checker_path(c));
}

static void check_class(struct checker *c, const struct json *j)
{
    const char *names[PROTECTED_CLASSES];
    char text[64];
    if (!element_is(c, j, JT_STRING) || protected_class_find(j->s, j->n) != PROTECTED_NO_CLASS)
        return;
    FOUND(c, FINDING_ERROR, j->at, "%s: there is no class %.40s", checker_path(c), j->s);
    for (size_t i = 0; i < PROTECTED_CLASSES; i++)
        names[i] = protected_classes[i].name;
    const char *near = spelling_nearest(j->s, names, PROTECTED_CLASSES);
    snprintf(text, sizeof(text), "did you mean %s?", near ? near : "");
    checker_hint(c, near ? text : c->key->brief);
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
        FOUND(c, FINDING_ERROR, j->at, "%s: %s", checker_path(c), why.msg);
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
        FOUND(c, FINDING_ERROR, j->key_at, "%s has no member %.40s", checker_path(c), j->key);
        checker_hint(c, all);
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
            FOUND(c, FINDING_ERROR, j->at, "%s: the profile has no name", checker_path(c));
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
            FOUND(c, FINDING_ERROR, e->key_at, "%s has no member %.40s", checker_path(c), e->key);
            checker_hint(c, all);
        } else if (e != match && e != profile) {
            check_member(c, e, find_member(members, 3, e->key)->kind, NULL);
        }
    if (!match || (match->kind == JT_ARRAY && !match->first))
        FOUND(c, FINDING_ERROR, j->at, "%s: a rule needs match, a pattern of commands",
              checker_path(c));
    else if (match->kind == JT_ARRAY)
        check_member(c, match, JT_ARRAY, check_pattern);
    else
        check_pattern(c, match);
    check_profile(c, profile);
    if (!(ask && ask->truth) && !(deny && deny->truth) && !profile) {
        FOUND(c, FINDING_ERROR, j->at, "%s: this rule does nothing", checker_path(c));
        checker_hint(c, "give it \"ask\": true, \"deny\": true or a profile");
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
            FOUND(c, FINDING_ERROR, e->at, "%s: the reason is empty", checker_path(c));
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
            FOUND(c, FINDING_ERROR, e->key_at, "%s has no member %.40s", checker_path(c), e->key);
            checker_hint(c, "its members are http, https and noProxy");
        } else if (element_is(c, e, JT_STRING) && strcmp(e->key, "noProxy") != 0) {
            struct bk_err why;
            if (upstream_parse(e->s, &up, &why) < 0) {
                FOUND(c, FINDING_ERROR, e->at, "%s: %s", checker_path(c), why.msg);
                checker_hint(c, why.hint);
            }
        }
    }
}

static void check_range(struct checker *c, const struct json *object, const char *name, int64_t low,
                        int64_t high)
{
    const struct json *j = jt_get(object, name);
    if (j && j->kind == JT_NUMBER && (!j->integral || j->number < low || j->number > high))
        FOUND(c, FINDING_ERROR, j->at, "%s: %s must be between %lld and %lld", checker_path(c),
              name, (long long)low, (long long)high);
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
        FOUND(c, FINDING_ERROR, j->at, "%s: caCertPath and caKeyPath belong together",
              checker_path(c));
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
        FOUND(c, FINDING_ERROR, j->at, "%s needs socketPath and domains", checker_path(c));
}

static void check_targets(struct checker *c, const struct json *j)
{
    if (!wants(c, j, JT_STRING) || strcmp(j->s, "refuse") == 0 || strcmp(j->s, "asSpelled") == 0 ||
        strcmp(j->s, "normalize") == 0)
        return;
    FOUND(c, FINDING_ERROR, j->at, "%s must be %s", checker_path(c),
          setting_shape_word(SHAPE_TARGETS));
}

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
            FOUND(c, FINDING_ERROR, j->at, "%s must be a whole number", checker_path(c));
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

void checker_value(struct checker *c, const struct json *j)
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
