/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* buckle-tls gets a socket to the gate, shared memory, and little else of the caller. */

#include "kernel/gate/tls-start.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"
#include "system/helper-program.h"
#include "net/handling.h"
#include "net/terminate.h"
#include "net/tls-turn.h"

/* ---- the process ---- */

/* Where the host's certificates are, and nothing else of the caller's environment. */
static void choose_environment(char *env[3], struct buf text[2])
{
    static const char *const names[] = {"SSL_CERT_FILE", "SSL_CERT_DIR"};
    size_t n = 0;
    for (size_t i = 0; i < 2; i++) {
        const char *value = getenv(names[i]);
        if (!value)
            continue;
        buf_fmt(&text[i], "%s=%s", names[i], value);
        if (buf_ok(&text[i]))
            env[n++] = text[i].s;
    }
    env[n] = NULL;
}

static void __attribute__((noreturn)) become(int program, int sock, int memory)
{
    char *argv[] = {(char[]){"buckle-tls"}, NULL}, *env[3];
    struct buf text[2] = {{0}};
    sigset_t none;
    choose_environment(env, text);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    /* first out of each other's way */
    int s = fcntl(sock, F_DUPFD_CLOEXEC, 10), m = fcntl(memory, F_DUPFD_CLOEXEC, 10);
    int p = fcntl(program, F_DUPFD_CLOEXEC, 10);
    if (s >= 0 && m >= 0 && p >= 0 && dup2(s, TLS_SOCKET_FD) >= 0 && dup2(m, TLS_MEMORY_FD) >= 0)
        fexecve(p, argv, env);
    _exit(127);
}

static struct tls_helper *start(int program, const char *names, const char *authority,
                                struct buf *pem)
{
    int ends[2];
    OWN(fd) int memory = memfd_create("tls", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, sizeof(struct tls_areas)) < 0)
        return NULL;
    struct tls_areas *areas =
        mmap(NULL, sizeof(*areas), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (areas == MAP_FAILED)
        return NULL;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
        munmap(areas, sizeof(*areas));
        return NULL;
    }
    pid_t pid = fork();
    if (pid == 0)
        become(program, ends[1], memory);
    close(ends[1]); /* if there is no process, the first call fails */
    return tls_helper_new(ends[0], areas, names, authority, pem);
}

/* Why there is no helper. */
static const char *explain(int err)
{
    switch (err) {
    case ENOENT:
        return "libexec/buckle/buckle-tls is not beside bin/buckle; both come with each release";
    case ENOEXEC:
        return "buckle-tls does not start here; the released one needs glibc 2.28 or newer";
    case ENOTSUP:
        return "libssl.so.3 is missing; it comes with OpenSSL 3 (Debian's package is libssl3)";
    default:
        return "there is not enough memory";
    }
}

static const struct tls_means means = {sched_getcpu, tls_turn_wait, tls_turn_wake};

struct tls_helper *tls_start(const struct graph *g, const struct handling *with, struct buf *pem,
                             const char **why)
{
    OWN(buf) struct buf names = {0};
    OWN(fd) int program = helper_program_open("buckle-tls");
    struct tls_helper *h = NULL;
    errno = program < 0 ? ENOENT : ENOMEM;
    if (program >= 0 && terminate_names(g, with, &names))
        h = start(program, names.n ? names.s : NULL, with ? with->authority : NULL, pem);
    *why = h ? NULL : explain(errno);
    if (h)
        tls_helper_use(h, &means);
    return h;
}
