/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * systemd's protocol is spoken directly: datagrams to $NOTIFY_SOCKET, and descriptors from 3 on
 * with their names in $LISTEN_FDNAMES at the start. A set is several descriptors of one name;
 * systemd does not keep their order, so what each is has to be seen from the descriptor.
 */

#include "node/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/shared/fd-pass.h"
#include "node/holder.h"

static struct kept *set_named(struct keep *k, const char *name, size_t n)
{
    for (size_t i = 0; i < k->nsets; i++)
        if (strlen(k->sets[i].name) == n && memcmp(k->sets[i].name, name, n) == 0)
            return &k->sets[i];
    struct kept *more = n < KEEP_NAME ? reallocarray(k->sets, k->nsets + 1, sizeof(*more)) : NULL;
    if (!more)
        return NULL;
    k->sets = more;
    struct kept *s = &k->sets[k->nsets++];
    *s = (struct kept){0};
    memcpy(s->name, name, n);
    return s;
}

static void take(struct keep *k, const char *name, size_t n, int fd)
{
    struct kept *s = set_named(k, name, n);
    if (s && s->n < KEEP_FDS)
        s->fds[s->n++] = fd;
    else
        close(fd);
}

void keep_close_rest(struct keep *k)
{
    for (size_t i = 0; i < k->nsets; i++)
        for (size_t f = 0; f < k->sets[i].n; f++)
            if (k->sets[i].fds[f] >= 0)
                close(k->sets[i].fds[f]);
    free(k->sets);
    k->sets = NULL;
    k->nsets = 0;
}

/* ---- systemd ---- */

static int open_notify(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    const char *name = getenv("NOTIFY_SOCKET");
    size_t n = name ? strlen(name) : 0;
    if (n < 2 || n >= sizeof(at.sun_path) || (name[0] != '/' && name[0] != '@'))
        return -1;
    memcpy(at.sun_path, name, n);
    if (name[0] == '@')
        at.sun_path[0] = '\0';
    OWN(fd) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    return fd >= 0 && connect(fd, (const struct sockaddr *)&at, len) == 0 ? steal_fd(&fd) : -1;
}

void keep_notify(const char *words)
{
    OWN(fd) int fd = open_notify();
    if (fd >= 0)
        fd_pass_send(fd, words, strlen(words), -1);
}

/* Descriptors that systemd passed to this very process. */
static void take_passed(struct keep *k)
{
    const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
    const char *names = getenv("LISTEN_FDNAMES");
    long n = count ? strtol(count, NULL, 10) : 0;
    if (!pid || strtol(pid, NULL, 10) != getpid() || n < 1 || n > 1 << 20)
        return;
    for (int fd = 3; fd < 3 + n; fd++) {
        size_t len = names ? strcspn(names, ":") : 0;
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0)
            take(k, names ? names : "", len, fd);
        names = names && names[len] ? names + len + 1 : NULL;
    }
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
}

/* ---- the holder ---- */

/* Returns 0, 1 if another agent uses the holder, or -1. */
static int take_held(struct keep *k, int from)
{
    for (;;) {
        struct hold_message m;
        int fds[KEEP_FDS];
        size_t n;
        ssize_t got = fd_pass_receive_many(from, &m, sizeof(m), fds, KEEP_FDS, &n);
        bool whole = got == (ssize_t)sizeof(m) && memchr(m.name, '\0', sizeof(m.name));
        for (size_t i = 0; i < n; i++)
            if (whole && m.op == HOLD_KEEP)
                take(k, m.name, strlen(m.name), fds[i]);
            else
                close(fds[i]);
        if (!whole)
            return -1;
        if (m.op != HOLD_KEEP)
            return m.op == HOLD_END ? 0 : 1;
    }
}

/* The holder may not have noticed yet that the agent before us has ended. */
static int open_holder(struct keep *k, const char *socket, unsigned wait, struct bk_err *err)
{
    static const struct timespec pause = {0, 50000000};
    for (int i = 0; i < 100; i++) {
        OWN(fd) int fd = holder_connect(socket, wait, err);
        if (fd < 0)
            return -1;
        if (take_held(k, fd) == 0) {
            k->sock = steal_fd(&fd);
            return 0;
        }
        keep_close_rest(k);
        nanosleep(&pause, NULL);
    }
    return err_set(err, BK_E_INPUT, "another agent serves %s", socket);
}

int keep_open(struct keep *k, enum keep_where where, const char *socket, unsigned wait,
              struct bk_err *err)
{
    *k = (struct keep){.sock = -1};
    take_passed(k);
    if (where == KEEP_NOWHERE)
        return 0;
    const char *room = getenv("FDSTORE"); /* since systemd 254 */
    bool may = where == KEEP_SYSTEMD || !room || strcmp(room, "0") != 0;
    k->sock = where != KEEP_HOLDER && may ? open_notify() : -1;
    k->systemd = k->sock >= 0;
    if (k->systemd)
        return 0;
    if (where == KEEP_SYSTEMD)
        return err_set(err, BK_E_INPUT, "systemd did not start this: there is no $NOTIFY_SOCKET");
    return open_holder(k, socket, wait, err);
}

/* ---- keeping ---- */

void keep_store(const struct keep *k, const char *name, const int *fds, size_t n)
{
    struct hold_message m = {.op = HOLD_KEEP};
    char words[128];
    snprintf(m.name, sizeof(m.name), "%s", name);
    /* FDPOLL=0: a socket whose other end is closed may still have events in it */
    int len = snprintf(words, sizeof(words), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
    if (k->sock >= 0 && k->systemd)
        fd_pass_send_many(k->sock, words, (size_t)len, fds, n);
    else if (k->sock >= 0)
        fd_pass_send_many(k->sock, &m, sizeof(m), fds, n);
}

void keep_drop(const struct keep *k, const char *name)
{
    struct hold_message m = {.op = HOLD_DROP};
    char words[128];
    snprintf(m.name, sizeof(m.name), "%s", name);
    int len = snprintf(words, sizeof(words), "FDSTOREREMOVE=1\nFDNAME=%s", name);
    if (k->sock >= 0 && k->systemd)
        fd_pass_send(k->sock, words, (size_t)len, -1);
    else if (k->sock >= 0)
        fd_pass_send(k->sock, &m, sizeof(m), -1);
}
