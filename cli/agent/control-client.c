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

enum { SOCKETS_MAX = 64 };

/* A run or session that the user could mean. */
struct candidate {
    const char *kind;
    pid_t pid;
    json_t *about;
};

struct candidates {
    struct candidate at[2 * SOCKETS_MAX];
    size_t n;
};

static void candidates_free(struct candidates *c)
{
    for (size_t i = 0; i < c->n; i++)
        json_decref(c->at[i].about);
}
#define OWN_candidates candidates_free

static int connect_pid(const char *kind, const char *pid, struct bk_err *err)
{
    char *end;
    long n = strtol(pid, &end, 10);
    if (*end || n <= 0 || n > INT_MAX)
        return err_set(err, BK_E_INPUT, "--%s: %s is not a process ID", kind, pid);
    return control_socket_connect(kind, (pid_t)n, err);
}

static json_t *ask_about(const char *kind, pid_t pid)
{
    struct bk_err err;
    OWN(json) json_t *question = json_pack("{s:b}", "about", 1);
    OWN(fd) int control = control_socket_connect(kind, pid, &err);
    return control >= 0 ? control_server_ask(control, question, CONTROL_SOON_MS, &err) : NULL;
}

/* Leaves out runs that belong to a session: the session reaches all of them. */
static void list_kind(const char *kind, struct candidates *c)
{
    pid_t pids[SOCKETS_MAX];
    size_t n = control_socket_list(kind, pids, SOCKETS_MAX);
    for (size_t i = 0; i < n && i < SOCKETS_MAX; i++) {
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

/* The only candidate, or the only one whose directory we are in. NULL if that is ambiguous. */
static const struct candidate *choose_candidate(const struct candidates *c)
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

/* Prints one line for each, so that the user can choose. */
static void list_candidates(const struct candidates *c)
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
    return connect_pid("session", pid, err);
}

int control_client_current(const char *run, const char *session, struct bk_err *err)
{
    if (run || session)
        return connect_pid(session ? "session" : "run", session ? session : run, err);
    OWN(candidates) struct candidates c = {.n = 0};
    list_kind("session", &c);
    list_kind("run", &c);
    if (c.n == 0)
        return err_set(err, BK_E_INPUT, "you have no active run or session");
    const struct candidate *one = choose_candidate(&c);
    if (one)
        return control_socket_connect(one->kind, one->pid, err);
    list_candidates(&c);
    err_set(err, BK_E_INPUT, "%zu runs and sessions are active", c.n);
    err_hint(err, "choose one with --run PID or --session PID, or change to its directory");
    return -1;
}

int control_client_absolute(const char *path, struct buf *out, struct bk_err *err)
{
    char cwd[PATH_MAX];
    if (path[0] != '/' && path[0] != '~') {
        if (!getcwd(cwd, sizeof(cwd)))
            return err_sys(err, "cannot find the working directory");
        buf_fmt(out, "%s/", cwd);
    }
    buf_str(out, path);
    return buf_ok(out) ? 0 : err_nomem(err);
}
