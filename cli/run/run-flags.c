/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Rules made from flags, as SBPL for the end of the policy (settings/flag-rule.h). */

#include "cli/run/run-flags.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "base/spelling.h"
#include "cli/profile/profile-options.h"
#include "graph/net.h"
#include "run/sockets.h"
#include "settings/credential-rule.h"
#include "settings/flag-rule.h"
#include "vocab/rule-words.h"

/* ---- the network ---- */

/* The rules of all flags about hosts, or about files. */
static int word_rules(const struct cli_args *args, bool hosts, const char *cwd, bool shipped,
                      struct buf *out, struct buf *links, struct bk_err *err)
{
    for (size_t w = 0; w < rule_word_count; w++) {
        const char *flag = rule_words[w].word;
        if (rule_word_takes_host(&rule_words[w]) != hosts)
            continue;
        for (size_t i = 0; i < args_count(args, flag); i++)
            if (rule_write(flag, args_nth(args, flag, i), cwd, shipped, out, links, err) < 0)
                return -1;
    }
    return 0;
}

/* Opens a server of the command to this machine. */
static int publish_rule(const char *given, struct buf *out, struct bk_err *err)
{
    uint16_t lo, hi;
    if (net_ports_parse(given, strlen(given), &lo, &hi, NULL) < 0 || lo != hi || lo == 0) {
        err_set(err, BK_E_INPUT, "--publish: %.80s is not a port", given);
        err_hint(err, "write a number: --publish 3000");
        return -1;
    }
    buf_fmt(out, "(allow network-bind network-inbound (local ip \"localhost:%u\"))\n", lo);
    return 0;
}

/* At the end: requests to a host that gets a credential are checked, whichever rule allows it. */
static int credential_rules(const struct cli_args *args, struct buf *out, struct bk_err *err)
{
    struct arena arena;
    struct credential_rule c;
    int result = 0;
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < args_count(args, "credential") && result == 0; i++) {
        result = credential_rule_read(args_nth(args, "credential", i), &arena, &c, err);
        if (result == 0)
            credential_rule_sbpl(&c, out);
    }
    arena_free(&arena);
    return result;
}

static int net_rules(const struct cli_args *args, struct buf *out, struct bk_err *err)
{
    for (size_t i = 0; i < args_count(args, "publish"); i++)
        if (publish_rule(args_nth(args, "publish", i), out, err) < 0)
            return -1;
    if (word_rules(args, true, NULL, false, out, NULL, err) < 0)
        return -1;
    return credential_rules(args, out, err);
}

/* ---- Unix sockets ---- */

static void socket_filter(struct buf *out, const char *form, const char *name)
{
    buf_fmt(out, "(allow network-outbound (remote unix-socket (%s ", form);
    buf_sbpl(out, name, strlen(name));
    buf_str(out, ")))\n");
}

static int socket_rule(const char *path, const char *cwd, struct buf *out, struct buf *links,
                       struct bk_err *err)
{
    struct arena arena;
    struct places places = {0};
    if (path[0] == '@') {
        socket_filter(out, "path-literal", path);
        return 0;
    }
    arena_init(&arena, 1 << 20);
    int result = rule_places(&arena, "allow-socket", path, cwd, RULE_READS, &places, links, err);
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
    const char *near = spelling_nearest(name, names, n);
    err_set(err, BK_E_INPUT, "--allow-socket: unknown name %.80s", name);
    if (near)
        err_hint(err, "did you mean %s? A path contains a slash, an abstract name starts with @",
                 near);
    else
        err_hint(err, "`buckle run --help` lists the names; a path contains a slash, an abstract "
                      "name starts with @");
    return -1;
}

/* Adds a variable; the list has offsets until all are known. */
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
        if (socket_rule(path.s, cwd, &f->rules, &f->links, err) < 0)
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
        if (!s && socket_rule(given, cwd, &f->rules, &f->links, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < f->nkeep; i++)
        f->keep[i] = f->variables.s + (uintptr_t)f->keep[i];
    for (size_t i = 0; i < f->nset; i++)
        f->set[i] = f->variables.s + (uintptr_t)f->set[i];
    return buf_ok(&f->variables) ? 0 : err_nomem(err);
}

static int flag_rules(const struct cli_args *args, const char *cwd, bool shipped, struct buf *out,
                      struct buf *links, struct bk_err *err)
{
    /* before rules that open a disk */
    if (!shipped && args_count(args, "deny-read"))
        buf_fmt(out, "(deny file-read-data %s)\n", rule_disks);
    if (word_rules(args, false, cwd, shipped, out, links, err) < 0)
        return -1;
    /* creators of user namespaces write these */
    if (args_has(args, "allow-userns"))
        buf_str(out, "(allow file-write-data (regex "
                     "#\"^/proc/[0-9]+/(task/[0-9]+/)?(uid_map|gid_map|setgroups)$\"))\n");
    return 0;
}

/* ---- parameters ---- */

static int set_params(struct run_flags *f, const struct cli_args *args, struct run_spec *spec,
                      struct bk_err *err)
{
    size_t n = args_count(args, "define"), bytes = 1;
    for (size_t i = 0; i < n; i++)
        bytes += strlen(args_nth(args, "define", i)) + 1;
    f->params = calloc(n + 2, sizeof(*f->params));
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
            return err_set(err, BK_E_INPUT, "-D must be KEY=VALUE, not %s", given);
        *equals = '\0';
        f->params[i] = (struct sbpl_param){at, equals + 1};
        at += len;
    }
    if (args_has(args, "shared-tmp"))
        f->params[n++] = (struct sbpl_param){"SHARED_TMP", "1"};
    spec->params = f->params;
    spec->nparams = n;
    return 0;
}

/* ---- texts ---- */

int run_flags_read(struct run_flags *f, const struct cli_args *args, struct run_spec *spec,
                   struct bk_err *err)
{
    const char *name = args_value(args, "profile");
    if (set_params(f, args, spec, err) < 0)
        return -1;
    f->profile = run_named_profile(name ? name : "default");
    bool shipped = source_is_shipped(&f->profile);
    if (flag_rules(args, spec->launch.cwd, shipped, &f->rules, &f->links, err) < 0)
        return -1;
    if (net_rules(args, &f->rules, err) < 0 || socket_rules(f, args, spec->launch.cwd, err) < 0)
        return -1;
    spec->nssh = args_count(args, "ssh");
    spec->ssh = f->ssh = spec->nssh ? args_all(args, "ssh") : NULL;
    spec->ncredentials = args_count(args, "credential");
    spec->credentials = f->credentials = spec->ncredentials ? args_all(args, "credential") : NULL;
    if (!buf_ok(&f->rules) || !buf_ok(&f->links) || (spec->ncredentials && !f->credentials) ||
        (spec->nssh && !f->ssh))
        return err_nomem(err);
    f->made = (struct run_source){.kind = RUN_TEXT,
                                  .from = SOURCE_FLAG,
                                  .name = "<flags>",
                                  .text = f->rules.s,
                                  .n = f->rules.n,
                                  .apart = !shipped,
                                  .links = f->links.s,
                                  .nlinks = f->links.n};
    return 0;
}

void run_flags_free(struct run_flags *f)
{
    buf_free(&f->rules);
    buf_free(&f->links);
    buf_free(&f->variables);
    free(f->keep);
    free(f->set);
    free(f->credentials);
    free(f->ssh);
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
