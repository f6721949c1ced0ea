/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "agent/session-folder.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"

enum { ID_MOST = 256 };

static char *copy_of(const json_t *m, const char *key, size_t most)
{
    const char *text = json_text(m, key);
    return text && strlen(text) < most ? strdup(text) : NULL;
}

void folder_user_read(struct folder_user *s, const json_t *m)
{
    folder_user_free(s);
    s->of = copy_of(m, "of", ID_MOST);
    s->root = copy_of(m, "root", PATH_MAX);
    s->cwd = copy_of(m, "cwd", PATH_MAX);
    if (!s->of || !s->root || !s->cwd || s->root[0] != '/' || s->cwd[0] != '/')
        folder_user_free(s);
}

void folder_user_move(struct folder_user *s, const char *cwd)
{
    char *copy = s->of && cwd && cwd[0] == '/' ? strdup(cwd) : NULL;
    if (!copy)
        return;
    free(s->cwd);
    s->cwd = copy;
}

void folder_user_free(struct folder_user *s)
{
    free(s->of);
    free(s->root);
    free(s->cwd);
    free(s->candidate);
    *s = (struct folder_user){0};
}

bool session_folder_fits(const char *folder, const char *root)
{
    char real[PATH_MAX];
    struct stat st;
    if (folder[0] != '/' || !realpath(folder, real) || strcmp(real, folder) != 0)
        return false;
    return path_is_in(real, root) && stat(real, &st) == 0 && S_ISDIR(st.st_mode);
}

const char *session_folder(const json_t *folders, struct folder_user *s)
{
    const json_t *last = s->of ? json_object_get(folders, s->of) : NULL;
    const char *folder = json_text(last, "folder"), *cwd = json_text(last, "cwd");
    if (!s->of)
        return NULL;
    if (!folder || !cwd || strcmp(cwd, s->cwd) != 0 || !session_folder_fits(folder, s->root))
        return s->cwd;
    free(s->candidate);
    s->candidate = strdup(folder);
    return s->candidate ? s->candidate : s->cwd;
}

void session_folder_set(json_t *folders, const struct folder_user *s, const char *folder)
{
    if (!s->of || !folder)
        return;
    if (session_folder_fits(folder, s->root))
        json_object_set_new(folders, s->of,
                            json_pack("{s:s, s:s}", "folder", folder, "cwd", s->cwd));
    else
        json_object_del(folders, s->of);
}
