/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle changes`: lists worlds, and what is different in one. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/own.h"
#include "cli/pager.h"
#include "cli/run/run-options.h"
#include "cli/try/world-show.h"

extern const struct cli_command cmd_run, cmd_try;

static const struct cli_option options[] = {
    {"diff", 'd', NULL, "show the differences of text files", NULL},
    {"json", 'j', NULL, "print JSON", NULL},
    {"prune", 0, NULL, "remove worlds that are older than --days", NULL},
    {"days", 0, "N", "with --prune: the age of worlds to remove, in days (default 30)", NULL},
    {0},
};

enum { DAYS = 30, DAYS_MOST = 36500 };

/* ---- all worlds ---- */

static void put_world(const struct world_about *one, struct buf *out)
{
    char when[32] = "";
    struct tm at;
    time_t begun = one->begun.tv_sec;
    if (localtime_r(&begun, &at))
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M", &at);
    const char *command = one->command ? one->command : "";
    buf_fmt(out, "%s  %s%s  ", one->id, when, one->used ? "  in use" : "");
    buf_safe(out, one->cwd, strlen(one->cwd));
    buf_str(out, "  ");
    buf_safe(out, command, strlen(command));
    buf_chr(out, '\n');
}

static int list_worlds(const struct cli_args *args)
{
    OWN(buf) struct buf out = {0};
    struct world_about *list;
    size_t n = worlds_list(&list);
    if (args_has(args, "json"))
        world_list_json(list, n, &out);
    else
        for (size_t i = 0; i < n; i++)
            put_world(&list[i], &out);
    worlds_free(list, n);
    return cli_emit(&out, CLI_OK);
}

static int prune(const struct cli_args *args)
{
    const char *text = args_value(args, "days");
    char *end;
    long days = text ? strtol(text, &end, 10) : DAYS;
    if (text && (!*text || *end || days < 0 || days > DAYS_MOST))
        return cli_usage(args, "--days must be between 0 and %d, not %s", DAYS_MOST, text);
    size_t gone = worlds_prune((unsigned)days);
    fprintf(stderr, "buckle: removed %zu world%s\n", gone, plural(gone));
    return CLI_OK;
}

/* ---- one world ---- */

static int show(const struct cli_args *args, struct world *w)
{
    OWN(buf) struct buf out = {0};
    OWN(changes) struct changes c = {0};
    struct bk_err err;
    if (world_changes(w, &c, &err) < 0)
        return cli_fail(&err);
    if (args_has(args, "json")) {
        world_show_json(w, &c, &out);
        return cli_emit(&out, CLI_OK);
    }
    if (args_has(args, "diff"))
        world_show_diff(w, &c, &out);
    else
        world_show_all(w, &c, &out);
    return pager_emit(&out, CLI_OK);
}

/* As `buckle try --world ID --review later -- COMMAND…`. */
static int run_again(struct cli_args *args, struct world *w)
{
    enum { OWN_WORDS = 4 };
    char *own[OWN_WORDS] = {(char[]){"try"}, (char[]){"--review"}, (char[]){"later"},
                            (char[]){"--"}};
    size_t n = args->npos - 1;
    OWN(mem) char **argv = calloc(OWN_WORDS + n + 1, sizeof(*argv));
    struct cli_args run;
    struct bk_err err;
    bool ran;
    if (!argv)
        return CLI_ERROR;
    memcpy(argv, own, sizeof(own));
    for (size_t i = 0; i < n; i++)
        argv[OWN_WORDS + i] = (char *)args->pos[1 + i];
    int status = args_parse(&run, &cmd_try, (int)(OWN_WORDS + n), argv, &err) < 0
                     ? cli_fail(&err)
                     : world_run(w, &run, NULL, &ran, &err);
    args_free(&run);
    return status;
}

static int cmd_changes_run(struct cli_args *args)
{
    OWN(world) struct world w = {.fd = -1};
    struct bk_err err;
    if (args_has(args, "prune"))
        return args->npos ? cli_usage(args, "--prune takes no world") : prune(args);
    if (args->npos == 0 && !args_has(args, "diff"))
        return list_worlds(args);
    if (world_open(&w, args->npos ? args->pos[0] : NULL, &err) < 0)
        return cli_fail(&err);
    return args->npos > 1 ? run_again(args, &w) : show(args, &w);
}

const struct cli_command cmd_changes = {
    .name = "changes",
    .usage = "[OPTION…] [ID [-- COMMAND…]]",
    .brief = "list worlds, and what a command changed in one",
    .about = "Without ID: lists the worlds that `buckle try` has left, the newest first. With ID:\n"
             "lists what is added (+), changed (~), removed (-) and renamed (>) there. With a\n"
             "COMMAND: runs it in that world, for instance a test suite over changes that are not\n"
             "kept yet.\n"
             "\n"
             "--diff without ID shows the newest world.\n"
             "\n"
             "Exit status: 0, or 2 after an error; with a COMMAND that of `buckle run`.",
    .options = options,
    .run = cmd_changes_run,
};
