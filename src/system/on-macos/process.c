/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "system/process.h"

#include <errno.h>
#include <fcntl.h>
#include <libproc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/event.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "system/descriptors.h"

int process_own_path(char path[PATH_MAX])
{
    char longest[PROC_PIDPATHINFO_MAXSIZE];
    int n = proc_pidpath(getpid(), longest, sizeof(longest));
    if (n <= 0 || n >= PATH_MAX)
        return errno = n > 0 ? ENAMETOOLONG : errno, -1;
    memcpy(path, longest, (size_t)n);
    path[n] = '\0';
    return 0;
}

const char *process_own_program(char path[PATH_MAX])
{
    return process_own_path(path) == 0 ? path : "buckle";
}

pid_t process_parent(pid_t pid, char name[PROCESS_NAME])
{
    struct proc_bsdshortinfo about;
    name[0] = '\0';
    int n = proc_pidinfo(pid, PROC_PIDT_SHORTBSDINFO, 0, &about, sizeof(about));
    if (n != (int)sizeof(about)) /* another user's, or gone */
        return kill(pid, 0) < 0 && errno == EPERM ? 0 : -1;
    snprintf(name, PROCESS_NAME, "%.*s", (int)sizeof(about.pbsi_comm), about.pbsi_comm);
    return (pid_t)about.pbsi_ppid;
}

int process_cwd(pid_t pid, char path[PATH_MAX])
{
    struct proc_vnodepathinfo about;
    int n = proc_pidinfo(pid, PROC_PIDVNODEPATHINFO, 0, &about, sizeof(about));
    if (n != (int)sizeof(about))
        return errno = n >= 0 ? ESRCH : errno, -1;
    snprintf(path, PATH_MAX, "%.*s", (int)sizeof(about.pvi_cdir.vip_path), about.pvi_cdir.vip_path);
    return 0;
}

static int watch_end(int queue, pid_t pid)
{
    struct kevent e;
    EV_SET(&e, (uintptr_t)pid, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, NULL);
    return kevent(queue, &e, 1, NULL, 0, NULL);
}

/* The event is never taken, so the kqueue stays readable as a pidfd does. */
int process_watch(pid_t pid)
{
    OWN(fd) int queue = kqueue();
    if (queue < 0 || fcntl(queue, F_SETFD, FD_CLOEXEC) < 0 || watch_end(queue, pid) < 0)
        return -1;
    return steal_fd(&queue);
}

/* While the event has not come, the number is that process's. */
void process_watched_kill(int watch, pid_t pid, int sig)
{
    struct pollfd ended = {watch, POLLIN, 0};
    if (poll(&ended, 1, 0) == 0)
        kill(pid, sig);
}

/* ---- ending with the parent ---- */

/* The guard: a process beside the one that is to end. It has no descriptor of anybody's. */
static void __attribute__((noreturn)) guard(pid_t owner, pid_t guarded)
{
    struct kevent e;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    fd_close_range(0, -1);
    setsid();
    int queue = kqueue();
    bool both = queue >= 0 && watch_end(queue, guarded) == 0;
    if (both && watch_end(queue, owner) < 0 && errno == ESRCH)
        both = kill(guarded, SIGKILL) < 0;
    while (both && kevent(queue, NULL, 0, &e, 1, NULL) != 1)
        if (errno != EINTR)
            _exit(1);
    if (both && (pid_t)e.ident == owner)
        kill(guarded, SIGKILL);
    _exit(0);
}

/* Twice removed, so that nobody has to wait for the guard. */
void process_end_with(pid_t owner, int status)
{
    pid_t self = getpid(), between = fork();
    if (between == 0) {
        pid_t last = fork();
        if (last == 0)
            guard(owner, self);
        _exit(last < 0);
    }
    int ended = 1;
    while (between > 0 && waitpid(between, &ended, 0) < 0 && errno == EINTR)
        ;
    if (ended != 0 || getppid() != owner)
        _exit(status);
}

/* ---- this process ---- */

void process_set_name(const char *name)
{
    pthread_setname_np(name);
}

void process_no_core(void)
{
    static const struct rlimit none;
    setrlimit(RLIMIT_CORE, &none);
}

void process_keep_memory(void)
{
}

/* Only launchd does. */
bool process_adopts(void)
{
    return getpid() == 1;
}

/* There are no static programs. */
bool process_can_load(void)
{
    return true;
}
