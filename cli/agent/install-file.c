/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Changes files that belong to other programs. The user's own files may be symlinks, for people who
 * keep their settings elsewhere; a project's may not lead out of it, since anyone can have written
 * the project.
 */

#include "cli/agent/install-file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "base/text-diff.h"
#include "cli/args.h"
#include "settings/write.h"

/* The nearest part of the path that exists, without symlinks. */
static int existing_part(const char *path, char out[PATH_MAX], struct bk_err *err)
{
    char part[PATH_MAX];
    snprintf(part, sizeof(part), "%s", path);
    for (;;) {
        struct stat st;
        if (lstat(part, &st) == 0)
            return realpath(part, out) ? 0 : err_sys(err, "cannot follow %s", part);
        if (errno != ENOENT && errno != ENOTDIR)
            return err_sys(err, "cannot find %s", part);
        char *slash = strrchr(part, '/');
        if (!slash || slash == part)
            return err_set(err, BK_E_INPUT, "%s: no such folder", path);
        *slash = '\0';
    }
}

static int check_place(const char *path, const char *inside, struct bk_err *err)
{
    char real[PATH_MAX], root[PATH_MAX];
    struct stat st;
    if (existing_part(path, real, err) < 0)
        return -1;
    size_t n = inside && realpath(inside, root) ? strlen(root) : 0;
    if (inside && (strncmp(real, root, n) != 0 || (real[n] && real[n] != '/')))
        return err_set(err, BK_E_INPUT, "%s leads out of the project, to %s; left unchanged", path,
                       real);
    if (stat(real, &st) < 0)
        return err_sys(err, "cannot find %s", real);
    if (st.st_uid != geteuid()) {
        err_set(err, BK_E_INPUT, "%s belongs to another user; left unchanged", real);
        err_hint(err, "run this as that user");
        return -1;
    }
    return 0;
}

int install_open(struct install_file *f, struct arena *a, const char *path, const char *inside,
                 bool dry, bool create, struct bk_err *err)
{
    *f = (struct install_file){.lock = SETTINGS_UNLOCKED, .mode = 0644};
    if ((size_t)snprintf(f->path, sizeof(f->path), "%s", path) >= sizeof(f->path))
        return err_set(err, BK_E_INPUT, "the path is too long");
    if (check_place(path, inside, err) < 0)
        return -1;
    if (!dry && ((create && settings_make_folders(path, err) < 0) ||
                 settings_lock(&f->lock, path, err) < 0))
        return -1;
    if (jt_load(a, path, &f->old, err) == 0)
        return 0;
    f->old = (struct json_text){.name = f->path};
    if (err->sys == ENOENT || err->sys == ENOTDIR)
        return 0;
    settings_unlock(&f->lock);
    return -1;
}

int install_finish(struct install_file *f, const struct buf *text, bool dry, struct bk_err *err)
{
    OWN(buf) struct buf diff = {0};
    if (text && !buf_ok(text))
        return err_nomem(err);
    bool same = text ? f->old.s && f->old.n == text->n && memcmp(f->old.s, text->s, text->n) == 0
                     : !f->old.s;
    if (same)
        return 1;
    if (dry) {
        text_diff(f->path, f->old.s, f->old.n, text ? text->s : NULL, text ? text->n : 0, &diff);
        return cli_emit(&diff, CLI_OK) == CLI_OK ? 0 : err_sys(err, "cannot write");
    }
    if (text)
        return settings_write_file(f->path, text, f->mode, err);
    return unlink(f->path) < 0 ? err_sys(err, "cannot remove %s", f->path) : 0;
}

void install_close(struct install_file *f)
{
    settings_unlock(&f->lock);
}
