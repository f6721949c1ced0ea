/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `cage`: writes only to allowed places and reads everything except denied ones; presets list them.
 * The network and everything else stay open. As in cage, mistakes exit with 1, and those in the
 * command line with 2.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/args.h"
#include "cli/compat/compat.h"
#include "cli/help.h"
#include "policy/presets.h"
#include "policy/target.h"

static const char NAME[] = "cage";
enum { FAILED = 1, MISUSED = 2 };

/* clang-format off */
static const struct cli_option options[] = {
    {"allow", 0, "PATH", "allow reading and writing PATH and below; may be repeated", "file"},
    {"allow-read", 0, "PATH", "with --strict: allow reading PATH and below", "file"},
    {"deny", 0, "PATH", "deny writing PATH, and reading its contents", "file"},
    {"deny-read", 0, "PATH", "deny reading the contents of PATH", "file"},
    {"deny-write", 0, "PATH", "deny writing PATH", "file"},
    {"strict", 0, NULL, "deny reading everything that is not allowed", NULL},
    {"allow-git", 0, NULL, "allow writing to the repository of the working directory", NULL},
    {"allow-keychain", 0, NULL, "allow the keychain (macOS)", NULL},
    {"allow-all", 0, NULL, "restrict nothing", NULL},
    {"preset", 0, "NAME", "use this preset; may be repeated", NULL},
    {"no-defaults", 0, NULL, "ignore the default presets of the presets file", NULL},
    {"list-presets", 0, NULL, "list presets, and exit", NULL},
    {"show-preset", 0, "NAME", "show a preset with everything it extends, and exit", NULL},
    {"o", 0, "FORMAT", "format: text, yaml, or raw (yaml without what it extends)", "text yaml raw"},
    {"config", 0, "FILE", "read presets from FILE", "file"},
    {"dry-run", 0, NULL, "show the profile, and exit", NULL},
    {"verbose", 0, NULL, "report each denied operation as it happens", NULL},
    {"version", 0, NULL, "print the version", NULL},
    {0},
};
/* clang-format on */

struct cage {
    struct cli_args args;
    struct arena arena;
    struct preset_config config;
    struct preset sum;
    struct access policy;
    struct buf profile;
    struct compat compat;
};

static int report(const struct bk_err *err, const char *about)
{
    compat_report(NAME, about, err);
    return FAILED;
}

/* ---- showing ---- */

static int show_preset(struct cage *c, const char *name)
{
    const char *format = args_value(&c->args, "o");
    bool raw = format && strcmp(format, "raw") == 0, yaml = format && strcmp(format, "yaml") == 0;
    struct bk_err err;
    OWN(buf) struct buf out = {0};
    if (format && !raw && !yaml && strcmp(format, "text") != 0) {
        err_set(&err, BK_E_INPUT, "-o must be text, yaml or raw, not %.40s", format);
        return report(&err, NULL);
    }
    const struct preset *one = preset_find(&c->config, name, &err);
    if (!one)
        return report(&err, NULL);
    struct preset shown = {.name = one->name, .about = one->about, .extends = one->extends};
    if (!raw && preset_add(&c->arena, &c->config, name, &shown, &err) < 0)
        return report(&err, NULL);
    preset_print(raw ? one : &shown, raw || yaml ? PRESET_YAML : PRESET_TEXT, &out);
    return cli_emit(&out, CLI_OK);
}

static int usage(void)
{
    OWN(buf) struct buf out = {0};
    buf_str(&out, "Usage: cage [flags] <command> [command-args...]\n"
                  "       cage [flags] -- <command> [command-flags] [command-args...]\n\n");
    help_options(options, &out);
    fputs(out.s ? out.s : "", stderr);
    return FAILED;
}

/* ---- from flags and presets to a profile ---- */

static int add_flags(struct cage *c, struct bk_err *err)
{
    static const struct {
        const char *option;
        enum preset_list list;
    } lists[] = {{"allow", PRESET_ALLOW},
                 {"allow-read", PRESET_READ},
                 {"deny", PRESET_DENY},
                 {"deny-read", PRESET_DENY_READ},
                 {"deny-write", PRESET_DENY_WRITE}};
    for (size_t l = 0; l < sizeof(lists) / sizeof(*lists); l++) {
        const char *path;
        for (size_t i = 0; (path = args_nth(&c->args, lists[l].option, i)); i++) {
            char origin[32];
            int n = snprintf(origin, sizeof(origin), "--%s", lists[l].option);
            struct preset_path p = {
                .path = path, .origin = arena_strndup(&c->arena, origin, (size_t)n), .flag = true};
            if (!p.origin || preset_push(&c->arena, &c->sum.lists[lists[l].list], &p) < 0)
                return err_nomem(err);
        }
    }
    c->sum.flags[PRESET_STRICT] |= args_has(&c->args, "strict");
    c->sum.flags[PRESET_ALLOW_GIT] |= args_has(&c->args, "allow-git");
    c->sum.flags[PRESET_ALLOW_KEYCHAIN] |= args_has(&c->args, "allow-keychain");
    return 0;
}

static int add_presets(struct cage *c, struct bk_err *err)
{
    struct words names = {0};
    const char *name;
    for (size_t i = 0; (name = args_nth(&c->args, "preset", i)); i++)
        if (words_push(&c->arena, &names, name) < 0)
            return err_nomem(err);
    return preset_sum(&c->arena, &c->config, &names, c->args.pos[0],
                      args_has(&c->args, "no-defaults"), &c->sum, err);
}

static int make_profile(struct cage *c, struct bk_err *err)
{
    struct access_target target = policy_target_here();
    struct path_base base = {.cwd = c->compat.cwd, .home = getenv("HOME")};
    struct words unset = {0};
    c->policy = (struct access){
        .else_open = true, .network_open = true, .all_unix_sockets = true, .pty = true};
    if (add_presets(c, err) < 0 || add_flags(c, err) < 0 ||
        presets_apply(&c->arena, &c->sum, &base, &c->policy, &unset, err) < 0 ||
        preset_protect(&c->arena, &c->config, &base, &c->policy, err) < 0 ||
        access_sbpl(&c->policy, &target, &c->profile, err) < 0)
        return -1;
    for (size_t i = 0; i < unset.n && args_has(&c->args, "verbose"); i++)
        fprintf(stderr, "%s: %s uses a variable that is not set, so it allows nothing\n", NAME,
                unset.at[i]);
    return 0;
}

/* ---- running ---- */

/* Without any restriction: just runs it. */
static int run_free(struct cage *c)
{
    struct bk_err err;
    setenv("IN_CAGE", "1", 1);
    execvp(c->args.pos[0], (char *const *)c->args.pos);
    err_sys(&err, "%s", c->args.pos[0]);
    return report(&err, errno == ENOENT ? "command not found" : "cannot run");
}

static int run_caged(struct cage *c)
{
    static const char *const set[] = {"IN_CAGE=1"};
    struct run_spec *spec = &c->compat.spec;
    struct launch_end end;
    struct bk_err err;
    c->compat.base = (struct run_source){.kind = RUN_TEXT,
                                         .from = SOURCE_PRESET,
                                         .name = "<cage>",
                                         .text = c->profile.s,
                                         .n = c->profile.n,
                                         .links = c->policy.links,
                                         .nlinks = c->policy.nlinks};
    spec->launch.argv = (char *const *)c->args.pos;
    spec->bare = true;
    spec->may_leave = true;
    spec->set_env = set;
    spec->nset_env = 1;
    c->compat.verbose = args_has(&c->args, "verbose");
    compat_run(&c->compat, &end, &err);
    if (end.step == STEP_EXEC)
        return report(&err, end.sys == ENOENT ? "command not found" : NULL);
    return end.step == STEP_POLICY ? FAILED : report(&err, NULL);
}

/* Prints the presets' resolved paths with their origins. */
static void show_places(struct buf *out, const char *title, const struct places *places,
                        const char *how)
{
    if (places->n)
        buf_fmt(out, "- %s:\n", title);
    for (size_t i = 0; i < places->n; i++) {
        const char *from = places->at[i].origin;
        buf_str(out, "  * ");
        buf_safe(out, places->at[i].path, strlen(places->at[i].path));
        buf_fmt(out, "%s - from %s\n", how, from && from[0] == '-' ? "CLI flag" : from ? from : "");
    }
}

static void show_rules(const struct cage *c, struct buf *out)
{
    const struct access *p = &c->policy;
    struct places both = {0}, read = {0};
    struct arena *a = (struct arena *)&c->arena;
    for (size_t i = 0; i < p->deny_read.n; i++) {
        bool writes = false;
        for (size_t k = 0; k < p->deny_write.n; k++)
            writes |= strcmp(p->deny_read.at[i].path, p->deny_write.at[k].path) == 0;
        if (places_push(a, writes ? &both : &read, &p->deny_read.at[i]) < 0)
            out->failed = true;
    }
    buf_str(out, "- Allow everything except writing to files\n");
    show_places(out, "Allow writes to", &p->allow_write, "");
    if (p->reads_nothing)
        buf_str(out, "- STRICT: deny reading except what is listed\n");
    show_places(out, "Allow reads of", &p->allow_read, "");
    show_places(out, "Deny rules", &both, " (read+write)");
    show_places(out, "Deny reading", &read, " (read)");
}

static int show_profile(struct cage *c)
{
    static const char line[] = "----------------------------------------\n";
    OWN(buf) struct buf out = {0};
    buf_str(&out, "Sandbox Profile (dry-run):\n\nRules:\n");
    if (args_has(&c->args, "allow-all"))
        buf_str(&out, "- Allow everything (--allow-all)\n");
    else
        show_rules(c, &out);
    if (!args_has(&c->args, "allow-all")) {
        buf_fmt(&out, "\nRaw profile:\n%s", line);
        buf_add(&out, c->profile.s, c->profile.n);
        buf_str(&out, line);
    }
    buf_str(&out, "\nCommand:");
    for (size_t i = 0; i < c->args.npos; i++) {
        buf_chr(&out, ' ');
        buf_safe(&out, c->args.pos[i], strlen(c->args.pos[i]));
    }
    buf_chr(&out, '\n');
    return cli_emit(&out, CLI_OK);
}

static int run_cage(struct cage *c)
{
    struct bk_err err;
    const char *shown = args_value(&c->args, "show-preset");
    if (args_has(&c->args, "version")) {
        printf("cage version %s (buckle)\n", BK_VERSION);
        return CLI_OK;
    }
    if (presets_load(&c->arena, args_value(&c->args, "config"), &c->config, &err) < 0 ||
        presets_share_caches(&c->arena, &c->config, &err) < 0)
        return report(&err, "error loading config");
    if (args_has(&c->args, "list-presets")) {
        OWN(buf) struct buf out = {0};
        preset_names(&c->config, &out);
        return cli_emit(&out, CLI_OK);
    }
    if (shown)
        return show_preset(c, shown);
    if (!c->args.npos)
        return usage();
    if (compat_init(&c->compat, NAME, &err) < 0 || make_profile(c, &err) < 0)
        return report(&err, NULL);
    if (args_has(&c->args, "dry-run"))
        return show_profile(c);
    return args_has(&c->args, "allow-all") ? run_free(c) : run_caged(c);
}

static int main_cage(int argc, char **argv)
{
    struct cage *c = calloc(1, sizeof(*c));
    struct bk_err err;
    int status;
    if (!c)
        return FAILED;
    arena_init(&c->arena, 64 << 20);
    if (args_parse(&c->args, &name_cage, argc, argv, &err) < 0) {
        fprintf(stderr, "%s\n", err.msg);
        usage();
        status = MISUSED;
    } else if (c->args.help) {
        usage();
        status = CLI_OK;
    } else {
        status = run_cage(c);
    }
    args_free(&c->args);
    buf_free(&c->profile);
    arena_free(&c->arena);
    free(c);
    return status;
}

const struct cli_command name_cage = {
    .name = "cage",
    .usage = "[FLAG…] [--] COMMAND [ARGUMENT…]",
    .brief = "run a command that can write only where presets allow",
    .options = options,
    .takes_command = true,
    .one_dash = true,
    .main = main_cage,
};
