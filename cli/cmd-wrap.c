/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle wrap`: a command line for macOS that runs another one under what settings come to. It is
 * made here and can be run anywhere: the profile is in it, with nothing left to look up.
 */

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "base/own.h"
#include "profile.h"
#include "report/tag.h"
#include "run/run.h"
#include "seatbelt/run.h"
#include "seatbelt/wrap.h"

static const struct cli_option options[] = {
    {"settings", 's', "FILE", "these settings, besides those that are found", "file"},
    {"no-settings", 0, NULL, "only those, and the machine's policy", NULL},
    {"bare", 0, NULL, "nothing but what they say: as under the name srt", NULL},
    {"shell", 0, "SHELL", "the shell that runs it, looked up in PATH (bash)", "command"},
    {"http-port", 0, "N", "the port of an HTTP proxy on this machine", NULL},
    {"socks-port", 0, "N", "the port of a SOCKS proxy on this machine", NULL},
    {"session", 0, "TAG", "what the tag of its denials ends in", NULL},
    {"tmpdir", 0, "DIR", "the command's TMPDIR", "dir"},
    {0},
};

struct wrapping {
    const struct cli_args *args;
    struct settings settings;
    struct settings_result r;
    struct seatbelt_ports ports;
    struct buf command, tag, profile;
};

/* One word is a shell's command line as it is; several are the words of one. */
static void say_command(struct wrapping *w)
{
    const struct cli_args *args = w->args;
    for (size_t i = 0; i < args->npos; i++) {
        buf_str(&w->command, i ? " " : "");
        if (args->npos == 1)
            buf_str(&w->command, args->pos[i]);
        else
            shell_word(&w->command, args->pos[i]);
    }
}

static int make_tag(struct wrapping *w, struct bk_err *err)
{
    char session[TAG_SESSION];
    const char *given = args_value(w->args, "session");
    if (!given && tag_session(session, err) < 0)
        return -1;
    tag_encode(w->command.s, w->command.n, given ? given : session, &w->tag);
    w->r.policy.tag = w->tag.s;
    return buf_ok(&w->tag) && buf_ok(&w->command) ? 0 : err_nomem(err);
}

/* With the shipped protections it is made of several texts, which macOS does not have. */
static int flatten(struct wrapping *w, const struct buf *text, struct bk_err *err)
{
    char home[PATH_MAX];
    struct sbpl_param params[] = {{"HOME", home}};
    const char *named = getenv("HOME");
    struct sbpl_options opt = {.params = params, .shipped_only = true, .os = VOCAB_OS_ANY};
    opt.nparams = named && realpath(named, home) ? 1 : 0;
    OWN(sbpl_unit) struct sbpl_unit unit;
    struct graph *graph = NULL;
    sbpl_unit_init(&unit, &opt);
    if (sbpl_add_text(&unit, "<settings>", text->s, text->n, err) < 0 ||
        sbpl_compile(&unit, &graph, err) < 0 ||
        sbpl_flatten(&unit, &(struct sbpl_flat_options){w->tag.s}, &w->profile, err) < 0) {
        graph_free(graph);
        return -1;
    }
    int result =
        run_tells_hosts(graph) ? run_close_hosts(graph, &w->ports, w->tag.s, &w->profile, err) : 0;
    graph_free(graph);
    return result;
}

static int make_profile(struct wrapping *w, struct bk_err *err)
{
    bool shipped = !args_has(w->args, "bare");
    struct access_target target = {.macos = true,
                                   .http_port = w->ports.http,
                                   .socks_port = w->ports.socks,
                                   .flattened = shipped};
    OWN(buf) struct buf text = {0};
    w->r.policy.as_shipped = shipped;
    if (access_sbpl(&w->r.policy, &target, shipped ? &text : &w->profile, err) < 0)
        return -1;
    return shipped ? flatten(w, &text, err) : 0;
}

/* Ours, then what settings say. */
static const char **make_env(struct wrapping *w)
{
    const struct wrap_proxies proxies = {.http = w->ports.http, .socks = w->ports.socks};
    struct arena *arena = &w->settings.arena;
    const char **ours = wrap_environ(arena, &proxies, args_value(w->args, "tmpdir"));
    size_t n = 0, more = w->r.env.n;
    while (ours && ours[n])
        n++;
    const char **all = arena_array(arena, n + more + 1, sizeof(*all));
    if (!ours || !all)
        return NULL;
    memcpy(all, ours, n * sizeof(*all));
    if (more)
        memcpy(all + n, w->r.env.at, more * sizeof(*all));
    return all;
}

static int wrap(struct wrapping *w, struct buf *out, struct bk_err *err)
{
    const char *shell = args_value(w->args, "shell");
    struct wrap how = {0};
    if (profile_settings(w->args, &w->settings, err) < 0 ||
        settings_build(&w->settings, args_value(w->args, "tmpdir"), &w->r, err) < 0)
        return -1;
    say_command(w);
    how.command = w->command.s;
    if (!access_is_open(&w->r.policy)) {
        how.shell = shell_find(&w->settings.arena, shell ? shell : "bash", getenv("PATH"), err);
        if (!how.shell || make_tag(w, err) < 0 || make_profile(w, err) < 0)
            return -1;
        how.profile = w->profile.s;
        how.env = make_env(w);
        if (!how.env || !buf_ok(&w->profile))
            return err_nomem(err);
    }
    wrap_line(&how, out);
    buf_chr(out, '\n');
    return 0;
}

static int run(struct cli_args *args)
{
    struct wrapping *w = calloc(1, sizeof(*w));
    struct buf out = {0};
    struct bk_err err = {0};
    if (!w)
        return CLI_ERROR;
    w->args = args;
    int status = CLI_ERROR;
    if (args->npos == 0)
        status = cli_usage(args, "which command?");
    else if (profile_port(args, "http-port", &w->ports.http) < 0 ||
             profile_port(args, "socks-port", &w->ports.socks) < 0)
        status = cli_usage(args, "a port is a number from 1 to 65535");
    else if (wrap(w, &out, &err) < 0)
        status = cli_fail(&err);
    else
        status = cli_emit(&out, CLI_OK);
    buf_free(&out);
    buf_free(&w->command);
    buf_free(&w->tag);
    buf_free(&w->profile);
    settings_free(&w->settings);
    free(w);
    return status;
}

const struct cli_command cmd_wrap = {
    .name = "wrap",
    .usage = "[OPTION…] [--] COMMAND…",
    .brief = "print a command line that runs a command under settings on macOS",
    .about =
        "Prints one line for a shell: `env … sandbox-exec -p PROFILE SHELL -c COMMAND`, with the\n"
        "profile that the settings which count here come to. COMMAND is a shell's command line, "
        "or\n"
        "the words of one. When nothing is restricted it is printed as it is. Hosts are reached\n"
        "through proxies, whose ports are given; --session is for whoever reads the system's "
        "log.\n",
    .options = options,
    .complete = "command",
    .takes_command = true,
    .run = run,
};
