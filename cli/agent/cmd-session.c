/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* `buckle session`: a process that keeps a session (agent/keeper.h), as long as another one lives.
 */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/session.h"
#include "base/own.h"
#include "cli/args.h"

static const struct cli_option options[] = {
    {"for", 0, "PID", "end with this process (the one that started us)", NULL},
    {"foreground", 0, NULL, "stay in the foreground", NULL},
    {0},
};

/* Until the owner ends. */
static int keep(struct session *k)
{
    OWN(fd) int owner = (int)syscall(SYS_pidfd_open, k->owner, 0);
    while (owner >= 0) {
        struct pollfd fds[] = {{owner, POLLIN, 0}, {k->fds.fd, POLLIN, 0}};
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        if (fds[0].revents)
            return CLI_OK;
        if (fds[1].revents)
            fd_watch_all(&k->fds);
    }
    return CLI_ERROR;
}

/* Away from whoever started us: his terminal, his pipes, his folder. */
static void go_away(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    setsid();
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        dup2(null, fd);
    if (chdir("/") < 0)
        _exit(1);
}

/* In the process that stays. Says its number to whoever waits for it, or that of the session which
 * is there already. */
static int stay(pid_t owner, int told, bool foreground)
{
    static struct session k;
    struct bk_err err;
    if (session_open(&k, "session", owner, &err) < 0) {
        pid_t other = control_socket_owner("session", owner);
        return other > 0 && dprintf(told, "%d\n", (int)other) > 0 ? CLI_OK : cli_fail(&err);
    }
    dprintf(told, "%d\n", (int)getpid());
    if (!foreground) {
        close(told);
        go_away();
    }
    prctl(PR_SET_NAME, "buckle-session", 0, 0, 0);
    int status = keep(&k);
    session_close(&k);
    return status;
}

static int run(struct cli_args *args)
{
    const char *given = args_value(args, "for");
    pid_t owner = given ? (pid_t)strtol(given, NULL, 10) : getppid();
    int ready[2];
    char line[32] = "";
    if (args->npos)
        return cli_usage(args, "session takes options only");
    if (owner <= 1 || (kill(owner, 0) < 0 && errno != EPERM)) /* it may be somebody else's */
        return cli_usage(args, "--for: there is no such process");
    if (args_has(args, "foreground"))
        return stay(owner, STDOUT_FILENO, true);
    if (pipe2(ready, O_CLOEXEC) < 0)
        return CLI_ERROR;
    pid_t child = fork();
    if (child == 0) {
        close(ready[0]);
        return stay(owner, ready[1], false);
    }
    close(ready[1]);
    ssize_t n = child > 0 ? read(ready[0], line, sizeof(line) - 1) : 0;
    return n > 0 && fputs(line, stdout) >= 0 ? CLI_OK : CLI_ERROR;
}

const struct cli_command cmd_session = {
    .name = "session",
    .usage = "[--for PID]",
    .brief = "keep what several runs deny, as long as another process lives",
    .about =
        "Starts a process that hears of what runs deny which join it (`buckle run --session "
        "PID`),\n"
        "and prints its number. `buckle log` reads from it and `buckle grant` speaks to all runs\n"
        "of it. Events live in its memory; it ends, and they with it, when the process that it "
        "was\n"
        "started for ends. `buckle hook` starts one by itself.",
    .options = options,
    .run = run,
};
