/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle import`: prints another sandbox's restrictions as a profile. Reads the files that the
 * input names, and runs nothing. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/args.h"
#include "import/import.h"
#include "settings/json.h"

enum { IS_LESS = 3 };

static const struct cli_option options[] = {
    {"quiet", 'q', NULL, "print no warnings; the profile's comments have them", NULL},
    {"strict", 0, NULL, "print nothing if a restriction has no counterpart", NULL},
    {0},
};

static const char *real_path(void *ctx, const char *path)
{
    char *out = ctx;
    return realpath(path, out) ? out : NULL;
}

static int load_file(void *ctx, struct arena *a, const char *path, const char **text, size_t *n,
                     struct bk_err *err)
{
    struct json_text t;
    (void)ctx;
    if (jt_load(a, path, &t, err) < 0)
        return -1;
    *text = t.s;
    *n = t.n;
    return 0;
}

/* A file, unless it can only be an option or a program. */
static bool is_file(const struct cli_args *args)
{
    struct stat st;
    bool few = args->npos == 2 || (args->npos == 3 && strcmp(args->pos[0], "docker") == 0);
    return few && args->pos[1][0] != '-' && stat(args->pos[1], &st) == 0 && S_ISREG(st.st_mode);
}

static int show(struct cli_args *args, struct imp *im)
{
    OWN(buf) struct buf out = {0};
    OWN(buf) struct buf warnings = {0};
    struct bk_err err = {0};
    if (imp_print(im, &out, &err) < 0)
        return cli_fail(&err);
    imp_warnings(im, &warnings);
    if (warnings.n && !args_has(args, "quiet"))
        fputs(warnings.s, stderr);
    if (im->nlost && args_has(args, "strict")) {
        fprintf(stderr, "buckle: import: %zu restriction%s without a counterpart\n", im->nlost,
                plural(im->nlost));
        return IS_LESS;
    }
    return cli_emit(&out, im->nlost ? IS_LESS : CLI_OK);
}

static int cmd_import_run(struct cli_args *args)
{
    OWN(arena) struct arena texts = {0};
    OWN(imp) struct imp im = {0};
    char cwd[PATH_MAX], real[PATH_MAX], home[PATH_MAX];
    struct bk_err err = {0};
    struct imp_input in = {0};
    const struct imp_tool *tool = args->npos ? imp_find(args->pos[0]) : NULL;
    if (!tool)
        return args->npos ? cli_usage(args, "unknown tool %s", args->pos[0])
                          : cli_usage(args, "give a tool and its file or command line");
    if (args->npos < 2)
        return cli_usage(args, "give %s", tool->brief);
    if (!getcwd(cwd, sizeof(cwd)))
        return err_sys(&err, "cannot find the working directory"), cli_fail(&err);
    const char *h = getenv("HOME");
    struct imp_env env = {.cwd = cwd, .uid = getuid(), .real = real_path, .load = load_file};
    env.home = h && realpath(h, home) ? home : h && h[0] == '/' ? h : NULL;
    env.ctx = real;
    arena_init(&texts, 4 << 20);
    if (is_file(args)) {
        in.name = args->pos[1];
        in.part = args->npos == 3 ? args->pos[2] : NULL;
        if (load_file(NULL, &texts, in.name, &in.text, &in.n, &err) < 0)
            return cli_fail(&err);
        char *slash = realpath(in.name, cwd) ? strrchr(cwd, '/') : NULL;
        if (slash) /* where relative paths of a file start */
            slash[slash == cwd] = '\0';
    } else {
        in.words = args->pos + 1;
        in.nwords = args->npos - 1;
    }
    return imp_read(&im, tool, &env, &in, &err) < 0 ? cli_fail(&err) : show(args, &im);
}

const struct cli_command cmd_import = {
    .name = "import",
    .usage = "[OPTION…] TOOL (FILE | ARGUMENT…)",
    .brief = "print the restrictions of another sandbox as a profile",
    .about =
        "TOOL is bwrap, firejail, docker, systemd, landrun, nono or codex. What follows is a file\n"
        "(a profile, unit, compose file, config.toml, or a command line in a file), or the tool's\n"
        "command line itself. Prints a profile with the same restrictions. Runs nothing.\n"
        "\n"
        "An unknown option is an error. A restriction that a profile cannot express is a comment\n"
        "in the profile and a warning. Where the two differ, the profile is the stricter one.\n"
        "\n"
        "Exit status: 0 all restrictions are in the profile, 3 some have no counterpart, 2 error.",
    .options = options,
    .complete = "bwrap|firejail|docker|systemd|landrun|nono|codex file",
    .takes_command = true,
    .run = cmd_import_run,
};
