/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The process that accepts connections. It makes the policies, starts their gates, prints where it
 * listens, gives up everything that it no longer needs, and hands connections over by their login.
 * If a gate ends, all end: a proxy with a part missing would only look like one.
 */

#include "proxy/proxy-serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/gate/gate-main.h"
#include "net/gate.h"
#include "net/hand-over.h"
#include "proxy/on-linux/proxy-gate.h"
#include "proxy/on-linux/proxy-listen.h"

static struct {
    struct proxy_listener listeners[PROXY_LISTENERS + 1];
    size_t nlisteners;
} now; /* for the handlers */

/* ---- logins ---- */

static int make_password(char out[PROXY_PASSWORD], struct bk_err *err)
{
    uint8_t bytes[16];
    if (out[0])
        return 0;
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return err_sys(err, "cannot get random numbers");
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(out + i * 2, 3, "%02x", bytes[i]);
    return 0;
}

/* ---- what is printed ---- */

static void put_url(struct buf *out, const char *scheme, const struct proxy_options *o,
                    const struct proxy_policy *p, const struct proxy_listener *l)
{
    if (l->local)
        buf_fmt(out, "unix:%s", l->where);
    else if (o->no_login)
        buf_fmt(out, "%s://%s", scheme, l->where);
    else
        buf_fmt(out, "%s://%s:%s@%s", scheme, p->user, p->password, l->where);
}

static void put_json_url(struct buf *out, const char *scheme, const struct proxy_options *o,
                         const struct proxy_policy *p, const struct proxy_listener *l)
{
    OWN(buf) struct buf url = {0};
    put_url(&url, scheme, o, p, l);
    if (buf_ok(&url))
        buf_json(out, url.s, url.n);
}

static void put_json_policy(struct buf *out, const struct proxy_options *o,
                            const struct proxy_gate *g)
{
    const struct proxy_policy *p = g->policy;
    buf_str(out, "{\"user\": ");
    buf_json(out, p->user, strlen(p->user));
    if (!o->no_login) {
        buf_str(out, ", \"password\": ");
        buf_json(out, p->password, strlen(p->password));
    }
    buf_str(out, ", \"http\": ");
    put_json_url(out, "http", o, p, &now.listeners[0]);
    buf_str(out, ", \"socks\": ");
    put_json_url(out, "socks5h", o, p, &now.listeners[0]);
    buf_str(out, ", \"environment\": {");
    for (size_t i = 0; i < g->nset; i++) {
        const char *equals = strchr(g->set[i], '=');
        buf_str(out, i ? ", " : "");
        buf_json(out, g->set[i], (size_t)(equals - g->set[i]));
        buf_str(out, ": ");
        buf_json(out, equals + 1, strlen(equals + 1));
    }
    buf_str(out, "}}");
}

static void put_json(struct buf *out, const struct proxy_options *o, const struct proxy_gate *gates)
{
    buf_str(out, "{\"listen\": [");
    for (size_t i = 0; i < now.nlisteners; i++) {
        buf_str(out, i ? ", " : "");
        buf_json(out, now.listeners[i].where, strlen(now.listeners[i].where));
    }
    buf_str(out, "], \"ca\": ");
    if (o->ca_file)
        buf_json(out, o->ca_file, strlen(o->ca_file));
    else
        buf_str(out, "null");
    buf_str(out, ", \"policies\": [");
    for (size_t i = 0; i < o->npolicies; i++) {
        buf_str(out, i ? ", " : "");
        put_json_policy(out, o, &gates[i]);
    }
    buf_str(out, "]}\n");
}

static void put_text(struct buf *out, const struct proxy_options *o, const struct proxy_gate *gates)
{
    for (size_t i = 0; i < o->npolicies; i++) {
        for (size_t k = 0; k < now.nlisteners; k++) {
            put_url(out, "http", o, gates[i].policy, &now.listeners[k]);
            buf_chr(out, '\n');
            if (now.listeners[k].local)
                continue;
            put_url(out, "socks5h", o, gates[i].policy, &now.listeners[k]);
            buf_chr(out, '\n');
        }
        for (size_t k = 0; k < gates[i].nset; k++)
            buf_fmt(out, "%s\n", gates[i].set[k]);
    }
}

static int print_ready(const struct proxy_options *o, const struct proxy_gate *gates,
                       struct bk_err *err)
{
    OWN(buf) struct buf out = {0};
    (o->json ? put_json : put_text)(&out, o, gates);
    if (!buf_ok(&out))
        return err_nomem(err);
    return fwrite(out.s, 1, out.n, stdout) == out.n && fflush(stdout) == 0
               ? 0
               : err_sys(err, "cannot print the addresses");
}

/* Readers see the whole file or none. */
static int write_certificates(const char *path, const struct buf *pem, struct bk_err *err)
{
    OWN(buf) struct buf draft = {0};
    buf_fmt(&draft, "%s.%d", path, (int)getpid());
    if (!buf_ok(&draft))
        return err_nomem(err);
    OWN(fd) int fd = open(draft.s, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0)
        return err_sys(err, "cannot write %s", path);
    bool whole = !pem->n || write(fd, pem->s, pem->n) == (ssize_t)pem->n;
    if (whole && rename(draft.s, path) == 0)
        return 0;
    err_sys(err, "cannot write %s", path);
    unlink(draft.s);
    return -1;
}

/* ---- the process ---- */

static void end_all(const char *why, int status)
{
    proxy_listen_remove(now.listeners, now.nlisteners);
    if (why && write(STDERR_FILENO, why, strlen(why)) < 0)
        status = 1;
    _exit(status);
}

static void on_signal(int sig)
{
    if (sig == SIGCHLD)
        end_all("buckle proxy: a gate has ended\n", 1);
    end_all(NULL, 0);
}

/* The lifeline may carry bytes; only its end counts. */
static bool on_word(void *arg, const struct graph **policy)
{
    char bytes[512];
    (void)policy;
    ssize_t n = read(*(int *)arg, bytes, sizeof(bytes));
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static int accept_all(const struct proxy_options *o, struct proxy_gate *gates, struct bk_err *err)
{
    static struct gate_user users[PROXY_POLICIES];
    struct gate_users all = {users, o->npolicies};
    int life[2] = {-1, -1}, until = o->lifeline;
    for (size_t i = 0; i < o->npolicies; i++)
        users[i] = (struct gate_user){.name = gates[i].policy->user,
                                      .password = o->no_login ? NULL : gates[i].policy->password,
                                      .to = gates[i].to};
    hand_over_prepare(&all);
    if (until < 0 && pipe2(life, O_CLOEXEC) == 0)
        until = life[0];
    struct gate_options with = {.graph = gates[0].run.policy.graph,
                                .answers = -1,
                                .users = &all,
                                .until = until,
                                .on_word = on_word,
                                .arg = &until};
    netns_none(&with.sockets);
    for (size_t i = 0; i < now.nlisteners; i++)
        with.proxies[with.nproxies++] = now.listeners[i].fd;
    int result = gate_process_confine(0, false);
    result = result < 0 ? result : gate_run(&with);
    if (result == 0)
        end_all(NULL, 0);
    errno = -result;
    proxy_listen_remove(now.listeners, now.nlisteners);
    return err_sys(err, "the proxy has failed");
}

static int start_gates(const struct proxy_options *o, struct proxy_gate *gates, struct buf *pem,
                       struct bk_err *err)
{
    for (size_t i = 0; i < o->npolicies; i++)
        if (make_password(o->policies[i].password, err) < 0 ||
            proxy_gate_open(&gates[i], o, &o->policies[i], err) < 0)
            return -1;
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < o->npolicies; i++)
        if (proxy_gate_start(&gates[i], o, pem, err) < 0)
            return -1;
    return 0;
}

int proxy_serve(const struct proxy_options *o, struct bk_err *err)
{
    OWN(buf) struct buf pem = {0};
    struct proxy_gate *gates = calloc(o->npolicies, sizeof(*gates)); /* used to the end */
    if (!gates)
        return err_nomem(err);
    if (start_gates(o, gates, &pem, err) < 0)
        return -1;
    int n = proxy_listen(o, now.listeners, err);
    if (n < 0)
        return -1;
    now.nlisteners = (size_t)n;
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    signal(SIGHUP, on_signal);
    signal(SIGCHLD, on_signal);
    if ((o->ca_file && write_certificates(o->ca_file, &pem, err) < 0) ||
        print_ready(o, gates, err) < 0) {
        proxy_listen_remove(now.listeners, now.nlisteners);
        return -1;
    }
    return accept_all(o, gates, err);
}
