/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What flags say goes to the end of the profile. Shipped profiles come with
 * procedures for it (protected.sb), which keep protected names closed inside a folder that is
 * opened. A profile of the person's own gets plain rules; because an operation's own rules come
 * before its parent's, those name all writing operations.
 */

#include "run-flags.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/near.h"
#include "base/own.h"
#include "graph/net.h"
#include "settings/paths.h"
#include "load.h"
#include "run/sockets.h"

static const char read_operations[] =
    "file-read* file-read-data file-read-metadata file-read-xattr file-test-existence";
static const char write_operations[] =
    "file-write* file-write-acl file-write-create file-write-data file-write-flags "
    "file-write-mode file-write-owner file-write-times file-write-unlink file-write-xattr";

/* The filter for a place. A pattern that denies covers what lies below its matches. */
static void place_filter(struct buf *out, const struct place *p, bool denies)
{
    OWN(buf) struct buf below = {0};
    size_t n = strlen(p->path);
    if (n == 1) {
        buf_str(out, "(regex #\"^/\")"); /* "/" is no subpath that ends in a name */
        return;
    }
    buf_str(out, p->kind == PLACE_GLOB ? "(glob " : "(subpath ");
    buf_sbpl(out, p->path, n);
    if (denies && p->kind == PLACE_GLOB) {
        buf_fmt(&below, "%s/**", p->path);
        buf_chr(out, ' ');
        buf_sbpl(out, below.s ? below.s : "", below.n);
        out->failed |= !buf_ok(&below);
    }
    buf_chr(out, ')');
}

static void plain_rule(struct buf *out, const char *action, const char *operations,
                       const struct place *p)
{
    buf_fmt(out, "(%s %s ", action, operations);
    place_filter(out, p, strcmp(action, "deny") == 0);
    buf_str(out, ")\n");
}

static void shipped_rule(struct buf *out, bool allow, const struct place *p)
{
    if (allow && p->kind != PLACE_GLOB) {
        buf_str(out, "(allow-write ");
        buf_sbpl(out, p->path, strlen(p->path));
    } else {
        buf_str(out, allow ? "(allow-write-matching " : "(deny-write ");
        place_filter(out, p, !allow);
    }
    buf_str(out, ")\n");
}

/* In this order, so that denials win. Denying to read keeps files visible: programs look around
 * more than they read. */
static const struct flag {
    const char *option;
    bool allow, write;
} flags[] = {{"allow-read", true, false},
             {"allow-write", true, true},
             {"deny-read", false, false},
             {"deny-write", false, true}};

static int flag_places(struct arena *a, const char *option, const char *given, const char *cwd,
                       bool denies, struct places *out, struct bk_err *err)
{
    const struct path_base base = {.cwd = cwd, .home = getenv("HOME")};
    const struct path_entry entry = {
        .text = given, .n = strlen(given), .from_shell = true, .denies = denies};
    if (path_places(a, &base, &entry, out, err) == 0)
        return 0;
    struct bk_err why = *err;
    err_set(err, why.code, "--%s %.80s: %.200s", option, given, why.msg);
    return -1;
}

static int flag_rule(const struct flag *f, const char *given, const char *cwd, bool shipped,
                     struct buf *out, struct bk_err *err)
{
    struct arena arena;
    struct places places = {0};
    const char *operations = f->write   ? write_operations
                             : f->allow ? read_operations
                                        : "file-read-data";
    arena_init(&arena, 1 << 20);
    int result = flag_places(&arena, f->option, given, cwd, !f->allow, &places, err);
    for (size_t i = 0; i < places.n; i++)
        if (shipped && f->write)
            shipped_rule(out, f->allow, &places.at[i]);
        else
            plain_rule(out, f->allow ? "allow" : "deny", operations, &places.at[i]);
    arena_free(&arena);
    return result;
}

/* ---- the network ---- */

/* A host by name is a domain; an address, a range of them, every host or this one is told by
 * (remote …), which knows those. */
static bool is_domain(const char *s)
{
    struct net_endpoint end;
    return net_endpoint_parse(s, strlen(s), &end, NULL, NULL) < 0 &&
           net_domain_check(s, strlen(s), NULL) == 0;
}

static int net_rule(const char *option, const char *given, struct buf *out, struct bk_err *err)
{
    struct net_endpoint end;
    bool domain = is_domain(given);
    if (!domain && net_endpoint_parse(given, strlen(given), &end, NULL, err) < 0) {
        err_set(err, BK_E_INPUT, "--%s %.80s names no host", option, given);
        err_hint(err,
                 "write a name, *.name, an address or a range, with :port if only that is meant");
        return -1;
    }
    buf_fmt(out, "(%.*s network-outbound (%s ", (int)strcspn(option, "-"), option,
            domain ? "domain" : "remote ip");
    buf_sbpl(out, given, strlen(given));
    buf_str(out, "))\n");
    return 0;
}

/* A server of the command's that this machine may call. */
static int publish_rule(const char *given, struct buf *out, struct bk_err *err)
{
    uint16_t lo, hi;
    if (net_ports_parse(given, strlen(given), &lo, &hi, NULL) < 0 || lo != hi || lo == 0) {
        err_set(err, BK_E_INPUT, "--publish %.80s is no port", given);
        err_hint(err, "write a number: --publish 3000");
        return -1;
    }
    buf_fmt(out, "(allow network-bind network-inbound (local ip \"localhost:%u\"))\n", lo);
    return 0;
}

static int net_rules(const struct cli_args *args, struct buf *out, struct bk_err *err)
{
    for (size_t i = 0; i < args_count(args, "publish"); i++)
        if (publish_rule(args_nth(args, "publish", i), out, err) < 0)
            return -1;
    static const char *const options[] = {"allow-net", "deny-net"};
    for (size_t o = 0; o < 2; o++)
        for (size_t i = 0; i < args_count(args, options[o]); i++)
            if (net_rule(options[o], args_nth(args, options[o], i), out, err) < 0)
                return -1;
    return 0;
}

/* ---- Unix sockets ---- */

static void socket_filter(struct buf *out, const char *form, const char *name)
{
    buf_fmt(out, "(allow network-outbound (remote unix-socket (%s ", form);
    buf_sbpl(out, name, strlen(name));
    buf_str(out, ")))\n");
}

static int socket_rule(const char *path, const char *cwd, struct buf *out, struct bk_err *err)
{
    struct arena arena;
    struct places places = {0};
    if (path[0] == '@') {
        socket_filter(out, "path-literal", path);
        return 0;
    }
    arena_init(&arena, 1 << 20);
    int result = flag_places(&arena, "allow-socket", path, cwd, false, &places, err);
    for (size_t i = 0; i < places.n; i++)
        socket_filter(out, places.at[i].kind == PLACE_GLOB ? "glob" : "path-literal",
                      places.at[i].path);
    arena_free(&arena);
    return result;
}

static int unknown_socket(const char *name, struct bk_err *err)
{
    const char *names[64];
    size_t n = 0;
    while (n < known_socket_count && n < 64) {
        names[n] = known_sockets[n].name;
        n++;
    }
    const char *near = near_word(name, names, n);
    err_set(err, BK_E_INPUT, "--allow-socket: no socket is called %.80s", name);
    if (near)
        err_hint(err, "did you mean %s? A path has a slash in it, an abstract name begins with @",
                 near);
    else
        err_hint(err, "`buckle run --help` lists them; a path has a slash in it, an abstract name "
                      "begins with @");
    return -1;
}

/* Remembers a variable; the list gets an offset until all are known. */
static void add_variable(struct run_flags *f, const char *text, size_t n, const char ***list,
                         size_t *count)
{
    const char **more = realloc(*list, (*count + 1) * sizeof(**list));
    if (!more)
        return;
    *list = more;
    more[(*count)++] = (const char *)(uintptr_t)f->variables.n;
    buf_add(&f->variables, text, n);
    buf_chr(&f->variables, '\0');
}

static int known_socket_rules(struct run_flags *f, const struct known_socket *s, const char *cwd,
                              struct bk_err *err)
{
    OWN(buf) struct buf path = {0};
    OWN(buf) struct buf setting = {0};
    const char *at = s->paths;
    int got;
    for (bool first = true; (got = known_socket_next(s, &at, &path, err)) > 0; first = false) {
        if (socket_rule(path.s, cwd, &f->rules, err) < 0)
            return -1;
        if (first)
            known_socket_setting(s, path.s, &setting);
    }
    for (const char *k = s->keeps; *k; k += strcspn(k, " ") + (k[strcspn(k, " ")] == ' '))
        add_variable(f, k, strcspn(k, " "), &f->keep, &f->nkeep);
    if (setting.n)
        add_variable(f, setting.s, setting.n, &f->set, &f->nset);
    return got;
}

static int socket_rules(struct run_flags *f, const struct cli_args *args, const char *cwd,
                        struct bk_err *err)
{
    const char *given;
    for (size_t i = 0; (given = args_nth(args, "allow-socket", i)); i++) {
        const struct known_socket *s = known_socket_find(given);
        if (s && known_socket_rules(f, s, cwd, err) < 0)
            return -1;
        if (!s && !strchr(given, '/') && given[0] != '@')
            return unknown_socket(given, err);
        if (!s && socket_rule(given, cwd, &f->rules, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < f->nkeep; i++)
        f->keep[i] = f->variables.s + (uintptr_t)f->keep[i];
    for (size_t i = 0; i < f->nset; i++)
        f->set[i] = f->variables.s + (uintptr_t)f->set[i];
    return buf_ok(&f->variables) ? 0 : err_nomem(err);
}

static int flag_rules(const struct cli_args *args, const char *cwd, bool shipped, struct buf *out,
                      struct bk_err *err)
{
    for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++)
        for (size_t i = 0; i < args_count(args, flags[f].option); i++)
            if (flag_rule(&flags[f], args_nth(args, flags[f].option, i), cwd, shipped, out, err) <
                0)
                return -1;
    /* whoever makes a user namespace says there who is who in it */
    if (args_has(args, "allow-userns"))
        buf_str(out, "(allow file-write-data (regex "
                     "#\"^/proc/[0-9]+/(task/[0-9]+/)?(uid_map|gid_map|setgroups)$\"))\n");
    return 0;
}

int run_flags_rule(const char *option, const char *value, const char *cwd, bool shipped,
                   struct buf *out, struct bk_err *err)
{
    for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++)
        if (strcmp(flags[f].option, option) == 0) {
            if (flag_rule(&flags[f], value, cwd, shipped, out, err) < 0)
                return -1;
            return buf_ok(out) ? 0 : err_nomem(err);
        }
    return net_rule(option, value, out, err);
}

/* ---- parameters ---- */

static int set_params(struct run_flags *f, const struct cli_args *args, struct run_spec *spec,
                      struct bk_err *err)
{
    size_t n = args_count(args, "define"), bytes = 1;
    for (size_t i = 0; i < n; i++)
        bytes += strlen(args_nth(args, "define", i)) + 1;
    f->params = calloc(n + 1, sizeof(*f->params));
    f->words = malloc(bytes);
    if (!f->params || !f->words)
        return err_nomem(err);
    char *at = f->words;
    for (size_t i = 0; i < n; i++) {
        const char *given = args_nth(args, "define", i);
        size_t len = strlen(given) + 1;
        memcpy(at, given, len);
        char *equals = strchr(at, '=');
        if (!equals || equals == at)
            return err_set(err, BK_E_INPUT, "-D takes KEY=VALUE, not %s", given);
        *equals = '\0';
        f->params[i] = (struct sbpl_param){at, equals + 1};
        at += len;
    }
    spec->params = f->params;
    spec->nparams = n;
    return 0;
}

/* ---- texts ---- */

/* A bare word is a shipped profile and never a file: a file that happens to be called `default`
 * must not become the policy. */
static struct run_source named_profile(const char *name)
{
    size_t n = strlen(name);
    bool file = strchr(name, '/') || (n > 3 && strcmp(name + n - 3, ".sb") == 0);
    return (struct run_source){.kind = file ? RUN_FILE : RUN_SHIPPED, .name = name};
}

int run_flags_read(struct run_flags *f, const struct cli_args *args, struct run_spec *spec,
                   struct bk_err *err)
{
    const char *name = args_value(args, "profile");
    if (set_params(f, args, spec, err) < 0)
        return -1;
    f->sources[0] = named_profile(name ? name : "default");
    if (flag_rules(args, spec->cwd, f->sources[0].kind == RUN_SHIPPED, &f->rules, err) < 0)
        return -1;
    if (net_rules(args, &f->rules, err) < 0 || socket_rules(f, args, spec->cwd, err) < 0)
        return -1;
    if (!buf_ok(&f->rules))
        return err_nomem(err);
    f->sources[1] = (struct run_source){
        .kind = RUN_TEXT, .name = "<flags>", .text = f->rules.s, .n = f->rules.n};
    spec->sources = f->sources;
    spec->nsources = f->rules.n ? 2 : 1;
    return 0;
}

void run_flags_free(struct run_flags *f)
{
    buf_free(&f->rules);
    buf_free(&f->variables);
    free(f->keep);
    free(f->set);
    free(f->params);
    free(f->words);
}

void run_complain(const struct sbpl_unit *unit, const struct bk_err *err)
{
    OWN(buf) struct buf out = {0};
    if (unit->diags.errors == 0) {
        cli_fail(err);
        return;
    }
    load_findings(unit, &out);
    fputs(out.s ? out.s : "", stderr);
}
