/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The checks in order: first what refuses the command, then what puts it inside or outside the
 * sandbox, and last whether to ask the user. */

#include "agent/decide.h"

#include <string.h>

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

static struct decision refuse(const char *reason)
{
    return (struct decision){DECIDE_REFUSE, false, reason};
}

static struct decision outside(const struct decide_settings *s, const char *reason)
{
    bool asks = s->mode == PERMISSION_PROMPT;
    return (struct decision){asks ? DECIDE_ASK : DECIDE_OUTSIDE, false, reason};
}

static struct decision inside(const struct decide_settings *s, const char *reason)
{
    bool asks = s->mode == PERMISSION_PROMPT && !s->auto_allow;
    return (struct decision){asks ? DECIDE_ASK : DECIDE_SANDBOXED, true, reason};
}

struct decision decide(const struct decide_settings *s, const struct decide_request *r)
{
    if (s->mode == PERMISSION_NONE)
        return refuse("tools are disabled");
    if (s->planning)
        return refuse("nothing runs while the agent is planning");
    if (is_empty(r->command))
        return refuse("there is no command");
    if (!s->enabled)
        return outside(s, "sandboxing is disabled");
    if (r->bypass && s->allow_unsandboxed)
        return outside(s, "the request asks to run outside the sandbox, which the settings allow");
    if (!r->other_shell && is_excluded(s, r->command))
        return outside(s, "the settings exclude this command from the sandbox");
    if (r->bypass)
        return inside(s, "the settings do not allow commands outside the sandbox");
    return inside(s, "commands run in the sandbox");
}

const char *decide_action_name(enum decide_action a)
{
    static const char *const names[] = {
        [DECIDE_SANDBOXED] = "run-sandboxed",
        [DECIDE_ASK] = "ask",
        [DECIDE_OUTSIDE] = "run-outside",
        [DECIDE_REFUSE] = "refuse",
    };
    return names[a];
}
