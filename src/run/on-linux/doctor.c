/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "run/on-linux/doctor-look.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "kernel/launch/nest.h"
#include "run/own-rules.h"
#include "run/on-linux/host-fix.h"
#include "run/run-policy.h"

/* ---- what it amounts to ---- */

static int plan_default(struct doctor *d, struct run_policy *policy, struct bk_err *err)
{
    static const struct run_source source = {.kind = RUN_SHIPPED, .name = "default"};
    static const struct run_spec spec = {
        .sources = &source, .nsources = 1, .launch.cwd = "/nowhere"};
    struct plan_options opt = {.arch = PLAN_NATIVE};
    OWN(buf) struct buf own = {0};
    if (own_rules(spec.launch.cwd, &own, err) < 0 ||
        run_policy_gather(policy, &spec, "/tmp/nowhere", &own, err) < 0 ||
        run_policy_compile(policy, err) < 0)
        return -1;
    d->full = plan_make(policy->graph, &opt, &d->host, &d->plan, err) == 0;
    d->planned = d->full;
    if (d->full)
        return 0;
    memcpy(d->missing, err->msg, sizeof(d->missing));
    opt.accept_weaker = true;
    d->planned = plan_make(policy->graph, &opt, &d->host, &d->plan, err) == 0;
    return d->planned ? 0 : -1;
}

void doctor_sentence(const struct doctor *d, struct buf *out)
{
    const struct plan *p = &d->plan;
    if (d->nested)
        buf_str(out,
                "This is inside a sandbox of Buckle. The outer one's controller starts what runs "
                "here beside it, under both policies. ");
    if (d->full) {
        buf_str(out, "`buckle run` enforces the default profile in full: files with Landlock and "
                     "by judging each write, ");
        buf_fmt(out, "the network %s, processes %s.",
                p->net_ns ? "with a namespace" : "by refusing sockets",
                p->pid_ns ? "with a namespace" : "by tracking each one");
        if (!p->net_ns)
            buf_str(out,
                    " The judge makes TCP connections to hosts that are allowed by name. Datagrams "
                    "are refused, and so are servers that no outside program may reach.");
        if (p->ops[OP_FILE_IOCTL].tier == TIER_ABSENT)
            buf_str(out, " Readable devices also accept ioctl calls, which Landlock can deny from "
                         "Linux 6.10 on.");
        return;
    }
    buf_fmt(out, "`buckle run` refuses to start (%s); %s it enforces ", d->missing,
            remedy_words(REMEDY_WITH_WEAKER));
    const char *parts[3];
    size_t n = 0;
    if (p->handled_fs)
        parts[n++] = "files with Landlock";
    if (p->judge && p->host.seccomp_notify && !p->host.listener_taken)
        parts[n++] = "writes by judging";
    if (p->net_ns || p->no_ip)
        parts[n++] = p->net_ns ? "the network with a namespace" : "the network by refusing sockets";
    for (size_t i = 0; i < n; i++)
        buf_fmt(out, "%s%s", i ? ", " : "", parts[i]);
    buf_str(out, n ? " only." : "only the refusal of dangerous system calls.");
}

/* Inside a sandbox of ours, the outer controller starts what runs here: what it can do counts. */
static bool ask_outer(struct host *h)
{
    struct nest_request q = {.wish = NEST_HOST};
    struct bk_err err;
    OWN(mem) char *text = NULL;
    size_t n = 0;
    int channel = nest_call(), memory = channel < 0 ? -1 : nest_memory_make("", 1);
    if (memory < 0 || nest_describe(&q, channel, memory, &text, &n, &err) < 0 || n != sizeof(*h))
        return false;
    memcpy(h, text, n);
    h->kernel[sizeof(h->kernel) - 1] = '\0';
    return true;
}

int doctor_look(struct doctor *d, struct bk_err *err)
{
    OWN(run_policy) struct run_policy policy = {0};
    const char *pretend = getenv("BUCKLE_PRETEND");
    d->nested = ask_outer(&d->host);
    if (!d->nested && host_probe(&d->host, err) < 0)
        return -1;
    if (pretend && host_pretend(&d->host, pretend, err) < 0)
        return -1;
    return plan_default(d, &policy, err);
}

void doctor_free(struct doctor *d)
{
    if (d->planned)
        plan_free(&d->plan);
}

/* ---- JSON ---- */

static void write_member(struct buf *out, const char *key, const char *value)
{
    buf_fmt(out, "\"%s\": ", key);
    buf_json(out, value, strlen(value));
}

static void write_ability_json(const struct doctor *d, const struct host_ability *a,
                               struct buf *out)
{
    const struct host *h = &d->host;
    int value = host_ability_value(h, a);
    bool good = host_ability_good(h, a);
    buf_str(out, "{");
    write_member(out, "name", a->name);
    if (a->kind == ABILITY_LEVEL)
        buf_fmt(out, ", \"value\": %d", value);
    else
        buf_fmt(out, ", \"value\": %s", value ? "true" : "false");
    buf_fmt(out, ", \"good\": %s, ", good ? "true" : "false");
    write_member(out, "words", a->words);
    buf_str(out, ", ");
    write_member(out, "use", a->use);
    buf_str(out, ", ");
    write_member(out, "since", a->since);
    OWN(buf) struct buf remedy = {0};
    if (!good && !d->nested) /* looking for one inside would be reported */
        host_fix_text(h, a, &remedy);
    if (remedy.n) {
        buf_str(out, ", ");
        write_member(out, "remedy", remedy.s);
    }
    buf_chr(out, '}');
}

void doctor_json(const struct doctor *d, struct buf *out)
{
    const struct host *h = &d->host;
    OWN(buf) struct buf sentence = {0};
    doctor_sentence(d, &sentence);
    buf_str(out, "{\n  ");
    write_member(out, "kernel", h->kernel);
    buf_fmt(out, ",\n  \"nested\": %s", d->nested ? "true" : "false");
    buf_fmt(out, ",\n  \"full\": %s,\n  ", d->full ? "true" : "false");
    write_member(out, "summary", sentence.s ? sentence.s : "");
    buf_str(out, ",\n  \"abilities\": [");
    for (size_t i = 0; i < host_ability_count; i++) {
        buf_str(out, i ? ",\n    " : "\n    ");
        write_ability_json(d, &host_abilities[i], out);
    }
    buf_str(out, "\n  ],\n  \"features\": [");
    for (size_t i = 0; i < host_feature_count; i++) {
        const struct host_feature *f = &host_features[i];
        buf_str(out, i ? ",\n    {" : "\n    {");
        write_member(out, "since", f->since);
        buf_str(out, ", ");
        write_member(out, "words", f->words);
        buf_str(out, ", ");
        write_member(out, "without", f->without);
        buf_fmt(out, ", \"here\": %s}", host_has_feature(h, f) ? "true" : "false");
    }
    buf_str(out, "\n  ],\n  \"notes\": [");
    for (size_t i = 0; i < d->plan.nnotes; i++) {
        buf_str(out, i ? ", " : "");
        buf_json(out, d->plan.notes[i], strlen(d->plan.notes[i]));
    }
    buf_str(out, "]\n}\n");
}
