/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Names, keys and connections of control sockets; control-socket.h explains how they keep sandboxes
 * out. Every socket of a user is listed in /proc/net/unix by its name.
 */

#include "agent/control-socket.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/caller.h"
#include "agent/control-place.h"
#include "base/bytes.h"
#include "base/own.h"
#include "system/descriptors.h"

/* ---- keys ---- */

bool control_socket_key_fits(int key, const void *shown, size_t n)
{
    char bytes[CONTROL_KEY];
    bool fits = n == CONTROL_KEY && pread(key, bytes, CONTROL_KEY, 0) == CONTROL_KEY &&
                memcmp(bytes, shown, CONTROL_KEY) == 0;
    bytes_wipe(bytes, sizeof(bytes));
    return fits;
}

/* ---- listening ---- */

/* The socket first: a process whose socket fails has no key to leak. */
int control_socket_open(const char *kind, int *key, struct bk_err *err)
{
    OWN(fd) int listener = control_place_listen(kind, getpid(), err);
    *key = listener >= 0 ? control_place_make_key(kind, err) : -1;
    return *key >= 0 ? steal_fd(&listener) : -1;
}

static const char *claim_kind(const char *kind, char out[32])
{
    snprintf(out, 32, "%s-for", kind);
    return out;
}

int control_socket_claim(const char *kind, pid_t for_whom, struct bk_err *err)
{
    char name[32];
    return control_place_listen(claim_kind(kind, name), for_whom, err);
}

int control_socket_accept(int listener, pid_t *pid)
{
    OWN(fd) int sock = fd_packet_accept(listener, FD_NONBLOCK);
    return sock >= 0 && caller_is_user(sock, pid) ? steal_fd(&sock) : -1;
}

/* ---- connecting ---- */

int control_socket_reach(const char *kind, pid_t pid, struct bk_err *err)
{
    OWN(fd) int sock = control_place_connect(kind, pid);
    return sock >= 0 ? steal_fd(&sock)
                     : err_sys(err, "cannot reach the %s of process %d", kind, (int)pid);
}

/* Any process could bind the name, so the listener is checked like a client. *who: its process. */
static int check_server(int sock, const char *kind, pid_t pid, pid_t *who, struct bk_err *err)
{
    if (caller_is_user(sock, who))
        return 0;
    err_set(err, BK_E_INPUT, "the process that serves the %s of process %d can't be trusted", kind,
            (int)pid);
    err_hint(err,
             "process %d belongs to another user, has other namespaces or more system call "
             "filters, or is inside a sandbox",
             (int)*who);
    return -1;
}

pid_t control_socket_owner(const char *kind, pid_t for_whom)
{
    char name[32];
    pid_t who;
    struct bk_err err;
    OWN(fd) int sock = control_socket_reach(claim_kind(kind, name), for_whom, &err);
    return sock >= 0 && check_server(sock, name, for_whom, &who, &err) == 0 ? who : 0;
}

static int send_key(int sock, const char *kind, pid_t pid, struct bk_err *err)
{
    char key[CONTROL_KEY];
    if (control_place_read_key(kind, pid, key) < 0) {
        err_set(err, BK_E_INPUT, "cannot read the key of the %s of process %d", kind, (int)pid);
        err_hint(
            err,
            "only processes of the same user and group, outside of every sandbox, can read it");
        return -1;
    }
    bool sent = fd_packet_send(sock, key, sizeof(key), -1, false) == sizeof(key);
    bytes_wipe(key, sizeof(key));
    return sent ? 0 : err_set(err, BK_E_INPUT, "the %s of process %d has ended", kind, (int)pid);
}

int control_socket_enter(int sock, const char *kind, pid_t pid, struct bk_err *err)
{
    pid_t who;
    if (check_server(sock, kind, pid, &who, err) < 0)
        return -1;
    if (who != pid)
        return err_set(err, BK_E_INPUT, "process %d answers for the %s of process %d", (int)who,
                       kind, (int)pid);
    return send_key(sock, kind, pid, err);
}

int control_socket_connect(const char *kind, pid_t pid, struct bk_err *err)
{
    OWN(fd) int sock = control_socket_reach(kind, pid, err);
    return sock >= 0 && control_socket_enter(sock, kind, pid, err) == 0 ? steal_fd(&sock) : -1;
}
