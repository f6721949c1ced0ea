/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "reach.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/desk.h"
#include "base/own.h"

json_t *reach_ask(int door, const json_t *message, struct bk_err *err)
{
    OWN(buf) struct buf got = {0};
    OWN(mem) char *text = json_dumps(message, JSON_COMPACT);
    if (!text)
        return err_nomem(err), NULL;
    if (desk_ask(door, text, strlen(text), &got, err) < 0)
        return NULL;
    OWN(json) json_t *answer = json_loadb(got.s, got.n, 0, NULL);
    if (!json_is_true(json_object_get(answer, "ok"))) {
        const char *why = json_string_value(json_object_get(answer, "error"));
        return err_set(err, BK_E_INPUT, "%s", why ? why : "an answer that means nothing"), NULL;
    }
    return json_incref(answer);
}

/* One line about each, so that the person can tell them apart. */
static void list_doors(const char *kind, const pid_t *pids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct bk_err err;
        OWN(json) json_t *question = json_pack("{s:b}", "about", 1);
        OWN(fd) int door = door_knock(kind, pids[i], &err);
        OWN(json) json_t *about = door >= 0 ? reach_ask(door, question, &err) : NULL;
        OWN(buf) struct buf line = {0};
        const json_t *command = json_object_get(about, "command");
        for (size_t k = 0; k < json_array_size(command); k++) {
            const char *word = json_string_value(json_array_get(command, k));
            buf_chr(&line, ' ');
            buf_safe(&line, word, strlen(word));
        }
        if (about)
            fprintf(stderr, "  %d %s\n", (int)pids[i], line.s ? line.s : "");
    }
}

enum { DOORS = 64 };

static int reach(const char *kind, const char *pid, struct bk_err *err)
{
    pid_t pids[DOORS];
    if (pid) {
        char *end;
        long n = strtol(pid, &end, 10);
        if (*end || n <= 0 || n > INT_MAX)
            return err_set(err, BK_E_INPUT, "--%s: %s is no process", kind, pid);
        return door_knock(kind, (pid_t)n, err);
    }
    size_t n = door_list(kind, pids, DOORS);
    if (n == 1)
        return door_knock(kind, pids[0], err);
    if (n == 0)
        return err_set(err, BK_E_INPUT, "no %s of yours is under way", kind);
    list_doors(kind, pids, n < DOORS ? n : DOORS);
    err_set(err, BK_E_INPUT, "there are %zu %ss under way", n, kind);
    err_hint(err, "say which: --%s PID", kind);
    return -1;
}

int reach_run(const char *pid, struct bk_err *err)
{
    return reach("run", pid, err);
}

int reach_session(const char *pid, struct bk_err *err)
{
    return reach("session", pid, err);
}

int reach_either(const char *run, const char *session, struct bk_err *err)
{
    pid_t one;
    bool sessions = session || (!run && door_list("session", &one, 1) > 0);
    return sessions ? reach_session(session, err) : reach_run(run, err);
}

int reach_absolute(const char *path, struct buf *out, struct bk_err *err)
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
