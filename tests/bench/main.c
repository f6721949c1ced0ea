/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Measures; run-bench.py evaluates. A benchmark is named NAME or NAME:ARGUMENT and has three steps:
 * prepare, run (the measured part), finish. Benchmarks that are timed together take turns, one
 * repetition each, and each time another one starts, so that disturbances affect all of them alike.
 *
 * Everything measured happens inside measured(), the function that callgrind counts.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "bench.h"
#include "format/format.h"
#include "analyze/decompile.h"
#include "sbpl/sbpl.h"

_Noreturn void die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("bench-engine: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(2);
}

void *need(void *p)
{
    if (!p)
        die("out of memory");
    return p;
}

/* Keeps the compiler from removing results as unused. */
static volatile size_t sink;

struct state {
    const struct work *work;
    struct rules rules;
    struct paths paths;
    struct buf text;
    struct judge judge;
    struct rival *rival;
    const char *name; /* of the text */
    size_t turn;      /* which path comes first */
};

/* Parameters of the profile being loaded: -D k=v. */
static struct sbpl_param params[32];
static size_t nparams;

/* ---- deciding ---- */

static void prepare_rules(struct state *s, struct rules rules)
{
    s->rules = rules;
    rules_write(rules, &s->text);
    s->judge = judge_new(s->text.s, s->text.n);
}

static void prepare_mixed(struct state *s, const char *arg)
{
    (void)arg;
    s->paths = paths_mixed();
    prepare_rules(s, rules_mixed());
}

static void prepare_list(struct state *s, const char *arg)
{
    (void)arg;
    s->paths = paths_mixed();
    s->rival = rival_new(rules_mixed(), false);
}

static void prepare_combined(struct state *s, const char *arg)
{
    (void)arg;
    s->paths = paths_mixed();
    s->rival = rival_new(rules_mixed(), true);
}

static size_t number(const char *arg)
{
    long n = arg ? strtol(arg, NULL, 10) : 0;
    if (n <= 0)
        die("this work needs a number of rules");
    return (size_t)n;
}

static void prepare_grown(struct state *s, const char *arg)
{
    s->paths = paths_grown();
    prepare_rules(s, rules_grown(number(arg)));
}

static void prepare_globs(struct state *s, const char *arg)
{
    s->paths = paths_grown();
    prepare_rules(s, rules_globs(number(arg)));
}

static void run_judge(struct state *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->paths.n; i++)
        n += judge_allows(&s->judge, &s->paths.list[i]);
    sink = n;
}

static void run_rival(struct state *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->paths.n; i++)
        n += rival_allows(s->rival, &s->paths.list[i]);
    sink = n;
}

static void run_regexes(struct state *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->paths.n; i++)
        n += rival_regex_matches(s->rival, &s->paths.list[i]);
    sink = n;
}

/* ---- from nothing to the first verdict ---- */

static void prepare_first(struct state *s, const char *arg)
{
    (void)arg;
    s->paths = paths_mixed();
    s->rules = rules_mixed();
    rules_write(s->rules, &s->text);
}

static const struct path *next_path(struct state *s)
{
    return &s->paths.list[s->turn++ % s->paths.n];
}

static void run_first(struct state *s)
{
    s->judge = judge_new(s->text.s, s->text.n);
    sink = judge_allows(&s->judge, next_path(s));
}

static void finish_first(struct state *s)
{
    judge_free(&s->judge);
}

static void run_first_list(struct state *s)
{
    s->rival = rival_new(s->rules, false);
    sink = rival_allows(s->rival, next_path(s));
}

static void run_first_combined(struct state *s)
{
    s->rival = rival_new(s->rules, true);
    sink = rival_allows(s->rival, next_path(s));
}

static void finish_first_rival(struct state *s)
{
    rival_free(s->rival);
}

/* ---- loading a profile from a file ---- */

static void prepare_load(struct state *s, const char *arg)
{
    FILE *f = arg ? fopen(arg, "rb") : NULL;
    if (!f)
        die("cannot read %s", arg ? arg : "a profile without a name");
    char part[4096];
    for (size_t n; (n = fread(part, 1, sizeof(part), f)) > 0;)
        buf_add(&s->text, part, n);
    fclose(f);
    s->name = arg;
}

static void run_load(struct state *s)
{
    s->judge.graph = judge_load(s->name, s->text.s, s->text.n, params, nparams);
}

static void finish_load(struct state *s)
{
    graph_free(s->judge.graph);
}

/* ---- every profile of a compiled bundle, to a graph and on to text ---- */

static void each_profile(struct state *s, bool to_text)
{
    struct blob blob;
    struct bk_err err;
    if (blob_open(&blob, s->text.s, s->text.n, &err) < 0)
        die("%s: %s", s->name, err.msg);
    for (uint32_t i = 0; i < blob.nprofiles; i++) {
        struct graph *g = NULL;
        struct buf text = {0};
        const struct decompile_options opt = {.origin = s->name};
        blob_choose(&blob, i);
        if (blob_decode(&blob, s->name, &g, &err) < 0 ||
            (to_text && sbpl_decompile(g, &opt, &text, &err) < 0))
            die("%s, profile %u: %s", s->name, i, err.msg);
        sink += text.n + graph_node_count(g);
        buf_free(&text);
        graph_free(g);
    }
}

static void run_decode(struct state *s)
{
    each_profile(s, false);
}

static void run_decompile(struct state *s)
{
    each_profile(s, true);
}

/* ---- the benchmarks ---- */

static const struct work {
    const char *name;
    void (*prepare)(struct state *s, const char *arg);
    void (*run)(struct state *s);
    void (*finish)(struct state *s); /* after each run, not counted; NULL: nothing to do */
} works[] = {
    {"decide", prepare_mixed, run_judge, NULL},
    {"decide-list", prepare_list, run_rival, NULL},
    {"decide-combined", prepare_combined, run_rival, NULL},
    {"match-combined", prepare_combined, run_regexes, NULL},
    {"decide-rules", prepare_grown, run_judge, NULL},
    {"decide-globs", prepare_globs, run_judge, NULL},
    {"first", prepare_first, run_first, finish_first},
    {"first-list", prepare_first, run_first_list, finish_first_rival},
    {"first-combined", prepare_first, run_first_combined, finish_first_rival},
    {"load", prepare_load, run_load, finish_load},
    {"decode", prepare_load, run_decode, NULL},
    {"decompile", prepare_load, run_decompile, NULL},
};

static struct state prepare(const char *spec)
{
    size_t n = strcspn(spec, ":");
    for (size_t i = 0; i < sizeof(works) / sizeof(*works); i++) {
        if (strlen(works[i].name) != n || memcmp(works[i].name, spec, n) != 0)
            continue;
        struct state s = {.work = &works[i]};
        works[i].prepare(&s, spec[n] ? spec + n + 1 : NULL);
        return s;
    }
    die("there is no work called %s", spec);
}

/* Benchmarks that decide do so for each path, the others do one thing. */
static size_t units(const struct state *s)
{
    return s->work->finish || !s->paths.n ? 1 : s->paths.n;
}

static __attribute__((noinline)) void measured(struct state *s)
{
    s->work->run(s);
    __asm__ volatile("" ::: "memory");
}

/* CPU time, so that other load does not show. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Nanoseconds per unit. */
static double timed(struct state *s)
{
    double start = now();
    measured(s);
    double ns = now() - start;
    if (s->work->finish)
        s->work->finish(s);
    return ns / (double)units(s);
}

/* ---- commands ---- */

/* time REPETITIONS WORK…: one line of samples per benchmark. */
static int cmd_time(int n, char **args)
{
    size_t reps = n > 1 ? number(args[0]) : 0, nworks = (size_t)n - 1;
    if (!reps)
        die("time needs a number of repetitions and works");
    struct state *states = need(calloc(nworks, sizeof(*states)));
    double *samples = need(calloc(nworks * reps, sizeof(*samples)));
    for (size_t w = 0; w < nworks; w++) {
        states[w] = prepare(args[w + 1]);
        timed(&states[w]);
    }
    for (size_t r = 0; r < reps; r++)
        for (size_t k = 0; k < nworks; k++) {
            size_t w = (r + k) % nworks;
            samples[w * reps + r] = timed(&states[w]);
        }
    for (size_t w = 0; w < nworks; w++) {
        printf("%s", args[w + 1]);
        for (size_t r = 0; r < reps; r++)
            printf(" %.2f", samples[w * reps + r]);
        putchar('\n');
    }
    return 0;
}

static long page_faults(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return u.ru_minflt;
}

/* cold WORK: the first run in this process. warm WORK: the second. Prints nanoseconds per unit, the
 * number of units for counting instructions, and page faults. */
static int cmd_once(int n, char **args, bool warm)
{
    if (n != 1)
        die("one piece of work, please");
    struct state s = prepare(args[0]);
    if (warm) {
        s.work->run(&s); /* not measured() */
        if (s.work->finish)
            s.work->finish(&s);
    }
    long before = page_faults();
    double ns = timed(&s);
    printf("%.2f %zu %ld\n", ns, units(&s), page_faults() - before);
    return 0;
}

static int cmd_cold(int n, char **args)
{
    return cmd_once(n, args, false);
}

static int cmd_warm(int n, char **args)
{
    return cmd_once(n, args, true);
}

static void must_agree(const struct path *p, bool ours, bool theirs)
{
    if (ours != theirs)
        die("%s: Buckle %s it, the same rules without Buckle do not agree", p->s,
            ours ? "allows" : "denies");
}

/* agree: whether all ways to decide agree, also with a thousand rules. Prints the mixed profile's
 * paths: their number, mean length, how many are allowed, how many reach a regex. */
static int cmd_agree(int n, char **args)
{
    (void)n;
    (void)args;
    struct state ours = prepare("decide"), list = prepare("decide-list"),
                 combined = prepare("decide-combined"), large = prepare("decide-rules:1000");
    size_t bytes = 0, allows = 0, secrets = 0;
    for (size_t i = 0; i < ours.paths.n; i++) {
        const struct path *p = &ours.paths.list[i];
        bool allow = judge_allows(&ours.judge, p);
        must_agree(p, allow, rival_allows(list.rival, p));
        must_agree(p, allow, rival_allows(combined.rival, p));
        bytes += p->len;
        allows += allow;
        secrets += rival_regex_matches(combined.rival, p);
    }
    large.rival = rival_new(large.rules, false);
    for (size_t i = 0; i < large.paths.n; i++) {
        const struct path *p = &large.paths.list[i];
        must_agree(p, judge_allows(&large.judge, p), rival_allows(large.rival, p));
    }
    printf("%zu %.1f %zu %zu\n", ours.paths.n, (double)bytes / (double)ours.paths.n, allows,
           secrets);
    return 0;
}

/* allocations WORK: how many a run makes and, to check the counter, how many preparing made. */
static int cmd_allocations(int n, char **args)
{
    if (n != 1)
        die("one piece of work, please");
    uint64_t start = count_allocations();
    struct state s = prepare(args[0]);
    uint64_t ready = count_allocations();
    measured(&s);
    printf("%llu %llu\n", (unsigned long long)(count_allocations() - ready),
           (unsigned long long)(ready - start));
    return 0;
}

static const struct command {
    const char *name;
    int (*run)(int n, char **args);
} commands[] = {
    {"time", cmd_time},
    {"cold", cmd_cold},
    {"warm", cmd_warm},
    {"agree", cmd_agree},
    {"allocations", cmd_allocations},
};

static void add_param(char *text)
{
    char *value = strchr(text, '=');
    if (!value || nparams == sizeof(params) / sizeof(*params))
        die("-D needs KEY=VALUE");
    *value++ = '\0';
    params[nparams++] = (struct sbpl_param){text, value};
}

int main(int argc, char **argv)
{
    int at = 1;
    for (; at + 1 < argc && strcmp(argv[at], "-D") == 0; at += 2)
        add_param(argv[at + 1]);
    for (size_t i = 0; at < argc && i < sizeof(commands) / sizeof(*commands); i++)
        if (strcmp(argv[at], commands[i].name) == 0)
            return commands[i].run(argc - at - 1, argv + at + 1);
    die("usage: bench-engine [-D KEY=VALUE]… time N WORK… | cold WORK | warm WORK | agree | "
        "allocations WORK");
}
