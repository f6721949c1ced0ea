/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Runs and a server for `buckle self-test`. A run is over when its output has ended: what still
 * holds the other end of the pipe is a process that outlived the command.
 */

#include "cli/run/self-test.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "system/descriptors.h"

void test_run_free(struct test_run *r)
{
    buf_free(&r->out);
    buf_free(&r->err);
}

/* ---- runs ---- */

static void __attribute__((noreturn))
become(const char *const *argv, const char *home, const char *work, int out, int err)
{
    int null = open("/dev/null", O_RDONLY);
    setpgid(0, 0); /* so that all of it can be ended */
    setenv("HOME", home, 1);
    if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0 || chdir(work) < 0)
        _exit(125);
    execv(argv[0], (char *const *)argv);
    _exit(125);
}

/* Appends what can be read; returns false at the end. */
static bool take(int fd, struct buf *out)
{
    enum { MOST = 1 << 16 };
    char bytes[4096];
    ssize_t n = read(fd, bytes, sizeof(bytes));
    if (n > 0 && out->n < MOST)
        buf_add(out, bytes, (size_t)n);
    return n > 0 || (n < 0 && errno == EINTR);
}

/* Reads both until they end. Returns false if that takes too long. */
static bool take_all(int out, int err, struct test_run *r)
{
    struct pollfd fds[] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
    uint64_t end = now_ms() + TEST_RUN_MS;
    while (fds[0].fd >= 0 || fds[1].fd >= 0) {
        uint64_t now = now_ms();
        if (now >= end)
            return false;
        if (poll(fds, 2, (int)(end - now)) < 0)
            continue;
        if (fds[0].revents && !take(out, &r->out))
            fds[0].fd = -1;
        if (fds[1].revents && !take(err, &r->err))
            fds[1].fd = -1;
    }
    return true;
}

void test_run(const char *const *argv, const char *home, const char *work, struct test_run *r)
{
    int out[2], err[2], status = 0;
    r->status = 125;
    if (fd_pipe(out) < 0)
        return;
    OWN(fd) int out_read = out[0];
    OWN(fd) int out_write = out[1];
    if (fd_pipe(err) < 0)
        return;
    OWN(fd) int err_read = err[0];
    OWN(fd) int err_write = err[1];
    pid_t pid = fork();
    if (pid == 0)
        become(argv, home, work, out_write, err_write);
    close(steal_fd(&out_write));
    close(steal_fd(&err_write));
    if (pid < 0)
        return;
    r->late = !take_all(out_read, err_read, r);
    if (r->late)
        kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    r->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* ---- the server ---- */

/* Answers one client: "CONNECT name:port …" gets a greeting. */
static void greet(int client)
{
    char request[2048], name[256] = "", answer[512];
    size_t n = 0;
    ssize_t got;
    while (n < sizeof(request) - 1 &&
           (got = read(client, request + n, sizeof(request) - 1 - n)) > 0) {
        n += (size_t)got;
        request[n] = '\0';
        if (strstr(request, "\r\n\r\n"))
            break;
    }
    request[n] = '\0';
    if (sscanf(request, "CONNECT %255[^: \r\n]", name) != 1)
        return;
    int len =
        snprintf(answer, sizeof(answer), "HTTP/1.1 200 OK\r\n\r\n" SELF_TEST_HELLO "%s\n", name);
    (void)!write(client, answer, (size_t)len);
}

static void __attribute__((noreturn)) serve(int listener)
{
    const struct timeval patience = {.tv_sec = 2};
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        OWN(fd) int client = accept(listener, NULL, NULL);
        if (client < 0)
            continue;
        setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
        greet(client);
    }
}

int test_server_start(struct test_server *s, struct bk_err *err)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(a);
    OWN(fd) int listener = fd_socket(AF_INET, SOCK_STREAM, FD_BLOCK);
    if (listener < 0 || bind(listener, (struct sockaddr *)&a, sizeof(a)) < 0 ||
        listen(listener, 8) < 0 || getsockname(listener, (struct sockaddr *)&a, &n) < 0)
        return err_sys(err, "cannot start a server on this machine's loopback");
    *s = (struct test_server){.pid = fork(), .port = ntohs(a.sin_port)};
    if (s->pid == 0)
        serve(listener);
    return s->pid < 0 ? err_sys(err, "cannot start a server") : 0;
}

/* A process that was killed may take a moment to end, but answers nobody any more. */
bool test_server_answers(const struct test_server *s)
{
    static const char request[] = "CONNECT this:1 HTTP/1.1\r\n\r\n";
    const struct timeval patience = {.tv_sec = TEST_RUN_MS / 1000};
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)s->port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    char first;
    OWN(fd) int fd = fd_socket(AF_INET, SOCK_STREAM, FD_BLOCK);
    return fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
           connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0 &&
           send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) == sizeof(request) - 1 &&
           read(fd, &first, 1) == 1;
}

void test_server_stop(struct test_server *s)
{
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
}

/* ---- mounts ---- */

void test_mounts(struct buf *out)
{
    OWN(fd) int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    char bytes[4096];
    for (ssize_t n; fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0;)
        buf_add(out, bytes, (size_t)n);
}
