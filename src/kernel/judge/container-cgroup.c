/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* /proc/PID/cgroup has a line for each hierarchy, "number:controllers:path"; mountinfo says where
 * it is mounted. Version 2 has no controllers there. */

#include "kernel/judge/container-cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "base/proc-text.h"

enum { CGROUP_TEXT = 16384 };

/* Copies the path of a process in a hierarchy; "": it has none. */
static void path_in(int proc, const char *who, bool devices, char out[PATH_MAX])
{
    char text[CGROUP_TEXT], *rest = text, *line;
    out[0] = '\0';
    (void)proc_read(proc, text, sizeof(text), "%s/cgroup", who);
    while ((line = strsep(&rest, "\n"))) {
        char *list = strchr(line, ':'), *path = list ? strchr(list + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        bool meant = devices ? strcmp(list + 1, "devices") == 0 : list[1] == '\0';
        if (meant && strlen(path) < PATH_MAX)
            strcpy(out, path);
    }
}

/* Where the hierarchy is mounted. */
static bool find_mount(int proc, bool devices, char out[PATH_MAX])
{
    int fd = openat(proc, "self/mountinfo", O_RDONLY | O_CLOEXEC);
    OWN(file) FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    OWN(mem) char *line = NULL;
    size_t cap = 0;
    bool found = false;
    while (f && !found && getline(&line, &cap, f) > 0) {
        char at[PATH_MAX], root[PATH_MAX];
        const char *kind = strstr(line, devices ? " - cgroup " : " - cgroup2 ");
        if (!kind || (devices && !strstr(kind, "devices")))
            continue;
        found = sscanf(line, "%*s %*s %*s %4095s %4095s", root, at) == 2 && strcmp(root, "/") == 0;
        if (found)
            strcpy(out, at);
    }
    return found;
}

static int join(int proc, pid_t pid, bool devices)
{
    char who[16], its[PATH_MAX], own[PATH_MAX], mount[PATH_MAX], file[PATH_MAX * 2 + 16];
    snprintf(who, sizeof(who), "%d", pid);
    path_in(proc, who, devices, its);
    path_in(proc, "self", devices, own);
    if (strcmp(its, own) == 0)
        return 0;
    if (strstr(its, "..") || !find_mount(proc, devices, mount)) {
        errno = ENOENT;
        return -ENOENT;
    }
    snprintf(file, sizeof(file), "%s%s/cgroup.procs", mount, its);
    OWN(fd) int fd = open(file, O_WRONLY | O_CLOEXEC);
    return fd < 0 || write(fd, "0", 1) != 1 ? -errno : 0;
}

int container_cgroup_join(int proc, pid_t pid)
{
    char path[PATH_MAX];
    path_in(proc, "self", true, path);
    return join(proc, pid, path[0] != '\0');
}

void container_cgroup_from_host(int proc)
{
    char parent[16];
    snprintf(parent, sizeof(parent), "%d", getppid());
    const char *const hosts[] = {"1", parent};
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        char name[32];
        snprintf(name, sizeof(name), "%s/ns/cgroup", hosts[i]);
        OWN(fd) int fd = openat(proc, name, O_RDONLY | O_CLOEXEC);
        if (fd >= 0 && setns(fd, CLONE_NEWCGROUP) == 0)
            return;
    }
}
