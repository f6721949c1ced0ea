/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_CLIENT_RULES_H
#define BK_AGENT_CLIENT_RULES_H

#include "agent/hook.h"

/*
 * What an agent's own settings say about a shell command. The agent applies its rules to the
 * command that the hook returns, where none of them would match. So the hook applies them to the
 * original command: what they deny stays denied, and what they allow needs no question.
 */
enum client_rule {
    CLIENT_SILENT, /* no rule is about it */
    CLIENT_ALLOWS,
    CLIENT_ASKS,
    CLIENT_DENIES,
};

/* root: the project's folder. */
enum client_rule client_rule_about(const struct hook_call *call, const char *root);
/* The same for rules that are given, with the name of the shell tool. */
enum client_rule client_rule_of(const json_t *permissions, const char *tool, const char *command);

/* The same for Codex CLI (codex-rules.c). */
enum client_rule codex_rule_about(const struct hook_call *call, const char *root);
/* The same for Gemini CLI (gemini-rules.c). */
enum client_rule gemini_rule_about(const struct hook_call *call, const char *root);
/* The same for Cursor (cursor-rules.c). */
enum client_rule cursor_rule_about(const struct hook_call *call, const char *root);
/* The same for rules that come with the command (opencode-rules.c). */
enum client_rule opencode_rule_about(const struct hook_call *call);
/* A settings file, or NULL if there is none that can be read. */
json_t *client_settings_read(const char *path);

#endif
