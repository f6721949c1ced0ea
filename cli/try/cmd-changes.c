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
#include "world/checkpoints.h"

extern const struct cli_command cmd_run, cmd_try;

static const struct cli_option options[] = {
    {"diff", 'd', NULL, "show the differences of text files", NULL},
    {"json", 'j', NULL, "print JSON", NULL},
    {"checkpoints", 0, NULL, "list the checkpoints of a session's world", NULL},
    {"checkpoint", 0, "N", "show the world as it was after checkpoint N", NULL},
    {"since", 0, "N", "show what has changed since checkpoint N (0: the beginning)", NULL},
    {"prune", 0, NULL, "remove worlds that are older than --days, and the oldest beyond --size",
     NULL},
    {"days", 0, "N", "with --prune: the age of worlds to remove, in days (default 30)", NULL},
    {"size", 0, "SIZE", "with --prune: what the others may have together (2G)", NULL},
    {0},
};

enum { DAYS = 30, DAYS_MOST = 36500 };

/* ---- all worlds ---- */

static void world_when(time_t seconds, char out[32])
{
    struct tm at;
    out[0] = '\0';
    if (localtime_r(&seconds, &at))
        strftime(out, 32, "%Y-%m-%d %H:%M", &at);
}

static void put_world(const struct world_about *one, struct buf *out)
{
    char when[32];
    world_when(one->begun.tv_sec, when);
    const char *command = one->command ? one->command : "";
    buf_fmt(out, "%s  %s  ", one->id, when);
    world_put_size(out, one->size);
    buf_str(out, one->used ? "  in use  " : "  ");
    buf_safe(out, one->cwd, strlen(one->cwd));
    buf_str(out, "  ");
    buf_safe(out, command, strlen(command));
    if (one->on[0])
        buf_fmt(out, "  on %s", one->on);
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
    uint64_t bytes = UINT64_MAX;
    struct bk_err err;
    if (args_value(args, "size") &&
        args_amount("size", args_value(args, "size"), UINT64_MAX, &bytes, &err) < 0)
        return cli_fail(&err);
    size_t gone = worlds_prune((unsigned)days, bytes);
    fprintf(stderr, "buckle: removed %zu world%s\n", gone, plural(gone));
    return CLI_OK;
}

/* ---- one world ---- */

static int list_checkpoints(const struct cli_args *args, const struct world *w)
{
    OWN(buf) struct buf out = {0};
    struct checkpoint *list;
    size_t n = checkpoints_list(w, &list);
    if (args_has(args, "json"))
        world_checkpoints_json(list, n, &out);
    for (size_t i = 0; i < n && !args_has(args, "json"); i++) {
        char when[32];
        world_when(list[i].at.tv_sec, when);
        buf_fmt(&out, "%4u  %s  ", list[i].number, when);
        buf_safe(&out, list[i].command, strlen(list[i].command));
        buf_chr(&out, '\n');
    }
    checkpoints_free(list, n);
    return cli_emit(&out, CLI_OK);
}

/* The changes that the options ask for. Both sides of a comparison share the paths of `now`. */
struct wanted {
    struct changes since, now, between;
    const struct changes *shown;
};

static void wanted_free(struct wanted *k)
{
    changes_free(&k->between);
    changes_free(&k->now);
    changes_free(&k->since);
}
#define OWN_wanted wanted_free

static int read_since(struct world *w, unsigned number, struct wanted *k, struct bk_err *err)
{
    OWN(world) struct world then = {.fd = -1};
    if (checkpoint_since(w, number, err) < 0 || world_look(&then, w->id, err) < 0 ||
        checkpoint_look(&then, number, err) < 0 || world_changes(&then, &k->since, err) < 0)
        return -1;
    k->shown = &k->between;
    return changes_between(w, &k->since, &k->now, &k->between, err);
}

static int read_wanted(const struct cli_args *args, struct world *w, struct wanted *k,
                       struct bk_err *err)
{
    unsigned at = 0, since = 0;
    if (world_number(args, "checkpoint", &at, err) < 0 ||
        world_number(args, "since", &since, err) < 0)
        return -1;
    if (args_has(args, "checkpoint") && checkpoint_look(w, at, err) < 0)
        return -1;
    if (world_changes(w, &k->now, err) < 0)
        return -1;
    k->shown = &k->now;
    return args_has(args, "since") ? read_since(w, since, k, err) : 0;
}

static int show(const struct cli_args *args, struct world *w)
{
    OWN(buf) struct buf out = {0};
    OWN(wanted) struct wanted k = {.shown = NULL};
    struct bk_err err;
    if (read_wanted(args, w, &k, &err) < 0)
        return cli_fail(&err);
    if (args_has(args, "json")) {
        world_show_json(w, k.shown, &out);
        return cli_emit(&out, CLI_OK);
    }
    if (args_has(args, "diff"))
        world_show_diff(w, k.shown, &out);
    else
        world_show_all(w, k.shown, &out);
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
    world_measure(w);
    args_free(&run);
    return status;
}

/* Without a name, these are about the newest world. */
static bool asks_for_one(const struct cli_args *args)
{
    return args_has(args, "diff") || args_has(args, "checkpoints") ||
           args_has(args, "checkpoint") || args_has(args, "since");
}

static int cmd_changes_run(struct cli_args *args)
{
    OWN(world) struct world w = {.fd = -1};
    struct bk_err err;
    if (args_has(args, "prune"))
        return args->npos ? cli_usage(args, "--prune takes no world") : prune(args);
    if (args->npos == 0 && !asks_for_one(args))
        return list_worlds(args);
    const char *id = args->npos ? args->pos[0] : NULL;
    bool runs = args->npos > 1;
    if ((runs ? world_open(&w, id, &err) : world_look(&w, id, &err)) < 0)
        return cli_fail(&err);
    if (args_has(args, "checkpoints"))
        return list_checkpoints(args, &w);
    return runs ? run_again(args, &w) : show(args, &w);
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
             "A world that is in use is shown as it is at that moment. After a session with\n"
             "--try it has checkpoints, one after each command that changed something:\n"
             "--checkpoint N --since M shows what changed from M to N.\n"
             "\n"
             "--diff, --checkpoints, --checkpoint and --since without ID show the newest world.\n"
             "\n"
             "Exit status: 0, or 2 after an error; with a COMMAND that of `buckle run`.",
    .options = options,
    .run = cmd_changes_run,
};
