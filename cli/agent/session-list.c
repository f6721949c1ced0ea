/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "cli/agent/session-list.h"

#include <string.h>

#include "agent/control-server.h"
#include "base/own.h"
#include "cli/args.h"

enum { SESSIONS_MOST = 64 };

static json_t *ask(int control, const char *what)
{
    struct bk_err err;
    OWN(json) json_t *question = json_pack("{s:b}", what, 1);
    return control_server_ask(control, question, CONTROL_SOON_MS, &err);
}

static void print_run(const json_t *run, struct buf *out)
{
    const char *command = json_text(run, "command");
    const json_t *ports = json_object_get(run, "ports");
    buf_fmt(out, "  %lld  %s  ", (long long)json_integer_value(json_object_get(run, "number")),
            json_is_true(json_object_get(run, "background")) ? "background" : "running   ");
    if (command)
        buf_safe(out, command, strcspn(command, "\n"));
    for (size_t i = 0; i < json_array_size(ports); i++)
        buf_fmt(out, "%s%lld", i ? ", " : "  (port ",
                (long long)json_integer_value(json_array_get(ports, i)));
    buf_str(out, json_array_size(ports) ? ")\n" : "\n");
}

/* Says nothing of a session that ends meanwhile. */
static void print_session(pid_t pid, struct buf *out)
{
    struct bk_err err;
    OWN(fd) int control = control_socket_connect("session", pid, &err);
    OWN(json) json_t *about = control >= 0 ? ask(control, "about") : NULL;
    OWN(json) json_t *list = about ? ask(control, "list") : NULL;
    const char *cwd = json_text(about, "cwd");
    const char *words = json_string_value(json_array_get(json_object_get(about, "command"), 0));
    const json_t *runs = json_object_get(list, "runs");
    if (!about)
        return;
    buf_fmt(out, "%d  ", (int)pid);
    buf_safe(out, words ? words : "", words ? strlen(words) : 0);
    buf_str(out, ", in ");
    buf_safe(out, cwd ? cwd : "?", cwd ? strlen(cwd) : 1);
    buf_chr(out, '\n');
    for (size_t i = 0; i < json_array_size(runs); i++)
        print_run(json_array_get(runs, i), out);
}

int session_list(void)
{
    pid_t pids[SESSIONS_MOST];
    OWN(buf) struct buf out = {0};
    size_t n = control_socket_list("session", pids, SESSIONS_MOST);
    for (size_t i = 0; i < n && i < SESSIONS_MOST; i++)
        print_session(pids[i], &out);
    if (!out.n)
        buf_str(&out, "You have no session.\n");
    return cli_emit(&out, CLI_OK);
}
