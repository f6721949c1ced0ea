/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Times whole commands: bench-launch REPETITIONS PAUSE -- COMMAND… [-- COMMAND…]…
 *
 * Starts each with vfork and exec, the minimum cost of a launch, and waits for it. Commands take
 * turns, one repetition each, and each time another one starts. Prints a line of nanoseconds for
 * each command. Their output goes to /dev/null; one that fails is an error. After each there is a
 * pause of PAUSE microseconds, in which the kernel may clean up after the command: a network
 * namespace takes 30 ms to disappear.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COMMANDS_MAX = 16 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double run(char **argv, int quiet)
{
    int status;
    double start = now_ns();
    pid_t pid = vfork();
    if (pid == 0) {
        dup2(quiet, STDOUT_FILENO);
        execv(argv[0], argv);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0) {
        fprintf(stderr, "bench-launch: %s failed\n", argv[0]);
        exit(2);
    }
    return now_ns() - start;
}

/* Cuts the arguments at each "--". */
static size_t split(int argc, char **argv, char **commands[])
{
    size_t n = 0;
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--") != 0)
            continue;
        argv[i] = NULL;
        if (n < COMMANDS_MAX && i + 1 < argc)
            commands[n++] = argv + i + 1;
        /* a command's own "--" is written "---" */
    }
    for (int i = 3; i < argc; i++)
        if (argv[i] && strcmp(argv[i], "---") == 0)
            argv[i][2] = '\0';
    return n;
}

int main(int argc, char **argv)
{
    char **commands[COMMANDS_MAX];
    size_t repetitions = argc > 4 ? strtoul(argv[1], NULL, 10) : 0;
    useconds_t pause = argc > 4 ? (useconds_t)strtoul(argv[2], NULL, 10) : 0;
    size_t n = repetitions ? split(argc, argv, commands) : 0;
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    double *took = n ? calloc(n * repetitions, sizeof(*took)) : NULL;
    if (!took || quiet < 0) {
        fprintf(stderr, "usage: bench-launch REPETITIONS PAUSE -- COMMAND… [-- COMMAND…]…\n");
        return 2;
    }
    for (size_t i = 0; i < n; i++)
        run(commands[i], quiet); /* from here on files are cached */
    for (size_t r = 0; r < repetitions; r++)
        for (size_t i = 0; i < n; i++) {
            size_t which = (r + i) % n;
            took[which * repetitions + r] = run(commands[which], quiet);
            usleep(pause);
        }
    for (size_t i = 0; i < n; i++) {
        for (size_t r = 0; r < repetitions; r++)
            printf("%s%.0f", r ? " " : "", took[i * repetitions + r]);
        printf("\n");
    }
    free(took);
    return 0;
}
