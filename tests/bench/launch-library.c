/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Times launches from a running process with a finished policy: bench-library REPETITIONS PAUSE
 * PROFILE COMMAND. The profile is compiled and planned once. Launches take turns with vfork and
 * exec of the same command; prints a line of nanoseconds for each, the bare one first.
 */

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kernel/launch/init.h"
#include "kernel/launch/launch.h"
#include "sbpl/sbpl.h"

extern char **environ;

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void __attribute__((noreturn)) give_up(const char *why)
{
    fprintf(stderr, "bench-library: %s\n", why);
    exit(2);
}

static double bare(char **argv)
{
    int status;
    double start = now_ns();
    pid_t pid = vfork();
    if (pid == 0) {
        execv(argv[0], argv);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        give_up("the bare command failed");
    return now_ns() - start;
}

static double launched(const struct launch *l)
{
    struct launch_end end;
    struct bk_err err;
    double start = now_ns();
    if (launch_run(l, &end, &err) < 0)
        give_up(err.msg);
    if (end.status != 0)
        give_up("the launched command failed");
    return now_ns() - start;
}

/* The profile's policy for this folder. */
static void make_policy(const char *profile, const char *cwd, const struct host *host,
                        struct plan *plan, struct graph **graph)
{
    static struct sbpl_param params[] = {{"CWD", NULL}, {"TMPDIR", NULL}};
    struct sbpl_options opt = {.params = params, .nparams = 2, .os = VOCAB_OS_ANY};
    struct plan_options how = {.arch = PLAN_NATIVE, .cwd = cwd};
    struct sbpl_unit unit;
    struct bk_err err;
    params[0].value = params[1].value = cwd;
    sbpl_unit_init(&unit, &opt);
    if (sbpl_add_file(&unit, profile, &err) < 0 || sbpl_compile(&unit, graph, &err) < 0 ||
        plan_make(*graph, &how, host, plan, &err) < 0)
        give_up(err.msg);
    sbpl_unit_free(&unit);
}

static void print(const double *took, size_t n)
{
    for (size_t r = 0; r < n; r++)
        printf("%s%.0f", r ? " " : "", took[r]);
    printf("\n");
}

int main(int argc, char **argv)
{
    char cwd[PATH_MAX];
    size_t n = argc > 4 ? strtoul(argv[1], NULL, 10) : 0;
    useconds_t pause = argc > 4 ? (useconds_t)strtoul(argv[2], NULL, 10) : 0;
    double *took = n ? calloc(2 * n, sizeof(*took)) : NULL;
    if (!took || !getcwd(cwd, sizeof(cwd)))
        give_up("usage: bench-library REPETITIONS PAUSE PROFILE COMMAND…");
    struct host host;
    struct plan plan;
    struct graph *graph;
    host_quick(&host);
    make_policy(argv[3], cwd, &host, &plan, &graph);
    struct init init = {.pidfd = -1, .ready = -1};
    struct launch l = {.policy = {&plan, graph},
                       .host = &host,
                       .init = &init,
                       .argv = argv + 4,
                       .env = environ,
                       .cwd = cwd,
                       .cgroup = -1,
                       .leave_judge = true};
    for (size_t r = 0; r < 2 * n + 2; r++) {
        bool first = r / 2 % 2 == r % 2; /* alternates which comes first */
        double t = first ? bare(argv + 4) : launched(&l);
        if (r >= 2) /* the first of each warms the caches */
            took[(first ? 0 : n) + r / 2 - 1] = t;
        if (!first)
            init_end(&init);
        usleep(pause);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    print(took, n);
    print(took + n, n);
    free(took);
    graph_free(graph);
    plan_free(&plan);
    return 0;
}
