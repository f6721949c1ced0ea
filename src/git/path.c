/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Paths as text. The caller must check for symlinks. */

#include "git/path.h"

#include <limits.h>
#include <string.h>
#include <strings.h>

struct walk {
    char text[PATH_MAX];
    size_t n;
    bool down; /* the path has entered a component */
};

static bool climb(struct walk *w)
{
    if (w->down || !w->n)
        return false;
    while (w->text[--w->n] != '/')
        continue;
    return true;
}

static bool enter(struct walk *w, const char *name, size_t n)
{
    if (n > 255 || n + 2 > sizeof(w->text) - w->n)
        return false;
    w->text[w->n++] = '/';
    memcpy(w->text + w->n, name, n);
    w->n += n;
    return w->down = true;
}

static bool is_plain(const char *s, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)s[i] < ' ' || s[i] == 0x7f)
            return false;
    return true;
}

static bool walk_component(struct walk *w, const char *name, size_t n)
{
    if (!n || (n == 1 && name[0] == '.'))
        return true;
    if (n == 2 && name[0] == '.' && name[1] == '.')
        return climb(w);
    return enter(w, name, n);
}

static bool walk_path(struct walk *w, const char *path, size_t len)
{
    for (size_t at = 0; at < len;) {
        const char *slash = memchr(path + at, '/', len - at);
        size_t n = slash ? (size_t)(slash - path) - at : len - at;
        if (!walk_component(w, path + at, n))
            return false;
        at += n + 1;
    }
    return true;
}

bool git_path_resolve(const char *folder, const char *path, size_t len, char *out, size_t out_size)
{
    struct walk w = {.n = 0};
    if (!len || folder[0] != '/' || !is_plain(path, len))
        return false;
    if (path[0] != '/' && !walk_path(&w, folder, strlen(folder)))
        return false;
    w.down = path[0] == '/'; /* an absolute path starts at the root */
    if (!walk_path(&w, path, len))
        return false;
    if (!w.n)
        w.text[w.n++] = '/';
    if (w.n >= out_size)
        return false;
    memcpy(out, w.text, w.n);
    out[w.n] = '\0';
    return true;
}

const char *git_path_below(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    if (n == 1 && folder[0] == '/')
        n = 0;
    if (strncmp(path, folder, n) != 0 || path[n] != '/' || !path[n + 1])
        return NULL;
    return path + n + 1;
}

bool git_path_has_dotgit(const char *path)
{
    for (const char *at = path; *at;) {
        size_t n = strcspn(at, "/");
        if (n == 4 && !strncasecmp(at, ".git", 4))
            return true;
        at += n + (at[n] == '/');
    }
    return false;
}
