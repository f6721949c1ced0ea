/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `sandbox-exec`: macOS's command line on Linux. Profiles are used as they are: their paths are
 * paths here, and nothing is added to the profile, its parameters or the environment. Exit statuses
 * are those of sysexits.h, as on macOS: 64 for the command line, 65 for the profile, 71 if the
 * system refuses.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/args.h"
#include "cli/compat/compat.h"
#include "cli/profile/linux-support.h"
#include "profile/profile.h"

static const char NAME[] = "sandbox-exec";

/* clang-format off */
static const struct cli_option options[] = {
    {"file", 'f', "FILE", "read the profile from FILE", "file"},
    {"name", 'n', "NAME", "use the shipped profile NAME; without NAME, list them", "shipped"},
    {"profile", 'p', "TEXT", "use TEXT as the profile", NULL},
    {"define", 'D', "KEY=VALUE", "set a parameter, for (param \"KEY\")", NULL},
    {"verbose", 'v', NULL, "report rules without effect on Linux, and each denied operation", NULL},
    {0},
};
/* clang-format on */

/* Our own profiles, which need CWD and its like as parameters. The others are as on macOS. */
static const char *const placed[] = {"default.sb", "open.sb", "readonly.sb", "strict.sb"};
/* Parts of other profiles. */
static const char *const parts[] = {"common.sb", "disks.sb", "protected.sb", "secrets.sb"};

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

bool compat_is_program(const char *file)
{
    return !is_one_of(file, parts, sizeof(parts) / sizeof(*parts)) &&
           strncmp(file, "preset", strlen("preset")) != 0;
}

/* With or without .sb: -n never means a file. */
static const struct sbpl_builtin *find_shipped(const char *name)
{
    char stem[64];
    size_t n = strlen(name);
    n -= n > 3 && strcmp(name + n - 3, ".sb") == 0 ? 3 : 0;
    snprintf(stem, sizeof(stem), "%.*s", (int)(n < sizeof(stem) ? n : 0), name);
    const struct sbpl_builtin *b = profile_find_shipped(stem);
    return b && compat_is_program(b->name) ? b : NULL;
}

static void list_names(FILE *to)
{
    fprintf(to, "Names for -n:\n");
    for (const struct sbpl_builtin *b = sbpl_builtins; b->name; b++)
        if (compat_is_program(b->name))
            fprintf(to, "  %.*s\n", (int)(strlen(b->name) - 3), b->name);
}

static int usage(const char *fmt, const char *what)
{
    if (fmt) {
        struct bk_err err;
        err_set(&err, BK_E_INPUT, fmt, what); /* NOLINT: the caller's literal */
        compat_report(NAME, NULL, &err);
    }
    fprintf(stderr, "Usage: %s [options] command [args]\nOptions:\n", NAME);
    for (const struct cli_option *o = options; o->name; o++)
        fprintf(stderr, "  -%c %-10s %s\n", o->letter, o->value ? o->value : "", o->help);
    return EX_USAGE;
}

struct asked {
    struct run_source source;
    struct sbpl_param *params;
    size_t nparams;
    int chosen; /* how many profiles */
    bool placed;
    bool verbose;
};

/* Splits the word in place. */
static int read_param(struct asked *a, char *word)
{
    char *equals = strchr(word, '=');
    if (!equals || equals == word)
        return usage("-D must be KEY=VALUE, not %s", word);
    *equals = '\0';
    a->params[a->nparams++] = (struct sbpl_param){word, equals + 1};
    return 0;
}

static int read_name(struct asked *a, const char *name)
{
    const struct sbpl_builtin *b = find_shipped(name);
    if (!b) {
        struct bk_err err;
        err_set(&err, BK_E_INPUT, "%s: profile not found", name);
        compat_report(NAME, NULL, &err);
        list_names(stderr);
        return EX_DATAERR;
    }
    a->placed = is_one_of(b->name, placed, sizeof(placed) / sizeof(*placed));
    a->source =
        (struct run_source){.kind = RUN_TEXT, .name = b->name, .text = b->text, .n = b->len};
    return 0;
}

static int read_options(struct asked *a, int argc, char **argv)
{
    int letter, status = 0;
    opterr = 0;
    while (!status && (letter = getopt(argc, argv, "+:D:f:n:p:v")) != -1) {
        char typed[2] = {(char)optopt, '\0'};
        a->chosen += letter == 'f' || letter == 'n' || letter == 'p';
        switch (letter) {
        case 'D':
            status = read_param(a, optarg);
            break;
        case 'f':
            a->source = (struct run_source){.kind = RUN_FILE, .name = optarg};
            break;
        case 'n':
            status = read_name(a, optarg);
            break;
        case 'p':
            a->source = (struct run_source){.kind = RUN_TEXT,
                                            .name = "<profile>",
                                            .text = optarg,
                                            .n = strlen(optarg),
                                            .imports_files = true};
            break;
        case 'v':
            a->verbose = true;
            break;
        case ':':
            status = usage("option requires an argument -- %s", typed);
            if (optopt == 'n')
                list_names(stderr);
            break;
        default:
            status = usage("illegal option -- %s", typed);
        }
    }
    return status;
}

/* ---- what is for macOS only ---- */

/* Lists operations that Linux does not have. One line, because macOS profiles have dozens of them,
 * and they are harmless. */
static void report_absent(struct compat *d)
{
    const struct graph *g = run_graph(&d->run);
    OWN(buf) struct buf names = {0};
    bool listed[OP_COUNT] = {false};
    for (uint32_t i = 0; g && i < graph_rule_count(g); i++) {
        const struct graph_rule_info *rule = graph_rule_at(g, i);
        for (uint32_t k = 0; k < rule->nops && !rule->implicit && !rule->is_default; k++) {
            enum vocab_op op = (enum vocab_op)rule->ops[k];
            if (listed[op] || linux_has_operation(op))
                continue;
            listed[op] = true;
            buf_fmt(&names, "%s%s", names.n ? ", " : "", vocab_ops[op].name);
        }
    }
    if (names.n)
        fprintf(stderr, "%s: no effect on Linux: %s\n", NAME, names.s);
}

static int run_command(struct compat *d, const struct asked *a, char **command)
{
    struct launch_end end;
    struct bk_err err;
    d->verbose = a->verbose;
    d->base = a->source;
    d->spec.params = a->params;
    d->spec.nparams = a->nparams;
    d->spec.launch.argv = command;
    d->spec.whole_env = true;
    d->spec.bare = !a->placed;
    d->spec.may_leave = true;
    d->refused = "sandbox_apply: Operation not permitted"; /* as in a sandbox on macOS */
    d->opened = a->verbose ? report_absent : NULL;
    compat_run(d, &end, &err);
    if (end.step == STEP_POLICY)
        return d->compiled ? EX_OSERR : EX_DATAERR;
    if (end.step == STEP_EXEC)
        err_set(&err, BK_E_SYSTEM, "execvp() of '%s' failed: %s", command[0], strerror(end.sys));
    compat_report(NAME, end.step == STEP_EXEC ? NULL : "sandbox_apply", &err);
    return EX_OSERR;
}

static int main_sandbox_exec(int argc, char **argv)
{
    unsetenv("BUCKLE_BACKEND"); /* this is the back end itself */
    struct asked a = {.params = calloc((size_t)argc + 1, sizeof(*a.params))};
    struct compat *d = calloc(1, sizeof(*d));
    struct bk_err err;
    int status = EX_OSERR;
    if (!a.params || !d) {
        err_nomem(&err);
        compat_report(NAME, NULL, &err);
    } else if ((status = read_options(&a, argc, argv)) != 0) {
        /* reported */
    } else if (a.chosen != 1) {
        status = usage(a.chosen ? "give one profile only: -f, -n or -p%s" : NULL, "");
    } else if (!argv[optind]) {
        status = usage(NULL, NULL);
    } else if (compat_init(d, NAME, &err) < 0) {
        compat_report(NAME, NULL, &err);
        status = EX_OSERR;
    } else {
        status = run_command(d, &a, argv + optind);
    }
    free(a.params);
    free(d);
    return status;
}

const struct cli_command name_sandbox_exec = {
    .name = "sandbox-exec",
    .usage = "[-f FILE | -n NAME | -p TEXT] [-D KEY=VALUE…] COMMAND [ARGUMENT…]",
    .brief = "run a command under a macOS profile",
    .options = options,
    .takes_command = true,
    .letters = true,
    .main = main_sandbox_exec,
};
