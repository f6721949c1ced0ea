/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The least that a client of floor-session.c can do. Linked statically and without the C library's
 * start, which costs more than the rest.
 *
 *     bench-floor-client NAME
 */

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { STREAMS = 3 };

/* The library's strlen() and memcpy() are chosen at its start, which does not happen here. */
static size_t length(const char *s)
{
    size_t n = 0;
    while (((const volatile char *)s)[n])
        n++;
    return n;
}

static void leave(int status)
{
    for (;;)
        syscall(SYS_exit_group, status);
}

static void send_streams(int to)
{
    char byte = 0;
    union {
        struct cmsghdr head;
        struct {
            struct cmsghdr head;
            int fds[STREAMS];
        } filled;
        char bytes[CMSG_SPACE(STREAMS * sizeof(int))];
    } c = {.filled = {.head = {.cmsg_len = CMSG_LEN(STREAMS * sizeof(int)),
                               .cmsg_level = SOL_SOCKET,
                               .cmsg_type = SCM_RIGHTS},
                      .fds = {0, 1, 2}}};
    struct iovec v = {&byte, 1};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof(c)};
    if (syscall(SYS_sendmsg, to, &m, 0) != 1)
        leave(2);
}

static void __attribute__((used)) run(const long *stack)
{
    const char *name = (const char *)stack[2]; /* argv[1] */
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int status = 0;
    size_t n = stack[0] == 2 ? length(name) : 0;
    if (!n || n > sizeof(to.sun_path) - 2)
        leave(2);
    for (size_t i = 0; i < n; i++)
        ((volatile char *)to.sun_path)[1 + i] = name[i];
    long fd = syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET, 0);
    if (syscall(SYS_connect, fd, &to, offsetof(struct sockaddr_un, sun_path) + 1 + n) != 0)
        leave(2);
    send_streams((int)fd);
    if (syscall(SYS_read, fd, &status, sizeof(status)) != sizeof(status))
        leave(2);
    leave(status >> 8 & 255);
}

/* The stack holds the number of arguments, and then the arguments. */
__asm__(".globl _start\n"
        "_start:\n"
#if defined(__x86_64__)
        "    xor %ebp, %ebp\n"
        "    mov %rsp, %rdi\n"
        "    and $-16, %rsp\n"
        "    call run\n"
#elif defined(__aarch64__)
        "    mov x29, #0\n"
        "    mov x0, sp\n"
        "    bl run\n"
#endif
);
