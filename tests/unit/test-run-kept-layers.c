/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The quota of kept layers: the oldest are removed first, and none that a run uses. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "base/remove-tree.h"
#include "run/on-linux/kept-layers.h"
#include "tap.h"

enum { BYTES = 1 << 20, DAY_S = 24 * 60 * 60 };

static char top[] = "/tmp/kept-layers-XXXXXX";

static void name(char out[PATH_MAX], const char *project, const char *rest)
{
    snprintf(out, PATH_MAX, "%s/%s%s", top, project, rest);
}

/* A project with one megabyte in its layer, and a link that leads out of it. */
static void make_project(const char *project, int days)
{
    static char bytes[BYTES];
    char path[PATH_MAX];
    static const char *const folders[] = {"", "/cache", "/cache/upper"};
    for (size_t i = 0; i < 3; i++) {
        name(path, project, folders[i]);
        mkdir(path, 0700);
    }
    name(path, project, "/cache/upper/link");
    (void)!symlink(top, path);
    name(path, project, "/cache/upper/file");
    OWN(fd) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    memset(bytes, 'x', sizeof(bytes));
    ok(fd >= 0 && write(fd, bytes, sizeof(bytes)) == BYTES, "%s is %d days old", project, days);
    const struct timespec then = {time(NULL) - (time_t)days * DAY_S, 0}, times[] = {then, then};
    name(path, project, "");
    utimensat(AT_FDCWD, path, times, 0);
}

static bool is_there(const char *project)
{
    char path[PATH_MAX];
    name(path, project, "/cache/upper/file");
    return access(path, F_OK) == 0;
}

static void test_quota(void)
{
    char path[PATH_MAX];
    make_project("a", 9);
    make_project("b", 8);
    make_project("c", 7);
    make_project("d", 0);
    kept_layers_prune(top, 5ULL * BYTES, 60);
    ok(is_there("a") && is_there("b") && is_there("c") && is_there("d"), "all within the quota");
    name(path, "a", "/cache");
    OWN(fd) int used = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ok(flock(used, LOCK_EX | LOCK_NB) == 0, "a run uses the oldest");
    kept_layers_prune(top, 3ULL * BYTES + BYTES / 2, 60);
    ok(is_there("a") && !is_there("b") && is_there("c") && is_there("d"),
       "beyond the quota the oldest that is not used goes, and no more than needed");
    close(steal_fd(&used));
    kept_layers_prune(top, 3ULL * BYTES + BYTES / 2, 8);
    ok(!is_there("a") && is_there("c") && is_there("d"), "what was not used for too long goes");
    kept_layers_prune(top, 0, 60);
    ok(!is_there("c") && !is_there("d"), "without a quota everything goes");
    ok(access(top, F_OK) == 0, "what a link in a layer leads to stays");
}

int main(void)
{
    if (!mkdtemp(top))
        return 1;
    test_quota();
    remove_tree(top);
    return done_testing();
}
