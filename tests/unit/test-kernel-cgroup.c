/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Cgroups, on a tree of plain files that looks like the kernel's. It cannot show what the kernel
 * itself would refuse, only where we look for a cgroup and what we write into it. */

#include "kernel/launch/cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "tap.h"

static char root[64];

static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s%s", root, path);
    OWN(fd) int fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        perror(full);
}

static void folder(const char *path)
{
    char full[512];
    snprintf(full, sizeof(full), "%s%s", root, path);
    if (mkdir(full, 0700) < 0)
        perror(full);
}

static void remove_root(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    if (system(command) != 0)
        perror(command);
}

int main(void)
{
    struct cgroup c;
    snprintf(root, sizeof(root), "/tmp/buckle-cgroup-XXXXXX");
    if (!ok(mkdtemp(root) != NULL, "a folder"))
        return done_testing();
    folder("/user.slice");
    folder("/user.slice/app.slice");
    folder("/user.slice/app.slice/shell.scope");
    put("/user.slice/cgroup.subtree_control", "cpu memory pids\n");
    put("/user.slice/app.slice/cgroup.subtree_control", "memory\n");
    put("/user.slice/app.slice/shell.scope/cgroup.subtree_control", "\n");

    ok(!cgroup_make_at(&c, root, "/user.slice/app.slice/shell.scope", 1 << 20, 0) && c.fd < 0,
       "plain folders take no limits: no group");
    char left[512];
    snprintf(left, sizeof(left), "%s/user.slice/app.slice/buckle-%d", root, getpid());
    ok(access(left, F_OK) != 0, "and nothing is left behind");

    ok(!cgroup_make_at(&c, root, "/nowhere", 1, 1), "a place that is not there");
    ok(!cgroup_make_at(&c, root, "", 1, 1), "the root itself is never used");

    /* if a prepared child has the limits' files, they are written */
    snprintf(left, sizeof(left), "/user.slice/buckle-%d", getpid());
    ok(!cgroup_make_at(&c, root, "/user.slice/app.slice/shell.scope", 0, 7),
       "pids is only handed on further up, where files are missing too");
    cgroup_remove(&c);
    ok(c.fd < 0 && c.path[0] == '\0', "removing nothing is fine");
    remove_root();
    return done_testing();
}
