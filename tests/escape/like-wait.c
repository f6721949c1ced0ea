/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Calls that block, and signals that arrive meanwhile: see like.c. */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "escape.h"

/* ---- named pipes ---- */

static void on_signal(int sig)
{
    (void)sig;
}

static double fifo_start;
static pid_t waiting; /* the process to signal, and no other if it is gone */

static void report_wait(const char *what, long result)
{
    const char *came = outcome(result);
    double took = now() - fifo_start;
    printf("%s: %s, %s\n", what, came, took < 0.05 ? "at once" : took < 2 ? "waited" : "too long");
    fflush(stdout);
}

static pid_t later(void (*work)(void))
{
    fflush(stdout);
    waiting = getpid();
    pid_t child = fork();
    must(child, "fork");
    if (child == 0) {
        usleep(150000);
        work();
        _exit(0);
    }
    fifo_start = now();
    return child;
}

static void open_reader(void)
{
    char c;
    int fd = open("fifo", O_RDONLY);
    while (fd >= 0 && read(fd, &c, 1) > 0)
        ;
}

static void open_writer(void)
{
    int fd = open("fifo", O_WRONLY);
    if (fd >= 0 && write(fd, "x", 1) < 0)
        _exit(1);
}

static void signal_parent(void)
{
    if (getppid() == waiting)
        kill(waiting, SIGUSR1);
}

static int like_fifo(char **a)
{
    struct sigaction act = {.sa_handler = on_signal};
    (void)a;
    sigaction(SIGUSR1, &act, NULL);
    must(mkfifo("fifo", 0600), "mkfifo");
    fifo_start = now();
    report_wait("writer that does not wait", open("fifo", O_WRONLY | O_NONBLOCK));
    pid_t child = later(open_reader);
    int fd = open("fifo", O_WRONLY);
    report_wait("writer waits for a reader", fd);
    report("writing", write(fd, "x", 1));
    printf("blocking: %d\n", !(fcntl(fd, F_GETFL) & O_NONBLOCK));
    close(fd);
    waitpid(child, NULL, 0);
    /* O_TRUNC makes it a call that could write, which is judged where plain reading is not */
    child = later(open_writer);
    fd = open("fifo", O_RDONLY | O_TRUNC);
    report_wait("reader waits for a writer", fd);
    char c = 0;
    report("reading", read(fd, &c, 1));
    close(fd);
    waitpid(child, NULL, 0);
    /* the process that opened an end for us closes its copy a moment after handing it over */
    usleep(100000);
    child = later(signal_parent);
    report_wait("writer hears a signal", open("fifo", O_WRONLY));
    waitpid(child, NULL, 0);
    child = later(signal_parent);
    report_wait("reader hears a signal", open("fifo", O_RDONLY | O_TRUNC));
    waitpid(child, NULL, 0);
    fifo_start = now();
    report_wait("both ends at once", open("fifo", O_RDWR));
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        child = fork();
        must(child, "fork");
        if (child == 0)
            _exit(open("fifo", i ? O_WRONLY : O_RDONLY | O_TRUNC));
        usleep(100000);
        kill(child, SIGKILL);
        fifo_start = now();
        report_wait(i ? "writer is killed" : "reader is killed", waitpid(child, NULL, 0));
    }
    report_fd("and everything goes on", open("after", O_WRONLY | O_CREAT, 0600));
    return 0;
}

/* ---- signals by the thousand ---- */

static int like_storm(char **a)
{
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    int wrong = 0;
    double end = now() + atof(a[0]);
    sigaction(SIGALRM, &act, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (unsigned i = 0; now() < end; i++) {
        char name[40], moved[40];
        snprintf(name, sizeof(name), "storm-%u", i);
        snprintf(moved, sizeof(moved), "moved-%u", i);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
        wrong += fd < 0;
        close(fd);
        wrong += rename(name, moved) < 0;
        wrong += link(moved, name) < 0;
        wrong += unlink(moved) < 0;
        wrong += unlink(name) < 0;
        wrong += mkdir(name, 0700) < 0;
        wrong += rmdir(name) < 0;
        wrong += symlink("x", name) < 0;
        wrong += unlink(name) < 0;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("done twice or not at all: %d\n", wrong);
    return 0;
}

const struct attack attacks_like_wait[] = {
    {"like-fifo", 0, like_fifo}, {"like-storm", 1, like_storm}, {0}};
