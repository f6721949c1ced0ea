/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A gate for one policy, in a process that can do as little as the gate of a command: it has its
 * sockets, its policy, and the secrets of its own user. It ends with the process that accepts
 * connections.
 */

#include "proxy/on-linux/proxy-gate.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/own.h"
#include "kernel/gate/gate-main.h"
#include "kernel/gate/tls-start.h"
#include "net/gate.h"
#include "net/handling.h"
#include "net/terminate.h"
#include "policy/assemble.h"
#include "run/credentials.h"
#include "run/run.h"
#include "system/descriptors.h"

enum { REPORT_MAX = 256 << 10 };

/* A policy in the process of its gate. */
struct maker {
    const struct proxy_policy *policy;
    struct assembly assembly;
    struct named_settings settings;
    struct run_spec spec;
    struct run run;
    const char *set[32]; /* NAME=placeholder of its credentials */
    size_t nset;
};

/* ---- the policy ---- */

static bool is_settings(const char *name)
{
    size_t n = strlen(name);
    return n > 5 && strcmp(name + n - 5, ".json") == 0;
}

static int assemble(struct maker *g, const struct proxy_options *o, struct bk_err *err)
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

/* A program that decides about requests has to see them. */
static void add_handling(struct maker *g, const struct proxy_options *o)
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

static int make_policy(struct maker *g, const struct proxy_options *o, struct bk_err *err)
{
    if (assemble(g, o, err) < 0)
        return -1;
    run_spec_use(&g->spec, &g->assembly);
    g->spec.launch.cwd = o->cwd;
    if (run_open_gate(&g->run, &g->spec, err) < 0)
        return -1;
    if (run_credentials_count(&g->spec) > sizeof(g->set) / sizeof(g->set[0]))
        return err_set(err, BK_E_LIMIT, "%.60s: too many credentials", g->policy->user);
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

/* The report to the first process: '+', the placeholders, a zero byte, the certificate; or '-' and
 * what is wrong. */
static void report_text(int report, const struct buf *text)
{
    bool sent = buf_ok(text) && write(report, text->s, text->n) == (ssize_t)text->n;
    close(report);
    if (!sent || text->s[0] != '+')
        _exit(2);
}

static void __attribute__((noreturn))
gate_main(struct maker *m, const struct proxy_options *o, int handed, int report, int until)
{
    static struct reporter reporter;
    OWN(buf) struct buf text = {0}, pem = {0};
    struct bk_err err;
    struct run *r = &m->run;
    reporter = (struct reporter){m->policy->user, o->quiet};
    if (make_policy(m, o, &err) < 0) {
        buf_fmt(&text, "-%s%s%s", err.msg, err.hint[0] ? "\n  hint: " : "", err.hint);
        report_text(report, &text);
    }
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
    const char *why = NULL;
    bool ends = terminate_may(with.graph, with.handling);
    with.tls = ends ? tls_start(with.graph, with.handling, &pem, &why) : NULL;
    if (ends && !with.tls)
        buf_fmt(&text, "-TLS cannot be decrypted: %s", why ? why : "no certificate could be made");
    else
        buf_chr(&text, '+');
    for (size_t i = 0; i < m->nset; i++)
        buf_fmt(&text, "%s\n", m->set[i]);
    buf_chr(&text, '\0');
    buf_add(&text, pem.s, pem.n);
    report_text(report, &text);
    _exit(gate_process_confine(0, false) < 0 || gate_run(&with) < 0);
}

/* This process needs neither the other gates nor their passwords. */
static void forget_others(const struct proxy_options *o, int handed, int report, const int life[2])
{
    int keep[] = {0, 1, 2, handed, report, life[0], life[1], o->decider_in, o->decider_out};
    fd_close_others(keep, sizeof(keep) / sizeof(keep[0]));
    for (size_t i = 0; i < o->npolicies; i++)
        bytes_wipe(o->policies[i].password, sizeof(o->policies[i].password));
}

/* ---- the first process ---- */

/* Returns once the gate is ready, or has failed. */
static int read_report(struct proxy_gate *g, int from, struct buf *pem, struct bk_err *err)
{
    char part[4096];
    ssize_t n;
    OWN(buf) struct buf text = {0};
    while ((n = read(from, part, sizeof(part))) > 0 && text.n < REPORT_MAX)
        buf_add(&text, part, (size_t)n);
    buf_chr(&text, '\0');
    if (n < 0 || !buf_ok(&text))
        return n < 0 ? err_sys(err, "cannot start a gate") : err_nomem(err);
    if (text.s[0] != '+')
        return err_set(err, BK_E_INPUT, "%s", text.s[0] ? text.s + 1 : "a gate has failed");
    g->environment = strdup(text.s + 1);
    if (!g->environment)
        return err_nomem(err);
    size_t at = 1 + strlen(g->environment) + 1;
    if (at < text.n - 1)
        buf_add(pem, text.s + at, text.n - 1 - at);
    return buf_ok(pem) ? 0 : err_nomem(err);
}

int proxy_gate_start(struct proxy_gate *g, const struct proxy_options *o,
                     const struct proxy_policy *p, struct buf *pem, struct bk_err *err)
{
    int packets[2], report[2], life[2];
    if (fd_packet_pair(packets) < 0 || fd_pipe(report) < 0 || fd_pipe(life) < 0)
        return err_sys(err, "cannot start a gate");
    pid_t parent = getpid();
    g->policy = p;
    g->pid = fork();
    if (g->pid == 0) {
        static struct maker maker;
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() != parent)
            _exit(1);
        maker.policy = p;
        forget_others(o, packets[1], report[1], life);
        gate_main(&maker, o, packets[1], report[1], life[0]); /* life[1]: never ends */
    }
    close(packets[1]);
    close(report[1]);
    close(life[0]);
    close(life[1]);
    OWN(fd) int from = report[0];
    g->to = packets[0];
    return g->pid < 0 ? err_sys(err, "cannot start a gate") : read_report(g, from, pem, err);
}
