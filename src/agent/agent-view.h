/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_AGENT_VIEW_H
#define BK_AGENT_AGENT_VIEW_H

#include "agent/decide.h"
#include "agent/json.h"
#include "base/buf.h"
#include "settings/settings.h"

/* What the settings mean for a program that runs an agent's commands. */
struct agent_view {
    struct settings settings;
    struct settings_result result;
    enum permission_mode mode; /* the user's choice, never from a file */
    bool planning;
    const char *plan_file; /* if planning: the only file that may be written; or NULL */
    char tmpdir[512];      /* TMPDIR of commands */
};

/* Reads all layers for a working directory, and further files. Call view_free() even if
 * it fails. */
int view_read(struct agent_view *v, const char *cwd, const char *const *files, size_t nfiles,
              struct bk_err *err);
void view_free(struct agent_view *v);
#define OWN_agent_view view_free

/* Describes this folder ("your home directory") if it is too wide to be writable and the settings
 * don't narrow it; NULL if it is fine. */
const char *view_root_is_all(struct agent_view *v, const char *root);

/* Describes the folder if a sandboxed command created it or one above it; nothing if not. */
void view_provenance(const char *folder, struct buf *out);

/* The folder in which the TMPDIR of a session is made: by the settings, or by the variables that
 * sandbox-runtime has. NULL: the usual one. It is none that commands can write. */
const char *view_tmpdir_place(const struct agent_view *v, const char *root);

/* Whether a sandbox could be prepared before the command is known: a record begins with it, and
 * rules for commands judge its start. */
bool view_can_wait(const struct agent_view *v);

/* Whether a rule of `commands` asks. */
bool view_asks(const struct agent_view *v);
/* The user has agreed to these commands for the session: its grants. Others are ignored. */
void view_agree(struct agent_view *v, const json_t *grants);

struct decide_settings view_decides(const struct agent_view *v);

/* Parses "client", "open", "prompt", "none" or an agent's own names. Returns false for other words.
 * Sets *plan if the word means that the agent is planning. */
bool view_mode(const char *word, enum permission_mode *mode, bool *plan);

/* Instructions for a model; empty if commands don't run in a sandbox. */
void summary_text(const struct agent_view *v, struct buf *out);
/* Only the rules: what commands can read, write and reach. */
void summary_rules(const struct agent_view *v, struct buf *out);
void summary_json(const struct agent_view *v, struct buf *out);

#endif
