/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_CLI_AGENT_AGENT_TABLE_H
#define BK_CLI_AGENT_AGENT_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

/* The coding agents that Buckle knows (agents.def has the meaning of each column). */
enum agent_id {
#define AGENT(id, name, title, version, source, kind, effect, user, project, mcp, mcp_key,         \
              program)                                                                             \
    AGENT_##id,
#include "cli/agent/agents.def"
    AGENT_COUNT,
};

enum agent_kind { KIND_GROUPS, KIND_ENTRIES, KIND_FILES };
enum agent_effect { EFFECT_REWRITES, EFFECT_REFUSES };

struct agent_info {
    const char *name, *title, *version, *source;
    enum agent_kind kind;
    enum agent_effect effect;
    const char *user, *project;
    const char *mcp, *mcp_key;
    const char *program;
};

struct agent_hook {
    enum agent_id agent;
    const char *event, *matcher;
    bool gate;
};

/* Writes the text of a file that is all ours. program: a word for a shell. */
typedef void agent_file_text(struct buf *out, const char *program);

struct agent_file {
    enum agent_id agent;
    const char *user, *project;
    agent_file_text *text;
};

extern const struct agent_info agent_table[AGENT_COUNT];
extern const struct agent_hook agent_hooks[];
extern const size_t agent_nhooks;
extern const struct agent_file agent_files[];
extern const size_t agent_nfiles;

/* NULL with all names in *err if there is none. */
const struct agent_info *agent_find(const char *name, struct bk_err *err);
enum agent_id agent_id_of(const struct agent_info *a);

#endif
