/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle session`: runs a session (agent/session.h) until another process ends. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/agent-view.h"
#include "agent/session.h"
#include "base/clock.h"
#include "base/own.h"
#include "cli/agent/session-list.h"
#include "cli/agent/session-stream.h"
#include "cli/agent/session-world.h"
#include "cli/args.h"
#include "system/descriptors.h"
#include "system/process.h"

static const struct cli_option options[] = {
    {"for", 0, "PID", "end with this process (default: the parent)", NULL},
    {"idle", 0, "SECONDS", "end if nothing has happened for so long (default 28800, 0: never)",
     NULL},
    {"list", 'l', NULL, "list your sessions, their commands and servers", NULL},
    {"try", 0, NULL, "give the session a world that its runs write to (see `buckle try`)", NULL},
    {"on", 0, "ID", "with --try: begin with what is in the world ID", NULL},
    {"no-spare", 0, NULL, "keep no sandbox ready for the next command", NULL},
    {"foreground", 0, NULL, "stay in the foreground", NULL},
    {"stream", 0, NULL, "stay, and exchange events and answers with the caller as lines of JSON",
     NULL},
    {0},
};

/* Milliseconds until the limit, at least 1; -1: no limit. A process in the background does not keep
 * a session. */
static int idle_left(struct session *k, uint64_t limit_ms)
{
    uint64_t now = now_ms();
    if (session_is_busy(k))
        k->active_ms = now;
    if (!limit_ms)
        return -1;
    uint64_t left = now - k->active_ms < limit_ms ? limit_ms - (now - k->active_ms) : 0;
    return left > 60000 ? 60000 : (int)left;
}

/* Serves the session until its owner ends. */
static int serve_session(struct session *k, uint64_t limit_ms)
{
    OWN(fd) int owner = process_watch(k->owner);
    while (owner >= 0) {
        struct pollfd fds[] = {{owner, POLLIN, 0}, {k->fds.fd, POLLIN, 0}};
        int left = idle_left(k, limit_ms);
        session_drop_spare(k, true);
        if (left == 0)
            return CLI_OK;
        if (poll(fds, 2, left) < 0 && errno != EINTR)
            break;
        if (fds[0].revents)
            return CLI_OK;
        if (fds[1].revents)
            fd_watch_all(&k->fds);
    }
    return CLI_ERROR;
}

/* The same, for the program at the other end of standard input and output. */
static int stream_session(struct session *k)
{
    struct session_stream s;
    OWN(fd) int owner = process_watch(k->owner);
    session_stream_begin(&s, k);
    while (owner >= 0 && !s.ended) {
        struct pollfd fds[] = {
            {owner, POLLIN, 0}, {k->fds.fd, POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
        session_drop_spare(k, true);
        if (poll(fds, 3, k->spare.sock ? 60000 : -1) < 0 && errno != EINTR)
            break;
        if (fds[0].revents)
            break;
        if (fds[1].revents)
            fd_watch_all(&k->fds);
        if (fds[2].revents)
            session_stream_read(&s);
    }
    session_stream_end(&s);
    return CLI_OK;
}

/* Detaches from the parent's terminal, pipes and working directory. */
static void detach(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        dup2(null, fd);
    if (chdir("/") < 0)
        _exit(1);
}

/* The folder for TMPDIR, by the settings of the working directory. */
static const char *tmpdir_place(char out[PATH_MAX])
{
    OWN(agent_view) struct agent_view v = {0};
    struct bk_err err;
    char cwd[PATH_MAX];
    if (!getcwd(cwd, sizeof(cwd)) || view_read(&v, cwd, NULL, 0, &err) < 0)
        return NULL;
    const char *place = view_tmpdir_place(&v, cwd);
    if (place)
        snprintf(out, PATH_MAX, "%s", place);
    return place ? out : NULL;
}

/* Runs in the session process. Writes its process ID to ready_fd, or that of the session that the
 * owner already has. */
static int run_session(pid_t owner, int ready_fd, const struct cli_args *args, uint64_t limit_ms)
{
    static struct session k;
    struct bk_err err;
    char place[PATH_MAX];
    const struct session_world *world = NULL;
    if (args_has(args, "try") &&
        !(world = session_world_begin("buckle session", args_value(args, "on"), &err)))
        return cli_fail(&err);
    if (session_open(&k, "session", owner, tmpdir_place(place), world, &err) < 0) {
        session_world_end(false);
        pid_t other = control_socket_owner("session", owner);
        return other > 0 && dprintf(ready_fd, "%d\n", (int)other) > 0 ? CLI_OK : cli_fail(&err);
    }
    k.spare.refused = args_has(args, "no-spare");
    dprintf(ready_fd, "%d\n", (int)getpid());
    if (!args_has(args, "foreground")) {
        close(ready_fd);
        detach();
    }
    process_set_name("buckle-session");
    int status = serve_session(&k, limit_ms);
    session_close(&k);
    session_world_end(args_has(args, "foreground"));
    return status;
}

/* It has no claim to its owner, which may have several. */
static int run_stream(pid_t owner, bool no_spare)
{
    static struct session k;
    struct bk_err err;
    char place[PATH_MAX];
    signal(SIGPIPE, SIG_IGN);
    signal(SIGINT, SIG_IGN); /* typed for the program that started it */
    if (session_open(&k, "session", 0, tmpdir_place(place), NULL, &err) < 0)
        return cli_fail(&err);
    if (k.server.listener < 0) { /* no run could join it */
        session_close(&k);
        return cli_fail(&err);
    }
    k.owner = owner;
    k.spare.refused = no_spare;
    process_set_name("buckle-session");
    int status = stream_session(&k);
    session_close(&k);
    return status;
}

static int cmd_session_run(struct cli_args *args)
{
    const char *given = args_value(args, "for");
    pid_t owner = given ? (pid_t)strtol(given, NULL, 10) : getppid();
    int ready[2];
    char line[32] = "", *end = NULL;
    const char *idle = args_value(args, "idle");
    uint64_t limit_ms = idle ? strtoull(idle, &end, 10) * 1000 : 8 * 3600 * 1000;
    if (args->npos)
        return cli_usage(args, "session takes options only");
    if (idle && (*end || idle[0] < '0' || idle[0] > '9'))
        return cli_usage(args, "--idle must be a number of seconds, not %s", idle);
    if (args_has(args, "list"))
        return session_list();
    if (owner <= 1 || (kill(owner, 0) < 0 && errno != EPERM)) /* EPERM: another user's process */
        return cli_usage(args, "--for: no such process");
    if (args_has(args, "on") && !args_has(args, "try"))
        return cli_usage(args, "--on needs --try");
    if (args_has(args, "stream") && args_has(args, "try"))
        return cli_usage(args, "--stream and --try exclude each other");
    if (args_has(args, "stream"))
        return run_stream(owner, args_has(args, "no-spare"));
    if (args_has(args, "foreground"))
        return run_session(owner, STDOUT_FILENO, args, limit_ms);
    if (fd_pipe(ready) < 0)
        return CLI_ERROR;
    pid_t child = fork();
    if (child == 0) {
        close(ready[0]);
        return run_session(owner, ready[1], args, limit_ms);
    }
    close(ready[1]);
    ssize_t n = child > 0 ? read(ready[0], line, sizeof(line) - 1) : 0;
    return n > 0 && fputs(line, stdout) >= 0 ? CLI_OK : CLI_ERROR;
}

const struct cli_command cmd_session = {
    .name = "session",
    .usage = "[--for PID] [--list | --stream]",
    .brief = "collect the denials of several runs while another process lives",
    .about =
        "Starts a session process and prints its process ID. Runs that join it (`buckle run\n"
        "--session PID`) report their denials to it. `buckle log` reads from the session, and\n"
        "`buckle grant` reaches all its runs. It keeps events in memory only, and ends when the\n"
        "process it was started for ends. `buckle hook` starts one automatically.\n"
        "\n"
        "Its runs share a TMPDIR, `cd` lasts from one to the next, and what they leave in the\n"
        "background goes on until the session ends. --list shows all of that.\n"
        "\n"
        "With --try they also share a world: nothing that they write changes real files, until\n"
        "`buckle keep` puts it into place. A checkpoint is made after each command.",
    .options = options,
    .run = cmd_session_run,
};
