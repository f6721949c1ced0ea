/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * config.json is the engine's, and parts of it come from images and users. runc reads it with Go's
 * rules: names of members match whatever their case, with a few letters beyond ASCII, and the last
 * one counts. A second "Linux" would bring back a filter of its own. So names that could be taken
 * for those that matter are refused.
 *
 * Whoever reads the file sees the old one or the new one: it is written beside it and renamed.
 */

#include "node/oci-config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "node/profiles.h"
#include "node/spec.h"
#include "node/state.h"

enum { CONFIG_ARENA = 64 << 20 };

static int wrong(struct bk_err *err, const char *what)
{
    return err_set(err, BK_E_INPUT, "config.json: %s", what);
}

/* ---- reading ---- */

static int check_names(const struct json *object, const char *const *ours, struct bk_err *err)
{
    for (const struct json *m = object->first; m; m = m->next) {
        for (uint32_t i = 0; i < m->nkey; i++)
            if (m->key[i] <= ' ' || m->key[i] > '~')
                return wrong(err, "the name of a member has more than ASCII characters");
        for (const char *const *name = ours; *name; name++)
            if (strcasecmp(m->key, *name) == 0 && strcmp(m->key, *name) != 0)
                return err_set(err, BK_E_INPUT,
                               "config.json: runtimes can read the member %.40s as %s", m->key,
                               *name);
    }
    return 0;
}

static int read_profile(struct oci_config *c, const char *fallback, struct bk_err *err)
{
    const struct json *notes = jt_get(c->root, "annotations"), *name = NULL;
    if (notes && notes->kind != JT_NULL && notes->kind != JT_OBJECT)
        return wrong(err, "annotations must be an object");
    if (notes && notes->kind == JT_OBJECT)
        name = jt_get(notes, STATE_ANNOTATION);
    if (name && (name->kind != JT_STRING || strlen(name->s) != name->n))
        return wrong(err, "the annotation " STATE_ANNOTATION " must be a string");
    const char *text = name ? name->s : fallback;
    if (!text) {
        err_set(err, BK_E_INPUT, "the container names no profile");
        err_hint(err, "give it the annotation " STATE_ANNOTATION ", or make a profile default.sb");
        return -1;
    }
    if (!state_is_profile(text))
        return err_set(err, BK_E_INPUT,
                       "%.60s cannot be the name of a profile: letters, digits and . _ -, at most "
                       "%d",
                       text, STATE_PROFILE - 1);
    strcpy(c->profile, text);
    return 0;
}

int oci_config_read(struct oci_config *c, const char *text, size_t n, const char *fallback,
                    struct bk_err *err)
{
    static const char *const top[] = {"linux", "annotations", "process", NULL};
    static const char *const inner[] = {"seccomp", "maskedPaths", "readonlyPaths", NULL};
    const struct json_text from = {.name = "config.json", .s = text, .n = n};
    arena_init(&c->arena, CONFIG_ARENA);
    c->root = jt_read(&c->arena, &from, err);
    if (!c->root)
        return -1;
    if (c->root->kind != JT_OBJECT)
        return wrong(err, "it is no object");
    c->system = jt_get(c->root, "linux");
    if (!c->system || c->system->kind != JT_OBJECT)
        return wrong(err, "it has no object linux");
    if (check_names(c->root, top, err) < 0 || check_names(c->system, inner, err) < 0)
        return -1;
    return read_profile(c, fallback, err);
}

void oci_config_free(struct oci_config *c)
{
    arena_free(&c->arena);
}

/* ---- changing ---- */

static struct json *read_own(struct oci_config *c, const char *text, size_t n, struct bk_err *err)
{
    const char *kept = arena_strndup(&c->arena, text, n); /* values point into it */
    const struct json_text from = {.name = "section", .s = kept, .n = n};
    struct json *j = kept ? jt_read(&c->arena, &from, err) : NULL;
    if (!kept)
        err_nomem(err);
    return j;
}

static bool has(const struct json *list, const struct json *text)
{
    for (const struct json *e = list->first; e; e = e->next)
        if (jt_equal(e, text))
            return true;
    return false;
}

/* Adds paths to a list of the runtime's. */
static int add_paths(struct oci_config *c, const char *key, const struct json *more,
                     struct bk_err *err)
{
    struct json *list = jt_get(c->system, key);
    if (list && list->kind != JT_ARRAY && list->kind != JT_NULL)
        return err_set(err, BK_E_INPUT, "config.json: linux.%s must be a list", key);
    if (!more || !more->count)
        return 0;
    if (!list || list->kind == JT_NULL) {
        list = jt_new(&c->arena, JT_ARRAY);
        if (!list)
            return err_nomem(err);
        jt_set(c->system, key, list);
    }
    for (const struct json *e = more->first; e; e = e->next) {
        struct json *path = has(list, e) ? NULL : jt_string(&c->arena, e->s, e->n);
        if (path)
            jt_append(list, path);
        else if (!has(list, e))
            return err_nomem(err);
    }
    return 0;
}

static int set_seccomp(struct oci_config *c, const struct json *ours, struct bk_err *err)
{
    OWN(buf) struct buf text = {0};
    if (oci_seccomp_merge(ours, jt_get(c->system, "seccomp"), &text, err) < 0)
        return -1;
    struct json *merged = read_own(c, text.s, text.n, err);
    if (!merged)
        return -1;
    jt_set(c->system, "seccomp", merged);
    return 0;
}

int oci_config_change(struct oci_config *c, const char *spec, size_t n, struct buf *out,
                      struct bk_err *err)
{
    const struct json *own = read_own(c, spec, n, err), *part = own ? jt_get(own, "linux") : NULL;
    if (!own)
        return -1;
    if (!part)
        return err_set(err, BK_E_BUG, "a profile's section has no linux");
    if (set_seccomp(c, jt_get(part, "seccomp"), err) < 0 ||
        add_paths(c, "maskedPaths", jt_get(part, "maskedPaths"), err) < 0 ||
        add_paths(c, "readonlyPaths", jt_get(part, "readonlyPaths"), err) < 0)
        return -1;
    jt_print(c->root, out);
    return buf_ok(out) ? 0 : err_nomem(err);
}

/* ---- the file ---- */

/* Opens the folder that the file is in, and finds its name there. */
static int open_folder(const char *bundle, const char **file, struct bk_err *err)
{
    OWN(fd) int dir = open(bundle, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const char *slash = strrchr(*file, '/');
    char part[PATH_MAX];
    if (dir < 0)
        return err_sys(err, "cannot open the bundle %s", bundle);
    if (!slash)
        return steal_fd(&dir);
    if ((size_t)snprintf(part, sizeof(part), "%.*s/", (int)(slash - *file), *file) >= sizeof(part))
        return err_set(err, BK_E_INPUT, "the name of config.json is too long");
    *file = slash + 1;
    int inner = openat(dir, part, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return inner < 0 ? err_sys(err, "cannot open %s", part) : inner;
}

static int read_file(int dir, const char *file, struct stat *st, struct buf *text,
                     struct bk_err *err)
{
    char part[16384];
    ssize_t n;
    OWN(fd) int fd = openat(dir, file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, "cannot read %s", file);
    if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode) || st->st_size > JSON_MAX)
        return err_set(err, BK_E_INPUT, "%s must be a file of at most %d bytes", file, JSON_MAX);
    while ((n = read(fd, part, sizeof(part))) > 0 && text->n <= JSON_MAX)
        buf_add(text, part, (size_t)n);
    if (n != 0)
        return err_sys(err, "cannot read %s", file);
    return buf_ok(text) ? 0 : err_nomem(err);
}

static int write_all(int fd, const struct buf *text)
{
    for (size_t done = 0; done < text->n;) {
        ssize_t n = write(fd, text->s + done, text->n - done);
        if (n < 0 && errno != EINTR)
            return -1;
        done += n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int replace_file(int dir, const char *file, const struct stat *st, const struct buf *text,
                        struct bk_err *err)
{
    char beside[NAME_MAX + 1];
    if ((size_t)snprintf(beside, sizeof(beside), ".%s.%d", file, getpid()) >= sizeof(beside))
        return err_set(err, BK_E_INPUT, "the name of config.json is too long");
    unlinkat(dir, beside, 0); /* of a process that had our number */
    OWN(fd)
    int fd = openat(dir, beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(err, "cannot write beside %s", file);
    if (write_all(fd, text) == 0 && (fchown(fd, st->st_uid, st->st_gid) == 0 || errno == EPERM) &&
        fchmod(fd, st->st_mode & 07777) == 0 && fsync(fd) == 0 &&
        renameat(dir, beside, dir, file) == 0)
        return 0;
    err_sys(err, "cannot replace %s", file);
    unlinkat(dir, beside, 0);
    return -1;
}

static int print_spec(const struct oci_config *c, const struct oci_options *o,
                      struct profiles *profiles, struct buf *out, struct bk_err *err)
{
    struct node_profile *p;
    const struct spec_options s = {.socket = o->socket, .profile = c->profile, .gate = o->gate};
    if (profiles_get(profiles, c->profile, &p, err) < 0)
        return -1;
    int done = spec_print(p->graph, &s, out, err);
    profile_release(p);
    return done;
}

static int change_text(const struct buf *text, const struct oci_options *o, struct buf *out,
                       struct bk_err *err)
{
    OWN(buf) struct buf spec = {0};
    struct oci_config c;
    struct profiles profiles = {.gate = o->gate};
    int done = oci_config_read(&c, text->s ? text->s : "", text->n, o->fallback, err);
    if (done == 0 && (done = profiles_open(&profiles, o->profiles, err)) == 0) {
        done = print_spec(&c, o, &profiles, &spec, err);
        profiles_close(&profiles);
    }
    if (done == 0)
        done = oci_config_change(&c, spec.s, spec.n, out, err);
    oci_config_free(&c);
    return done;
}

int oci_config_edit(const char *bundle, const char *file, const struct oci_options *o,
                    struct bk_err *err)
{
    OWN(buf) struct buf text = {0}, out = {0};
    struct stat st;
    OWN(fd) int dir = open_folder(bundle, &file, err);
    return dir < 0 || read_file(dir, file, &st, &text, err) < 0 ||
                   change_text(&text, o, &out, err) < 0 ||
                   replace_file(dir, file, &st, &out, err) < 0
               ? -1
               : 0;
}
