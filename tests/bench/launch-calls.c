/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Times single calls: bench-calls FOLDER REPETITIONS. Run inside and outside a sandbox, the medians
 * show what judging costs. Prints NAME and nanoseconds, one line per call.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* What is timed, with its preparation and cleanup. */
static int made;

static void before_unlink(void)
{
    close(open("gone", O_WRONLY | O_CREAT, 0600));
}

static void open_write(void)
{
    made = open("file", O_WRONLY);
}

static void open_read(void)
{
    made = open("file", O_RDONLY);
}

static void create(void)
{
    made = open("gone", O_WRONLY | O_CREAT | O_EXCL, 0600);
}

static void remove_file(void)
{
    made = unlink("gone");
}

static void make_folder(void)
{
    made = mkdir("folder", 0700);
}

static void after_open(void)
{
    close(made);
}

static void after_create(void)
{
    close(made);
    unlink("gone");
}

static void after_folder(void)
{
    rmdir("folder");
}

static void nothing(void)
{
}

static const struct {
    const char *name;
    void (*before)(void), (*work)(void), (*after)(void);
} calls[] = {
    {"open-read", nothing, open_read, after_open}, {"open-write", nothing, open_write, after_open},
    {"create", nothing, create, after_create},     {"unlink", before_unlink, remove_file, nothing},
    {"mkdir", nothing, make_folder, after_folder},
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    size_t repetitions = argc == 3 ? strtoul(argv[2], NULL, 10) : 0;
    double *took = repetitions ? calloc(repetitions, sizeof(*took)) : NULL;
    if (!took || chdir(argv[1]) < 0) {
        fprintf(stderr, "usage: bench-calls FOLDER REPETITIONS\n");
        return 2;
    }
    close(open("file", O_WRONLY | O_CREAT, 0600));
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        for (size_t r = 0; r < repetitions; r++) {
            calls[i].before();
            double start = now_ns();
            calls[i].work();
            took[r] = now_ns() - start;
            calls[i].after();
            if (made < 0) {
                fprintf(stderr, "bench-calls: %s failed\n", calls[i].name);
                return 2;
            }
        }
        qsort(took, repetitions, sizeof(*took), compare);
        printf("%s %.0f\n", calls[i].name, took[repetitions / 2]);
    }
    free(took);
    return 0;
}
