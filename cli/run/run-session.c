/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* A run that belongs to a session: what it gets from there, and what it leaves. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/session-folder.h"
#include "agent/session.h"
#include "base/fd.h"
#include "base/own.h"
#include "base/path.h"
#include "cli/run/exit-status.h"
#include "cli/run/invocation.h"
#include "command/tmpdir.h"
#include "run/stay.h"
#include "settings/write.h"

void session_question(void *arg, const struct consent_question *q, int channel)
{
    struct invocation *r = arg;
    if (!q->class && run_settings_strict(&r->settings) && !q->withdrawn)
        consent_answer(channel, q->id, CONSENT_DENY); /* settings may have changed */
    else
        live_question(&r->live, q, channel);
}

int session_join(struct invocation *r, struct bk_err *err)
{
    OWN(buf) struct buf command = {0};
    for (size_t i = 0; i < r->args->npos; i++)
        buf_fmt(&command, "%s%s", i ? " " : "", r->args->pos[i]);
    const char *text = args_value(r->args, "command-text");
    if (!text && r->args->npos == 3 && strcmp(r->args->pos[1], "-c") == 0)
        text = r->args->pos[2]; /* as it was given to the shell */
    r->live.folder_of = args_value(r->args, "folder-of");
    r->live.root = r->live.folder_of ? r->cwd : NULL;
    if (r->live.folder_of)
        memcpy(r->live.folder, r->spec.launch.start ? r->start : r->cwd, sizeof(r->start));
    return live_join(&r->live, args_value(r->args, "session"),
                     text        ? text
                     : command.s ? command.s
                                 : "",
                     !args_has(r->args, "profile"), &r->flags.rules, &r->flags.links, err);
}

/* ---- inside another sandbox ---- */

/*
 * No process in there can tell who connects to it: the judge makes the connection. So there is no
 * session, and what one remembers about folders is a file in TMPDIR of the sandbox around this one,
 * beside the TMPDIR that the commands share. They cannot write it, and it ends with that sandbox.
 */
static bool inner_file(char out[PATH_MAX])
{
    const char *tmpdir = getenv("SANDBOX_RUNTIME") ? getenv("TMPDIR") : NULL;
    return tmpdir && tmpdir[0] == '/' &&
           snprintf(out, PATH_MAX, "%s/.in/folders.json", tmpdir) < PATH_MAX;
}

static json_t *inner_folders(const char *path)
{
    json_t *folders = json_load_file(path, 0, NULL);
    if (json_is_object(folders) && json_object_size(folders) < SESSION_ROOTS)
        return folders;
    json_decref(folders);
    return json_object();
}

/* The file is asked twice, since commands can run side by side. */
static void with_folders(struct invocation *r, const char *ended)
{
    char path[PATH_MAX];
    struct bk_err err;
    struct folder_user who = {0};
    if (!inner_file(path))
        return;
    OWN(json) json_t *folders = inner_folders(path);
    OWN(json)
    json_t *m =
        json_pack("{s:s, s:s, s:s}", "of", r->live.folder_of, "root", r->cwd, "cwd", r->inner_cwd);
    folder_user_read(&who, m);
    if (ended)
        session_folder_set(folders, &who, ended);
    const char *start = ended ? NULL : session_folder(folders, &who);
    if (start)
        snprintf(r->live.folder, sizeof(r->live.folder), "%s", start);
    OWN(mem) char *text = ended ? json_dumps(folders, JSON_COMPACT) : NULL;
    struct buf whole = {.s = text, .n = text ? strlen(text) : 0};
    if (text) /* or the next command starts in the agent's folder */
        (void)settings_write_file(path, &whole, 0600, &err);
    folder_user_free(&who);
}

void session_join_inner(struct invocation *r)
{
    char path[PATH_MAX];
    if (!inner_file(path))
        return;
    r->live.folder_of = args_value(r->args, "folder-of");
    memcpy(r->inner_cwd, r->spec.launch.start ? r->start : r->cwd, sizeof(r->inner_cwd));
    with_folders(r, NULL);
}

/* An agent that names its temporary folder in these variables gets the session's there, too. */
static void name_tmpdir(const char *tmpdir)
{
    for (size_t i = 0; tmpdir && i < TMPDIR_VARIABLES; i++)
        if (getenv(tmpdir_variables[i]))
            setenv(tmpdir_variables[i], tmpdir, 1);
}

void session_use(struct invocation *r)
{
    const struct live *l = &r->live;
    r->spec.plan.session = l->link > 0;
    if (!r->spec.tmpdir && l->tmpdir[0] == '/')
        r->spec.tmpdir = l->tmpdir;
    name_tmpdir(r->spec.tmpdir);
    if (l->folder[0] == '/') {
        memcpy(r->start, l->folder, sizeof(r->start));
        r->spec.launch.start = r->start;
    }
    if (l->world[0] == '/')
        r->spec.launch.world = l->world;
    r->spec.launch.layer_server = l->layers;
    if (l->layers > 0)
        r->spec.launch.prepared = NULL;
}

void session_report_folder(struct invocation *r)
{
    char folder[PATH_MAX];
    if (!end_folder_read(&r->ended, folder))
        return;
    if (r->inner_cwd[0])
        with_folders(r, folder);
    else
        live_folder(&r->live, folder);
    if (strcmp(folder, r->start) == 0 || path_is_in(folder, r->cwd))
        return; /* it did not move, or inside the project */
    OWN(buf) struct buf note = {0};
    buf_str(&note, END_FOLDER_NOTE);
    buf_safe(&note, folder, strlen(folder));
    buf_chr(&note, '\n');
    if (buf_ok(&note))
        (void)fd_write_all(STDERR_FILENO, note.s, note.n);
}

static struct invocation *staying; /* the one run of this process */

/* The command has ended, and others go on. */
void session_command_exit(const struct launch_end *end)
{
    struct invocation *r = staying;
    struct buf block = {0};
    session_report_folder(r);
    live_stay(&r->live);
    if (args_has(r->args, "annotate"))
        live_annotate(&r->live, &block);
    exit_write(STDERR_FILENO, &block);
    stay_leave(end->status);
    invocation_next_spare(r);
    if (r->spare.registers)
        spare_start_next(
            &(struct spare_call){.args = r->args, .name = "run", .argv = r->spec.launch.argv});
}

/* Another sandbox around this one would wait for its processes. */
void session_begin_staying(struct invocation *r)
{
    if (!args_has(r->args, "leave-background") || !args_has(r->args, "session") ||
        args_has(r->args, "dry-run") || getenv("SANDBOX_RUNTIME"))
        return;
    r->stays = args_has(r->args, "spare") || stay_begin();
    staying = r;
}
