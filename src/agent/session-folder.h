/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_AGENT_SESSION_FOLDER_H
#define BK_AGENT_SESSION_FOLDER_H

#include <limits.h>
#include <stdbool.h>

#include "agent/json.h"

/*
 * `cd` lasts: the folder in which an agent's command ended is where its next one starts. The
 * command itself says where it ended, so only an existing folder inside the project counts, by its
 * real path. It is where a command starts, and opens nothing.
 *
 * The agent has a working folder of its own. If it changes that, the agent's counts again.
 */
struct folder_user {
    char *of;        /* the agent's session; NULL: none */
    char *root;      /* the project */
    char *cwd;       /* the agent's folder */
    char *candidate; /* kept for the answer */
};

/* From a run's message: "of", "root", "cwd". */
void folder_user_read(struct folder_user *s, const json_t *m);
/* Its next command comes from this folder. */
void folder_user_move(struct folder_user *s, const char *cwd);
void folder_user_free(struct folder_user *s);

/* Where its command starts, valid while s is; NULL if it did not ask. */
const char *session_folder(const json_t *folders, struct folder_user *s);
/* Its command ended there. */
void session_folder_set(json_t *folders, const struct folder_user *s, const char *folder);
/* Whether this is the real path of a folder in the project. */
bool session_folder_fits(const char *folder, const char *root);

#endif
