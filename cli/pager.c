/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Long output by a pager, as git does it. A pager that cannot be started costs nothing but itself:
 * the text is printed. */

#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/args.h"
#include "system/descriptors.h"

enum { NO_PAGER = 127 };

static const char *pager_command(void)
{
    static const char *const variables[] = {"BUCKLE_PAGER", "PAGER"};
    if (!isatty(STDOUT_FILENO))
        return NULL;
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
        const char *command = getenv(variables[i]);
        if (command)
            return *command && strcmp(command, "cat") != 0 ? command : NULL;
    }
    return "less";
}

static void __attribute__((noreturn)) run_pager(const char *command, int text)
{
    dup2(text, STDIN_FILENO);
    setenv("LESS", "FRX", 0); /* nothing to page, no pager; colours; leave the text there */
    execl("/bin/sh", "sh", "-c", command, (char *)NULL);
    _exit(NO_PAGER);
}

/* Whether the pager read it, or left on purpose. */
static bool page(const char *command, const struct buf *out)
{
    int ends[2], status = 0;
    if (fd_pipe(ends) < 0)
        return false;
    pid_t pid = fork();
    if (pid == 0)
        run_pager(command, ends[0]);
    close(ends[0]);
    /* the pager handles the keyboard; one that leaves early has read enough */
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    for (size_t at = 0; pid > 0 && at < out->n;) {
        ssize_t n = write(ends[1], out->s + at, out->n - at);
        if (n < 0 && errno != EINTR)
            break;
        at += n > 0 ? (size_t)n : 0;
    }
    close(ends[1]);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return pid > 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == NO_PAGER);
}

int pager_emit(struct buf *out, int status)
{
    const char *command = buf_ok(out) && out->n ? pager_command() : NULL;
    if (!command || !page(command, out))
        return cli_emit(out, status);
    buf_free(out);
    return status;
}
