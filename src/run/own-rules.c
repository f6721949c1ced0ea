/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Names are not enough: XDG_CONFIG_HOME or a symlink can put these files into a folder that the
 * command may write. So each path is resolved, and three things are denied: to write the file or a
 * symlink that leads there; to move a folder around it; and to put a symlink in the place of such a
 * folder. Names that have the same meaning in any folder are denied in every one.
 */

#include "run/own-rules.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "record/record.h"

enum { LINKS_MOST = 40 };

/* A path being resolved: the real part so far, and what is left. */
struct walk {
    char at[PATH_MAX], rest[PATH_MAX];
    int links;
    bool missing; /* `at` does not exist, and nothing in it */
};

/* Paths without duplicates, each with its NUL. */
struct found {
    struct buf places, holders;
    char folder[PATH_MAX]; /* the last one that was resolved, as it was given; "": none */
    struct walk at;        /* and what it is */
};

static void found_init(struct found *f)
{
    f->places = f->holders = (struct buf){0};
    f->folder[0] = f->at.at[0] = f->at.rest[0] = '\0';
    f->at.links = 0;
    f->at.missing = false;
}

static void found_free(struct found *f)
{
    buf_free(&f->places);
    buf_free(&f->holders);
}
#define OWN_found found_free

static void add_path(struct buf *list, const char *path, size_t n)
{
    for (size_t at = 0; at < list->n; at += strlen(list->s + at) + 1)
        if (strlen(list->s + at) == n && memcmp(list->s + at, path, n) == 0)
            return;
    buf_add(list, path, n);
    buf_add(list, "", 1);
}

/* A place with all folders around it, except the root, which cannot move. */
static void add_place(struct found *f, const char *path)
{
    if (!path[0])
        return;
    add_path(&f->places, path, strlen(path));
    for (size_t n = strlen(path); n > 1; n--)
        if (path[n - 1] == '/')
            add_path(&f->holders, path, n - 1);
}

static void go_up(struct walk *w)
{
    char *slash = strrchr(w->at, '/');
    if (slash)
        *slash = '\0';
}

/* Moves the next name from `rest` to `at`. Returns false at the end, or if it is too long. */
static bool next_name(struct walk *w)
{
    size_t skip = strspn(w->rest, "/"), n = strcspn(w->rest + skip, "/"), len = strlen(w->at);
    const char *name = w->rest + skip;
    if (n == 0 || len + n + 2 > sizeof(w->at))
        return false;
    if (n == 2 && memcmp(name, "..", 2) == 0) {
        go_up(w);
    } else if (n != 1 || name[0] != '.') {
        w->at[len] = '/';
        memcpy(w->at + len + 1, name, n);
        w->at[len + 1 + n] = '\0';
    }
    memmove(w->rest, name + n, strlen(name + n) + 1);
    return true;
}

/* The symlink is a place itself: another one there would lead elsewhere. */
static bool follow_link(struct walk *w, struct found *f, const char *target)
{
    char rest[PATH_MAX];
    int n = snprintf(rest, sizeof(rest), "%s/%s", target, w->rest);
    add_place(f, w->at);
    if (++w->links > LINKS_MOST || n >= PATH_MAX)
        return false;
    if (target[0] == '/')
        w->at[0] = '\0';
    else
        go_up(w);
    memcpy(w->rest, rest, (size_t)n + 1);
    return true;
}

/* Resolves the rest. What does not exist keeps its name. */
static void follow(struct walk *w, struct found *f)
{
    char target[PATH_MAX];
    while (next_name(w)) {
        ssize_t n = w->missing ? -1 : readlink(w->at, target, sizeof(target) - 1);
        w->missing = w->missing || (n < 0 && errno != EINVAL);
        if (n < 0)
            continue;
        target[n] = '\0';
        if (!follow_link(w, f, target))
            return;
    }
}

/* Goes on from another one with something else. Copies little of the 8 KiB. */
static void walk_on(struct walk *w, const struct walk *from, const char *rest)
{
    memcpy(w->at, from->at, strlen(from->at) + 1);
    snprintf(w->rest, sizeof(w->rest), "%s", rest);
    w->links = from->links;
    w->missing = from->missing;
}

/* Resolves FOLDER/NAME, and each of the files in it; the list ends in NULL. */
static void find_place(struct found *f, const char *folder, const char *name,
                       const char *const *files)
{
    static const struct walk root = {.at = ""};
    struct walk w, one;
    if (strlen(folder) + strlen(name) + 1 >= PATH_MAX)
        return;
    if (strcmp(f->folder, folder) != 0) {
        memcpy(f->folder, folder, strlen(folder) + 1);
        walk_on(&f->at, &root, folder);
        follow(&f->at, f);
    }
    walk_on(&w, &f->at, name);
    follow(&w, f);
    add_place(f, w.at);
    for (; *files; files++) {
        walk_on(&one, &w, *files);
        follow(&one, f);
        add_place(f, one.at);
    }
}

static const char *const none[] = {NULL};

/* Existing .buckle folders of projects. Elsewhere the rules deny the name. */
static void find_projects(struct found *f, const char *cwd)
{
    static const char *const files[] = {"settings.json", "settings.local.json", NULL};
    char path[PATH_MAX];
    for (size_t n = strlen(cwd); n > 0; n--) {
        if (cwd[n] && cwd[n] != '/')
            continue;
        int len = snprintf(path, sizeof(path), "%.*s/.buckle", (int)n, cwd);
        if (len < PATH_MAX && faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            find_place(f, path, "", files);
    }
}

static void find_all(struct found *f, const char *cwd)
{
    static const char *const settings[] = {"settings.json", "trust", NULL};
    static const char *const presets[] = {"presets.yaml", "presets.yml", NULL};
    static const char *const policy[] = {"policy.json", NULL};
    static const char *const record[] = {"own-folders", NULL};
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    const char *more = getenv("BUCKLE_POLICY"), *state = getenv("XDG_STATE_HOME");
    if (xdg && xdg[0] == '/') {
        find_place(f, xdg, "buckle", settings);
        find_place(f, xdg, "cage", presets);
    }
    if (home && home[0] == '/') {
        find_place(f, home, ".config/buckle", settings);
        find_place(f, home, ".config/cage", presets);
        find_place(f, home, ".srt-settings.json", none);
        find_place(f, home, ".local/state/buckle", record);
    }
    if (state && state[0] == '/')
        find_place(f, state, "buckle", record);
    find_place(f, "/etc", "buckle", policy);
    if (more && more[0] == '/')
        find_place(f, more, "", none);
    find_projects(f, cwd);
}

/* ---- in words ---- */

/* An operation's own rules come before its parent's, so all are named. The lists come first, on one
 * line, so that the rules' lines are always the same. */
static const char rules[] =
    "\n"
    "(deny (with message \"protected: decides what sandboxes allow\") (apply subpath places)\n"
    "    (regex #\"/\\.buckle[^/]*(/|$)\" #\"/\\.config/(buckle|cage)(/|$)\"\n"
    "           #\"/\\.srt-settings\\.json$\")\n"
    "    file-write* file-write-acl file-write-create file-write-data file-write-flags\n"
    "    file-write-mode file-write-owner file-write-times file-write-unlink file-write-xattr\n"
    "    file-mknod)\n"
    "(deny (with message \"protected: contains settings of sandboxes\")\n"
    "    file-write-unlink (apply literal holders))\n"
    "(deny (with message \"protected: a symlink here would bypass protected names\")\n"
    "    file-write-create (require-all (vnode-type SYMLINK) (apply literal holders)))\n";

static void write_list(struct buf *out, const char *name, const struct buf *list)
{
    buf_fmt(out, "(define %s '(", name);
    for (size_t at = 0; at < list->n; at += strlen(list->s + at) + 1) {
        buf_sbpl(out, list->s + at, strlen(list->s + at));
        buf_chr(out, ' ');
    }
    buf_str(out, "))");
}

int own_rules(const char *cwd, struct buf *out, struct bk_err *err)
{
    OWN(found) struct found f;
    found_init(&f);
    find_all(&f, cwd);
    write_list(out, "places", &f.places);
    write_list(out, "holders", &f.holders);
    buf_str(out, rules);
    return buf_ok(out) && buf_ok(&f.places) && buf_ok(&f.holders) ? 0 : err_nomem(err);
}

static const char record_rules[] =
    "\n"
    "(deny (with message \"protected: the record of runs\")\n"
    "    (apply literal records) (apply prefix record-files)\n"
    "    file-write* file-write-acl file-write-create file-write-data file-write-flags\n"
    "    file-write-mode file-write-owner file-write-times file-write-unlink file-write-xattr\n"
    "    file-mknod file-link file-read-data file-read-xattr)\n"
    "(deny (with message \"protected: contains the record of runs\")\n"
    "    file-write-unlink (apply literal record-holders))\n"
    "(deny (with message \"protected: a symlink here would bypass protected names\")\n"
    "    file-write-create (require-all (vnode-type SYMLINK) (apply literal record-holders)))\n";

int own_rules_record(const char *path, struct buf *out, struct bk_err *err)
{
    OWN(found) struct found f;
    found_init(&f);
    OWN(buf) struct buf files = {0};
    char file[PATH_MAX];
    if (!record_path(path, file))
        return err_set(err, BK_E_INPUT, "the record's path is too long");
    find_place(&f, "", file, none);
    for (size_t at = 0; at < f.places.n; at += strlen(f.places.s + at) + 1) {
        buf_str(&files, f.places.s + at);
        buf_add(&files, ".", 2); /* full files, and how far they were sent */
    }
    write_list(out, "records", &f.places);
    write_list(out, "record-files", &files);
    write_list(out, "record-holders", &f.holders);
    buf_str(out, record_rules);
    return buf_ok(out) && buf_ok(&files) && buf_ok(&f.places) && buf_ok(&f.holders)
               ? 0
               : err_nomem(err);
}

/* TMPDIR ends with the run, and the sandbox has its own /dev/shm and /dev/pts. */
static const char world_rules[] =
    "\n"
    "(define in-a-layer (require-any (extension \"buckle.try-layer\")\n"
    "    (extension \"buckle.private-layer\") (extension \"buckle.kept-layer\")))\n"
    "(define in-tmpdir (if (param \"TMPDIR\") (subpath (param \"TMPDIR\")) in-a-layer))\n"
    "(deny (with message \"not in a folder of the world\")\n"
    "    (require-not (require-any in-a-layer in-tmpdir real (subpath \"/proc\")))\n"
    "    file-write* file-write-acl file-write-create file-write-data file-write-flags\n"
    "    file-write-mode file-write-owner file-write-times file-write-unlink file-write-xattr\n"
    "    file-write-setugid file-mknod)\n";

int own_rules_world(const char *const *real, size_t n, struct buf *out, struct bk_err *err)
{
    buf_str(out, "\n(define real (require-any (subpath \"/dev\")");
    for (size_t i = 0; i < n; i++) {
        buf_str(out, " (subpath ");
        buf_sbpl(out, real[i], strlen(real[i]));
        buf_chr(out, ')');
    }
    buf_str(out, "))");
    buf_str(out, world_rules);
    return buf_ok(out) ? 0 : err_nomem(err);
}

int own_rules_socket(const char *path, struct buf *out, struct bk_err *err)
{
    buf_str(out, "(allow network-outbound (remote unix-socket (path-literal ");
    buf_sbpl(out, path, strlen(path));
    buf_str(out, ")))\n");
    return buf_ok(out) ? 0 : err_nomem(err);
}
