/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Layers → one access, and what else a run needs. Relative paths start in the project's folder for
 * its own files, else in the working directory.
 */

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/own.h"
#include "settings/commands.h"
#include "settings/masks.h"
#include "settings/settings.h"
#include "vocab/protected-classes.h"

struct builder {
    struct settings *s;
    struct settings_result *r;
    struct bk_err *err;
};

static struct path_base base_of(const struct builder *b, const struct settings_layer *l)
{
    return (struct path_base){.cwd = l->project ? l->project : b->s->cwd,
                              .home = b->s->home,
                              .elsewhere = b->s->elsewhere};
}

const char *settings_origin(struct settings *s, const struct settings_layer *l, uint32_t at)
{
    char text[160];
    int n;
    if (l->from_flags)
        n = snprintf(text, sizeof(text), "%.80s", l->text.name);
    else if (l->id == LAYER_DEFAULTS)
        n = snprintf(text, sizeof(text), "by default");
    else if (settings_by_file(s, l))
        n = snprintf(text, sizeof(text), "%.120s, line %u", l->text.name, jt_line(&l->text, at));
    else
        n = snprintf(text, sizeof(text), "%s settings, line %u", settings_layer_name(l->id),
                     jt_line(&l->text, at));
    return arena_strndup(&s->arena, text, (size_t)n);
}

static int wrong_entry(struct builder *b, const struct setting_key *k,
                       const struct settings_layer *l, const struct json *j)
{
    char path[96];
    struct bk_err why = *b->err;
    err_set(b->err, why.code, "%s: %.200s", setting_path(k, path), why.msg);
    err_hint(b->err, "%s", why.hint);
    return jt_fail(&l->text, j->at, b->err);
}

static int add_path(struct builder *b, enum setting_id id, const struct setting_value *v,
                    struct places *out, struct places *links)
{
    const struct setting_key *k = &setting_keys[id];
    bool literal = v->json->kind == JT_OBJECT;
    const struct json *text = literal ? jt_get(v->json, "path") : v->json;
    struct path_base base = base_of(b, v->layer);
    struct path_entry e = {.text = text->s,
                           .n = text->n,
                           .origin = settings_origin(b->s, v->layer, text->at),
                           .literal = literal,
                           .denies = k->stance == STANCE_CLOSES,
                           /* flags keep files visible: programs stat more than they read */
                           .keeps_metadata = v->layer->from_flags && id == SETTING_DENY_READ,
                           .links = links};
    if (!e.origin)
        return err_nomem(b->err);
    size_t from = out->n;
    if (path_places(&b->s->arena, &base, &e, out, b->err) < 0)
        return wrong_entry(b, k, v->layer, text);
    for (size_t i = from; i < out->n; i++)
        out->at[i].final = v->layer->id == LAYER_POLICY;
    return 0;
}

static int add_paths(struct builder *b, enum setting_id id, struct places *out)
{
    struct setting_values v;
    if (settings_values(b->s, id, &v) < 0)
        return err_nomem(b->err);
    for (size_t i = 0; i < v.n; i++)
        if (!v.at[i].ignored && add_path(b, id, &v.at[i], out, NULL) < 0)
            return -1;
    return 0;
}

/* For permissions: links_check() tests the links once the policy is compiled. */
static int add_opened(struct builder *b, enum setting_id id, struct places *out)
{
    struct setting_values v;
    if (settings_values(b->s, id, &v) < 0)
        return err_nomem(b->err);
    for (size_t i = 0; i < v.n; i++) {
        struct places links = {0};
        if (v.at[i].ignored)
            continue;
        if (add_path(b, id, &v.at[i], out, &links) < 0)
            return -1;
        const struct place *last = &out->at[out->n - 1];
        if (access_note(&b->s->arena, &b->r->policy, id == SETTING_ALLOW_WRITE, &links, last->path,
                        last->origin) < 0)
            return err_nomem(b->err);
    }
    return 0;
}

/* ---- what is closed in any case ---- */

static int protect(struct builder *b, const char *path)
{
    struct path_base base = {.cwd = b->s->cwd, .home = b->s->home, .elsewhere = b->s->elsewhere};
    struct path_entry e = {.text = path,
                           .n = path ? strlen(path) : 0,
                           .origin = "settings",
                           .literal = true,
                           .denies = true};
    return path ? path_places(&b->s->arena, &base, &e, &b->r->policy.deny_write, b->err) : 0;
}

/* A project has two files in one folder. */
static int protect_project(struct builder *b, size_t at)
{
    char folder[4200];
    const char *project = b->s->layers[at].project;
    for (size_t i = 0; i < at; i++)
        if (b->s->layers[i].project == project)
            return 0;
    snprintf(folder, sizeof(folder), "%s/.buckle", project);
    return protect(b, folder);
}

static int protect_settings(struct builder *b)
{
    if (protect(b, b->s->config) < 0)
        return -1;
    for (size_t i = 0; i < b->s->n; i++) {
        const struct settings_layer *l = &b->s->layers[i];
        bool named = l->id == LAYER_FLAGS || l->id == LAYER_POLICY;
        if ((named && protect(b, l->path) < 0) || (l->project && protect_project(b, i) < 0))
            return -1;
    }
    return 0;
}

/* ---- words ---- */

static int add_words(struct builder *b, enum setting_id id, struct words *out)
{
    struct setting_values v;
    if (settings_values(b->s, id, &v) < 0)
        return err_nomem(b->err);
    for (size_t i = 0; i < v.n; i++)
        if (!v.at[i].ignored && words_push(&b->s->arena, out, v.at[i].json->s) < 0)
            return err_nomem(b->err);
    return 0;
}

/* One for each of the words that add_words() adds. */
static int add_origins(struct builder *b, enum setting_id id, struct words *out)
{
    struct setting_values v;
    if (settings_values(b->s, id, &v) < 0)
        return err_nomem(b->err);
    for (size_t i = 0; i < v.n; i++) {
        const char *origin =
            v.at[i].ignored ? NULL : settings_origin(b->s, v.at[i].layer, v.at[i].json->at);
        if (!v.at[i].ignored && (!origin || words_push(&b->s->arena, out, origin) < 0))
            return err_nomem(b->err);
    }
    return 0;
}

static bool is_true(struct builder *b, enum setting_id id, bool otherwise)
{
    const struct json *j = settings_value(b->s, id);
    return j ? j->truth : otherwise;
}

/* The folder for a session's TMPDIR, or NULL. */
static const char *tmpdir_place(struct builder *b)
{
    const struct json *j = settings_value(b->s, SETTING_TMPDIR);
    const char *text = j ? j->s : NULL;
    if (!text || text[0] == '/')
        return text;
    if (text[0] != '~' || text[1] != '/' || !b->s->home)
        return NULL;
    size_t n = strlen(b->s->home) + strlen(text);
    char *path = arena_alloc(&b->s->arena, n);
    if (path)
        snprintf(path, n, "%s%s", b->s->home, text + 1);
    return path;
}

/* One for each denied domain, the last one given; NULL for none. */
static int add_reasons(struct builder *b)
{
    struct access *p = &b->r->policy;
    struct setting_values v;
    if (settings_values(b->s, SETTING_DENIED_REASONS, &v) < 0)
        return err_nomem(b->err);
    for (size_t d = 0; d < p->denied_domains.n; d++) {
        const char *reason = NULL;
        for (size_t i = 0; i < v.n; i++)
            if (!v.at[i].ignored && strcmp(v.at[i].json->key, p->denied_domains.at[d]) == 0)
                reason = v.at[i].json->s;
        if (words_push(&b->s->arena, &p->denied_reasons, reason) < 0)
            return err_nomem(b->err);
    }
    return 0;
}

static int add_port(struct builder *b, int64_t port)
{
    struct access *p = &b->r->policy;
    uint16_t *ports = arena_array(&b->s->arena, p->nlocal_ports + 1, sizeof(*ports));
    if (!ports)
        return err_nomem(b->err);
    if (p->nlocal_ports)
        memcpy(ports, p->local_ports, p->nlocal_ports * sizeof(*ports));
    ports[p->nlocal_ports++] = (uint16_t)port;
    p->local_ports = ports;
    return 0;
}

static int set_env(struct builder *b, const char *names, const char *scheme, int64_t port)
{
    char text[96];
    while (*names) {
        size_t n = strcspn(names, " ");
        int len = snprintf(text, sizeof(text), "%.*s=%s://localhost:%d", (int)n, names, scheme,
                           (int)port);
        char *word = arena_strndup(&b->s->arena, text, (size_t)len);
        if (!word || words_push(&b->s->arena, &b->r->env, word) < 0)
            return err_nomem(b->err);
        names += n + (names[n] == ' ');
    }
    return 0;
}

/* External proxies: their ports on this machine are open, and variables name them. */
static int add_proxies(struct builder *b)
{
    const struct json *http = settings_value(b->s, SETTING_HTTP_PORT);
    const struct json *socks = settings_value(b->s, SETTING_SOCKS_PORT);
    const struct json *parent = settings_value(b->s, SETTING_PARENT_PROXY);
    b->r->policy.proxy_ports[0] = http ? (uint16_t)http->number : 0;
    b->r->policy.proxy_ports[1] = socks ? (uint16_t)socks->number : 0;
    if (http &&
        set_env(b, "HTTP_PROXY HTTPS_PROXY http_proxy https_proxy", "http", http->number) < 0)
        return -1;
    if (socks && set_env(b, "ALL_PROXY all_proxy", "socks5h", socks->number) < 0)
        return -1;
    const struct json *up = parent ? jt_get(parent, "https") : NULL;
    up = up ? up : parent ? jt_get(parent, "http") : NULL;
    b->r->upstream = up ? up->s : NULL;
    const struct json *except = parent ? jt_get(parent, "noProxy") : NULL;
    b->r->no_proxy = except ? except->s : NULL;
    return 0;
}

/* Denied files are denied like others. */
static int add_masks(struct builder *b)
{
    struct setting_values v;
    const struct json *j = settings_value(b->s, SETTING_CREDENTIALS), *where;
    struct access *p = &b->r->policy;
    if (!j)
        return 0;
    if (settings_values(b->s, SETTING_CREDENTIALS, &v) < 0)
        return err_nomem(b->err);
    struct masks *m = arena_alloc(&b->s->arena, sizeof(*m));
    const struct masks_base base = {b->s->home, b->s->cwd, &p->allowed_domains, &b->s->arena};
    if (!m)
        return err_nomem(b->err);
    if (masks_read(j, &base, m, &where, b->err) < 0)
        return -1;
    for (size_t i = 0; i < m->n; i++) {
        struct path_base from = {
            .cwd = b->s->cwd, .home = b->s->home, .elsewhere = b->s->elsewhere};
        const char *file = m->at[i].denied ? m->at[i].file : NULL;
        struct path_entry e = {
            .text = file, .n = file ? strlen(file) : 0, .origin = "credentials", .denies = true};
        if (file && !p->writes_everything &&
            path_places(&b->s->arena, &from, &e, &p->deny_read, b->err) < 0)
            return -1;
    }
    p->masks = m;
    return 0;
}

static int add_network(struct builder *b)
{
    struct access *p = &b->r->policy;
    struct setting_values ports;
    if (add_words(b, SETTING_ALLOWED_DOMAINS, &p->allowed_domains) < 0 ||
        add_words(b, SETTING_DENIED_DOMAINS, &p->denied_domains) < 0 || add_reasons(b) < 0 ||
        add_origins(b, SETTING_DENIED_DOMAINS, &p->denied_origins) < 0 ||
        add_words(b, SETTING_ALLOWED_REQUESTS, &p->allowed_requests) < 0 ||
        add_words(b, SETTING_DENIED_REQUESTS, &p->denied_requests) < 0 ||
        add_words(b, SETTING_NETWORK_CREDENTIALS, &p->credentials) < 0 ||
        add_words(b, SETTING_SSH, &p->ssh) < 0 ||
        add_words(b, SETTING_DENIED_ADDRESSES, &p->denied_addresses) < 0 ||
        add_words(b, SETTING_MACH_LOOKUP, &p->mach_lookups) < 0 ||
        add_opened(b, SETTING_UNIX_SOCKETS, &p->unix_sockets) < 0)
        return -1;
    if (is_true(b, SETTING_ALL_DOMAINS, false) &&
        words_push(&b->s->arena, &p->allowed_domains, "*") < 0)
        return err_nomem(b->err);
    if (settings_values(b->s, SETTING_LOCAL_PORTS, &ports) < 0)
        return err_nomem(b->err);
    for (size_t i = 0; i < ports.n; i++)
        if (!ports.at[i].ignored && add_port(b, ports.at[i].json->number) < 0)
            return -1;
    p->all_unix_sockets = is_true(b, SETTING_ALL_UNIX_SOCKETS, false);
    p->requests_only = is_true(b, SETTING_OPAQUE_TUNNELS, false);
    p->local_binding = is_true(b, SETTING_LOCAL_BINDING, false);
    b->r->strict_allowlist =
        is_true(b, SETTING_STRICT_ALLOWLIST, false) || is_true(b, SETTING_MANAGED_DOMAINS, false);
    return add_masks(b) < 0 ? -1 : add_proxies(b);
}

static int add_ignored(struct builder *b)
{
    struct setting_values v;
    size_t n = 0;
    if (settings_values(b->s, SETTING_IGNORE, &v) < 0)
        return err_nomem(b->err);
    for (size_t i = 0; i < v.n; i++)
        n += v.at[i].ignored ? 0 : v.at[i].json->count;
    b->r->ignored = arena_array(&b->s->arena, n + 1, sizeof(*b->r->ignored));
    if (!b->r->ignored)
        return err_nomem(b->err);
    for (size_t i = 0; i < v.n; i++)
        for (const struct json *t = v.at[i].ignored ? NULL : v.at[i].json->first; t; t = t->next)
            b->r->ignored[b->r->nignored++] =
                (struct ignored_violation){.command = v.at[i].json->key, .text = t->s};
    return 0;
}

static int add_classes(struct builder *b)
{
    struct setting_values v;
    if (settings_values(b->s, SETTING_ALLOW_PROTECTED, &v) < 0)
        return err_nomem(b->err);
    for (size_t i = 0; i < v.n; i++)
        if (!v.at[i].ignored)
            b->r->policy.allow_protected |=
                1u << protected_class_find(v.at[i].json->s, v.at[i].json->n);
    return 0;
}

static int add_commands(struct builder *b)
{
    struct setting_values v;
    struct access *p = &b->r->policy;
    size_t patterns = 0;
    if (settings_values(b->s, SETTING_COMMANDS, &v) < 0)
        return err_nomem(b->err);
    if (v.n == 0)
        return 0;
    p->commands = arena_array(&b->s->arena, v.n, sizeof(*p->commands));
    if (!p->commands)
        return err_nomem(b->err);
    for (size_t i = 0; i < v.n; i++) {
        struct command_rule *r = &p->commands[p->ncommands];
        if (v.at[i].ignored)
            continue;
        if (command_rule_read(b->s, &v.at[i], r, b->err) < 0)
            return -1;
        bool twice = r->profile && (r->ask || r->deny); /* one is about starts, one about all */
        patterns += r->match.n * (twice ? 2 : 1);
        p->ncommands++;
        if (patterns > COMMAND_PATTERNS) {
            err_set(b->err, BK_E_LIMIT, "commands: more than %d patterns", COMMAND_PATTERNS);
            return jt_fail(&v.at[i].layer->text, v.at[i].json->at, b->err);
        }
    }
    return 0;
}

static int add_files(struct builder *b)
{
    struct access *p = &b->r->policy;
    p->writes_everything = is_true(b, SETTING_FS_DISABLED, false);
    p->protects_names = !p->writes_everything;
    p->allow_git_config = is_true(b, SETTING_GIT_CONFIG, false);
    p->shared_tmp = is_true(b, SETTING_SHARED_TMP, false);
    p->share_caches = is_true(b, SETTING_SHARE_CACHES, false);
    if (!p->writes_everything && (add_paths(b, SETTING_DENY_READ, &p->deny_read) < 0 ||
                                  add_opened(b, SETTING_ALLOW_READ, &p->allow_read) < 0 ||
                                  add_opened(b, SETTING_ALLOW_WRITE, &p->allow_write) < 0 ||
                                  add_paths(b, SETTING_DENY_WRITE, &p->deny_write) < 0))
        return -1;
    return add_classes(b) < 0 ? -1 : protect_settings(b);
}

/* ~/ is the home directory. */
static int add_record(struct builder *b)
{
    const struct json *path = settings_value(b->s, SETTING_RECORD_PATH);
    const struct json *size = settings_value(b->s, SETTING_RECORD_SIZE);
    const struct json *keep = settings_value(b->s, SETTING_RECORD_KEEP);
    const struct json *otlp = settings_value(b->s, SETTING_RECORD_OTLP);
    struct settings_record *r = &b->r->record;
    struct setting_values all;
    if (!path)
        return 0;
    if (strncmp(path->s, "~/", 2) == 0 && b->s->home) {
        OWN(buf) struct buf whole = {0};
        buf_fmt(&whole, "%s/%s", b->s->home, path->s + 2);
        r->path = buf_ok(&whole) ? arena_strndup(&b->s->arena, whole.s, whole.n) : NULL;
    } else if (path->s[0] == '/') {
        r->path = path->s;
    } else {
        return err_set(b->err, BK_E_INPUT, "record.path must be absolute, or below ~/: %.100s",
                       path->s);
    }
    r->max_bytes = size ? (uint64_t)size->number : 0;
    r->keep = keep ? (uint32_t)keep->number : 0;
    r->files = is_true(b, SETTING_RECORD_FILES, false);
    r->journal = is_true(b, SETTING_RECORD_JOURNAL, false);
    r->otlp = otlp ? otlp->s : NULL;
    if (!r->path || settings_values(b->s, SETTING_RECORD_PATH, &all) < 0)
        return err_nomem(b->err);
    for (size_t i = 0; i < all.n; i++)
        r->by_policy |= !all.at[i].ignored && all.at[i].layer->id == LAYER_POLICY;
    return 0;
}

/* ---- where commands run in a sandbox ---- */

static bool is_this_system(const struct json *name)
{
    struct utsname u;
    if (uname(&u) < 0)
        return true;
    bool wsl = strstr(u.release, "microsoft") || strstr(u.release, "Microsoft");
    const char *here = strcmp(u.sysname, "Darwin") == 0 ? "macos" : wsl ? "wsl" : "linux";
    return strcmp(name->s, here) == 0;
}

/* A list of systems without this one disables, as `enabled` does; the policy's `enabled` wins over
 * lists of other layers. */
static int set_enabled(struct builder *b)
{
    struct setting_values on, systems;
    bool decided = false, listed = false, here = false;
    if (settings_values(b->s, SETTING_ENABLED, &on) < 0 ||
        settings_values(b->s, SETTING_PLATFORMS, &systems) < 0)
        return err_nomem(b->err);
    for (size_t i = 0; i < on.n; i++)
        decided = decided || (!on.at[i].ignored && on.at[i].layer->id == LAYER_POLICY);
    for (size_t i = 0; i < systems.n; i++) {
        if (systems.at[i].ignored || (decided && systems.at[i].layer->id != LAYER_POLICY))
            continue;
        listed = true;
        here = here || is_this_system(systems.at[i].json);
    }
    b->r->enabled = is_true(b, SETTING_ENABLED, true) && (here || !listed);
    return 0;
}

int settings_build(struct settings *s, const char *tmpdir, struct settings_result *out,
                   struct bk_err *err)
{
    struct settings_result r = {0};
    struct builder b = {.s = s, .r = &r, .err = err};
    r.policy.tmpdir = tmpdir;
    if (add_files(&b) < 0 || add_network(&b) < 0 ||
        settings_read_handling(s, &r.handling, err) < 0 || add_ignored(&b) < 0 ||
        add_words(&b, SETTING_EXCLUDED, &r.excluded) < 0 || add_record(&b) < 0 ||
        add_commands(&b) < 0 || add_words(&b, SETTING_AGREED, &r.policy.always) < 0 ||
        set_enabled(&b) < 0)
        return -1;
    r.policy.pty = is_true(&b, SETTING_PTY, false);
    r.policy.apple_events = is_true(&b, SETTING_APPLE_EVENTS, false);
    r.policy.weaker_trust = is_true(&b, SETTING_WEAKER_NETWORK, false);
    r.nested_userns = is_true(&b, SETTING_NESTED_USERNS, false);
    r.auto_allow = is_true(&b, SETTING_AUTO_ALLOW, false);
    r.unsandboxed = is_true(&b, SETTING_UNSANDBOXED, false);
    r.tmpdir_in = tmpdir_place(&b);
    r.prompt = is_true(&b, SETTING_PROMPT, false);
    *out = r;
    return 0;
}

bool settings_ignore(const struct settings_result *r, const char *command, const char *line)
{
    for (size_t i = 0; i < r->nignored; i++) {
        const struct ignored_violation *v = &r->ignored[i];
        bool about = strcmp(v->command, "*") == 0 || strstr(command, v->command);
        if (about && *v->text && strstr(line, v->text))
            return true;
    }
    return false;
}
