/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "agent/desk.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"

static void show_out(struct desk *d, int fd)
{
    for (size_t i = 0; i < DESK_GUESTS; i++)
        if (d->guests[i] == fd)
            d->guests[i] = -1;
    hear_drop(d->hearing, fd);
    close(fd);
}

/* Nobody is waited for: a guest who does not take his answer at once has to leave. */
static void hear_guest(void *arg, int fd)
{
    static char message[DOOR_MESSAGE]; /* large, and there is one thread to a desk */
    struct desk *d = arg;
    OWN(buf) struct buf answer = {0};
    ssize_t n = recv(fd, message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    bool fine = n > 0 && (size_t)n <= sizeof(message);
    if (fine)
        d->fn(d->arg, message, (size_t)n, &answer);
    fine &= buf_ok(&answer) && answer.n <= DOOR_MESSAGE;
    if (fine && answer.n)
        fine = send(fd, answer.s, answer.n, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)answer.n;
    if (!fine)
        show_out(d, fd);
}

static void hear_door(void *arg, int fd)
{
    struct desk *d = arg;
    struct bk_err err;
    int guest = door_answer(fd);
    for (size_t i = 0; i < DESK_GUESTS && guest >= 0; i++)
        if (d->guests[i] < 0 && hear_add(d->hearing, guest, hear_guest, d, &err) == 0) {
            d->guests[i] = guest;
            return;
        }
    if (guest >= 0)
        close(guest);
}

int desk_open(struct desk *d, const char *kind, pid_t for_whom, struct hearing *h, desk_fn *fn,
              void *arg, struct bk_err *err)
{
    *d = (struct desk){.hearing = h, .fn = fn, .arg = arg};
    memset(d->guests, 0xff, sizeof(d->guests)); /* -1 */
    d->door = for_whom ? door_open_for(kind, for_whom, err) : door_open(kind, err);
    if (d->door < 0)
        return -1;
    return hear_add(h, d->door, hear_door, d, err);
}

void desk_close(struct desk *d)
{
    for (size_t i = 0; i < DESK_GUESTS; i++)
        if (d->guests[i] >= 0)
            show_out(d, d->guests[i]);
    if (d->door >= 0) {
        hear_drop(d->hearing, d->door);
        close(d->door);
    }
    d->door = -1;
}

int desk_ask(int sock, const char *message, size_t n, struct buf *answer, struct bk_err *err)
{
    enum { PATIENCE_MS = 5000 };
    static char got[DOOR_MESSAGE];
    struct pollfd wait = {sock, POLLIN, 0};
    if (n > DOOR_MESSAGE)
        return err_set(err, BK_E_LIMIT, "too long a message");
    if (send(sock, message, n, MSG_NOSIGNAL) < 0)
        return err_sys(err, "cannot ask");
    if (poll(&wait, 1, PATIENCE_MS) <= 0)
        return err_set(err, BK_E_SYSTEM, "there is no answer");
    ssize_t len = recv(sock, got, sizeof(got), 0);
    if (len <= 0)
        return err_set(err, BK_E_INPUT,
                       "the door is shut: the run has ended, or this is inside a sandbox");
    buf_add(answer, got, (size_t)len);
    return buf_ok(answer) ? 0 : err_nomem(err);
}
