/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The minimum cost of a command that a session starts for a client: the kernel's work and nothing
 * else. No sandbox, no policy, no check of anybody.
 *
 *     bench-floor-session NAME COMMAND…
 *
 * A process waits in advance for standard streams and executes COMMAND with them. The client
 * (floor-client.c) connects to the abstract socket NAME, sends its streams, and gets the status.
 */

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STREAMS = 3 };

static void __attribute__((noreturn)) give_up(const char *what)
{
    fprintf(stderr, "bench-floor-session: %s: %s\n", what, strerror(errno));
    exit(2);
}

union control {
    struct cmsghdr head;
    char bytes[CMSG_SPACE(STREAMS * sizeof(int))];
};

static ssize_t pass(int with, int fds[STREAMS], int send)
{
    char byte = 0;
    union control c = {.head = {.cmsg_len = CMSG_LEN(STREAMS * sizeof(int)),
                                .cmsg_level = SOL_SOCKET,
                                .cmsg_type = SCM_RIGHTS}};
    struct iovec v = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)};
    if (send)
        memcpy(CMSG_DATA(&c.head), fds, STREAMS * sizeof(int));
    ssize_t n = send ? sendmsg(with, &m, 0) : recvmsg(with, &m, MSG_CMSG_CLOEXEC);
    if (n == 1 && !send)
        memcpy(fds, CMSG_DATA(&c.head), STREAMS * sizeof(int));
    return n;
}

struct waiting {
    pid_t pid;
    int to;
};

static struct waiting make_waiting(char **argv)
{
    int ends[2], fds[STREAMS];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        give_up("socketpair");
    struct waiting w = {.pid = fork(), .to = ends[0]};
    if (w.pid)
        return close(ends[1]), w;
    close(ends[0]);
    if (pass(ends[1], fds, 0) != 1)
        _exit(0);
    for (int i = 0; i < STREAMS; i++)
        dup2(fds[i], i);
    execv(argv[0], argv);
    _exit(127);
}

int main(int argc, char **argv)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int from = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (argc < 3 || strlen(argv[1]) > sizeof(name.sun_path) - 2)
        return 2;
    size_t n = strlen(argv[1]);
    memcpy(name.sun_path + 1, argv[1], n);
    if (bind(from, (void *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) <
            0 ||
        listen(from, 8) < 0)
        give_up("listen");
    for (struct waiting w = make_waiting(argv + 2);; w = make_waiting(argv + 2)) {
        int fds[STREAMS], status = 0, client = accept4(from, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0 || pass(client, fds, 0) != 1 || pass(w.to, fds, 1) != 1)
            give_up("accept");
        for (int i = 0; i < STREAMS; i++)
            close(fds[i]);
        waitpid(w.pid, &status, 0);
        if (send(client, &status, sizeof(status), 0) < 0)
            give_up("send");
        close(client);
        close(w.to);
        usleep(3000); /* as Buckle does: the client ends first */
    }
}
