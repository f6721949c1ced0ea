/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A gate for one policy, in a process that can do as little as the gate of a command: it has its
 * sockets, its policy, and the secrets of its own user. It ends with the process that accepts
 * connections.
 */

#include "proxy/on-linux/proxy-gate.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/gate/gate-main.h"
#include "kernel/gate/tls-start.h"
#include "net/gate.h"
#include "net/handling.h"
#include "net/terminate.h"
#include "run/credentials.h"
#include "system/descriptors.h"

enum { PEM_MAX = 64 << 10 };

/* ---- the policy ---- */

static bool is_settings(const char *name)
{
    size_t n = strlen(name);
    return n > 5 && strcmp(name + n - 5, ".json") == 0;
}

static int assemble(struct proxy_gate *g, const struct proxy_options *o, struct bk_err *err)
{
    const struct proxy_policy *p = g->policy;
    struct policy_request q = {.cwd = o->cwd, .automatic = AUTO_NEVER};
    if (p->text || is_settings(p->from)) {
        g->settings = (struct named_settings){p->from, p->text, p->ntext};
        q.named = &g->settings;
        q.nnamed = 1;
        q.needs_settings = q.bare_settings = true;
    } else {
        q.base = run_named_profile(p->from);
    }
    return policy_assemble(&q, &g->assembly, err);
}

/* Whoever decides about requests has to see them. */
static void add_handling(struct proxy_gate *g, const struct proxy_options *o)
{
    struct handling *h = &g->run.handling;
    bool decides = o->decider || o->decider_in >= 0;
    if (!g->run.has_handling)
        *h = (struct handling){0};
    g->run.has_handling |= decides || o->authority || o->nstrip;
    if (decides) {
        h->decider = o->decider;
        h->framed = o->decider_in >= 0;
        h->decider_in = o->decider_in;
        h->decider_out = o->decider_out;
        h->decide_ms = o->decide_ms;
        h->only_requests = true;
        h->ends_tls = !h->framed || o->authority;
        h->plain_headers |= o->plain_headers;
        h->targets = h->framed ? TARGET_SPELLED : h->targets;
    }
    if (o->authority) {
        h->authority = o->authority;
        h->ends_tls = true;
    }
    if (o->nstrip)
        h->strip = (struct text_list){o->strip, o->nstrip};
    h->user = g->policy->user;
}

int proxy_gate_open(struct proxy_gate *g, const struct proxy_options *o,
                    const struct proxy_policy *p, struct bk_err *err)
{
    g->policy = p;
    g->to = -1;
    if (assemble(g, o, err) < 0)
        return -1;
    run_spec_use(&g->spec, &g->assembly);
    g->spec.launch.cwd = o->cwd;
    if (run_open_gate(&g->run, &g->spec, err) < 0)
        return -1;
    if (run_credentials_count(&g->spec) > sizeof(g->set) / sizeof(g->set[0]))
        return err_set(err, BK_E_LIMIT, "%.60s: too many credentials", p->user);
    int n = run_credentials(&g->run, g->set, err);
    g->nset = n > 0 ? (size_t)n : 0;
    add_handling(g, o);
    return n < 0 ? -1 : 0;
}

/* ---- the process ---- */

struct reporter {
    const char *user;
    bool quiet;
};

static void on_denial(void *arg, const struct gate_denial *d)
{
    const struct reporter *r = arg;
    char name[PEER_TEXT];
    OWN(buf) struct buf line = {0};
    if (r->quiet)
        return;
    peer_text(d->host, d->port, name);
    buf_fmt(&line, "buckle proxy: %s: denied ", r->user);
    if (d->request) {
        buf_safe(&line, d->request, strlen(d->request));
        buf_str(&line, " to ");
    }
    buf_str(&line, d->port ? name : d->host->name);
    if (d->why) {
        buf_str(&line, ": ");
        buf_safe(&line, d->why, strlen(d->why));
    }
    buf_chr(&line, '\n');
    if (buf_ok(&line) && write(STDERR_FILENO, line.s, line.n) < 0)
        return;
}

static void __attribute__((noreturn))
gate_main(struct proxy_gate *g, const struct proxy_options *o, int handed, int report, int until)
{
    static struct reporter reporter;
    OWN(buf) struct buf pem = {0};
    struct run *r = &g->run;
    reporter = (struct reporter){g->policy->user, o->quiet};
    struct gate_options with = {.graph = r->policy.graph,
                                .parents = r->has_parents ? &r->parents : NULL,
                                .secrets = r->secrets.n ? &r->secrets : NULL,
                                .handling = r->has_handling ? &r->handling : NULL,
                                .on_denial = on_denial,
                                .arg = &reporter,
                                .answers = -1,
                                .takes = true,
                                .handed = handed,
                                .until = until};
    netns_none(&with.sockets);
    signal(SIGPIPE, SIG_IGN);
    if (terminate_may(with.graph, with.handling)) {
        with.tls = tls_start(with.graph, with.handling, &pem);
        if (!with.tls)
            buf_str(&pem, "-");
    }
    if (pem.n && write(report, pem.s, pem.n) != (ssize_t)pem.n)
        _exit(1);
    close(report);
    _exit(gate_process_confine(0, false) < 0 || gate_run(&with) < 0);
}

/* Returns once the gate has closed its end. */
static int read_certificate(int from, struct buf *pem, struct bk_err *err)
{
    OWN(mem) char *text = malloc(PEM_MAX);
    size_t have = 0;
    ssize_t n = 1;
    while (text && have < PEM_MAX && (n = read(from, text + have, PEM_MAX - have)) > 0)
        have += (size_t)n;
    if (!text || n < 0)
        return err_sys(err, "cannot start a gate");
    if (have == 1)
        return err_set(err, BK_E_INPUT,
                       "TLS cannot be decrypted: libexec/buckle/buckle-tls or "
                       "libssl.so.3 is missing, or the authority's certificate and "
                       "key do not fit");
    buf_add(pem, text, have);
    return buf_ok(pem) ? 0 : err_nomem(err);
}

int proxy_gate_start(struct proxy_gate *g, const struct proxy_options *o, struct buf *pem,
                     struct bk_err *err)
{
    int packets[2], report[2], life[2];
    if (fd_packet_pair(packets) < 0 || fd_pipe(report) < 0 || fd_pipe(life) < 0)
        return err_sys(err, "cannot start a gate");
    pid_t parent = getpid();
    g->pid = fork();
    if (g->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() != parent)
            _exit(1);
        close(packets[0]);
        close(report[0]);
        gate_main(g, o, packets[1], report[1], life[0]); /* life[1] stays open: it never ends */
    }
    close(packets[1]);
    close(report[1]);
    close(life[0]);
    close(life[1]);
    OWN(fd) int from = report[0];
    g->to = packets[0];
    return g->pid < 0 ? err_sys(err, "cannot start a gate") : read_certificate(from, pem, err);
}
