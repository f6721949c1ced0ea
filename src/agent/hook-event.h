/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_HOOK_EVENT_H
#define BK_AGENT_HOOK_EVENT_H

#include "agent/json.h"
#include "base/buf.h"

/*
 * Messages of agents that are not about a tool: a session or a sub-agent starts and can get text
 * for its model, or the agent is about to show text to the user. None of them can stop anything.
 */
enum hook_event {
    HOOK_NO_EVENT, /* a message about a tool, or an unknown one */
    HOOK_CONTEXT,
    HOOK_DISPLAY,
};

enum hook_event hook_event_of(const json_t *message);
/* HOOK_CONTEXT: the answer that gives a model this text. */
json_t *hook_context(const json_t *message, const char *text, size_t n);
/* HOOK_DISPLAY: the answer that removes blocks of violations from what is shown. */
json_t *hook_display(const json_t *message);

#endif
