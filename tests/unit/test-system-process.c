/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Processes, groups of descriptors, folders. */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/descriptors.h"
#include "system/fd-group.h"
#include "system/files.h"
#include "system/process.h"
#include "tap.h"

static bool is_readable(int fd, int milliseconds)
{
    return poll(&(struct pollfd){fd, POLLIN, 0}, 1, milliseconds) == 1;
}

static void test_processes(void)
{
    char path[PATH_MAX], here[PATH_MAX], name[PROCESS_NAME];
    ok(process_own_path(path) == 0 && strstr(path, "test-system-process"), "this program");
    ok(process_cwd(getpid(), path) == 0 && getcwd(here, sizeof(here)) && strcmp(path, here) == 0,
       "its folder");
    is_int(process_parent(getpid(), name), getppid(), "its parent");
    ok(strncmp(name, "test-system-pro", 15) == 0, "its name");
    is_int(process_parent(INT_MAX, name), -1, "a process that is not there");

    pid_t pid = fork();
    if (pid == 0) {
        pause();
        _exit(0);
    }
    int watch = process_watch(pid), status;
    ok(watch >= 0 && !is_readable(watch, 0), "a process is watched");
    process_watched_kill(watch, pid, SIGKILL);
    ok(is_readable(watch, 5000), "it has been killed");
    waitpid(pid, &status, 0);
    ok(is_readable(watch, 0) && WIFSIGNALED(status), "which stays known");
    close(watch);
}

/* A child of a child dies with the child. */
static void test_end_with(void)
{
    int ends[2];
    char byte;
    ok(fd_pipe(ends) == 0, "a pipe");
    pid_t pid = fork();
    if (pid == 0) {
        pid_t owner = getpid(), last = fork();
        if (last == 0) {
            process_end_with(owner, 1);
            (void)!write(ends[1], "x", 1);
            pause();
        }
        pause();
    }
    close(ends[1]);
    is_int(read(ends[0], &byte, 1), 1, "it runs");
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ok(is_readable(ends[0], 5000) && read(ends[0], &byte, 1) == 0, "and ends with its parent");
    close(ends[0]);
}

static void test_groups(void)
{
    int group = fd_group_open(), one[2], flag = fd_flag_open(), timer = fd_timer_open();
    uint64_t tag = 0;
    ok(group >= 0 && fd_pipe(one) == 0 && flag >= 0 && timer >= 0, "a group");
    is_int(fd_group_add(group, one[0], 7), 0, "of a pipe");
    is_int(fd_group_add(group, flag, 8), 0, "a flag");
    is_int(fd_group_add(group, timer, 9), 0, "and a timer");
    is_int(fd_group_next(group, &tag), 0, "none is ready");
    fd_flag_set(flag, true);
    fd_flag_set(flag, true);
    ok(is_readable(group, 0) && fd_group_next(group, &tag) == 1 && tag == 8, "the flag is raised");
    fd_flag_set(flag, false);
    is_int(fd_group_next(group, &tag), 0, "and lowered");
    ok(write(one[1], "x", 1) == 1 && fd_group_next(group, &tag) == 1 && tag == 7, "the pipe");
    fd_group_remove(group, one[0]);
    is_int(fd_group_next(group, &tag), 0, "not any more");
    is_int(fd_timer_set(timer, 30), 0, "in 30 ms");
    ok(is_readable(group, 5000) && fd_group_next(group, &tag) == 1 && tag == 9, "the timer");
    fd_timer_clear(timer);
    is_int(fd_group_next(group, &tag), 0, "once");
    int all[] = {group, one[0], one[1], flag, timer};
    for (size_t i = 0; i < 5; i++)
        close(all[i]);
}

static int count(void *arg, const struct folder_entry *e)
{
    int *n = arg;
    *n += e->name[0] != '.';
    return *n == 2 ? 5 : 0;
}

static void test_files(void)
{
    char folder[] = "/tmp/buckle-test-XXXXXX", a[64], b[64];
    struct folder_id id, same;
    ok(mkdtemp(folder), "a folder");
    snprintf(a, sizeof(a), "%s/a", folder);
    snprintf(b, sizeof(b), "%s/b", folder);
    close(open(a, O_CREAT | O_WRONLY, 0600));
    close(open(b, O_CREAT | O_WRONLY, 0600));
    is_int(file_rename_new(a, b), -1, "a name that is taken");
    is_int(errno, EEXIST, "a name that is taken: EEXIST");
    int fd = folder_open(AT_FDCWD, folder, false), n = 0;
    is_int(folder_list(fd, false, count, &n), 5, "what the caller returns ends it");
    n = -10;
    is_int(folder_list(fd, true, count, &n), 0, "both names, again");
    is_int(n, -8, "two");
    unlink(b);
    is_int(file_rename_new(a, b), 0, "a name that is free");
    ok(folder_id_get(AT_FDCWD, folder, &id) == 0 && folder_id_get(fd, "../.", &same) == 0 &&
           id.ino != same.ino,
       "folders differ");
    is_int(folder_id_get(fd, "b", &same), -ENOTDIR, "a file is none");
    close(fd);
    unlink(b);
    rmdir(folder);
}

int main(void)
{
    test_processes();
    test_end_with();
    test_groups();
    test_files();
    return done_testing();
}
