/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * An order is one packet: a head, the words one after another, each with its NUL, and descriptors.
 * The receiver shares the judge's memory, which has room for one order; the judge sleeps meanwhile.
 */

#include "kernel/launch/held.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/host/kabi.h"
#include "kernel/shared/fd-pass.h"
#include "kernel/shared/setup.h"

enum { BYTES = 120 << 10, WORDS = 8192, ABOVE = 10 };

struct head {
    uint32_t argc, nenv, starts, nfds;
    int32_t as[LAUNCH_ORDER_FDS];
};

union packet {
    struct head head;
    char bytes[BYTES];
};

/* ---- the controller ---- */

static bool put_word(union packet *p, size_t *n, const char *word)
{
    size_t len = strlen(word) + 1;
    if (len > sizeof(p->bytes) - *n)
        return false;
    memcpy(p->bytes + *n, word, len);
    *n += len;
    return true;
}

static bool put_words(union packet *p, size_t *n, char *const *words, uint32_t *count)
{
    for (*count = 0; words && words[*count]; ++*count)
        if (*count == WORDS / 2 || !put_word(p, n, words[*count]))
            return false;
    return true;
}

int held_send(int sock, const struct launch_order *order)
{
    static union packet p; /* large */
    size_t n = sizeof(p.head);
    p.head = (struct head){.starts = order->start != NULL, .nfds = (uint32_t)order->nfds};
    if (order->nfds > LAUNCH_ORDER_FDS || !order->argv[0])
        return -EINVAL;
    for (size_t i = 0; i < order->nfds; i++)
        p.head.as[i] = order->as[i];
    if ((order->start && !put_word(&p, &n, order->start)) ||
        !put_words(&p, &n, order->argv, &p.head.argc) ||
        !put_words(&p, &n, order->env, &p.head.nenv))
        return -E2BIG;
    return fd_pass_send_many(sock, &p, n, order->fds, order->nfds);
}

bool held_mounts_changed(int fd)
{
    struct pollfd p = {fd, POLLPRI, 0};
    return fd < 0 || poll(&p, 1, 0) != 0;
}

int held_mounts_open(pid_t init)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)init);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        held_mounts_changed(fd); /* from now on */
    return fd < 0 ? -errno : fd;
}

/* ---- the command ---- */

/* One launch at a time in a process. */
static struct {
    union packet packet;
    char *argv[WORDS], *env[WORDS];
    size_t n, at;
} taken;

static char *next_word(void)
{
    char *word = taken.packet.bytes + taken.at;
    const char *end = taken.at < taken.n ? memchr(word, '\0', taken.n - taken.at) : NULL;
    if (!end)
        return NULL;
    taken.at += (size_t)(end - word) + 1;
    return word;
}

static size_t name_length(const char *variable)
{
    return strcspn(variable, "=");
}

static bool is_same_variable(const char *a, const char *b)
{
    size_t n = name_length(a);
    return n == name_length(b) && memcmp(a, b, n) == 0;
}

/* The variables that the launch made, with those of the order in their place. */
static int take_env(char *const *made, uint32_t count)
{
    size_t n = 0;
    for (; made[n]; n++) {
        if (n == WORDS / 2)
            return -E2BIG;
        taken.env[n] = made[n];
    }
    for (uint32_t i = 0; i < count; i++) {
        char *word = next_word();
        if (!word)
            return -EBADMSG;
        for (size_t k = 0; k < n; k++)
            if (is_same_variable(taken.env[k], word))
                taken.env[k--] = taken.env[--n];
        if (word[name_length(word)])
            taken.env[n++] = word;
    }
    taken.env[n] = NULL;
    return 0;
}

static int take_argv(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!(taken.argv[i] = next_word()))
            return -EBADMSG;
    taken.argv[count] = NULL;
    return count ? 0 : -EBADMSG;
}

static bool is_target(int fd, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (taken.packet.head.as[i] == fd)
            return true;
    return false;
}

/* Those that came may have each other's numbers. */
static int place(int *fds, size_t n)
{
    const struct head *h = &taken.packet.head;
    for (size_t i = 0; i < n; i++)
        if (is_target(fds[i], n) && (fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, ABOVE)) < 0)
            return -errno;
    for (size_t i = 0; i < n; i++)
        if (h->as[i] < 0 || h->as[i] >= ABOVE || dup2(fds[i], h->as[i]) < 0)
            return -EBADF;
    return 0;
}

/* The judge sleeps, and could not answer a report. */
static long go_to(const char *folder)
{
    return syscall(SYS_chdir, folder, 0, 0, 0, 0, (uint64_t)KABI_CHDIR_UNREPORTED << 32);
}

int held_wait(const struct setup *s, char *const **argv, char *const **env, enum launch_step *step)
{
    const struct head *h = &taken.packet.head;
    struct status_msg m = {STATUS_HELD, 0, 0};
    int fds[LAUNCH_ORDER_FDS];
    size_t nfds;
    *step = STEP_HOLD;
    if (write(s->status, &m, sizeof(m)) != sizeof(m))
        return -errno;
    ssize_t n = fd_pass_receive_many(s->hold[0], &taken.packet, sizeof(taken.packet), fds,
                                     LAUNCH_ORDER_FDS, &nfds);
    if (n < (ssize_t)sizeof(*h) || h->nfds != nfds || h->argc > WORDS / 2 || h->nenv > WORDS / 2)
        return n < 0 ? (int)n : -EBADMSG;
    taken.n = (size_t)n;
    taken.at = sizeof(*h);
    const char *start = h->starts ? next_word() : "";
    int err = start ? take_argv(h->argc) : -EBADMSG;
    if (err == 0)
        err = take_env(s->env, h->nenv);
    if (err == 0)
        err = place(fds, nfds);
    if (err == 0 && start[0] && go_to(start) < 0) {
        *step = STEP_CWD;
        return -errno;
    }
    *argv = taken.argv;
    *env = taken.env;
    return err;
}
