/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle profile`: prints the SBPL that settings produce, for `buckle run` or for macOS. */

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/args.h"
#include "cli/profile/settings-options.h"
#include "cli/run/run-presets.h"
#include "policy/target.h"

static const struct cli_option options[] = {
    {"settings", 's', "FILE", "settings to use in addition to those found", "file"},
    PRESET_OPTIONS,
    {"no-settings", 0, NULL, "use only --settings and the machine's policy", NULL},
    {"bare", 0, NULL, "add no defaults, as srt does", NULL},
    {"macos", 0, NULL, "print a profile for sandbox-exec on macOS", NULL},
    {"http-port", 0, "N", "with --macos: port of the HTTP proxy", NULL},
    {"socks-port", 0, "N", "with --macos: port of the SOCKS proxy", NULL},
    {"tag", 0, "TEXT", "add this message to every denial", NULL},
    {"tmpdir", 0, "DIR", "the command's TMPDIR", "dir"},
    {0},
};

int profile_port(const struct cli_args *args, const char *name, uint16_t *out)
{
    const char *text = args_value(args, name);
    char *end;
    unsigned long v = text ? strtoul(text, &end, 10) : 0;
    if (text && (*end || v < 1 || v > UINT16_MAX))
        return -1;
    *out = (uint16_t)v;
    return 0;
}

int profile_settings(const struct cli_args *args, struct settings *s, struct bk_err *err)
{
    bool bare = args_has(args, "bare");
    const char *file;
    char cwd[PATH_MAX];
    if (!getcwd(cwd, sizeof(cwd)))
        return err_sys(err, "cannot find the working directory");
    if (settings_init(s, cwd, err) < 0)
        return -1;
    if (!policy_on_macos()) /* what uses this is for a Mac */
        settings_for_elsewhere(s);
    if ((bare || args_has(args, "no-settings") ? settings_add_policy : settings_add_found)(s, err) <
        0)
        return -1;
    for (size_t i = 0; (file = args_nth(args, "settings", i)); i++)
        if (settings_add_file(s, LAYER_FLAGS, file, err) < 0)
            return -1;
    return bare ? 0 : settings_add_defaults(s, err);
}

static int assemble(const struct cli_args *args, struct arena *arena, struct assembly *out,
                    struct bk_err *err)
{
    char cwd[PATH_MAX];
    size_t n = args_count(args, "settings");
    struct named_settings *named = arena_array(arena, n + 1, sizeof(*named));
    if (!named)
        return err_nomem(err);
    for (size_t i = 0; i < n; i++)
        named[i] = (struct named_settings){.name = args_nth(args, "settings", i)};
    struct policy_request q = {.cwd = cwd,
                               .tmpdir = args_value(args, "tmpdir"),
                               .elsewhere = args_has(args, "macos") && !policy_on_macos(),
                               .needs_settings = true,
                               .bare_settings = args_has(args, "bare"),
                               .named = named,
                               .nnamed = n};
    q.find_settings = !q.bare_settings && !args_has(args, "no-settings");
    if (!getcwd(cwd, sizeof(cwd)))
        return err_sys(err, "cannot find the working directory");
    if (run_presets_request(args, arena, &q, err) < 0 || policy_assemble(&q, out, err) < 0)
        return -1;
    run_presets_log(out);
    return 0;
}

static int cmd_profile_run(struct cli_args *args)
{
    OWN(assembly) struct assembly policy = {0};
    OWN(arena) struct arena arena;
    OWN(buf) struct buf out = {0};
    struct access_target target = {.macos = args_has(args, "macos")};
    struct bk_err err;
    arena_init(&arena, 1 << 20);
    if (profile_port(args, "http-port", &target.http_port) < 0 ||
        profile_port(args, "socks-port", &target.socks_port) < 0)
        return cli_usage(args, "a port must be between 1 and 65535");
    if (assemble(args, &arena, &policy, &err) < 0)
        return cli_fail(&err);
    policy.result.policy.tag = args_value(args, "tag");
    if (access_sbpl(&policy.result.policy, &target, &out, &err) < 0)
        return cli_fail(&err);
    return cli_emit(&out, CLI_OK);
}

const struct cli_command cmd_profile = {
    .name = "profile",
    .usage = "[OPTION…]",
    .brief = "print the profile that the settings produce",
    .about =
        "Prints the SBPL that the settings in force here produce, with comments that show\n"
        "where each rule comes from. Use it with `buckle run --profile`, `buckle eval` and\n"
        "`buckle explain`, or with --macos for sandbox-exec there. A run also adds its TMPDIR,\n"
        "whose name is known only then (--tmpdir names one here).",
    .options = options,
    .run = cmd_profile_run,
};
