/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Things that a process holds: descriptors, sockets, children that stay. */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "escape.h"

/* ---- what was inherited ---- */

static const char *kind_of(int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return "none";
    switch (st.st_mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "folder";
    case S_IFSOCK:
        return "socket";
    case S_IFIFO:
        return "pipe";
    case S_IFBLK:
        return "disk";
    case S_IFCHR:
        return isatty(fd) ? "terminal" : "device";
    default:
        return "other";
    }
}

static int object_list(char **a)
{
    (void)a;
    for (int fd = 3; fd < 70000; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            printf("%d: %s\n", fd, kind_of(fd));
    return 0;
}

/* Through a folder that is already open. */
static int object_through(char **a)
{
    int fd = atoi(a[0]);
    report("write", openat(fd, "victim", O_WRONLY | O_TRUNC));
    report("create", openat(fd, "new", O_WRONLY | O_CREAT, 0600));
    report("make", mkdirat(fd, "new", 0700));
    report("remove", unlinkat(fd, "victim", 0));
    report("mode", fchmodat(fd, "victim", 0777, 0));
    if (fchdir(fd) == 0)
        report("write there", open("victim", O_WRONLY | O_TRUNC));
    return 0;
}

/* ---- sockets ---- */

static int serve(const char *path, int type)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
    int fd = socket(AF_UNIX, type, 0);
    must(fd, "socket");
    report("bind", bind(fd, (struct sockaddr *)&to, sizeof(to)));
    report("bind again", bind(fd, (struct sockaddr *)&to, sizeof(to)));
    report("listen", listen(fd, 5));
    return fd;
}

static void on_alarm(int sig)
{
    (void)sig;
}

/* Connects until the queue is full; a signal interrupts the last connect. */
static void fill_queue(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct sigaction act = {.sa_handler = on_alarm};
    snprintf(to.sun_path, sizeof(to.sun_path), "%s", path);
    int server = serve(path, SOCK_STREAM);
    must(listen(server, 0), "listen");
    sigaction(SIGALRM, &act, NULL);
    alarm(1);
    long got = 0;
    for (int i = 0; i < 3 && got == 0; i++)
        got = connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&to, sizeof(to));
    report("connect to a full queue", got);
}

/* A server and a client of our own. */
static int object_serve(char **a)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char word[8] = "";
    int server = serve(a[0], SOCK_STREAM), status;
    struct stat st;
    report("socket is there", lstat(a[0], &st));
    printf("kind: %o\n", st.st_mode);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        snprintf(to.sun_path, sizeof(to.sun_path), "%s", a[0]);
        report("connect", connect(fd, (struct sockaddr *)&to, sizeof(to)));
        report("connect again", connect(fd, (struct sockaddr *)&to, sizeof(to)));
        _exit(write(fd, "hello", 5) == 5 ? 0 : 1);
    }
    int fd = accept(server, NULL, NULL);
    report("accept", fd);
    report("read", read(fd, word, sizeof(word) - 1));
    printf("heard: %s\n", word);
    waitpid(child, &status, 0);
    printf("client: %d\n", WEXITSTATUS(status));
    fill_queue(in_folder(".", "full"));
    return 0;
}

/* ---- processes that stay ---- */

/* Leaves a child in its own session, with no trace of its parent. */
static int object_stay(char **a)
{
    fflush(stdout);
    if (fork() == 0) {
        setsid();
        if (fork() != 0)
            _exit(0);
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        signal(SIGINT, SIG_IGN);
        for (int fd = 0; fd < 3; fd++)
            close(fd);
        for (int i = 0; i < 600; i++)
            usleep(100000);
        _exit(0);
    }
    wait(NULL);
    puts("ready");
    fflush(stdout);
    if (strcmp(a[0], "leave") == 0)
        return 7;
    for (int i = 0; i < 600; i++)
        usleep(100000);
    return 0;
}

/* Prints which signals arrive, until SIGTERM has come twice. */
static volatile sig_atomic_t received[65];

static void on_input(int sig)
{
    received[sig]++;
}

static int object_receive(char **a)
{
    (void)a;
    struct sigaction act = {.sa_handler = on_input};
    for (int sig = 1; sig < 32; sig++)
        sigaction(sig, &act, NULL);
    puts("ready");
    fflush(stdout);
    for (int reported[65] = {0}; received[SIGTERM] < 2;) {
        usleep(10000);
        for (int sig = 1; sig < 32; sig++)
            for (; reported[sig] < received[sig]; reported[sig]++)
                printf("heard %s\n", sigabbrev_np(sig));
        fflush(stdout);
    }
    return 42;
}

const struct attack attacks_object[] = {
    {"object-list", 0, object_list},       {"object-through", 1, object_through},
    {"object-serve", 1, object_serve},     {"object-stay", 2, object_stay},
    {"object-receive", 0, object_receive}, {0},
};
