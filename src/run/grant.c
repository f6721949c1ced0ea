/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "run/grant.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "run/run-int.h"
#include "settings/flag-rule.h"
#include "vocab/rule-words.h"

void grants_init(struct grants *g, struct run *r)
{
    g->run = r;
    g->nbase = run_sources(r, g->base, GRANTS_SOURCES);
}

void grants_free(struct grants *g)
{
    buf_free(&g->text);
    buf_free(&g->links);
}

bool grants_know(const char *option)
{
    const struct rule_word *w = rule_word_find(option);
    return w && w->allow;
}

static int update_policy(struct grants *g, const struct run_source *base, size_t n,
                         struct buf *waits, struct bk_err *err)
{
    struct run_source all[GRANTS_SOURCES + 1];
    bool shipped = n && source_is_shipped(&base[0]);
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (!base[i].last)
            all[count++] = base[i];
    if (g->text.n)
        all[count++] = (struct run_source){.kind = RUN_TEXT,
                                           .from = SOURCE_GRANT,
                                           .name = "<grants>",
                                           .text = g->text.s,
                                           .n = g->text.n,
                                           .apart = !shipped,
                                           .links = g->links.s,
                                           .nlinks = g->links.n};
    for (size_t i = 0; i < n; i++)
        if (base[i].last)
            all[count++] = base[i];
    return run_update(g->run, all, count, waits, err);
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
    if (update_policy(g, sources, n, waits, err) < 0)
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

int grants_add(struct grants *g, const char *option, const char *value, struct buf *waits,
               struct bk_err *err)
{
    size_t before = g->text.n, links = g->links.n;
    bool shipped = g->nbase && source_is_shipped(&g->base[0]);
    if (rule_write(option, value, g->run->spec->launch.cwd, shipped, &g->text, &g->links, err) ==
            0 &&
        update_policy(g, g->base, g->nbase, waits, err) == 0) {
        report_grant(g, option, value);
        return 0;
    }
    if (g->text.s) { /* undo it */
        g->text.n = before;
        g->text.s[before] = '\0';
    }
    g->links.n = links;
    return -1;
}
