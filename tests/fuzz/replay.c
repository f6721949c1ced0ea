/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Runs a fuzz target over files, without a fuzzer: every file of the folders on the command line
 * goes through LLVMFuzzerTestOneInput() once. Prints TAP. A crash ends it before the plan, which
 * the runner counts as a failure; the last "# …" line names the file.
 */

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/own.h"
#include "tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool replay_file(int dir, const char *name)
{
    struct stat st;
    OWN(fd) int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return false;
    size_t size = (size_t)st.st_size;
    /* exactly the file's size, so that a sanitizer sees a read past its end */
    OWN(mem) uint8_t *data = malloc(size ? size : 1);
    if (!data || read(fd, data, size) != (ssize_t)size)
        return false;
    LLVMFuzzerTestOneInput(data, size);
    return true;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void replay_folder(const char *path)
{
    struct dirent **list = NULL;
    int n = scandir(path, &list, NULL, by_name);
    OWN(fd) int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int files = 0;
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;
        if (name[0] != '.') {
            printf("# %s\n", name);
            fflush(stdout);
            ok(replay_file(dir, name), "%s", name);
            files++;
        }
        free(list[i]);
    }
    free(list);
    ok(files > 0, "%s holds files", path);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay_folder(argv[i]);
    return done_testing();
}
