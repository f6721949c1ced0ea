/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* escape NAME ARGUMENT…: runs one attacker. */

#include "escape.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *outcome(long result)
{
    const char *name = result < 0 ? strerrorname_np(errno) : "ok";
    return name ? name : "unknown errno";
}

void report(const char *what, long result)
{
    const char *came = outcome(result);
    printf("%s: %s\n", what, came);
    fflush(stdout);
}

bool report_fd(const char *what, int fd)
{
    report(what, fd);
    return fd >= 0 && close(fd) == 0;
}

void must(long result, const char *what)
{
    if (result >= 0)
        return;
    printf("cannot attack: %s: %s\n", what, outcome(result));
    exit(3);
}

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

const char *in_folder(const char *dir, const char *name)
{
    static char paths[8][4096];
    static unsigned turn;
    char *path = paths[turn++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", dir, name);
    return path;
}

int main(int argc, char **argv)
{
    const struct attack *all[] = {
        attacks_race,      attacks_race_socket, attacks_swap,    attacks_like,
        attacks_call,      attacks_object,      attacks_way,     attacks_wear,
        attacks_machine,   attacks_program,     attacks_first,   attacks_like_creds,
        attacks_like_wait, attacks_wear_wait,   attacks_unasked, attacks_like_folders};
    for (size_t i = 0; argc > 1 && i < sizeof(all) / sizeof(all[0]); i++)
        for (const struct attack *a = all[i]; a->name; a++)
            if (strcmp(a->name, argv[1]) == 0 && a->nargs == argc - 2)
                return a->run(argv + 2);
    fprintf(stderr, "escape: no such attack\n");
    return 2;
}
