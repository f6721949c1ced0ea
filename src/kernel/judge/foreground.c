/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Finds outsiders in the process group that holds a terminal, by reading a procfs. A process that
 * has exited does not count: nothing can stop it any more, and its parent may be any process.
 */

#include "kernel/judge/foreground.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernel/judge/relation.h"

enum { ANCESTORS = 4096 }; /* generations to search */

static bool is_outsider(int proc, pid_t pid, pid_t controller)
{
    pid_t group;
    for (int n = 0; n < ANCESTORS && pid > 1; n++)
        if (pid == controller || relation_read_stat(proc, pid, &pid, &group) < 0)
            return false; /* one of ours, or gone */
    return true;
}

pid_t foreground_outsider(int proc, pid_t group, pid_t controller)
{
    int fd = openat(proc, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    pid_t found = 0, parent, its;
    if (!dir && fd >= 0)
        close(fd);
    if (!dir)
        return 1;
    for (struct dirent *e; !found && (e = readdir(dir));) {
        pid_t pid = (pid_t)atoi(e->d_name);
        if (pid > 0 && relation_read_stat(proc, pid, &parent, &its) == 0 && its == group &&
            is_outsider(proc, pid, controller))
            found = pid;
    }
    closedir(dir);
    return found;
}

bool foreground_is_ours(int proc, pid_t group, pid_t controller)
{
    pid_t parent, its;
    if (relation_read_stat(proc, group, &parent, &its) == 0 && its == group)
        return !is_outsider(proc, group, controller);
    return foreground_outsider(proc, group, controller) == 0;
}
