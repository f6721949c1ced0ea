/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * nono: Landlock with a fixed start. Its base groups open the system's folders and /tmp and close
 * known secrets; a profile or the command line adds to that. What the profile denies wins over
 * every grant. Other groups and the profiles that one extends are files of nono's, so what they
 * open stays closed here.
 */

#include <string.h>

#include "import/import-int.h"
#include "settings/jsonc.h"

enum { RX = MAY_READ | MAY_EXEC, RWX = RX | MAY_WRITE };

struct nono {
    bool block, some, all;
};

/* ---- paths ---- */

/* Finds $WORKDIR and $TMPDIR in front of a path. */
static int add_path(struct imp *im, const char *text, enum imp_where where, unsigned grant,
                    unsigned revoke, uint32_t line, struct bk_err *err)
{
    static const struct {
        const char *name;
        enum imp_below below;
    } places[] = {{"$WORKDIR", IMP_CWD}, {"$TMPDIR", IMP_TMPDIR}};
    struct imp_rule r = {.where = where, .line = line};
    const char *path = text, *rest;
    r.grant = (uint8_t)grant;
    r.revoke = (uint8_t)revoke;
    r.last = revoke != 0;
    for (size_t i = 0; i < 2; i++) {
        size_t n = strlen(places[i].name);
        if (strncmp(text, places[i].name, n) == 0 && (!text[n] || text[n] == '/')) {
            r.below = places[i].below;
            path = text[n] ? text + n : "/";
        }
    }
    if (strchr(path, '$') == path && strncmp(path, "$HOME", 5) != 0)
        return imp_fail(im, line, err, "%.100s: this variable is not known here", text);
    if (imp_path(im, path, line, &rest, err) < 0)
        return -1;
    if (r.below == IMP_ROOT && strpbrk(rest, "*?[")) {
        size_t first = im->nrules;
        if (imp_glob(im, rest, grant, revoke, line, err) < 0)
            return -1;
        im->rules[first].last = r.last;
        return 0;
    }
    if (strpbrk(rest, "*?["))
        return imp_fail(im, line, err, "%.100s: a pattern below $WORKDIR or $TMPDIR", text);
    r.path = r.below != IMP_ROOT && strcmp(rest, "/") == 0 ? "" : rest;
    if (r.below != IMP_ROOT || where == IMP_FILE)
        return imp_add(im, r, err);
    size_t first = im->nrules;
    if (imp_rule(im, r.path, grant, revoke, line, err) < 0)
        return -1;
    for (; first < im->nrules; first++)
        im->rules[first].last = r.last;
    return 0;
}

/* What the base groups do, in short. */
static int add_base(struct imp *im, struct bk_err *err)
{
    static const char *const system[] = {"/bin", "/sbin", "/lib",  "/lib32", "/lib64",
                                         "/usr", "/etc",  "/proc", "/sys",   "/run",
                                         "/tmp", "/nix",  NULL};
    static const char *const closed[] = {"~/.bash_history", "~/.zsh_history", "~/.python_history",
                                         "~/.zshrc",        "~/.bashrc",      "~/.profile",
                                         "~/.bash_profile", "~/.env",         "~/.envrc",
                                         "~/.config/fish",  "~/.npmrc",       "~/.netrc"};
    if (imp_each(im, system, RX, 0, 0, err) < 0 || imp_devices(im, 0, err) < 0 ||
        imp_rule(im, "/tmp", MAY_WRITE, 0, 0, err) < 0 ||
        add_path(im, "$TMPDIR", IMP_FOLDER, RWX, 0, 0, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(closed) / sizeof(closed[0]) && im->env->home; i++)
        if (add_path(im, closed[i], IMP_FOLDER, 0, MAY_ALL, 0, err) < 0)
            return -1;
    im->secrets = true;
    return 0;
}

/* ---- the profile ---- */

struct reader {
    struct imp *im;
    struct nono *nono;
    const struct json_text *text;
    struct bk_err *err;
};

static uint32_t line_of(const struct reader *r, const struct json *j)
{
    return jt_line(r->text, j->at);
}

static int need(const struct reader *r, const struct json *j, enum json_kind kind)
{
    if (j->kind == kind && (kind != JT_STRING || strlen(j->s) == j->n))
        return 0;
    return imp_fail(r->im, line_of(r, j), r->err, "%.100s must be %s", j->key ? j->key : "an entry",
                    jt_kind_word(kind));
}

static const struct {
    const char *name;
    enum imp_where where;
    unsigned grant, revoke;
} lists[] = {
    {"allow", IMP_FOLDER, RWX, 0},
    {"read", IMP_FOLDER, RX, 0},
    {"write", IMP_FOLDER, MAY_WRITE, 0},
    {"allow_file", IMP_FILE, RWX, 0},
    {"read_file", IMP_FILE, RX, 0},
    {"write_file", IMP_FILE, MAY_WRITE, 0},
    {"unix_socket", IMP_FILE, MAY_READ | MAY_SOCKET, 0},
    {"unix_socket_bind", IMP_FILE, MAY_READ | MAY_WRITE | MAY_SOCKET, 0},
    {"unix_socket_subtree", IMP_FOLDER, MAY_READ | MAY_SOCKET, 0},
    {"unix_socket_subtree_bind", IMP_FOLDER, MAY_READ | MAY_WRITE | MAY_SOCKET, 0},
    {"deny", IMP_FOLDER, 0, MAY_ALL},
};

/* An entry is a path, or a path with a condition about the system. */
static int take_entry(const struct reader *r, const struct json *e, size_t list)
{
    const struct json *path = e->kind == JT_OBJECT ? jt_get(e, "path") : e;
    bool when = e->kind == JT_OBJECT && jt_get(e, "when");
    if (!path)
        return imp_fail(r->im, line_of(r, e), r->err, "an entry without a path");
    if (need(r, path, JT_STRING) < 0)
        return -1;
    if (when && lists[list].grant)
        return imp_differs(r->im, line_of(r, e), path->s, "opened on some systems only: closed",
                           r->err);
    return add_path(r->im, path->s, lists[list].where, lists[list].grant, lists[list].revoke,
                    line_of(r, e), r->err);
}

static int take_files(const struct reader *r, const struct json *section)
{
    static const char *const quiet[] = {"suppress_save_prompt", "ignore"};
    static const char *const closed[] = {"bypass_protection", "unix_socket_dir",
                                         "unix_socket_dir_bind"};
    for (const struct json *j = section->first; j; j = j->next) {
        size_t l = 0, n = sizeof(lists) / sizeof(lists[0]);
        while (l < n && strcmp(lists[l].name, j->key) != 0)
            l++;
        if (need(r, j, JT_ARRAY) < 0)
            return -1;
        bool known = strcmp(j->key, quiet[0]) == 0 || strcmp(j->key, quiet[1]) == 0;
        for (size_t i = 0; i < 3; i++) {
            if (strcmp(j->key, closed[i]) != 0)
                continue;
            known = true;
            if (imp_differs(r->im, line_of(r, j), j->key, "not opened", r->err) < 0)
                return -1;
        }
        if (l == n && !known)
            return imp_fail(r->im, line_of(r, j), r->err, "unknown key filesystem.%.100s of nono",
                            j->key);
        for (const struct json *e = l < n ? j->first : NULL; e; e = e->next)
            if (take_entry(r, e, l) < 0)
                return -1;
    }
    return 0;
}

static int add_domain(struct imp *im, struct nono *nono, const char *name, bool deny, uint32_t line,
                      struct bk_err *err)
{
    struct imp_port p = {.peer = IMP_PEER_DOMAIN, .hi = 65535, .deny = deny, .line = line};
    if (!imp_is_domain(name))
        return imp_fail(im, line, err, "%.100s is not a host name", name);
    p.host = arena_strndup(&im->arena, name, strlen(name));
    nono->some = nono->some || !deny;
    return p.host ? imp_port(im, p, err) : err_nomem(err);
}

enum { PORT_OPEN, PORT_LISTEN, PORT_CONNECT };

static int add_port(struct imp *im, struct nono *nono, int kind, uint16_t lo, uint16_t hi,
                    uint32_t line, struct bk_err *err)
{
    struct imp_port p = {.protocol = "tcp", .lo = lo, .hi = hi, .line = line};
    p.peer = kind == PORT_OPEN ? IMP_PEER_LOCALHOST : IMP_PEER_ANY;
    nono->some = nono->some || kind == PORT_CONNECT;
    if (kind != PORT_LISTEN && imp_port(im, p, err) < 0)
        return -1;
    p.bind = true;
    return kind == PORT_CONNECT ? 0 : imp_port(im, p, err);
}

static int take_domains(const struct reader *r, const struct json *j, int deny)
{
    for (const struct json *e = j->first; e; e = e->next) {
        const struct json *name = e->kind == JT_OBJECT ? jt_get(e, "domain") : e;
        if (!name || need(r, name, JT_STRING) < 0)
            return name ? -1 : imp_fail(r->im, line_of(r, e), r->err, "an entry without a domain");
        if (e->kind == JT_OBJECT &&
            imp_lost(r->im, line_of(r, e), name->s,
                     "only some requests to it are allowed: write an http-request rule",
                     r->err) < 0)
            return -1;
        if (add_domain(r->im, r->nono, name->s, deny, line_of(r, e), r->err) < 0)
            return -1;
    }
    return 0;
}

static int take_ports(const struct reader *r, const struct json *j, int kind)
{
    for (const struct json *e = j->first; e; e = e->next) {
        const struct json *lo = e, *hi = e;
        if (e->kind == JT_ARRAY && e->count == 2)
            lo = e->first, hi = e->last;
        bool fits = lo->kind == JT_NUMBER && hi->kind == JT_NUMBER && lo->integral &&
                    hi->integral && lo->number > 0 && hi->number <= 65535 &&
                    lo->number <= hi->number;
        if (!fits)
            return imp_fail(r->im, line_of(r, e), r->err, "a port must be between 1 and 65535");
        if (add_port(r->im, r->nono, kind, (uint16_t)lo->number, (uint16_t)hi->number,
                     line_of(r, e), r->err) < 0)
            return -1;
    }
    return 0;
}

static const struct {
    const char *name;
    int (*take)(const struct reader *r, const struct json *j, int arg); /* NULL: a comment */
    int arg;
} network_keys[] = {
    {"allow_domain", take_domains, 0},
    {"proxy_allow", take_domains, 0},
    {"allow_proxy", take_domains, 0},
    {"deny_domain", take_domains, 1},
    {"open_port", take_ports, PORT_OPEN},
    {"open_port_range", take_ports, PORT_OPEN},
    {"port_allow", take_ports, PORT_OPEN},
    {"allow_port", take_ports, PORT_OPEN},
    {"listen_port", take_ports, PORT_LISTEN},
    {"listen_port_range", take_ports, PORT_LISTEN},
    {"connect_port", take_ports, PORT_CONNECT},
    {"credentials", NULL, 0},
    {"proxy_credentials", NULL, 0},
    {"no_proxy", NULL, 0},
    {"upstream_bypass", NULL, 0},
    {"external_proxy_bypass", NULL, 0},
};

static int take_network(const struct reader *r, const struct json *section)
{
    static const char *const other[] = {
        "allow_http2",    "custom_credentials", "tls_intercept",     "upstream_proxy",
        "external_proxy", "network_profile",    "approval_backends", "approval_defaults"};
    for (const struct json *j = section->first; j; j = j->next) {
        size_t k = 0, n = sizeof(network_keys) / sizeof(network_keys[0]), o = 0;
        while (k < n && strcmp(network_keys[k].name, j->key) != 0)
            k++;
        while (o < 8 && strcmp(other[o], j->key) != 0)
            o++;
        if (strcmp(j->key, "block") == 0) {
            if (need(r, j, JT_BOOL) < 0)
                return -1;
            r->nono->block = j->truth;
        } else if (k < n && network_keys[k].take) {
            if (need(r, j, JT_ARRAY) < 0 || network_keys[k].take(r, j, network_keys[k].arg) < 0)
                return -1;
        } else if (k < n || o < 8) {
            r->nono->some = r->nono->some || strcmp(j->key, "network_profile") == 0;
            if (imp_differs(r->im, line_of(r, j), j->key, "not taken over: opens no host", r->err) <
                0)
                return -1;
        } else {
            return imp_fail(r->im, line_of(r, j), r->err, "unknown key network.%.100s of nono",
                            j->key);
        }
    }
    return 0;
}

static int take_workdir(const struct reader *r, const struct json *section)
{
    static const struct {
        const char *word;
        unsigned may;
    } accesses[] = {{"none", 0}, {"read", RX}, {"write", MAY_WRITE}, {"readwrite", RWX}};
    const struct json *access = jt_get(section, "access");
    if (!access)
        return 0;
    if (need(r, access, JT_STRING) < 0)
        return -1;
    for (size_t i = 0; i < 4; i++)
        if (strcmp(access->s, accesses[i].word) == 0)
            return accesses[i].may ? add_path(r->im, "$WORKDIR", IMP_FOLDER, accesses[i].may, 0,
                                              line_of(r, access), r->err)
                                   : 0;
    return imp_fail(r->im, line_of(r, access), r->err, "unknown access %.100s", access->s);
}

static int only_opens(const struct reader *r, const struct json *j)
{
    return imp_differs(r->im, line_of(r, j), j->key, "what it opens is not known here: closed",
                       r->err);
}

static int restricts(const struct reader *r, const struct json *j)
{
    return imp_lost(r->im, line_of(r, j), j->key, "a profile has no such rules", r->err);
}

static const struct {
    const char *name;
    enum json_kind kind; /* JT_NULL: any */
    int (*take)(const struct reader *r, const struct json *j);
} sections[] = {
    {"filesystem", JT_OBJECT, take_files},
    {"network", JT_OBJECT, take_network},
    {"workdir", JT_OBJECT, take_workdir},
    {"extends", JT_NULL, restricts}, /* it may deny, too */
    {"groups", JT_NULL, restricts},
    {"security", JT_NULL, restricts},
    {"commands", JT_NULL, restricts},
    {"command_policies", JT_NULL, restricts},
    {"environment", JT_NULL, restricts},
    {"linux", JT_NULL, restricts},
    {"platform_overrides", JT_NULL, restricts},
    {"policy", JT_NULL, restricts},
    {"credential_capture", JT_NULL, only_opens},
    {"credential_providers", JT_NULL, only_opens},
    {"credential_routes", JT_NULL, only_opens},
    {"env_credentials", JT_NULL, only_opens},
    {"secrets", JT_NULL, only_opens},
    {"allow_gpu", JT_NULL, only_opens},
    {"allow_launch_services", JT_NULL, only_opens},
    {"allow_parent_of_protected", JT_NULL, only_opens},
    {"open_urls", JT_NULL, only_opens},
    {"packs", JT_NULL, only_opens},
    {"unsafe_macos_seatbelt_rules", JT_NULL, only_opens},
    {"$schema", JT_NULL, NULL},
    {"meta", JT_NULL, NULL},
    {"diagnostics", JT_NULL, NULL},
    {"hooks", JT_NULL, NULL},
    {"session_hooks", JT_NULL, NULL},
    {"rollback", JT_NULL, NULL},
    {"undo", JT_NULL, NULL},
    {"interactive", JT_NULL, NULL},
    {"command_args", JT_NULL, NULL},
    {"skipdirs", JT_NULL, NULL},
    {"binary", JT_NULL, NULL},
    {"trust_groups", JT_NULL, only_opens},
};

static int read_profile(struct imp *im, struct nono *nono, const struct imp_input *in,
                        struct bk_err *err)
{
    struct json_text text = {.name = in->name, .s = in->text, .n = in->n};
    struct jsonc doc = {0};
    struct reader r = {.im = im, .nono = nono, .text = &text, .err = err};
    size_t n = sizeof(sections) / sizeof(sections[0]);
    if (jsonc_read(&im->arena, &text, &doc, err) < 0)
        return -1;
    if (doc.root->kind != JT_OBJECT)
        return imp_fail(im, 1, err, "a profile must be an object");
    for (const struct json *j = doc.root->first; j; j = j->next) {
        size_t s = 0;
        while (s < n && strcmp(sections[s].name, j->key) != 0)
            s++;
        if (s == n)
            return imp_fail(im, line_of(&r, j), err, "unknown key %.100s of nono", j->key);
        if (sections[s].kind != JT_NULL && need(&r, j, sections[s].kind) < 0)
            return -1;
        if (sections[s].take && sections[s].take(&r, j) < 0)
            return -1;
    }
    return 0;
}

/* ---- the command line ---- */

static int take_path(struct imp *im, void *state, const struct imp_option *o,
                     const char *const *values, uint32_t line, struct bk_err *err)
{
    (void)state;
    return add_path(im, values[0], lists[o->arg].where, lists[o->arg].grant, lists[o->arg].revoke,
                    line, err);
}

static int take_cwd(struct imp *im, void *state, const struct imp_option *o,
                    const char *const *values, uint32_t line, struct bk_err *err)
{
    (void)state, (void)o, (void)values;
    return add_path(im, "$WORKDIR", IMP_FOLDER, RWX, 0, line, err);
}

static int take_net(struct imp *im, void *state, const struct imp_option *o,
                    const char *const *values, uint32_t line, struct bk_err *err)
{
    struct nono *nono = state;
    (void)im, (void)values, (void)line, (void)err;
    *(o->arg ? &nono->block : &nono->all) = true;
    return 0;
}

static int take_domain(struct imp *im, void *state, const struct imp_option *o,
                       const char *const *values, uint32_t line, struct bk_err *err)
{
    return add_domain(im, state, values[0], o->arg, line, err);
}

static int take_port(struct imp *im, void *state, const struct imp_option *o,
                     const char *const *values, uint32_t line, struct bk_err *err)
{
    uint16_t lo, hi;
    if (imp_port_range(im, values[0], line, &lo, &hi, err) < 0)
        return -1;
    return add_port(im, state, o->arg, lo, hi, line, err);
}

static const char by_name[] = "give the profile's file: buckle import nono FILE";

static const struct imp_option options[] = {
    {"--allow", 1, IMP_TAKEN, NULL, take_path, 0},
    {"-a", 1, IMP_TAKEN, NULL, take_path, 0},
    {"--read", 1, IMP_TAKEN, NULL, take_path, 1},
    {"-r", 1, IMP_TAKEN, NULL, take_path, 1},
    {"--write", 1, IMP_TAKEN, NULL, take_path, 2},
    {"-w", 1, IMP_TAKEN, NULL, take_path, 2},
    {"--allow-file", 1, IMP_TAKEN, NULL, take_path, 3},
    {"--read-file", 1, IMP_TAKEN, NULL, take_path, 4},
    {"--write-file", 1, IMP_TAKEN, NULL, take_path, 5},
    {"--allow-cwd", 0, IMP_TAKEN, NULL, take_cwd, 0},
    {"--block-net", 0, IMP_TAKEN, NULL, take_net, 1},
    {"--net-block", 0, IMP_TAKEN, NULL, take_net, 1},
    {"--allow-net", 0, IMP_TAKEN, NULL, take_net, 0},
    {"--net-allow", 0, IMP_TAKEN, NULL, take_net, 0},
    {"--allow-domain", 1, IMP_TAKEN, NULL, take_domain, 0},
    {"--proxy-allow", 1, IMP_TAKEN, NULL, take_domain, 0},
    {"--deny-domain", 1, IMP_TAKEN, NULL, take_domain, 1},
    {"--open-port", 1, IMP_TAKEN, NULL, take_port, PORT_OPEN},
    {"--allow-port", 1, IMP_TAKEN, NULL, take_port, PORT_OPEN},
    {"--listen-port", 1, IMP_TAKEN, NULL, take_port, PORT_LISTEN},
    {"--connect-port", 1, IMP_TAKEN, NULL, take_port, PORT_CONNECT},
    {"--profile", 1, IMP_REFUSED, by_name, NULL, 0},
    {"-p", 1, IMP_REFUSED, by_name, NULL, 0},
    {"--override-deny", 1, IMP_DIFFERS, "stays closed", NULL, 0},
    {"--bypass-protection", 1, IMP_DIFFERS, "stays closed", NULL, 0},
    {"--workdir", 1, IMP_NOTHING, NULL, NULL, 0},
    {"--verbose", 0, IMP_NOTHING, NULL, NULL, 0},
    {"-v", 0, IMP_NOTHING, NULL, NULL, 0},
    {"--silent", 0, IMP_NOTHING, NULL, NULL, 0},
    {"-s", 0, IMP_NOTHING, NULL, NULL, 0},
    {"--dry-run", 0, IMP_NOTHING, NULL, NULL, 0},
    {"--rollback", 0, IMP_NOTHING, NULL, NULL, 0},
    {NULL, 0, IMP_NOTHING, NULL, NULL, 0},
};

int imp_read_nono(struct imp *im, const struct imp_input *in, struct bk_err *err)
{
    struct nono nono = {0};
    const struct imp_word *words;
    size_t n, at = 0;
    if (add_base(im, err) < 0)
        return -1;
    if (in->text) {
        if (read_profile(im, &nono, in, err) < 0)
            return -1;
    } else if (imp_words(im, in, "run", &words, &n, err) < 0 ||
               imp_options(im, options, &nono, words, n, &at, err) < 0) {
        return -1;
    }
    bool some = (nono.some || nono.block) && !nono.all;
    im->net = !some ? IMP_NET_ALL : im->nports ? IMP_NET_SOME : IMP_NET_NONE;
    return 0;
}
