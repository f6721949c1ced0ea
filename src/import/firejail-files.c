/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * firejail's view of files: the host's tree, in which the system's folders are read-only and the
 * homes of other users are empty; then private folders, which hide what is there; then whitelists,
 * which hide everything beside them in the folder that they are about; then blacklist, read-only
 * and their siblings as written.
 */

#include <stdio.h>
#include <string.h>

#include "import/firejail-int.h"

/* ---- macros ---- */

static const struct {
    const char *name, *values[FIREJAIL_EXPANDED];
} macros[] = {
    {"${PATH}",
     {"/usr/local/bin", "/usr/bin", "/bin", "/usr/games", "/usr/local/games", "/usr/local/sbin",
      "/usr/sbin", "/sbin"}},
    {"${HOME}", {"~"}},
    {"${CFG}", {"/etc/firejail"}},
    {"${DOWNLOADS}", {"~/Downloads"}},
    {"${DOCUMENTS}", {"~/Documents"}},
    {"${DESKTOP}", {"~/Desktop"}},
    {"${MUSIC}", {"~/Music"}},
    {"${PICTURES}", {"~/Pictures"}},
    {"${VIDEOS}", {"~/Videos"}},
};

int imp_firejail_expand(struct imp *im, const char *text, uint32_t line,
                        const char *out[FIREJAIL_EXPANDED], size_t *n, struct bk_err *err)
{
    char user[32];
    const char *whole;
    *n = 0;
    snprintf(user, sizeof(user), "/run/user/%u", im->env->uid);
    if (strncmp(text, "${RUNUSER}", 10) == 0) {
        if (imp_join(im, user, text + 10, &whole, err) < 0)
            return -1;
        *n = 1;
        return imp_path(im, whole, line, &out[0], err);
    }
    for (size_t m = 0; m < sizeof(macros) / sizeof(macros[0]); m++) {
        size_t len = strlen(macros[m].name);
        if (strncmp(text, macros[m].name, len) != 0)
            continue;
        for (size_t v = 0; v < FIREJAIL_EXPANDED && macros[m].values[v]; v++, ++*n)
            if (imp_join(im, macros[m].values[v], text + len, &whole, err) < 0 ||
                imp_path(im, whole, line, &out[v], err) < 0)
                return -1;
        return 0;
    }
    if (strstr(text, "${"))
        return imp_fail(im, line, err, "%.100s: unknown macro", text);
    if (text[0] != '/' && text[0] != '~')
        return imp_fail(im, line, err, "%.100s is not an absolute path", text);
    *n = 1;
    return imp_path(im, text, line, &out[0], err);
}

/* ---- private folders ---- */

/* Hides a folder and opens names in it. Changes there are lost, so nothing can be written. */
static int keep_names(struct imp *im, const char *folder, const char *list, unsigned may,
                      uint32_t line, struct bk_err *err)
{
    const char *at = list, *name, *path;
    bool failed = false;
    while ((name = imp_piece(im, &at, ",", &failed))) {
        if (failed)
            return err_nomem(err);
        if (!*name)
            continue;
        if (imp_join(im, folder, "/", &path, err) < 0 || imp_join(im, path, name, &path, err) < 0 ||
            imp_path(im, path, line, &path, err) < 0 || imp_glob(im, path, may, 0, line, err) < 0)
            return -1;
    }
    return failed ? err_nomem(err) : 0;
}

static int private_bin(struct imp *im, const struct firejail_path *p, bool hide, struct bk_err *err)
{
    static const char *const bins[] = {"/bin",           "/sbin",           "/usr/bin", "/usr/sbin",
                                       "/usr/local/bin", "/usr/local/sbin", NULL};
    if (hide && imp_each(im, bins, 0, MAY_ALL, p->line, err) < 0)
        return -1;
    for (size_t i = 0; bins[i]; i++)
        if (keep_names(im, bins[i], p->text, MAY_READ | MAY_EXEC, p->line, err) < 0)
            return -1;
    return 0;
}

static int private_home(struct imp *im, const struct firejail_path *p, struct bk_err *err)
{
    const char *from = NULL;
    if (!im->env->home)
        return imp_fail(im, p->line, err, "private: the home folder is not known");
    im->scratch = true;
    if (*p->text && (imp_path(im, p->text, p->line, &from, err) < 0))
        return -1;
    return imp_mount(im, from, im->env->home, MAY_READ | MAY_WRITE | MAY_EXEC | MAY_SOCKET, p->line,
                     err);
}

/* `again`: of several that accumulate, the first hides. */
static int one_private(struct imp *im, const struct firejail_path *p, bool again,
                       struct bk_err *err)
{
    static const char *const folders[] = {
        [PRIVATE_ETC] = "/etc", [PRIVATE_OPT] = "/opt", [PRIVATE_SRV] = "/srv"};
    const char *cache;
    switch ((enum firejail_private)p->kind) {
    case PRIVATE_HOME:
        return private_home(im, p, err);
    case PRIVATE_TMP:
        im->scratch = true;
        return imp_rule(im, "/tmp", 0, MAY_ALL, p->line, err) < 0
                   ? -1
                   : imp_rule(im, "/tmp/.X11-unix", MAY_READ | MAY_SOCKET, 0, p->line, err);
    case PRIVATE_DEV:
        return imp_rule(im, "/dev", 0, MAY_ALL, p->line, err) < 0 ? -1
                                                                  : imp_devices(im, p->line, err);
    case PRIVATE_CACHE:
        im->scratch = true;
        return imp_path(im, "~/.cache", p->line, &cache, err) < 0
                   ? -1
                   : imp_rule(im, cache, 0, MAY_ALL, p->line, err);
    case PRIVATE_BIN:
        return private_bin(im, p, !again, err);
    case PRIVATE_IN_HOME:
        if (!im->env->home)
            return imp_fail(im, p->line, err, "private-home: the home folder is not known");
        if (!again && imp_rule(im, im->env->home, 0, MAY_ALL, p->line, err) < 0)
            return -1;
        return keep_names(im, im->env->home, p->text, MAY_READ | MAY_EXEC, p->line, err);
    default:
        if (!again && imp_rule(im, folders[p->kind], 0, MAY_ALL, p->line, err) < 0)
            return -1;
        return keep_names(im, folders[p->kind], p->text, MAY_READ | MAY_EXEC, p->line, err);
    }
}

/* ---- whitelists ---- */

/* The folder that a whitelist hides the rest of. */
static int top_of(struct imp *im, const char *path, const char **out, struct bk_err *err)
{
    const char *home = im->env->home;
    char user[32];
    size_t n = home ? strlen(home) : 0;
    snprintf(user, sizeof(user), "/run/user/%u", im->env->uid);
    if (home && strncmp(path, home, n) == 0 && (path[n] == '/' || !path[n])) {
        *out = home;
        return 0;
    }
    size_t keep = 1 + strcspn(path + 1, "/");
    if (strncmp(path, user, strlen(user)) == 0)
        keep = strlen(user);
    else if (strncmp(path, "/usr/", 5) == 0)
        keep = 5 + strcspn(path + 5, "/");
    else if (strncmp(path, "/sys/module", 11) == 0)
        keep = 11;
    *out = arena_strndup(&im->arena, path, keep);
    return *out ? 0 : err_nomem(err);
}

static int whitelist(struct imp *im, const struct firejail *f, struct bk_err *err)
{
    const char *paths[FIREJAIL_EXPANDED], *top;
    size_t n;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < f->npaths; i++) {
            const struct firejail_path *p = &f->paths[i];
            if (p->phase != PHASE_WHITELIST)
                continue;
            if (imp_firejail_expand(im, p->text, p->line, paths, &n, err) < 0)
                return -1;
            for (size_t k = 0; k < n; k++) {
                if (pass ? imp_glob(im, paths[k], p->grant, p->revoke, p->line, err) < 0
                         : (top_of(im, paths[k], &top, err) < 0 ||
                            imp_rule(im, top, 0, MAY_ALL, p->line, err) < 0))
                    return -1;
            }
        }
    }
    return 0;
}

/* ---- the others ---- */

static int others(struct imp *im, const struct firejail *f, struct bk_err *err)
{
    const char *paths[FIREJAIL_EXPANDED];
    size_t n;
    for (size_t i = 0; i < f->npaths; i++) {
        const struct firejail_path *p = &f->paths[i];
        if (p->phase != PHASE_OTHERS)
            continue;
        if (imp_firejail_expand(im, p->text, p->line, paths, &n, err) < 0)
            return -1;
        for (size_t k = 0; k < n; k++)
            if (imp_glob(im, paths[k], p->grant, p->revoke, p->line, err) < 0)
                return -1;
    }
    return 0;
}

static int base(struct imp *im, const struct firejail *f, struct bk_err *err)
{
    static const char *const fixed[] = {"/bin",      "/sbin",     "/lib",  "/lib32", "/lib64",
                                        "/libx32",   "/usr",      "/boot", "/sys",   "/proc/sys",
                                        "/proc/irq", "/proc/bus", NULL};
    static const char *const hidden[] = {"/boot",
                                         "/proc/kcore",
                                         "/proc/kallsyms",
                                         "/proc/sysrq-trigger",
                                         "/selinux",
                                         "/sys/firmware",
                                         "/sys/hypervisor",
                                         "/sys/power",
                                         "/sys/kernel/debug",
                                         "/dev/kmsg",
                                         "/proc/kmsg",
                                         "/dev/port",
                                         NULL};
    static const char *const homes[] = {"/home", "/root", NULL};
    static const char *const etc[] = {"/etc", NULL}, *const var[] = {"/var", NULL};
    static const char *const open[] = {"/var/tmp", "/var/lock", NULL};
    unsigned all = MAY_READ | MAY_WRITE | MAY_EXEC | MAY_SOCKET | MAY_DEVICE;
    if (imp_rule(im, "/", all, 0, 0, err) < 0 || imp_each(im, fixed, 0, MAY_WRITE, 0, err) < 0 ||
        imp_each(im, hidden, 0, MAY_ALL, 0, err) < 0)
        return -1;
    if (!f->writable_etc && imp_each(im, etc, 0, MAY_WRITE, 0, err) < 0)
        return -1;
    if (!f->writable_var && (imp_each(im, var, 0, MAY_WRITE, 0, err) < 0 ||
                             imp_each(im, open, MAY_WRITE, 0, 0, err) < 0))
        return -1;
    if (f->allusers)
        return 0;
    if (imp_each(im, homes, 0, MAY_ALL, 0, err) < 0)
        return -1;
    return im->env->home ? imp_rule(im, im->env->home, all & ~(unsigned)MAY_DEVICE, 0, 0, err) : 0;
}

int imp_firejail_files(struct imp *im, struct firejail *f, struct bk_err *err)
{
    bool seen[PRIVATE_IN_HOME + 1] = {false};
    if (base(im, f, err) < 0)
        return -1;
    for (size_t i = 0; i < f->npaths; i++) {
        const struct firejail_path *p = &f->paths[i];
        if (p->phase != PHASE_PRIVATE)
            continue;
        if (one_private(im, p, seen[p->kind], err) < 0)
            return -1;
        seen[p->kind] = true;
    }
    return whitelist(im, f, err) < 0 ? -1 : others(im, f, err);
}
