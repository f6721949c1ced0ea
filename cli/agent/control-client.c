/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "cli/agent/control-client.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/control-server.h"
#include "agent/json.h"
#include "base/own.h"

enum { DOORS = 64 };

/* One that could be meant. */
struct candidate {
    const char *kind;
    pid_t pid;
    json_t *about;
};

struct candidates {
    struct candidate at[2 * DOORS];
    size_t n;
};

static void candidates_free(struct candidates *c)
{
    for (size_t i = 0; i < c->n; i++)
        json_decref(c->at[i].about);
}
#define OWN_candidates candidates_free

static int knock(const char *kind, const char *pid, struct bk_err *err)
{
    char *end;
    long n = strtol(pid, &end, 10);
    if (*end || n <= 0 || n > INT_MAX)
        return err_set(err, BK_E_INPUT, "--%s: %s is no process", kind, pid);
    return control_socket_connect(kind, (pid_t)n, err);
}

static json_t *ask_about(const char *kind, pid_t pid)
{
    struct bk_err err;
    OWN(json) json_t *question = json_pack("{s:b}", "about", 1);
    OWN(fd) int door = control_socket_connect(kind, pid, &err);
    return door >= 0 ? control_server_ask(door, question, CONTROL_SOON_MS, &err) : NULL;
}

/* Runs that belong to a session are not spoken to one by one. */
static void list_kind(const char *kind, struct candidates *c)
{
    pid_t pids[DOORS];
    size_t n = control_socket_list(kind, pids, DOORS);
    for (size_t i = 0; i < n && i < DOORS; i++) {
        json_t *about = ask_about(kind, pids[i]);
        if (about && !json_is_true(json_object_get(about, "member")))
            c->at[c->n++] = (struct candidate){kind, pids[i], about};
        else
            json_decref(about);
    }
}

static bool is_here(const struct candidate *c, const char *cwd)
{
    const char *theirs = json_text(c->about, "cwd");
    size_t n = theirs ? strlen(theirs) : 0;
    return n > 1 && strncmp(cwd, theirs, n) == 0 && (cwd[n] == '\0' || cwd[n] == '/');
}

/* The only one, or the only one whose folder we are in; NULL when that leaves a doubt. */
static const struct candidate *choose(const struct candidates *c)
{
    char cwd[PATH_MAX];
    const struct candidate *found = NULL;
    if (c->n == 1)
        return &c->at[0];
    if (!getcwd(cwd, sizeof(cwd)))
        return NULL;
    for (size_t i = 0; i < c->n; i++) {
        if (!is_here(&c->at[i], cwd))
            continue;
        if (found)
            return NULL;
        found = &c->at[i];
    }
    return found;
}

/* One line about each, so that the person can tell them apart. */
static void tell_candidates(const struct candidates *c)
{
    for (size_t i = 0; i < c->n; i++) {
        OWN(buf) struct buf line = {0};
        const json_t *command = json_object_get(c->at[i].about, "command");
        const char *cwd = json_text(c->at[i].about, "cwd");
        buf_fmt(&line, "  --%s %d:", c->at[i].kind, (int)c->at[i].pid);
        for (size_t k = 0; k < json_array_size(command); k++) {
            const char *word = json_string_value(json_array_get(command, k));
            buf_chr(&line, ' ');
            buf_safe(&line, word ? word : "", word ? strlen(word) : 0);
        }
        buf_str(&line, cwd ? ", in " : "");
        buf_safe(&line, cwd ? cwd : "", cwd ? strlen(cwd) : 0);
        fprintf(stderr, "%s\n", buf_ok(&line) && line.s ? line.s : "");
    }
}

int control_client_session(const char *pid, struct bk_err *err)
{
    return knock("session", pid, err);
}

int control_client_current(const char *run, const char *session, struct bk_err *err)
{
    if (run || session)
        return knock(session ? "session" : "run", session ? session : run, err);
    OWN(candidates) struct candidates c = {.n = 0};
    list_kind("session", &c);
    list_kind("run", &c);
    if (c.n == 0)
        return err_set(err, BK_E_INPUT, "no run or session of yours is under way");
    const struct candidate *one = choose(&c);
    if (one)
        return control_socket_connect(one->kind, one->pid, err);
    tell_candidates(&c);
    err_set(err, BK_E_INPUT, "%zu runs and sessions are under way", c.n);
    err_hint(err, "say which: --run PID, --session PID, or go to its folder");
    return -1;
}

int control_client_absolute(const char *path, struct buf *out, struct bk_err *err)
{
    char cwd[PATH_MAX];
    if (path[0] != '/' && path[0] != '~') {
        if (!getcwd(cwd, sizeof(cwd)))
            return err_sys(err, "cannot tell the working directory");
        buf_fmt(out, "%s/", cwd);
    }
    buf_str(out, path);
    return buf_ok(out) ? 0 : err_nomem(err);
}
