/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What callers that do nothing but judged calls get from one judge: bench-many FOLDER CALLERS
 * MILLISECONDS. Each caller creates and removes files in a folder of its own. Prints how many calls
 * they made together, and how long they took, in nanoseconds.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CALLERS_MOST = 256 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Returns how many calls were made, or -1 if one failed. */
static long make_calls(unsigned number, double until)
{
    char name[32];
    long calls = 0;
    snprintf(name, sizeof(name), "caller%u", number);
    if (mkdir(name, 0700) < 0 || chdir(name) < 0)
        return -1;
    while (now_ns() < until) {
        int fd = open("file", O_WRONLY | O_CREAT | O_EXCL, 0600);
        if (fd < 0 || close(fd) < 0 || unlink("file") < 0)
            return -1;
        calls += 2;
    }
    return calls;
}

int main(int argc, char **argv)
{
    unsigned callers = argc == 4 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
    double length = argc == 4 ? strtod(argv[3], NULL) * 1e6 : 0;
    long *made = mmap(NULL, CALLERS_MOST * sizeof(*made), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!callers || callers > CALLERS_MOST || made == MAP_FAILED || chdir(argv[1]) < 0) {
        fprintf(stderr, "usage: bench-many FOLDER CALLERS MILLISECONDS\n");
        return 2;
    }
    double start = now_ns();
    for (unsigned i = 0; i < callers; i++)
        if (fork() == 0) {
            made[i] = make_calls(i, start + length);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    double took = now_ns() - start;
    long all = 0;
    for (unsigned i = 0; i < callers; i++) {
        if (made[i] <= 0) {
            fprintf(stderr, "bench-many: a call failed\n");
            return 2;
        }
        all += made[i];
    }
    printf("%ld %.0f\n", all, took);
    return 0;
}
