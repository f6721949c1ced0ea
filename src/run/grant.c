/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Every change updates the policy with the text of all grants: those that last until the run ends,
 * and those that end before.
 */

#include "run/grant.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "run/run-int.h"
#include "settings/flag-rule.h"
#include "vocab/rule-words.h"

void grants_init(struct grants *g, struct run *r)
{
    g->run = r;
    g->nbase = run_sources(r, g->base, GRANTS_SOURCES);
}

static void free_rules(struct grant_rules *r)
{
    buf_free(&r->text);
    buf_free(&r->links);
}

void grants_free(struct grants *g)
{
    free_rules(&g->lasting);
    for (size_t i = 0; i < GRANTS_BRIEF; i++)
        free_rules(&g->brief[i].rules);
}

bool grants_know(const char *option)
{
    const struct rule_word *w = rule_word_find(option);
    return w && w->allow;
}

static void add_rules(struct grant_rules *all, const struct grant_rules *more)
{
    buf_add(&all->text, more->text.s, more->text.n);
    buf_add(&all->links, more->links.s, more->links.n);
}

static int use_policy(const struct grants *g, const struct run_source *base, size_t n,
                      const struct grant_rules *granted, struct buf *waits, struct bk_err *err)
{
    struct run_source all[GRANTS_SOURCES + 1];
    bool shipped = n && source_is_shipped(&base[0]);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (!base[i].last)
            all[count++] = base[i];
    if (granted->text.n)
        all[count++] = (struct run_source){.kind = RUN_TEXT,
                                           .from = SOURCE_GRANT,
                                           .name = "<grants>",
                                           .text = granted->text.s,
                                           .n = granted->text.n,
                                           .apart = !shipped,
                                           .links = granted->links.s,
                                           .nlinks = granted->links.n};
    for (size_t i = 0; i < n; i++)
        if (base[i].last)
            all[count++] = base[i];
    return run_update(g->run, all, count, waits, err);
}

/* On top of the base: the grants that last, those that end, and one more, or NULL. */
static int update_policy(struct grants *g, const struct run_source *base, size_t n,
                         const struct grant_rules *more, struct buf *waits, struct bk_err *err)
{
    struct grant_rules all = {0};
    int result = -1;
    add_rules(&all, &g->lasting);
    for (size_t i = 0; i < GRANTS_BRIEF; i++)
        if (g->brief[i].until_ms)
            add_rules(&all, &g->brief[i].rules);
    if (more)
        add_rules(&all, more);
    if (!buf_ok(&all.text) || !buf_ok(&all.links))
        (void)err_nomem(err);
    else
        result = use_policy(g, base, n, &all, waits, err);
    free_rules(&all);
    return result;
}

void grants_moved(struct grants *g, const struct run_source *sources, size_t n)
{
    memcpy(g->base, sources, n * sizeof(*sources));
    g->nbase = n;
}

int grants_base(struct grants *g, const struct run_source *sources, size_t n, struct buf *waits,
                struct bk_err *err)
{
    if (n > GRANTS_SOURCES)
        return err_set(err, BK_E_LIMIT, "a policy can have at most %d texts", GRANTS_SOURCES);
    if (update_policy(g, sources, n, NULL, waits, err) < 0)
        return -1;
    grants_moved(g, sources, n);
    return 0;
}

/* Grants are reported like denials. */
static void report_grant(const struct grants *g, const char *option, const char *what)
{
    static struct event e; /* large */
    const struct rule_word *w = rule_word_find(option);
    e = (struct event){.time_ns = date_ns(),
                       .pid = getpid(),
                       .tid = getpid(),
                       .policy = (uint32_t)g->run->nupdated,
                       .rule = GRAPH_NO_RULE,
                       .op = w ? w->op : OP_DEFAULT,
                       .allow = true,
                       .count = 1,
                       .exe = "buckle grant"};
    size_t n = strlen(what);
    e.path_len = (uint32_t)(n < EVENT_PATH ? n : EVENT_PATH - 1);
    memcpy(e.path, what, e.path_len);
    run_event(g->run, &e);
}

static struct grant_brief *unused_brief(struct grants *g)
{
    for (size_t i = 0; i < GRANTS_BRIEF; i++)
        if (!g->brief[i].until_ms)
            return &g->brief[i];
    return NULL;
}

static int add_grant(struct grants *g, const char *option, const char *value,
                     struct grant_rules *rules, struct buf *waits, struct bk_err *err)
{
    bool shipped = g->nbase && source_is_shipped(&g->base[0]);
    if (rule_write(option, value, g->run->spec->launch.cwd, shipped, &rules->text, &rules->links,
                   err) < 0)
        return -1;
    return update_policy(g, g->base, g->nbase, rules, waits, err);
}

int grants_add(struct grants *g, const char *option, const char *value, unsigned seconds,
               struct buf *waits, struct bk_err *err)
{
    struct grant_rules rules = {0};
    struct grant_brief *brief = seconds ? unused_brief(g) : NULL;
    if (seconds > GRANTS_SECONDS)
        return err_set(err, BK_E_INPUT, "a grant can last at most %d seconds", GRANTS_SECONDS);
    if (seconds && !brief)
        return err_set(err, BK_E_LIMIT, "there are %d such grants already", GRANTS_BRIEF);
    if (add_grant(g, option, value, &rules, waits, err) < 0) {
        free_rules(&rules);
        return -1;
    }
    if (brief) {
        *brief = (struct grant_brief){now_ms() + seconds * UINT64_C(1000), rules};
    } else {
        add_rules(&g->lasting, &rules);
        free_rules(&rules);
    }
    report_grant(g, option, value);
    return 0;
}

unsigned grants_expire(struct grants *g)
{
    enum { AGAIN_MS = 1000 };
    uint64_t now = now_ms(), next = 0;
    bool ended = false;
    OWN(buf) struct buf waits = {0}; /* for nothing: less is allowed now */
    struct bk_err err;
    for (size_t i = 0; i < GRANTS_BRIEF; i++) {
        struct grant_brief *b = &g->brief[i];
        if (b->until_ms && b->until_ms <= now) {
            free_rules(&b->rules);
            *b = (struct grant_brief){0};
            ended = true;
        } else if (b->until_ms && (!next || b->until_ms < next)) {
            next = b->until_ms;
        }
    }
    g->stale |= ended;
    if (g->stale && update_policy(g, g->base, g->nbase, NULL, &waits, &err) < 0)
        return AGAIN_MS; /* until it works: the time is over */
    g->stale = false;
    return next ? (unsigned)(next - now) : 0;
}
