/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Finds where an agent was started. Some agents set a variable for their hooks. For others, the
 * session of the agent's process remembers the directory of the first call, which arrives before
 * the model can change it. Without a session, /proc gives the working directory of the agent.
 */

#include "cli/agent/hook-root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/control-server.h"
#include "base/own.h"
#include "run/run-policy.h"
#include "system/descriptors.h"
#include "system/process.h"

/* The agent: our parent, or the parent of the shell that started us. */
static pid_t agent_process(void)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "busybox"};
    char name[PROCESS_NAME];
    pid_t pid = getppid(), parent = process_parent(pid, name);
    for (size_t i = 0; parent > 1 && i < sizeof(shells) / sizeof(shells[0]); i++)
        if (strcmp(name, shells[i]) == 0)
            return parent;
    return pid;
}

pid_t hook_session(const char *program, bool tries)
{
    char line[32] = "", owner[16];
    int ends[2];
    /* inside `buckle agent` a session could not tell its callers apart (cli/run/run-session.c) */
    if (getenv("SANDBOX_RUNTIME"))
        return 0;
    pid_t agent = agent_process(), known = control_socket_owner("session", agent);
    if (known > 0)
        return known;
    snprintf(owner, sizeof(owner), "%d", (int)agent);
    if (fd_pipe(ends) < 0)
        return 0;
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        execl(program, program, "session", "--for", owner, tries ? "--try" : NULL, (char *)NULL);
        _exit(1);
    }
    close(ends[1]);
    ssize_t n = child > 0 ? read(ends[0], line, sizeof(line) - 1) : 0;
    close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    return n > 0 ? (pid_t)strtol(line, NULL, 10) : 0;
}

/* The working directory of the agent's process. */
static bool agent_folder(char out[PATH_MAX])
{
    out[0] = '\0';
    return process_cwd(agent_process(), out) == 0;
}

static int ask_session(pid_t session, const char *id, const char *cwd, const char *start,
                       char out[PATH_MAX], struct bk_err *err)
{
    OWN(json)
    json_t *question = json_pack("{s:s, s:s, s:s}", "root", cwd, "of", id, "start", start);
    OWN(fd)
    int control = question ? control_socket_connect("session", session, err) : err_nomem(err);
    OWN(json)
    json_t *answer =
        control >= 0 ? control_server_ask(control, question, CONTROL_USUAL_MS, err) : NULL;
    const char *root = json_text(answer, "root");
    if (!answer)
        return -1;
    if (!root || strlen(root) >= PATH_MAX)
        return err_set(err, BK_E_SYSTEM, "the agent's session does not know the agent's project");
    strcpy(out, root);
    return 0;
}

json_t *hook_grants(pid_t session)
{
    struct bk_err err;
    OWN(json) json_t *question = json_pack("{s:b}", "grants", 1);
    OWN(fd) int control = session > 0 ? control_socket_connect("session", session, &err) : -1;
    OWN(json)
    json_t *answer =
        control >= 0 ? control_server_ask(control, question, CONTROL_USUAL_MS, &err) : NULL;
    return json_incref(json_object_get(answer, "grants"));
}

int hook_root(const struct hook_call *call, const char *program, bool tries, struct hook_root *out,
              struct bk_err *err)
{
    char cwd[PATH_MAX], start[PATH_MAX];
    const char *named = hook_project(call);
    out->session = 0;
    if (named && realpath(named, out->path))
        return 0;
    if (!realpath(call->cwd ? call->cwd : ".", cwd))
        return err_sys(err, "%s", call->cwd ? call->cwd : "the working directory");
    bool started = agent_folder(start);
    out->session = hook_session(program, tries);
    if (out->session > 0)
        return ask_session(out->session, call->session ? call->session : "", cwd, start, out->path,
                           err);
    if (!started || run_place_is_all(start))
        return err_set(err, BK_E_SYSTEM, "cannot determine which project the agent was started in");
    strcpy(out->path, start);
    return 0;
}
