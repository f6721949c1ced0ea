/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_AGENT_VIEW_H
#define BK_AGENT_AGENT_VIEW_H

#include "agent/decide.h"
#include "base/buf.h"
#include "settings/settings.h"

/* What settings mean for a program that runs an agent's commands. */
struct agent_view {
    struct settings settings;
    struct settings_result result;
    enum permission_mode mode; /* of the person, not of any file */
    bool planning;
    const char *plan_file; /* then: the only file that may be written; or NULL */
    char tmpdir[256];      /* commands' TMPDIR */
};

/* Reads the layers for a working directory, and the files besides. Free with view_free() whatever
 * happened. */
int view_read(struct agent_view *v, const char *cwd, const char *const *files, size_t nfiles,
              struct bk_err *err);
void view_free(struct agent_view *v);
#define OWN_agent_view view_free

/* What is wrong with this folder as the one that commands can write ("your home directory"), if
 * settings leave it at that; NULL: nothing. */
const char *view_root_is_all(struct agent_view *v, const char *root);

struct decide_settings view_decides(const struct agent_view *v);

/* "open", "prompt", "none"; or what agents call them. False when it is none of these. plan is set
 * when the word means that a plan is being made. */
bool view_mode(const char *word, enum permission_mode *mode, bool *plan);

/* What a model should be told: nothing when commands do not run in a sandbox. */
void summary_text(const struct agent_view *v, struct buf *out);
/* Only what may be read, written and reached. */
void summary_rules(const struct agent_view *v, struct buf *out);
void summary_json(const struct agent_view *v, struct buf *out);

#endif
