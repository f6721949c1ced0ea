/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "system/process.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/proc-text.h"

static int read_link(const char *link, char path[PATH_MAX])
{
    ssize_t n = readlink(link, path, PATH_MAX - 1);
    if (n < 0)
        return -1;
    path[n] = '\0';
    return 0;
}

int process_own_path(char path[PATH_MAX])
{
    return read_link("/proc/self/exe", path);
}

/* Also after the file was replaced. */
const char *process_own_program(char path[PATH_MAX])
{
    (void)path;
    return "/proc/self/exe";
}

int process_cwd(pid_t pid, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
    return read_link(link, path);
}

/* If /proc hides it, a signal tells whether it is there. */
pid_t process_parent(pid_t pid, char name[PROCESS_NAME])
{
    char line[512];
    name[0] = '\0';
    if (proc_read(-1, line, sizeof(line), "/proc/%d/stat", (int)pid) < 0)
        return kill(pid, 0) < 0 && errno == EPERM ? 0 : -1;
    const char *open = strchr(line, '('), *end = proc_after_name(line);
    if (!open || !end || strlen(end) < 4 || end - open - 1 > PROCESS_NAME)
        return -1;
    size_t len = (size_t)(end - open - 2);
    memcpy(name, open + 1, len);
    name[len] = '\0';
    return (pid_t)strtol(end + 3, NULL, 10);
}

int process_watch(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

void process_watched_kill(int watch, pid_t pid, int sig)
{
    (void)pid;
    syscall(SYS_pidfd_send_signal, watch, sig, NULL, 0);
}

void process_end_with(pid_t owner, int status)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != owner)
        _exit(status); /* it ended before the death signal was set */
}

void process_set_name(const char *name)
{
    prctl(PR_SET_NAME, name, 0, 0, 0);
}

/* A limit does not stop a core handler. */
void process_no_core(void)
{
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void process_keep_memory(void)
{
#ifdef __GLIBC__
    enum { LARGEST = 32 << 20 };
    mallopt(M_MMAP_THRESHOLD, LARGEST);
    mallopt(M_TRIM_THRESHOLD, LARGEST);
#endif
}

bool process_adopts(void)
{
    int reaper = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &reaper, 0, 0, 0);
    return reaper != 0;
}

bool process_can_load(void)
{
    return getauxval(AT_BASE) != 0; /* not a static program */
}
