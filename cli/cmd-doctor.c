/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * `buckle doctor`: what this host can enforce. Abilities are probed, not looked up; what they
 * amount to is found by planning the default profile for the host, with the planner that `buckle
 * run` uses. $BUCKLE_PRETEND replaces what was found, to see what another host would be told.
 */

#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "base/own.h"
#include "kernel/plan.h"
#include "remedy.h"
#include "run/policy.h"

static const struct cli_option options[] = {
    {"json", 'j', NULL, "print one JSON object", NULL},
    {0},
};

/* ---- what it amounts to ---- */

struct outcome {
    bool full;         /* the default profile needs no --accept-weaker */
    char missing[320]; /* otherwise: what stands in the way first */
    struct plan plan;  /* the plan; the weaker one when it is not full */
    bool planned;
};

static void outcome_free(struct outcome *o)
{
    if (o->planned)
        plan_free(&o->plan);
}
#define OWN_outcome outcome_free

static int plan_default(const struct host *h, struct run_policy *policy, struct outcome *o,
                        struct bk_err *err)
{
    static const struct run_source source = {.kind = RUN_SHIPPED, .name = "default"};
    static const struct run_spec spec = {.sources = &source, .nsources = 1, .cwd = "/nowhere"};
    struct plan_options opt = {.arch = PLAN_NATIVE};
    if (run_policy_gather(policy, &spec, "/tmp/nowhere", err) < 0 ||
        run_policy_compile(policy, err) < 0)
        return -1;
    o->full = plan_make(policy->graph, &opt, h, &o->plan, err) == 0;
    o->planned = o->full;
    if (o->full)
        return 0;
    memcpy(o->missing, err->msg, sizeof(o->missing));
    opt.accept_weaker = true;
    o->planned = plan_make(policy->graph, &opt, h, &o->plan, err) == 0;
    return o->planned ? 0 : -1;
}

static void say_outcome(const struct outcome *o, struct buf *out)
{
    const struct plan *p = &o->plan;
    if (o->full) {
        buf_str(out, "`buckle run` enforces the default profile in full: files by Landlock and by "
                     "judging each write, ");
        buf_fmt(out, "the network by %s, processes %s.",
                p->net_ns ? "a namespace" : "refusing its sockets",
                p->pid_ns ? "by a namespace" : "by following them");
        if (!p->net_ns)
            buf_str(out,
                    " Hosts that are allowed by name are reached by TCP, as the judge connects; "
                    "datagrams, and servers that nobody outside may call, are refused.");
        return;
    }
    buf_fmt(out, "`buckle run` refuses to start (%s); with --accept-weaker it enforces ",
            o->missing);
    const char *parts[3];
    size_t n = 0;
    if (p->handled_fs)
        parts[n++] = "files by Landlock";
    if (p->judge && p->host.seccomp_notify && !p->host.listener_taken)
        parts[n++] = "writes by judging";
    if (p->net_ns || p->no_ip)
        parts[n++] =
            p->net_ns ? "the network by a namespace" : "the network by refusing its sockets";
    for (size_t i = 0; i < n; i++)
        buf_fmt(out, "%s%s", i ? ", " : "", parts[i]);
    buf_str(out, n ? " alone." : "nothing but the refusal of dangerous system calls.");
}

/* ---- text ---- */

static void put_indented(struct buf *out, const char *text)
{
    while (text && *text) {
        size_t n = strcspn(text, "\n");
        if (n)
            buf_str(out, "      ");
        buf_add(out, text, n);
        buf_chr(out, '\n');
        text += n + (text[n] == '\n');
    }
}

static void put_ability(const struct host *h, const struct host_ability *a, struct buf *out)
{
    bool good = host_ability_good(h, a);
    char words[96];
    if (a->kind == ABILITY_FACT || (a->kind == ABILITY_TRAP && good))
        return;
    if (a->kind == ABILITY_LEVEL && good)
        snprintf(words, sizeof(words), "%s, ABI %d", a->words, host_ability_value(h, a));
    else
        snprintf(words, sizeof(words), "%s", a->words);
    buf_fmt(out, "  %s %-46s %s\n", good ? "✓" : "✗", words, a->use);
    if (good)
        return;
    OWN(buf) struct buf remedy = {0};
    remedy_text(h, a, &remedy);
    put_indented(out, remedy.s);
}

static void print_text(const struct host *h, const struct outcome *o, struct buf *out)
{
    buf_str(out, "Linux ");
    buf_safe(out, h->kernel, strlen(h->kernel));
    buf_fmt(out, ", %s\n\n", h->root ? "as root" : "as an ordinary user");
    for (size_t i = 0; i < host_ability_count; i++)
        put_ability(h, &host_abilities[i], out);
    buf_str(out, "\nWhat kernels brought\n");
    for (size_t i = 0; i < host_feature_count; i++) {
        const struct host_feature *f = &host_features[i];
        bool here = host_has_feature(h, f);
        buf_fmt(out, "  %s %-5s %s\n", here ? "✓" : "✗", f->since, f->words);
        if (!here)
            buf_fmt(out, "          without it: %s\n", f->without);
    }
    for (size_t i = 0; i < o->plan.nnotes; i++) {
        buf_str(out, i ? "- " : "\n- ");
        buf_safe(out, o->plan.notes[i], strlen(o->plan.notes[i]));
        buf_chr(out, '\n');
    }
    buf_chr(out, '\n');
    say_outcome(o, out);
    buf_chr(out, '\n');
}

/* ---- JSON ---- */

static void put_member(struct buf *out, const char *key, const char *value)
{
    buf_fmt(out, "\"%s\": ", key);
    buf_json(out, value, strlen(value));
}

static void put_ability_json(const struct host *h, const struct host_ability *a, struct buf *out)
{
    int value = host_ability_value(h, a);
    bool good = host_ability_good(h, a);
    buf_str(out, "{");
    put_member(out, "name", a->name);
    if (a->kind == ABILITY_LEVEL)
        buf_fmt(out, ", \"value\": %d", value);
    else
        buf_fmt(out, ", \"value\": %s", value ? "true" : "false");
    buf_fmt(out, ", \"good\": %s, ", good ? "true" : "false");
    put_member(out, "words", a->words);
    buf_str(out, ", ");
    put_member(out, "use", a->use);
    buf_str(out, ", ");
    put_member(out, "since", a->since);
    OWN(buf) struct buf remedy = {0};
    if (!good)
        remedy_text(h, a, &remedy);
    if (remedy.n) {
        buf_str(out, ", ");
        put_member(out, "remedy", remedy.s);
    }
    buf_chr(out, '}');
}

static void print_json(const struct host *h, const struct outcome *o, struct buf *out)
{
    OWN(buf) struct buf sentence = {0};
    say_outcome(o, &sentence);
    buf_str(out, "{\n  ");
    put_member(out, "kernel", h->kernel);
    buf_fmt(out, ",\n  \"full\": %s,\n  ", o->full ? "true" : "false");
    put_member(out, "summary", sentence.s ? sentence.s : "");
    buf_str(out, ",\n  \"abilities\": [");
    for (size_t i = 0; i < host_ability_count; i++) {
        buf_str(out, i ? ",\n    " : "\n    ");
        put_ability_json(h, &host_abilities[i], out);
    }
    buf_str(out, "\n  ],\n  \"features\": [");
    for (size_t i = 0; i < host_feature_count; i++) {
        const struct host_feature *f = &host_features[i];
        buf_str(out, i ? ",\n    {" : "\n    {");
        put_member(out, "since", f->since);
        buf_str(out, ", ");
        put_member(out, "words", f->words);
        buf_str(out, ", ");
        put_member(out, "without", f->without);
        buf_fmt(out, ", \"here\": %s}", host_has_feature(h, f) ? "true" : "false");
    }
    buf_str(out, "\n  ],\n  \"notes\": [");
    for (size_t i = 0; i < o->plan.nnotes; i++) {
        buf_str(out, i ? ", " : "");
        buf_json(out, o->plan.notes[i], strlen(o->plan.notes[i]));
    }
    buf_str(out, "]\n}\n");
}

static int run(struct cli_args *args)
{
    OWN(buf) struct buf out = {0};
    OWN(run_policy) struct run_policy policy = {0};
    OWN(outcome) struct outcome o = {0};
    struct bk_err err;
    struct host h;
    const char *pretend = getenv("BUCKLE_PRETEND");
    if (args->npos)
        return cli_usage(args, "doctor takes no arguments");
    if (host_probe(&h, &err) < 0 || (pretend && host_pretend(&h, pretend, &err) < 0) ||
        plan_default(&h, &policy, &o, &err) < 0)
        return cli_fail(&err);
    (args_has(args, "json") ? print_json : print_text)(&h, &o, &out);
    return cli_emit(&out, o.full ? CLI_OK : CLI_NO);
}

const struct cli_command cmd_doctor = {
    .name = "doctor",
    .usage = "[OPTION…]",
    .brief = "say what this host can enforce, and what to do about the rest",
    .about =
        "Tries each thing that `buckle run` relies on, in child processes, and says which work,\n"
        "what the others would need, and what can be enforced with what is there.\n"
        "\n"
        "Exit status: 0 when the default profile can be enforced in full, 1 when not, 2 error.",
    .options = options,
    .run = run,
};
