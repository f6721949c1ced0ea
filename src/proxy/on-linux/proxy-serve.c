/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The first process makes the policies, starts their gates and the process that accepts
 * connections, prints where that listens, and waits. The acceptor is confined as a gate is, and
 * hands connections over by their login. If one of them ends, all end: a proxy with a part missing
 * would only look like one.
 */

#include "proxy/proxy-serve.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/gate/gate-main.h"
#include "net/gate.h"
#include "net/hand-over.h"
#include "proxy/on-linux/proxy-gate.h"
#include "proxy/on-linux/proxy-listen.h"
#include "sbpl/sbpl.h"

struct listeners {
    struct proxy_listener at[PROXY_LISTENERS + 1];
    size_t n;
};

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
                            const struct listeners *l, const struct proxy_gate *g)
{
    const struct proxy_policy *p = g->policy;
    buf_str(out, "{\"user\": ");
    buf_json(out, p->user, strlen(p->user));
    if (!o->no_login) {
        buf_str(out, ", \"password\": ");
        buf_json(out, p->password, strlen(p->password));
    }
    buf_str(out, ", \"http\": ");
    put_json_url(out, "http", o, p, &l->at[0]);
    buf_str(out, ", \"socks\": ");
    put_json_url(out, "socks5h", o, p, &l->at[0]);
    buf_str(out, ", \"environment\": {");
    for (const char *line = g->environment; *line; line += strcspn(line, "\n") + 1) {
        size_t name = strcspn(line, "="), whole = strcspn(line, "\n");
        buf_str(out, line > g->environment ? ", " : "");
        buf_json(out, line, name);
        buf_str(out, ": ");
        buf_json(out, line + name + 1, whole - name - 1);
    }
    buf_str(out, "}}");
}

static void put_json(struct buf *out, const struct proxy_options *o, const struct listeners *l,
                     const struct proxy_gate *gates)
{
    buf_str(out, "{\"listen\": [");
    for (size_t i = 0; i < l->n; i++) {
        buf_str(out, i ? ", " : "");
        buf_json(out, l->at[i].where, strlen(l->at[i].where));
    }
    buf_str(out, "], \"ca\": ");
    if (o->ca_file)
        buf_json(out, o->ca_file, strlen(o->ca_file));
    else
        buf_str(out, "null");
    buf_str(out, ", \"policies\": [");
    for (size_t i = 0; i < o->npolicies; i++) {
        buf_str(out, i ? ", " : "");
        put_json_policy(out, o, l, &gates[i]);
    }
    buf_str(out, "]}\n");
}

static void put_text(struct buf *out, const struct proxy_options *o, const struct listeners *l,
                     const struct proxy_gate *gates)
{
    for (size_t i = 0; i < o->npolicies; i++) {
        for (size_t k = 0; k < l->n; k++) {
            put_url(out, "http", o, gates[i].policy, &l->at[k]);
            buf_chr(out, '\n');
            if (l->at[k].local)
                continue;
            put_url(out, "socks5h", o, gates[i].policy, &l->at[k]);
            buf_chr(out, '\n');
        }
        buf_str(out, gates[i].environment);
    }
}

static int print_ready(const struct proxy_options *o, const struct listeners *l,
                       const struct proxy_gate *gates, struct bk_err *err)
{
    OWN(buf) struct buf out = {0};
    (o->json ? put_json : put_text)(&out, o, l, gates);
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

/* The lifeline may carry bytes; only its end counts. */
static bool on_word(void *arg, const struct graph **policy)
{
    char bytes[512];
    (void)policy;
    ssize_t n = read(*(int *)arg, bytes, sizeof(bytes));
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static void __attribute__((noreturn))
accept_all(const struct proxy_options *o, const struct listeners *l, const struct proxy_gate *gates,
           const struct graph *closed)
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
    struct gate_options with = {.graph = closed,
                                .answers = -1,
                                .users = &all,
                                .until = until,
                                .on_word = on_word,
                                .arg = &until};
    netns_none(&with.sockets);
    for (size_t i = 0; i < l->n; i++)
        with.proxies[with.nproxies++] = l->at[i].fd;
    _exit(gate_process_confine(0, false) < 0 || gate_run(&with) < 0);
}

static int start_gates(const struct proxy_options *o, struct proxy_gate *gates, struct buf *pem,
                       struct bk_err *err)
{
    for (size_t i = 0; i < o->npolicies; i++)
        if (make_password(o->policies[i].password, err) < 0)
            return -1;
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < o->npolicies; i++)
        if (proxy_gate_start(&gates[i], o, &o->policies[i], pem, err) < 0)
            return -1;
    return 0;
}

static const int ends[] = {SIGTERM, SIGINT, SIGHUP};

static void block(sigset_t *all)
{
    sigemptyset(all);
    sigaddset(all, SIGCHLD);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
        sigaddset(all, ends[i]);
    sigprocmask(SIG_BLOCK, all, NULL);
}

/* Waits for a signal, or for one of the processes to end. Its own end takes all others along. */
static void __attribute__((noreturn))
stay(const sigset_t *all, const struct listeners *l, pid_t acceptor)
{
    static const char gone[] = "buckle proxy: one of its processes has ended\n";
    int sig = 0, status = 0, result = 0;
    while (sigwait(all, &sig) != 0)
        ;
    if (sig == SIGCHLD) /* the acceptor ends with its lifeline */
        result = waitpid(acceptor, &status, WNOHANG) != acceptor || status != 0;
    if (result && write(STDERR_FILENO, gone, sizeof(gone) - 1) < 0)
        result = 1;
    proxy_listen_remove(l->at, l->n);
    _exit(result);
}

static int start_acceptor(const struct proxy_options *o, const struct listeners *l,
                          const struct proxy_gate *gates, struct bk_err *err)
{
    /* it decides nothing: connections that it has not handed over reach no host */
    static const char deny_all[] = "(version 1)\n(deny default)\n";
    static const struct sbpl_options options = {.os = VOCAB_OS_ANY};
    static struct sbpl_unit unit;
    struct graph *closed;
    sbpl_unit_init(&unit, &options);
    if (sbpl_add_text(&unit, "<proxy>", deny_all, sizeof(deny_all) - 1, err) < 0 ||
        sbpl_compile(&unit, &closed, err) < 0)
        return -1;
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() != parent)
            _exit(1);
        accept_all(o, l, gates, closed);
    }
    return pid < 0 ? err_sys(err, "cannot start a process for connections") : pid;
}

int proxy_serve(const struct proxy_options *o, struct bk_err *err)
{
    static struct listeners l;
    OWN(buf) struct buf pem = {0};
    sigset_t signals;
    static struct proxy_gate *gates; /* used to the end */
    gates = calloc(o->npolicies, sizeof(*gates));
    if (!gates)
        return err_nomem(err);
    block(&signals);
    if (start_gates(o, gates, &pem, err) < 0)
        return -1;
    int n = proxy_listen(o, l.at, err);
    if (n < 0)
        return -1;
    l.n = (size_t)n;
    pid_t acceptor = start_acceptor(o, &l, gates, err);
    if (acceptor < 0 || (o->ca_file && write_certificates(o->ca_file, &pem, err) < 0) ||
        print_ready(o, &l, gates, err) < 0) {
        proxy_listen_remove(l.at, l.n);
        return -1;
    }
    stay(&signals, &l, acceptor);
}
