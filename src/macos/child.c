/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Starts a program with fork and exec. A close-on-exec pipe carries the errno back if exec fails.
 */

#include "macos/child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"

extern char **environ;

int child_pipe(int ends[2], struct bk_err *err)
{
    if (pipe(ends) < 0)
        return err_sys(err, "cannot create a pipe");
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 0;
}

static void redirect(int from, int to)
{
    if (from >= 0 && from != to)
        dup2(from, to);
    else if (from == to)
        fcntl(to, F_SETFD, 0);
}

static bool is_kept(const struct child *c, int fd)
{
    for (size_t i = 0; i < c->nkeep; i++)
        if (c->keep[i] == fd)
            return true;
    return fd <= 2;
}

/* The caller's open files stay closed: the policy might deny them. */
static void close_others(const struct child *c)
{
    OWN(dir) DIR *d = opendir("/dev/fd");
    struct dirent *e;
    while (d && (e = readdir(d))) {
        int fd = atoi(e->d_name);
        if (e->d_name[0] >= '0' && e->d_name[0] <= '9' && !is_kept(c, fd))
            fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    for (int fd = 3; !d && fd < 1024; fd++)
        if (!is_kept(c, fd))
            fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* What a child could not do. Less than PIPE_BUF anywhere, so it is written in one piece. */
struct failure {
    int sys; /* 0: it could not be confined, because: */
    char words[400];
};

static void confine_and_exec(const struct child *c, struct failure *f)
{
    if (c->cwd && chdir(c->cwd) < 0) {
        f->sys = errno;
        return;
    }
    environ = (char **)c->env;
    if (c->enter && c->enter(c->profile, f->words, sizeof(f->words)) < 0)
        return;
    execvp(c->argv[0], c->argv);
    f->sys = errno;
}

static void __attribute__((noreturn)) exec_child(const struct child *c, int errors)
{
    sigset_t none;
    struct failure f = {0};
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    redirect(c->in, 0);
    redirect(c->out, 1);
    redirect(c->err, 2);
    close_others(c);
    confine_and_exec(c, &f);
    ssize_t written = write(errors, &f, sizeof(f));
    _exit(written == sizeof(f) ? 127 : 126);
}

int child_start(const struct child *c, pid_t *out, struct bk_err *err)
{
    int ends[2];
    struct failure f = {0};
    if (child_pipe(ends, err) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        exec_child(c, ends[1]);
    OWN(fd) int reader = ends[0];
    close(ends[1]);
    if (pid < 0)
        return err_sys(err, "cannot start a process");
    ssize_t n;
    while ((n = read(reader, &f, sizeof(f))) < 0 && errno == EINTR)
        ;
    if (n == 0) {
        *out = pid;
        return 0;
    }
    waitpid(pid, NULL, 0);
    if (n == sizeof(f) && f.sys == 0)
        return err_set(err, BK_E_SYSTEM, "macOS refuses the profile: %s", f.words);
    errno = n == sizeof(f) ? f.sys : EIO;
    return err_sys(err, "%s", c->argv[0]);
}

bool child_await(pid_t pid, uint32_t patience_ms, int *status)
{
    uint64_t until = now_ms() + patience_ms;
    while (waitpid(pid, status, WNOHANG) == 0) {
        if (now_ms() >= until)
            return false;
        poll(NULL, 0, 5);
    }
    return true;
}

void child_stop(pid_t pid, uint32_t patience_ms)
{
    int status;
    kill(pid, SIGTERM);
    if (child_await(pid, patience_ms, &status))
        return;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
