/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Each client gets a connection of its own to the agent outside. Messages are judged one at a time,
 * and the agent's answer is awaited before the next: ssh works like that. So a slow agent delays
 * the other clients, which is bearable for logins.
 */

#include "tls/ssh-serve.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/own.h"
#include "tls/ssh-judge.h"
#include "tls/ssh-verify.h"

enum { CLIENTS = 32, WAIT_MS = 120000, REPORTS = 1000 };
enum { FAILURE = 5, SUCCESS = 6 };

struct link {
    int fd, agent; /* -1: none */
    struct ssh_client state;
    size_t n;
    uint8_t *data; /* of a message that is incomplete */
};

struct serving {
    struct ssh_rules rules;
    const struct ssh_hooks *hooks;
    const char *agent;
    struct link links[CLIENTS];
    unsigned reports;
    uint8_t keys[SSH_MESSAGE_MAX + 4], answer[SSH_MESSAGE_MAX + 4];
};

/* ---- rules ---- */

static bool add_host(struct ssh_rule *rule, const char *text, size_t n)
{
    uint8_t *key = malloc(n + 3);
    long size = key ? base64_decode(text, n, key) : -1;
    if (size <= 0 || rule->nhosts == SSH_HOST_KEYS)
        return false;
    rule->hosts[rule->nhosts++] = (struct ssh_bytes){key, (size_t)size};
    return true;
}

static bool add_rule(struct ssh_rules *r, char *text)
{
    char *key = strsep(&text, "\t"), *user = strsep(&text, "\t"), *hosts = text, *one;
    if (!hosts || r->n == SSH_RULES)
        return false;
    struct ssh_rule *rule = &r->at[r->n++];
    *rule = (struct ssh_rule){.key = key, .user = *user ? user : NULL};
    while ((one = strsep(&hosts, ",")))
        if (*one && !add_host(rule, one, strlen(one)))
            return false;
    return rule->nhosts > 0;
}

/* ---- the agent outside ---- */

static int connect_agent(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(to.sun_path))
        return -1;
    strcpy(to.sun_path, path);
    OWN(fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0)
        return -1;
    return steal_fd(&fd);
}

static bool send_all(int fd, const uint8_t *data, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        data += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* Sends a message with its length, and waits for the answer. Returns its length in all, or 0. */
static size_t ask_agent(const struct link *l, const uint8_t *message, size_t n, uint8_t *out)
{
    size_t have = 0;
    long whole = 0;
    if (l->agent < 0 || !send_all(l->agent, message, n))
        return 0;
    while (!(whole = ssh_message(out, have))) {
        struct pollfd p = {l->agent, POLLIN, 0};
        if (poll(&p, 1, WAIT_MS) <= 0)
            return 0;
        ssize_t got = recv(l->agent, out + have, SSH_MESSAGE_MAX + 4 - have, 0);
        if (got <= 0)
            return 0;
        have += (size_t)got;
    }
    return whole > 0 && (size_t)whole == have ? have : 0;
}

/* ---- clients ---- */

static void close_link(struct link *l)
{
    close(l->fd);
    if (l->agent >= 0)
        close(l->agent);
    ssh_client_free(&l->state);
    free(l->data);
    *l = (struct link){.fd = -1, .agent = -1};
}

static bool reply(struct link *l, uint8_t *message, size_t n)
{
    for (int i = 0; i < 4; i++)
        message[i] = (uint8_t)(n >> (24 - 8 * i));
    return send_all(l->fd, message, n + 4);
}

static bool reply_word(struct link *l, uint8_t word)
{
    uint8_t message[5] = {0, 0, 0, 0, word};
    return reply(l, message, 1);
}

static void report(struct serving *s, const struct link *l, const char *why)
{
    struct ucred client = {0};
    socklen_t n = sizeof(client);
    if (s->reports++ < REPORTS && getsockopt(l->fd, SOL_SOCKET, SO_PEERCRED, &client, &n) == 0)
        s->hooks->refused(client.pid, why);
}

static size_t list_keys(struct serving *s, const struct link *l)
{
    static const uint8_t question[5] = {0, 0, 0, 1, 11};
    return ask_agent(l, question, sizeof(question), s->keys);
}

static bool answer_list(struct serving *s, struct link *l)
{
    size_t n = list_keys(s, l);
    size_t kept =
        n ? ssh_filter_list(&s->rules, (struct ssh_bytes){s->keys + 4, n - 4}, s->answer + 4) : 0;
    return kept ? reply(l, s->answer, kept) : reply_word(l, FAILURE);
}

/* A whole message, with its length. */
static bool answer(struct serving *s, struct link *l, const uint8_t *message, size_t n)
{
    const char *why;
    size_t nkeys = n > 4 && message[4] == 13 ? list_keys(s, l) : 0;
    struct ssh_bytes keys = {s->keys + 4, nkeys ? nkeys - 4 : 0};
    size_t size;
    switch (ssh_judge(&l->state, &s->rules, keys, message + 4, n - 4, &why)) {
    case SSH_LIST:
        return answer_list(s, l);
    case SSH_SIGN:
        size = ask_agent(l, message, n, s->answer);
        return size ? send_all(l->fd, s->answer, size) : reply_word(l, FAILURE);
    case SSH_BOUND:
        /* an agent may have limits of its own; not every one knows this message */
        ask_agent(l, message, n, s->answer);
        return reply_word(l, SUCCESS);
    default:
        report(s, l, why);
        return reply_word(l, FAILURE);
    }
}

static bool read_link(struct serving *s, struct link *l)
{
    enum { ROOM = SSH_MESSAGE_MAX + 4 };
    if (!l->data && !(l->data = malloc(ROOM)))
        return false;
    ssize_t got = recv(l->fd, l->data + l->n, ROOM - l->n, 0);
    if (got <= 0)
        return false;
    l->n += (size_t)got;
    for (long whole; (whole = ssh_message(l->data, l->n));) {
        if (whole < 0 || !answer(s, l, l->data, (size_t)whole))
            return false;
        l->n -= (size_t)whole;
        memmove(l->data, l->data + whole, l->n);
    }
    return true;
}

static void accept_link(struct serving *s)
{
    OWN(fd) int fd = accept4(SSH_LISTEN_FD, NULL, NULL, SOCK_CLOEXEC);
    const struct timeval patience = {.tv_sec = 10}; /* for a client that does not read */
    for (size_t i = 0; i < CLIENTS && fd >= 0; i++) {
        if (s->links[i].fd >= 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
        s->links[i] = (struct link){.fd = steal_fd(&fd), .agent = connect_agent(s->agent)};
        return;
    }
}

/* ---- the loop ---- */

static int loop(struct serving *s)
{
    struct pollfd p[CLIENTS + 2];
    for (;;) {
        p[0] = (struct pollfd){SSH_LISTEN_FD, POLLIN, 0};
        p[1] = (struct pollfd){SSH_UNTIL_FD, POLLIN, 0};
        for (size_t i = 0; i < CLIENTS; i++)
            p[i + 2] = (struct pollfd){s->links[i].fd, POLLIN, 0};
        if (poll(p, CLIENTS + 2, -1) < 0 && errno != EINTR)
            return 1;
        if (p[1].revents)
            return 0;
        for (size_t i = 0; i < CLIENTS; i++)
            if (s->links[i].fd >= 0 && p[i + 2].revents && !read_link(s, &s->links[i]))
                close_link(&s->links[i]);
        if (p[0].revents & POLLIN)
            accept_link(s);
    }
}

int ssh_serve(int argc, char **argv, const struct ssh_hooks *hooks)
{
    struct serving *s = calloc(1, sizeof(*s));
    if (!s || argc < 2 || !ssh_verify_load())
        return 2;
    s->hooks = hooks;
    s->agent = argv[0];
    s->rules.verify = ssh_verify;
    for (size_t i = 0; i < CLIENTS; i++)
        s->links[i] = (struct link){.fd = -1, .agent = -1};
    for (int i = 1; i < argc; i++)
        if (!add_rule(&s->rules, argv[i]))
            return 2;
    return hooks->confine() < 0 ? 1 : loop(s);
}
