/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "agent/control-server.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/own.h"

/* ---- answering ---- */

void control_server_refuse(struct buf *answer, const char *why)
{
    buf_str(answer, "{\"ok\": false, \"error\": ");
    buf_json(answer, why, strlen(why));
    buf_chr(answer, '}');
}

void control_server_answer(struct buf *answer, json_t *what)
{
    OWN(json) json_t *said = what;
    OWN(mem) char *text = said ? json_dumps(said, JSON_COMPACT) : NULL;
    if (text)
        buf_str(answer, text);
    else
        control_server_refuse(answer, "out of memory");
}

static void show_out(struct control_server *d, int guest)
{
    fd_watch_drop(d->hearing, guest);
    d->nguests--;
    if (d->left)
        d->left(d->arg, guest);
    close(guest);
}

/* Nobody is waited for: a guest who does not take his answer at once has to leave. */
static void hear_guest(void *arg, int guest)
{
    static char message[DOOR_MESSAGE]; /* large, and there is one thread to a desk */
    struct control_server *d = arg;
    OWN(buf) struct buf answer = {0};
    ssize_t n = recv(guest, message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    bool fine = n > 0 && (size_t)n <= sizeof(message);
    if (fine) {
        OWN(json) json_t *m = json_loadb(message, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
        d->fn(d->arg, guest, m, &answer);
    }
    fine &= buf_ok(&answer) && answer.n <= DOOR_MESSAGE;
    if (fine && answer.n)
        fine = send(guest, answer.s, answer.n, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)answer.n;
    if (!fine)
        show_out(d, guest);
}

static int admit(struct control_server *d, int sock, void (*hear)(void *arg, int fd),
                 struct bk_err *err)
{
    OWN(fd) int guest = sock;
    if (d->nguests == DESK_GUESTS)
        return err_set(err, BK_E_LIMIT, "more than %d at once", DESK_GUESTS);
    if (fd_watch_add(d->hearing, guest, hear, d, err) < 0)
        return -1;
    d->nguests++;
    (void)steal_fd(&guest);
    return 0;
}

int control_server_admit(struct control_server *d, int sock, struct bk_err *err)
{
    return admit(d, sock, hear_guest, err);
}

/* Before anything else he shows the key. */
static void hear_stranger(void *arg, int guest)
{
    char shown[128];
    struct control_server *d = arg;
    struct bk_err err;
    ssize_t n = recv(guest, shown, sizeof(shown), MSG_DONTWAIT | MSG_TRUNC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    bool fits =
        n > 0 && (size_t)n <= sizeof(shown) && control_socket_key_fits(d->key, shown, (size_t)n);
    explicit_bzero(shown, sizeof(shown));
    fd_watch_drop(d->hearing, guest);
    if (!fits || fd_watch_add(d->hearing, guest, hear_guest, d, &err) < 0)
        show_out(d, guest);
}

static void on_control_socket(void *arg, int door)
{
    struct bk_err err;
    int guest = control_socket_answer(door);
    if (guest >= 0)
        (void)admit(arg, guest, hear_stranger, &err);
}

/* Who comes here only wants to know who is there. */
static void hear_claim(void *arg, int claim)
{
    (void)arg;
    int asker = accept4(claim, NULL, NULL, SOCK_CLOEXEC);
    if (asker >= 0)
        (void)close(asker);
}

/* ---- beginning and end ---- */

int control_server_open(struct control_server *d, const char *kind, pid_t for_whom,
                        struct bk_err *err)
{
    d->nguests = 0;
    d->door = control_socket_open(kind, &d->key, err);
    d->claim = d->door >= 0 && for_whom ? control_socket_claim(kind, for_whom, err) : -1;
    if (d->door >= 0 && (!for_whom || d->claim >= 0) &&
        fd_watch_add(d->hearing, d->door, on_control_socket, d, err) == 0 &&
        (d->claim < 0 || fd_watch_add(d->hearing, d->claim, hear_claim, d, err) == 0))
        return 0;
    control_server_close(d);
    return -1;
}

static void close_control_socket(struct control_server *d, int *door)
{
    if (*door < 0)
        return;
    fd_watch_drop(d->hearing, *door);
    close(steal_fd(door));
}

void control_server_close(struct control_server *d)
{
    const struct fd_watch *h = d->hearing;
    for (size_t i = 0; i < h->n; i++)
        if (h->at[i].fd >= 0 && h->at[i].arg == d &&
            (h->at[i].fn == hear_guest || h->at[i].fn == hear_stranger))
            show_out(d, h->at[i].fd);
    close_control_socket(d, &d->door);
    close_control_socket(d, &d->key);
    close_control_socket(d, &d->claim);
}

/* ---- the other side ---- */

static int exchange(int sock, const char *message, size_t n, int patience_ms, struct buf *answer,
                    struct bk_err *err)
{
    static char got[DOOR_MESSAGE];
    struct pollfd wait = {sock, POLLIN, 0};
    if (n > DOOR_MESSAGE)
        return err_set(err, BK_E_LIMIT, "too long a message");
    bool sent = send(sock, message, n, MSG_NOSIGNAL) >= 0;
    if (!sent && errno != EPIPE && errno != ECONNRESET)
        return err_sys(err, "cannot ask");
    if (sent && poll(&wait, 1, patience_ms) <= 0)
        return err_set(err, BK_E_SYSTEM, "there is no answer");
    ssize_t len = sent ? recv(sock, got, sizeof(got), 0) : 0;
    if (len <= 0)
        return err_set(err, BK_E_INPUT,
                       "the door is shut: the run has ended, or this is inside a sandbox");
    buf_add(answer, got, (size_t)len);
    return buf_ok(answer) ? 0 : err_nomem(err);
}

json_t *control_server_ask(int sock, const json_t *message, int patience_ms, struct bk_err *err)
{
    OWN(buf) struct buf got = {0};
    OWN(mem) char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    if (!text)
        return err_nomem(err), NULL;
    if (exchange(sock, text, strlen(text), patience_ms, &got, err) < 0)
        return NULL;
    OWN(json) json_t *answer = json_loadb(got.s, got.n, 0, NULL);
    if (!json_is_true(json_object_get(answer, "ok"))) {
        const char *why = json_text(answer, "error");
        return err_set(err, BK_E_INPUT, "%s", why ? why : "an answer that means nothing"), NULL;
    }
    return json_incref(answer);
}
