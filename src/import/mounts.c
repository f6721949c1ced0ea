/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Mounts as rules. A profile is about the host's paths, so a folder that a tool shows at another
 * place is opened at its own. A mount covers what was at its place: earlier mounts inside it are
 * gone, the host's folder of that name is closed, and so is the part of another mount's source that
 * was visible there. Where two mounts show one folder, the result can be stricter than the tool,
 * never wider.
 */

#include <string.h>

#include "import/import-int.h"

/* What follows `folder` in a path that is that folder or inside it; NULL for others. */
static const char *inside(const char *path, const char *folder)
{
    size_t n = strlen(folder);
    if (n == 1)
        return path[1] ? path : "";
    if (strncmp(path, folder, n) != 0 || (path[n] && path[n] != '/'))
        return NULL;
    return path + n;
}

static void cover(struct imp *im, const char *to)
{
    for (size_t i = 0; i < im->nmounts; i++) {
        struct imp_mount *m = &im->mounts[i];
        if (m->covered || !inside(m->to, to))
            continue;
        m->covered = true;
        if (m->rule != SIZE_MAX)
            im->rules[m->rule].gone = true;
    }
}

/* Closes what the topmost mount showed at that place, in its source. */
static int close_source(struct imp *im, const char *to, uint32_t line, struct bk_err *err)
{
    for (size_t i = im->nmounts; i-- > 0;) {
        const struct imp_mount *m = &im->mounts[i];
        const char *rest = m->covered ? NULL : inside(to, m->to), *path;
        if (!rest)
            continue;
        if (!m->from || strcmp(m->from, m->to) == 0)
            return 0;
        if (imp_join(im, strcmp(m->from, "/") == 0 ? "" : m->from, rest, &path, err) < 0)
            return -1;
        return imp_rule(im, path, 0, MAY_ALL, line, err);
    }
    return 0;
}

int imp_mount(struct imp *im, const char *from, const char *to, unsigned may, uint32_t line,
              struct bk_err *err)
{
    const char *real = from && im->env->real ? im->env->real(im->env->ctx, from) : NULL;
    bool moved = from && strcmp(from, to) != 0;
    if (im->nmounts == IMP_RULES)
        return err_set(err, BK_E_LIMIT, "%s: more than %d mounts", im->source, IMP_RULES);
    /* mounting follows links in the source */
    if (real && !(from = arena_strndup(&im->arena, real, strlen(real))))
        return err_nomem(err);
    cover(im, to);
    if (close_source(im, to, line, err) < 0)
        return -1;
    bool same = from && strcmp(from, to) == 0;
    struct imp_mount *m = &im->mounts[im->nmounts++];
    *m = (struct imp_mount){.from = from, .to = to, .rule = SIZE_MAX};
    struct imp_rule r = {.path = to, .line = line};
    r.grant = (uint8_t)(same ? may : 0);
    r.revoke = (uint8_t)(same ? MAY_ALL & ~may : MAY_ALL);
    if (imp_add(im, r, err) < 0)
        return -1;
    if (same || !from) {
        m->rule = same ? im->nrules - 1 : SIZE_MAX;
        return 0;
    }
    r = (struct imp_rule){.path = from, .line = line};
    r.grant = (uint8_t)may;
    m->rule = im->nrules;
    if (imp_add(im, r, err) < 0)
        return -1;
    return moved ? imp_differs(im, line, to, "keeps the path that it has on the host", err) : 0;
}
