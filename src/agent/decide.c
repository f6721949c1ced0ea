/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Settings and request choose a row of the table, and the mode a column. */

#include "agent/decide.h"

#include <string.h>

#include "agent/line-rules.h"

static bool is_empty(const char *command)
{
    return !command || command[strspn(command, " \t\r\n\v\f")] == '\0';
}

static bool is_excluded(const struct decide_settings *s, const char *command)
{
    for (size_t i = 0; i < s->nexcluded; i++)
        if (exclude_matches(s->excluded[i], command))
            return true;
    return false;
}

/* ---- the table ---- */

enum where { INSIDE, OUTSIDE };
enum verb { REFUSE, RUN, ASK, CLIENT };

static const struct row {
    const char *words;
    enum where where;
    enum verb client, prompt, open;
    const char *reason;
} rows[] = {
#define DECISION(when, words, where, client, prompt, open, reason)                                 \
    {words, where, client, prompt, open, reason},
#include "agent/decisions.def"
};

struct decision decide_at(enum decide_row row, enum permission_mode mode)
{
    const struct row *r = &rows[row];
    bool inside = r->where == INSIDE;
    const enum decide_action actions[] = {[REFUSE] = DECIDE_REFUSE,
                                          [RUN] = inside ? DECIDE_SANDBOXED : DECIDE_OUTSIDE,
                                          [ASK] = DECIDE_ASK,
                                          [CLIENT] = DECIDE_CLIENT};
    enum verb verb = mode == PERMISSION_OPEN     ? r->open
                     : mode == PERMISSION_CLIENT ? r->client
                                                 : r->prompt;
    return (struct decision){actions[verb], row, inside && verb != REFUSE, r->reason, NULL};
}

/* ---- which row ---- */

static enum decide_row row_of(const struct decide_settings *s, const struct decide_request *r,
                              const struct line_rules *rules)
{
    const struct command_match *m = &rules->match;
    if (s->planning)
        return DECIDE_ROW_PLANNING;
    if (is_empty(r->command))
        return DECIDE_ROW_NO_COMMAND;
    if (m->deny)
        return DECIDE_ROW_COMMAND_DENIED;
    if (!s->enabled)
        return m->ask || rules->unclear ? DECIDE_ROW_DISABLED_ASKED : DECIDE_ROW_DISABLED;
    if (r->bypass && s->allow_unsandboxed)
        return DECIDE_ROW_BYPASS_ALLOWED;
    if (m->ask)
        return DECIDE_ROW_COMMAND_ASKED;
    if (!r->other_shell && !m->narrows && !rules->unclear && is_excluded(s, r->command))
        return DECIDE_ROW_EXCLUDED;
    if (r->bypass)
        return s->auto_allow ? DECIDE_ROW_BYPASS_AUTO : DECIDE_ROW_BYPASS;
    return s->auto_allow ? DECIDE_ROW_AUTO_ALLOW : DECIDE_ROW_ANY;
}

struct decision decide(const struct decide_settings *s, const struct decide_request *r)
{
    struct line_rules rules = {0};
    bool outside = !s->enabled || (r->bypass && s->allow_unsandboxed) ||
                   (r->command && is_excluded(s, r->command));
    if (s->access && s->access->ncommands)
        line_rules_find(s->access, r->command, outside, &rules);
    enum decide_row row = row_of(s, r, &rules);
    if (s->mode == PERMISSION_NONE)
        return (struct decision){DECIDE_REFUSE, row, false, "tools are disabled", NULL};
    struct decision d = decide_at(row, s->mode);
    d.rule = row == DECIDE_ROW_COMMAND_DENIED ? rules.match.deny
             : row == DECIDE_ROW_COMMAND_ASKED || row == DECIDE_ROW_DISABLED_ASKED ? rules.match.ask
                                                                                   : NULL;
    return d;
}

void decide_reason(const struct decision *d, struct buf *out)
{
    buf_str(out, d->reason);
    if (!d->rule)
        return;
    buf_str(out, " (");
    buf_safe(out, d->rule->origin, strlen(d->rule->origin));
    buf_chr(out, ')');
    if (!d->rule->reason)
        return;
    buf_str(out, ": ");
    buf_safe(out, d->rule->reason, strlen(d->rule->reason));
}

const char *decide_action_name(enum decide_action a)
{
    static const char *const names[] = {
        [DECIDE_SANDBOXED] = "run-sandboxed", [DECIDE_ASK] = "ask",
        [DECIDE_OUTSIDE] = "run-outside",     [DECIDE_REFUSE] = "refuse",
        [DECIDE_CLIENT] = "client",
    };
    return names[a];
}

const char *decide_row_words(enum decide_row row)
{
    return rows[row].words;
}
