/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle agent`: runs a coding agent itself in the sandbox. It is `buckle run` with the agent's
 * preset, its login and its keys. Commands that the agent's hook rewrites are runs inside this one,
 * and have none of these.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/agent/agent-table.h"
#include "cli/args.h"
#include "policy/presets.h"
#include "settings/write.h"

static const struct cli_option options[] = {
    {"program", 0, "FILE", "the agent's program (default: found in PATH)", "file"},
    {"settings", 's', "FILE", "settings to use in addition to those found", "file"},
    {"preset", 0, "NAME", "add this preset, for instance of a tool", NULL},
    {"allow-write", 'w', "PATH", "allow writing to PATH and below", "file"},
    {"allow-read", 'r', "PATH", "allow reading PATH and below", "file"},
    {"allow-net", 'N', "HOST[:PORT]", "allow connections to HOST", NULL},
    {"env", 'e', "NAME", "keep this variable even though its name looks like a secret", NULL},
    {"ask", 0, NULL, "ask on the terminal about hosts that no rule names", NULL},
    {"try", 0, NULL, "let it write to a world, except for its own state (see `buckle try`)", NULL},
    {"on", 0, "ID", "with --try: begin with what is in the world ID", NULL},
    {"dry-run", 'n', NULL, "show how the policy would be enforced, and exit", NULL},
    {"list", 0, NULL, "list the agents", NULL},
    {0},
};

static const struct agent_login {
    enum agent_id agent;
    const char *variables, *secrets;
} logins[] = {
#define RUNS(id, variables, secrets) {AGENT_##id, variables, secrets},
#include "cli/agent/agents.def"
};

enum { WORDS_MOST = 128 };

/* The command line of the run; the arena owns what is not an argument. */
struct line {
    struct arena *arena;
    char **at;
    size_t n, cap;
    bool failed;
};

static void add(struct line *l, const char *word)
{
    if (l->n + 1 < l->cap && word)
        l->at[l->n++] = (char *)word;
    else
        l->failed = true;
}

static void add_option(struct line *l, const char *option, const char *value)
{
    add(l, option);
    add(l, value);
}

/* Words of a list that are set in the environment. */
static void add_variables(struct line *l, const char *names)
{
    while (*names) {
        size_t n = strcspn(names, " ");
        char *name = arena_strndup(l->arena, names, n);
        if (!name)
            l->failed = true;
        else if (getenv(name))
            add_option(l, "--env", name);
        names += n + strspn(names + n, " ");
    }
}

static void add_login(struct line *l, const struct agent_info *a)
{
    const char *home = getenv("HOME");
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof(logins) / sizeof(logins[0]); i++) {
        if (logins[i].agent != agent_id_of(a))
            continue;
        add_variables(l, logins[i].variables);
        if (*logins[i].secrets && home && home[0] == '/' &&
            (size_t)snprintf(path, sizeof(path), "%s/%s", home, logins[i].secrets) < sizeof(path) &&
            access(path, F_OK) == 0)
            add_option(l, "--allow-read", arena_strndup(l->arena, path, strlen(path)));
    }
}

/* Options that `buckle run` has, too. */
static void add_given(struct line *l, const struct cli_args *args)
{
    for (size_t i = 0; i < args->ngiven; i++) {
        const struct cli_given *g = &args->given[i];
        char name[32];
        if (strcmp(g->option->name, "program") == 0 || strcmp(g->option->name, "list") == 0 ||
            strcmp(g->option->name, "try") == 0)
            continue;
        snprintf(name, sizeof(name), "--%s", g->option->name);
        add(l, arena_strndup(l->arena, name, strlen(name)));
        if (g->value)
            add(l, g->value);
    }
}

/* Creates the folders that the preset opens: inside, the agent cannot create what is above them. */
static int make_state(struct line *l, const char *name, bool tries, struct bk_err *err)
{
    struct arena *a = l->arena;
    static const enum preset_list lists[] = {PRESET_ALLOW, PRESET_CACHE};
    const char *home = getenv("HOME");
    struct preset_config c = {0};
    if (!home || home[0] != '/')
        return err_set(err, BK_E_INPUT, "HOME is not set");
    if (presets_read_tools(a, &c, err) < 0)
        return -1;
    const struct preset *p = preset_find(&c, name, err);
    for (size_t k = 0; p && k < 2; k++)
        for (size_t i = 0; i < p->lists[lists[k]].n; i++) {
            const char *path = p->lists[lists[k]].at[i].path;
            OWN(buf) struct buf folder = {0};
            if (strncmp(path, "$HOME/", 6) != 0)
                continue;
            buf_fmt(&folder, "%s%s/", home, path + 5);
            if (!buf_ok(&folder))
                return err_nomem(err);
            if (settings_make_folders(folder.s, err) < 0)
                return -1;
            folder.s[folder.n - 1] = '\0';
            if (tries && access(folder.s, F_OK) == 0)
                add_option(l, "--real", arena_strndup(a, folder.s, folder.n - 1));
        }
    return p ? 0 : -1;
}

/* ---- the hook ---- */

static bool mentions_buckle(const char *folder, const char *file)
{
    char path[PATH_MAX], text[65536];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, file) >= sizeof(path))
        return false;
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof(text), f) : 0;
    if (f)
        fclose(f);
    return memmem(text, n, "buckle", 6) && memmem(text, n, "hook", 4);
}

static bool has_hook(const struct agent_info *a)
{
    const char *home = getenv("HOME");
    if (a->kind != KIND_FILES)
        return (home && mentions_buckle(home, a->user)) || mentions_buckle(".", a->project);
    for (size_t i = 0; i < agent_nfiles; i++)
        if (agent_files[i].agent == agent_id_of(a) &&
            ((home && mentions_buckle(home, agent_files[i].user)) ||
             mentions_buckle(".", agent_files[i].project)))
            return true;
    return false;
}

static int list_agents(void)
{
    OWN(buf) struct buf out = {0};
    for (size_t i = 0; i < AGENT_COUNT; i++)
        buf_fmt(&out, "%-9s %s, %s\n", agent_table[i].name, agent_table[i].title,
                agent_table[i].effect == EFFECT_REWRITES
                    ? "its commands run in a sandbox of their own"
                    : "its commands run through `buckle mcp`");
    return cli_emit(&out, CLI_OK);
}

static int run_line(struct line *l)
{
    struct cli_args args = {0};
    struct bk_err err;
    const struct cli_command *run = NULL;
    for (size_t i = 0; cli_commands[i]; i++)
        if (strcmp(cli_commands[i]->name, l->at[0]) == 0)
            run = cli_commands[i];
    l->at[l->n] = NULL;
    if (!run)
        err_set(&err, BK_E_INPUT, "there is no `buckle %s` on this system", l->at[0]);
    int status = !run || args_parse(&args, run, (int)l->n, l->at, &err) < 0 ? cli_fail(&err)
                                                                            : run->run(&args);
    args_free(&args);
    return status;
}

static int cmd_agent_run(struct cli_args *args)
{
    struct bk_err err;
    struct arena arena;
    if (args_has(args, "list"))
        return list_agents();
    if (!args->npos)
        return cli_usage(args, "no agent given");
    if (args_has(args, "on") && !args_has(args, "try"))
        return cli_usage(args, "--on needs --try");
    const struct agent_info *a = agent_find(args->pos[0], &err);
    if (!a)
        return cli_fail(&err);
    struct line l = {.arena = &arena, .cap = args->npos + 2 * args->ngiven + WORDS_MOST};
    OWN(mem) char **words = calloc(l.cap, sizeof(*words));
    l.at = words;
    if (!words)
        return err_nomem(&err), cli_fail(&err);
    arena_init(&arena, 64 << 20);
    add(&l, args_has(args, "try") ? "try" : "run");
    add_option(&l, "--preset", a->name);
    add_login(&l, a);
    add_given(&l, args);
    if (make_state(&l, a->name, args_has(args, "try"), &err) < 0)
        return arena_free(&arena), cli_fail(&err);
    add(&l, "--");
    add(&l, args_has(args, "program") ? args_value(args, "program") : a->program);
    size_t first = args->npos > 1 && strcmp(args->pos[1], "--") == 0 ? 2 : 1;
    for (size_t i = first; i < args->npos; i++)
        add(&l, args->pos[i]);
    if (!l.failed && !args_has(args, "dry-run") && !has_hook(a))
        fprintf(stderr,
                "buckle: %s has no hook of Buckle, so its commands can do what it can itself\n"
                "  hint: buckle hook --install %s\n",
                a->title, a->name);
    int status = l.failed ? (err_nomem(&err), cli_fail(&err)) : run_line(&l);
    arena_free(&arena);
    return status;
}

const struct cli_command cmd_agent = {
    .name = "agent",
    .usage = "[OPTION…] NAME [--] [ARGUMENT…]",
    .brief = "run a coding agent itself in the sandbox",
    .about =
        "Runs an agent with its file tools, MCP servers and sub-agents in the sandbox. It can "
        "write\n"
        "the project and its own state, except for settings, hooks and plug-ins, and reach its\n"
        "provider. Shell commands that go through Buckle's hook or server run in a sandbox inside\n"
        "this one, which has neither the agent's state nor its hosts and keys.\n"
        "\n"
        "With --try what it changes in the project stays in a world until you have looked at it.\n"
        "Its own state is real: transcripts and logins are kept.\n"
        "\n"
        "--list lists the agents. `buckle run --preset NAME` opens the same for another program.\n"
        "\n"
        "Exit status: as for `buckle run`.",
    .options = options,
    .takes_command = true,
    .run = cmd_agent_run,
};
