/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The server side of a control socket, driven by an fd_watch. Clients that connected through the
 * socket must send the key first; clients that were admitted directly need none. One message gets
 * one answer.
 */

#include "agent/control-server.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/own.h"
#include "net/session-link.h"
#include "system/descriptors.h"

/* ---- answers ---- */

void control_server_refuse(struct buf *answer, const char *why)
{
    buf_str(answer, "{\"ok\": false, \"error\": ");
    buf_json(answer, why, strlen(why));
    buf_chr(answer, '}');
}

void control_server_answer(struct buf *answer, json_t *what)
{
    OWN(json) json_t *object = what;
    OWN(mem) char *text = object ? json_dumps(object, JSON_COMPACT) : NULL;
    if (text)
        buf_str(answer, text);
    else
        control_server_refuse(answer, "out of memory");
}

static void drop_client(struct control_server *d, int client)
{
    fd_watch_drop(d->fds, client);
    d->nclients--;
    if (d->left)
        d->left(d->arg, client);
    close(client);
}

/* Never blocks: a client that doesn't read its answer is disconnected. */
static void on_client_message(void *arg, int client)
{
    static char
        message[CONTROL_MESSAGE]; /* static because it is large; there is one thread per server */
    struct control_server *d = arg;
    OWN(buf) struct buf answer = {0};
    ssize_t n = fd_packet_receive(client, message, sizeof(message), &d->passed, true);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    bool fine = n > 0 && (size_t)n <= sizeof(message);
    if (fine) {
        OWN(json) json_t *m = json_loadb(message, (size_t)n, JSON_REJECT_DUPLICATES, NULL);
        d->fn(d->arg, client, m, &answer);
    }
    if (d->passed >= 0)
        close(steal_fd(&d->passed));
    fine &= buf_ok(&answer) && answer.n <= CONTROL_MESSAGE;
    if (fine && answer.n)
        fine = fd_packet_send(client, answer.s, answer.n, -1, true) == (ssize_t)answer.n;
    if (!fine)
        drop_client(d, client);
}

static int add_client(struct control_server *d, int sock, void (*fn)(void *arg, int fd),
                      struct bk_err *err)
{
    OWN(fd) int client = sock;
    if (d->nclients == CONTROL_CLIENTS)
        return err_set(err, BK_E_LIMIT, "too many clients (the limit is %d)", CONTROL_CLIENTS);
    if (fd_watch_add(d->fds, client, fn, d, err) < 0)
        return -1;
    d->nclients++;
    (void)steal_fd(&client);
    return 0;
}

int control_server_admit(struct control_server *d, int sock, struct bk_err *err)
{
    return add_client(d, sock, on_client_message, err);
}

/* The first message must be the key. */
static void on_client_key(void *arg, int client)
{
    char shown[128];
    struct control_server *d = arg;
    struct bk_err err;
    ssize_t n = fd_packet_receive(client, shown, sizeof(shown), NULL, true);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    bool fits =
        n > 0 && (size_t)n <= sizeof(shown) && control_socket_key_fits(d->key, shown, (size_t)n);
    bytes_wipe(shown, sizeof(shown));
    fd_watch_drop(d->fds, client);
    if (!fits || fd_watch_add(d->fds, client, on_client_message, d, &err) < 0)
        drop_client(d, client);
}

static void on_control_socket(void *arg, int listener)
{
    struct control_server *d = arg;
    struct bk_err err;
    pid_t pid;
    if (d->coming)
        d->coming(d->arg);
    int client = control_socket_accept(listener, &pid);
    if (client >= 0 && add_client(d, client, on_client_key, &err) == 0 && d->came)
        d->came(d->arg, client, pid);
}

/* The connection itself tells the client that the owner exists. */
static void on_claim_connection(void *arg, int claim)
{
    (void)arg;
    int asker = fd_packet_accept(claim, FD_BLOCK);
    if (asker >= 0)
        (void)close(asker);
}

/* ---- open and close ---- */

int control_server_open(struct control_server *d, const char *kind, pid_t for_whom,
                        struct bk_err *err)
{
    d->nclients = 0;
    d->listener = control_socket_open(kind, &d->key, err);
    d->claim = d->listener >= 0 && for_whom ? control_socket_claim(kind, for_whom, err) : -1;
    if (d->listener >= 0 && (!for_whom || d->claim >= 0) &&
        fd_watch_add(d->fds, d->listener, on_control_socket, d, err) == 0 &&
        (d->claim < 0 || fd_watch_add(d->fds, d->claim, on_claim_connection, d, err) == 0))
        return 0;
    control_server_close(d);
    return -1;
}

static void close_control_socket(struct control_server *d, int *listener)
{
    if (*listener < 0)
        return;
    fd_watch_drop(d->fds, *listener);
    close(steal_fd(listener));
}

void control_server_close(struct control_server *d)
{
    const struct fd_watch *h = d->fds;
    for (size_t i = 0; i < h->n; i++)
        if (h->at[i].fd >= 0 && h->at[i].arg == d &&
            (h->at[i].fn == on_client_message || h->at[i].fn == on_client_key))
            drop_client(d, h->at[i].fd);
    close_control_socket(d, &d->listener);
    close_control_socket(d, &d->key);
    close_control_socket(d, &d->claim);
}

/* ---- the client ---- */

static int exchange(int sock, const char *message, size_t n, int passed, int patience_ms,
                    struct buf *answer, struct bk_err *err)
{
    static char got[CONTROL_MESSAGE];
    struct pollfd wait = {sock, POLLIN, 0};
    if (n > CONTROL_MESSAGE)
        return err_set(err, BK_E_LIMIT, "the message is too long");
    bool sent = fd_packet_send(sock, message, n, passed, false) >= 0;
    if (!sent && errno != EPIPE && errno != ECONNRESET)
        return err_sys(err, "cannot send the request");
    if (sent && poll(&wait, 1, patience_ms) <= 0)
        return err_set(err, BK_E_SYSTEM, "no answer in time");
    ssize_t len = sent ? fd_packet_receive(sock, got, sizeof(got), NULL, false) : 0;
    if (len <= 0 || len > (ssize_t)sizeof(got))
        return err_set(
            err, BK_E_INPUT,
            "the connection was closed: the run has ended, or this process is inside a sandbox");
    buf_add(answer, got, (size_t)len);
    return buf_ok(answer) ? 0 : err_nomem(err);
}

json_t *control_server_ask(int sock, const json_t *message, int patience_ms, struct bk_err *err)
{
    return control_server_ask_with(sock, message, -1, patience_ms, err);
}

json_t *control_server_ask_with(int sock, const json_t *message, int passed, int patience_ms,
                                struct bk_err *err)
{
    OWN(buf) struct buf got = {0};
    OWN(mem) char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
    if (!text)
        return err_nomem(err), NULL;
    if (exchange(sock, text, strlen(text), passed, patience_ms, &got, err) < 0)
        return NULL;
    OWN(json) json_t *answer = json_loadb(got.s, got.n, 0, NULL);
    if (!json_is_true(json_object_get(answer, "ok"))) {
        const char *why = json_text(answer, "error");
        return err_set(err, BK_E_INPUT, "%s", why ? why : "the answer is invalid"), NULL;
    }
    return json_incref(answer);
}
