/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What `buckle learn` and --learn-denied do when the command has ended: generalise, prove, write
 * the rules, and tell what was proved.
 */

#include "cli/run/learner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "cli/run/exit-status.h"
#include "run/own-rules.h"
#include "settings/write.h"

enum { FAILED = 125, SHOWN = 8, TRACE_MAX = 256 << 20 };

static const char trace_text[] = "(trace \"" GRAPH_TRACE_USES "\")\n";
static const struct run_source trace_source = {.kind = RUN_TEXT,
                                               .from = SOURCE_PROFILE,
                                               .name = "<learn>",
                                               .text = trace_text,
                                               .n = sizeof(trace_text) - 1};

/* ---- watching ---- */

static void on_event(void *arg, const struct event *e)
{
    struct learner *l = arg;
    if (event_is_reached(e))
        return;
    l->failed |= trace_add(e->allow ? &l->used : &l->denied, e) < 0;
}

/* ---- what the base closes ---- */

struct base {
    const struct graph *graph;
    struct graph_cache *cache;
};

static bool base_allows(const struct base *b, enum vocab_op op, const char *path, size_t len)
{
    struct graph_fact f = {.filter = FILTER_PATH, .str = path, .len = (uint32_t)len};
    const struct graph_query q = {.op = (uint16_t)op, .facts = &f, .nfacts = 1};
    return graph_eval(b->graph, b->cache, &q).allow;
}

/* Whether the base names a place below the folder, and denies it. */
static bool is_closed(void *arg, enum use_class c, const char *folder)
{
    static const uint16_t ops[USE_CLASSES] = {[USE_READ] = OP_FILE_READ_DATA,
                                              [USE_WRITE] = OP_FILE_WRITE_DATA,
                                              [USE_EXEC] = OP_PROCESS_EXEC};
    const struct base *b = arg;
    size_t n = strlen(folder);
    if (!ops[c])
        return false;
    for (uint32_t i = 0; i < graph_test_count(b->graph); i++) {
        const struct graph_test *t = graph_test_at(b->graph, i);
        if (t->filter == FILTER_PATH && t->how <= GRAPH_SUBPATH && t->len > n + 1 &&
            memcmp(t->str, folder, n) == 0 && t->str[n] == '/' &&
            base_allows(b, (enum vocab_op)ops[c], folder, n) &&
            !base_allows(b, (enum vocab_op)ops[c], t->str, t->len))
            return true;
    }
    return false;
}

/* ---- files ---- */

static int read_whole(const char *path, struct buf *out, struct bk_err *err)
{
    OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    char part[65536];
    ssize_t n;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_sys(err, "cannot read %s", path);
    if (!S_ISREG(st.st_mode) || st.st_size > TRACE_MAX)
        return err_set(err, BK_E_INPUT, "%s: not a file of at most %d MiB", path, TRACE_MAX >> 20);
    while ((n = read(fd, part, sizeof(part))) > 0 && out->n <= TRACE_MAX)
        buf_add(out, part, (size_t)n);
    if (n < 0)
        return err_sys(err, "cannot read %s", path);
    return buf_ok(out) ? 0 : err_nomem(err);
}

static bool write_all(int fd, const struct buf *text)
{
    size_t done = 0;
    while (done < text->n) {
        ssize_t n = write(fd, text->s + done, text->n - done);
        if (n < 0 && errno != EINTR)
            return false;
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* Replaces the file as a whole; a device or a pipe is written to. */
int learner_write(const char *path, const struct buf *text, struct bk_err *err)
{
    struct stat st;
    if (stat(path, &st) < 0 || S_ISREG(st.st_mode))
        return settings_write_file(path, text, 0644, err);
    OWN(fd) int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write_all(fd, text) ? 0 : err_sys(err, "cannot write %s", path);
}

static int add_earlier(struct learner *l, const struct anchors *a, struct bk_err *err)
{
    for (const char *const *file = l->add; file && *file; file++) {
        OWN(buf) struct buf text = {0};
        if (read_whole(*file, &text, err) < 0 ||
            trace_read(&l->used, a, *file, text.s ? text.s : "", text.n, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- telling ---- */

static void put_rule(const struct learned *l, const struct learned_rule *r, struct buf *out)
{
    OWN(buf) struct buf text = {0};
    learned_rule_text(r, l->how, &text);
    buf_add(out, text.s ? text.s : "", text.n ? text.n - 1 : 0);
}

static int by_width(const void *a, const void *b)
{
    const struct learned_rule *x = *(const struct learned_rule *const *)a,
                              *y = *(const struct learned_rule *const *)b;
    return x->beyond < y->beyond ? 1 : x->beyond > y->beyond ? -1 : 0;
}

static void put_beyond(const struct learner *me, const struct learned *l, struct buf *out)
{
    const struct learned_rule **wide = calloc(l->n + 1, sizeof(const struct learned_rule *));
    size_t n = 0;
    for (size_t i = 0; wide && i < l->n; i++)
        if (!l->rules[i].dropped && l->rules[i].beyond)
            wide[n++] = &l->rules[i];
    if (n) {
        qsort(wide, n, sizeof(*wide), by_width);
        buf_str(out, "  allowed beyond what was used, widest first:\n");
    }
    for (size_t i = 0; i < n && (me->verbose || i < SHOWN); i++) {
        if (wide[i]->beyond == UINT64_MAX)
            buf_str(out, "    more than 20000 files  ");
        else
            buf_fmt(out, "    %llu file%s  ", (unsigned long long)wide[i]->beyond,
                    plural(wide[i]->beyond));
        put_rule(l, wide[i], out);
        buf_str(out, "\n");
    }
    if (n > SHOWN && !me->verbose)
        buf_fmt(out, "    … and %zu more rules (-v shows all)\n", n - SHOWN);
    free(wide);
}

static void put_needed(const struct learned *l, struct buf *out)
{
    buf_str(out, "  each rule is needed:\n");
    for (size_t i = 0; i < l->n; i++) {
        if (l->rules[i].dropped)
            continue;
        buf_str(out, "    ");
        put_rule(l, &l->rules[i], out);
        if (l->rules[i].needed)
            buf_fmt(out, "\n      without it: deny %s", l->rules[i].needed);
        else
            buf_str(out, "\n      for names that were only counted");
        buf_chr(out, '\n');
    }
}

struct shown {
    struct buf *out;
    size_t n;
};

static int show_denied(void *arg, uint32_t node, enum vocab_op op, const char *path, size_t len)
{
    struct shown *s = arg;
    (void)node;
    if (s->n++ >= SHOWN)
        return 0;
    buf_fmt(s->out, "    %s ", vocab_ops[op].name);
    buf_safe(s->out, path, len);
    buf_chr(s->out, '\n');
    return 0;
}

static size_t rules_left(const struct learned *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        n += !l->rules[i].dropped;
    return n;
}

static void put_summary(const struct learner *me, const struct learned *l, const struct proof *p,
                        struct buf *out)
{
    static const char *const words[] = {"tight", "usual", "loose"};
    size_t n = rules_left(l);
    buf_fmt(out, "buckle: learned %zu rule%s (%s) from %llu use%s of %llu kind%s\n", n, plural(n),
            words[l->how], (unsigned long long)me->used.events, plural(me->used.events),
            (unsigned long long)p->replayed, plural(p->replayed));
    buf_fmt(out, "  replayed: all %llu allowed; without any one rule some are denied\n",
            (unsigned long long)p->replayed);
    buf_fmt(out, "  base %s: ", me->base);
    if (p->undecided)
        buf_fmt(out, "no difference found, but %zu operation%s could not be decided\n",
                p->undecided, plural(p->undecided));
    else
        buf_str(out, "nothing is allowed that it denies (proved)\n");
    if (me->used.left)
        buf_fmt(out, "  %llu uses were of more names than are recorded one by one\n",
                (unsigned long long)me->used.left);
    put_beyond(me, l, out);
    if (me->verbose)
        put_needed(l, out);
    struct shown s = {.out = out};
    if (me->denied.events)
        buf_str(out, "  denied by the base, and not opened:\n");
    trace_each(&me->denied, show_denied, &s);
    if (s.n > SHOWN)
        buf_fmt(out, "    … and %zu more\n", s.n - SHOWN);
}

/* ---- the end of the run ---- */

static const char *param(const struct sbpl_options *opt, const char *key)
{
    for (size_t i = 0; i < opt->nparams; i++)
        if (strcmp(opt->params[i].key, key) == 0)
            return opt->params[i].value;
    return NULL;
}

static int write_result(struct learner *me, struct buf *text, struct bk_err *err)
{
    if (!buf_ok(text))
        return err_nomem(err);
    if (me->to)
        return learner_write(me->to, text, err);
    struct buf copy = {0};
    buf_add(&copy, text->s, text->n);
    exit_write(STDOUT_FILENO, &copy);
    return 0;
}

struct anchors learner_anchors(const struct invocation *r)
{
    const struct sbpl_options *opt = &r->run.policy.unit.opt;
    return (struct anchors){{NULL, param(opt, "HOME"), param(opt, "CWD"), param(opt, "TMPDIR")}};
}

/* In a world, a policy denies writing elsewhere; the learned one is for runs without. */
static int without_world(struct invocation *r, struct run_policy *p, struct buf *own,
                         struct bk_err *err)
{
    return own_rules(r->spec.launch.cwd, own, err) < 0 ||
                   run_policy_gather_again(p, &r->run.policy, &r->spec, own, err) < 0 ||
                   run_policy_compile(p, err) < 0
               ? -1
               : 0;
}

static int learn_from(struct learner *me, struct invocation *r, const struct graph *graph,
                      const struct buf *own, struct learned *l, struct buf *summary,
                      struct bk_err *err)
{
    const struct sbpl_options *opt = &r->run.policy.unit.opt;
    const struct anchors anchors = learner_anchors(r);
    struct base base = {.graph = graph};
    OWN(buf) struct buf text = {0};
    OWN(buf) struct buf trace = {0};
    struct proof proof;
    if (!base.graph || !(base.cache = graph_cache_new(base.graph)))
        return err_nomem(err);
    struct prove_request q = {
        .learn = {&me->used, &anchors, me->how, is_closed, &base},
        .words = {.command = r->settings.command, .base = me->base, .include = r->flags.rules.s},
        .options = opt,
        .own = own,
        .base = base.graph};
    int done = add_earlier(me, &anchors, err);
    if (done == 0 && me->trace_to) {
        trace_write(&me->used, &anchors, &trace);
        done = buf_ok(&trace) ? learner_write(me->trace_to, &trace, err) : err_nomem(err);
    }
    if (done == 0)
        done = learn_cover(&q, &me->used, err);
    if (done == 0)
        done = learn_generalise(&q.learn, l, err);
    if (done == 0)
        done = learn_prove(&q, l, &proof, err);
    if (done == 0 && proof.failed)
        done = err_set(err, BK_E_BUG, "the learned rules deny %s", proof.failure);
    if (done == 0 && proof.wider) {
        done = err_set(err, BK_E_INPUT, "the profile would allow what its base denies: %s",
                       proof.witness);
        err_hint(err, "learn with another base");
    }
    if (done == 0) {
        learn_look_beyond(l, &q.learn);
        learned_text(l, &me->used, &q.words, &text);
        put_summary(me, l, &proof, summary);
        done = write_result(me, &text, err);
    }
    graph_cache_free(base.cache);
    return done;
}

static int learn_all(struct learner *me, struct invocation *r, struct learned *l,
                     struct buf *summary, struct bk_err *err)
{
    OWN(buf) struct buf own = {0};
    struct run_policy p = {0};
    if (!me->used.events) { /* even `true` starts a program */
        err_set(err, BK_E_INPUT, "nothing was reported, so nothing can be learned");
        err_hint(err, "inside another sandbox of Buckle's this is not possible");
        return -1;
    }
    if (!r->world)
        return learn_from(me, r, run_graph(&r->run), &r->run.own_rules, l, summary, err);
    int done = without_world(r, &p, &own, err);
    if (done == 0)
        done = learn_from(me, r, p.graph, &own, l, summary, err);
    run_policy_free(&p);
    return done;
}

static int on_end(void *arg, struct invocation *r)
{
    struct learner *me = arg;
    OWN(learned) struct learned l = {0};
    struct buf summary = {0};
    struct bk_err err;
    int done = me->failed         ? err_nomem(&err)
               : me->from_denials ? learner_end_denied(me, r, &summary, &err)
               : me->traced       ? learner_end_traced(me, r, &summary, &err)
                                  : learn_all(me, r, &l, &summary, &err);
    exit_write(STDERR_FILENO, &summary);
    return done < 0 ? cli_fail(&err), FAILED : 0;
}

int learner_init(struct learner *l, struct bk_err *err)
{
    l->observer = (struct run_observer){.on_event = on_event, .on_end = on_end, .arg = l};
    if (!l->from_denials) {
        l->observer.texts = &trace_source;
        l->observer.ntexts = 1;
    }
    return trace_init(&l->used, NULL, err) < 0 ? -1 : trace_init(&l->denied, NULL, err);
}

void learner_free(struct learner *l)
{
    trace_free(&l->used);
    trace_free(&l->denied);
}
