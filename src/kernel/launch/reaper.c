/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The reaper replaces a pid namespace where a fresh /proc cannot be mounted: a process between
 * judge and command that adopts every orphan of the command. When the command exits or the judge
 * dies, it kills them all. A parent-death signal would not do: a grandchild in another session
 * survives it, and a child can clear it. If the reaper itself is killed, the judge adopts them and
 * does the same.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "base/proc-text.h"
#include "kernel/shared/fd-pass.h"
#include "kernel/shared/roles.h"
#include "kernel/shared/setup.h"

static pid_t parent_of(int proc, const char *pid)
{
    char text[512];
    (void)proc_read(proc, text, sizeof(text), "%.20s/stat", pid);
    const char *state = proc_after_name(text);
    return state && strlen(state) > 3 ? (pid_t)atoi(state + 3) : -1;
}

/* Kills our children. Their orphans become ours and are killed in the next round. */
static void kill_children(int proc)
{
    int fd = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e; d && (e = readdir(d));)
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && parent_of(proc, e->d_name) == getpid())
            kill((pid_t)atoi(e->d_name), SIGKILL);
    if (d)
        closedir(d);
}

void reaper_kill_all(int proc)
{
    for (;;) {
        kill_children(proc);
        pid_t pid = waitpid(-1, NULL, 0);
        if (pid < 0 && errno == ECHILD)
            return;
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
}

static void report(int to, struct reaper_message k)
{
    fd_pass_send(to, &k, sizeof(k), -1);
}

/* Reaps exited processes. Returns true with the status if the command is among them. */
static bool reap(pid_t command, int to, int *status)
{
    int st;
    for (pid_t pid; (pid = waitpid(-1, &st, WNOHANG | WUNTRACED)) > 0;) {
        if (pid != command)
            continue;
        if (WIFSTOPPED(st)) {
            report(to, (struct reaper_message){.kind = REAPER_STOPPED, .value = st});
            continue;
        }
        *status = st;
        return true;
    }
    return false;
}

static void watch_command(pid_t command, int proc, int to, int *status)
{
    sigset_t awaited;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, REAPER_ORPHANED);
    while (!reap(command, to, status))
        if (sigwaitinfo(&awaited, NULL) == REAPER_ORPHANED) {
            reaper_kill_all(proc);
            _exit(1);
        }
}

/* After the command: until all that it left has exited. Then our exit tells the judge. */
static void __attribute__((noreturn)) keep_watch(int proc)
{
    sigset_t awaited;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    sigaddset(&awaited, REAPER_ORPHANED);
    for (;;) {
        pid_t pid;
        while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (pid < 0)
            _exit(0);
        if (sigwaitinfo(&awaited, NULL) == REAPER_ORPHANED) {
            reaper_kill_all(proc);
            _exit(1);
        }
    }
}

/* What the command's readers wait for must not stay open in us. */
static void release_stdio(void)
{
    OWN(fd) int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2 && null >= 0; fd++)
        dup2(null, fd);
}

void reaper_main(struct command *c, int proc, int to)
{
    pid_t command;
    int status = 0, listener;
    enum launch_step step;
    role_take(ROLE_REAPER);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    close(c->s->status);
    close(c->s->events);
    int err = command_start(c, &command, &listener, &step);
    if (err < 0) {
        report(to, (struct reaper_message){
                       .kind = REAPER_FAILED, .value = -err, .step = (int32_t)step});
        _exit(1);
    }
    struct reaper_message started = {
        .kind = REAPER_COMMAND, .value = command, .listener = listener >= 0};
    if (fd_pass_send(to, &started, sizeof(started), listener) < 0)
        _exit(1); /* nobody would judge it */
    if (listener >= 0)
        close(listener);
    if (launch_stays(c->s->launch))
        release_stdio();
    watch_command(command, proc, to, &status);
    if (launch_stays(c->s->launch)) {
        report(to, (struct reaper_message){.kind = REAPER_EXITED, .value = status});
        keep_watch(proc);
    }
    if (c->s->launch->wait_all)
        while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
            ;
    else
        reaper_kill_all(proc);
    report(to, (struct reaper_message){.kind = REAPER_EXITED, .value = status});
    _exit(0);
}
