/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle node`: judges the containers that OCI runtimes start. */

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "cli/args.h"
#include "cli/node/node-places.h"
#include "cli/profile/profile-options.h"
#include "export/export.h"
#include "node/agent.h"
#include "node/holder.h"
#include "node/spec.h"
#include "node/state.h"

static const struct cli_option options[] = {
    {"socket", 0, "PATH", "where runtimes connect (default " NODE_SOCKET ")", "file"},
    {"profiles", 0, "DIR", "the folder of profiles, NAME.sb (default " NODE_PROFILES ")", "dir"},
    {"gate", 0, NULL, "lead containers' networks to a gate, if their profile names hosts", NULL},
    {"audit", 0, NULL, "report what a profile denies, and allow it", NULL},
    {"keep", 0, "WHERE", "who keeps containers if the agent dies: auto, systemd, holder, none",
     "auto systemd holder none"},
    {"wait", 0, "SECONDS", "how long a holder waits for the next agent (default 60)", NULL},
    {"name", 0, "NAME", "spec: the profile's name at the agent (default: the file's)", NULL},
    {"seccomp", 0, NULL, "spec: print the seccomp section alone, as engines take it", NULL},
    LOAD_OPTIONS,
    {0},
};

/* The name of a file without folder and suffix. */
static int name_of(const char *path, char out[STATE_PROFILE])
{
    const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
    size_t n = strlen(from);
    n -= n > 3 && strcmp(from + n - 3, ".sb") == 0 ? 3 : 0;
    if (n == 0 || n >= STATE_PROFILE)
        return -1;
    memcpy(out, from, n);
    out[n] = '\0';
    return state_is_profile(out) ? 0 : -1;
}

static int print_spec(struct cli_args *args, const struct graph *g, const char *path)
{
    OWN(exported) struct exported landlock = {0};
    OWN(buf) struct buf out = {0};
    struct bk_err err;
    char name[STATE_PROFILE];
    const char *given = args_value(args, "name"), *socket = args_value(args, "socket");
    if (given ? !state_is_profile(given) : !path || name_of(path, name) < 0)
        return cli_usage(args, "give --name: letters, digits and . _ -, at most %d",
                         STATE_PROFILE - 1);
    if (export_graph(g, EXPORT_LANDLOCK, &landlock, &err) < 0 || !buf_ok(&landlock.text))
        return cli_fail(&err);
    size_t n = landlock.text.n;
    while (n && landlock.text.s[n - 1] == '\n')
        n--;
    struct spec_options o = {.socket = socket ? socket : NODE_SOCKET,
                             .profile = given ? given : name,
                             .seccomp_only = args_has(args, "seccomp"),
                             .gate = args_has(args, "gate"),
                             .landlock = landlock.text.s,
                             .nlandlock = n};
    return spec_print(g, &o, &out, &err) < 0 ? cli_fail(&err) : cli_emit(&out, CLI_OK);
}

static int print_plan(const struct graph *g, bool gate)
{
    OWN(buf) struct buf out = {0};
    struct bk_err err;
    return spec_print_plan(g, gate, &out, &err) < 0 ? cli_fail(&err) : cli_emit(&out, CLI_OK);
}

static int about_profile(struct cli_args *args)
{
    OWN(loaded) struct loaded l = {0};
    size_t want = load_from_text(args) ? 1 : 2;
    const char *path = want == 2 && args->npos == 2 ? args->pos[1] : NULL;
    bool spec = strcmp(args->pos[0], "spec") == 0;
    if (args->npos != want || (!spec && strcmp(args->pos[0], "plan") != 0))
        return cli_usage(args, "give nothing, hold, or spec or plan and a profile");
    if (load_or_complain(args, path, &l) != CLI_OK)
        return CLI_ERROR;
    return spec ? print_spec(args, l.graph, path) : print_plan(l.graph, args_has(args, "gate"));
}

static const char *const keep_names[] = {[KEEP_AUTO] = "auto",
                                         [KEEP_SYSTEMD] = "systemd",
                                         [KEEP_HOLDER] = "holder",
                                         [KEEP_NOWHERE] = "none"};

static int find_keep(const char *name)
{
    int i = 0;
    while (i < 4 && name && strcmp(keep_names[i], name) != 0)
        i++;
    return i;
}

static int cmd_node_run(struct cli_args *args)
{
    enum { WAIT = 60, LONGEST = 86400 };
    struct bk_err err;
    uint64_t wait = WAIT;
    const char *socket = args_value(args, "socket"), *profiles = args_value(args, "profiles");
    const char *seconds = args_value(args, "wait");
    int keep = find_keep(args_value(args, "keep"));
    if (seconds && !args_number(seconds, LONGEST, &wait))
        return cli_usage(args, "--wait must be between 0 and %d", LONGEST);
    if (keep > KEEP_NOWHERE)
        return cli_usage(args, "--keep must be auto, systemd, holder or none");
    if (args->npos == 1 && strcmp(args->pos[0], "hold") == 0)
        return holder_serve(socket ? socket : NODE_SOCKET, (unsigned)wait, true, &err) < 0
                   ? cli_fail(&err)
                   : CLI_OK;
    if (args->npos)
        return about_profile(args);
    struct node_options o = {.socket = socket ? socket : NODE_SOCKET,
                             .profiles = profiles ? profiles : NODE_PROFILES,
                             .gate = args_has(args, "gate"),
                             .audit = args_has(args, "audit"),
                             .keep = (enum keep_where)keep,
                             .wait = (unsigned)wait};
    return node_serve(&o, &err) < 0 ? cli_fail(&err) : CLI_OK;
}

const struct cli_command cmd_node = {
    .name = "node",
    .usage = "[OPTION…] [hold | spec PROFILE | plan PROFILE]",
    .brief = "judge the containers that runc, crun and their engines start",
    .about =
        "Without arguments it serves OCI's seccomp listeners: runtimes connect to the socket and\n"
        "send the listener of each container, and the name of its profile. Each container gets\n"
        "a judge in a process of its own. Events go to standard output, as JSON in lines.\n"
        "\n"
        "spec prints JSON: what the runtime needs in config.json (the seccomp section, masked and\n"
        "read-only paths), the profile as landlockconfig's JSON, and the operations by how they\n"
        "are decided. plan prints the operations as a table: which are judged, which the filter\n"
        "refuses, and which cannot be had in a container.\n"
        "\n"
        "If the agent dies, containers go on: systemd's store of descriptors or a process of "
        "ours,\n"
        "the holder, keeps what the next agent needs. hold is a holder that stays.\n"
        "\n"
        "The first process of a container is judged from its first execve() on. If its profile is\n"
        "missing or has mistakes, that call fails, and an event says why.",
    .options = options,
    .complete = "hold|spec|plan file",
    .run = cmd_node_run,
};
