/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Own folders are paths (path-set.h), because a folder that moves takes the marks
 * below it along. Foreign paths are only ever asked for, so their hashes are enough: `rm -rf` of a
 * large tree adds one for each folder in it.
 *
 * The judge asks here only about names that the policy denies otherwise, and about folders that
 * come and go. So it can afford to ask the file system who a folder is, each time.
 */

#include "kernel/judge/own-folders.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FOREIGN_MAX = 1 << 16, SLOTS = 2 * FOREIGN_MAX };

/* ---- foreign paths ---- */

/* The slot of a hash: its own, or the empty one where it belongs. 0 marks empty slots. */
static size_t slot_of(const struct own_folders *o, uint64_t hash)
{
    size_t s = (hash ^ hash >> 32) % SLOTS;
    while (o->foreign[s] && o->foreign[s] != hash)
        s = (s + 1) % SLOTS;
    return s;
}

static uint64_t hash_path(const char *path, size_t len)
{
    uint64_t hash = PATH_HASH_START;
    for (size_t i = 0; i < len; i++)
        hash = path_hash_step(hash, path[i]);
    return hash ? hash : 1;
}

/* Notes a path in the record instead of the folders that were in it, so that removing a tree leaves
 * one path. */
static void vacate(struct own_folders *o, const char *path, size_t len, uint64_t hash)
{
    size_t folder = len;
    uint32_t n = o->nvacated < OWN_VACATED ? o->nvacated : OWN_VACATED;
    if (o->record < 0)
        return;
    while (folder > 0 && path[folder - 1] != '/')
        folder--;
    own_record_vacate(o->record, hash);
    for (uint32_t i = 0; i < n; i++)
        if (o->vacated[i].parent == hash) {
            own_record_unvacate(o->record, o->vacated[i].hash);
            o->vacated[i].parent = 0;
        }
    o->vacated[o->nvacated++ % OWN_VACATED] =
        (struct vacated_path){hash, hash_path(path, folder - (folder > 0))};
}

/* lasting: for later runs, too */
static void add_foreign(struct own_folders *o, const char *path, size_t len, bool lasting)
{
    uint64_t hash = hash_path(path, len);
    size_t s = slot_of(o, hash);
    if (o->foreign[s])
        return;
    if (lasting)
        vacate(o, path, len, hash);
    o->full |= o->nforeign == FOREIGN_MAX;
    if (o->full)
        return;
    o->foreign[s] = hash;
    o->nforeign++;
}

/* How much of a path leads to the folder that the user works in, or is above it. */
static size_t shared_with_cwd(const struct own_folders *o, const char *path, size_t len)
{
    size_t same = 0;
    for (size_t i = 0;; i++) {
        bool ends = i == len || path[i] == '/', their_end = !o->cwd[i] || o->cwd[i] == '/';
        if (ends && their_end)
            same = i;
        if (i == len || path[i] != o->cwd[i])
            return same;
    }
}

static bool is_foreign(const struct own_folders *o, const char *head, size_t nhead,
                       const char *tail, size_t ntail)
{
    uint64_t hash = PATH_HASH_START;
    bool vacated = own_record_has_vacated(o->record);
    size_t users = vacated ? shared_with_cwd(o, head, nhead) : 0;
    for (size_t i = 0; (o->nforeign > 0 || vacated) && i <= nhead + ntail; i++) {
        char c = i < nhead ? head[i] : i < nhead + ntail ? tail[i - nhead] : '/';
        if (c == '/' && i > 0) {
            uint64_t here = hash ? hash : 1;
            if (o->foreign[slot_of(o, here)] ||
                (vacated && i > users && own_record_is_vacated(o->record, here)))
                return true;
        }
        hash = path_hash_step(hash, c);
    }
    return o->full;
}

bool own_folders_is_dependency(const struct own_folders *o, const char *path, size_t len)
{
    static const char *const folders[] = {"/node_modules", "/site-packages"};
    for (size_t at = shared_with_cwd(o, path, len); at < len; at++)
        for (size_t i = 0; path[at] == '/' && i < 2; i++) {
            size_t n = strlen(folders[i]);
            if (len - at >= n && memcmp(path + at, folders[i], n) == 0 &&
                (len - at == n || path[at + n] == '/'))
                return true;
        }
    return false;
}

/* ---- the record ---- */

static bool copy_path(char out[PATH_BYTES], const char *path, size_t len)
{
    if (len >= PATH_BYTES)
        return false;
    memcpy(out, path, len);
    out[len] = '\0';
    return true;
}

/* Whether the folder at a path of the set is still the one that the command created, and the user
 * does not work in it. Forgets it if not. */
static bool is_still_own(struct own_folders *o, const char *path, size_t len)
{
    char text[PATH_BYTES];
    struct folder_id id;
    if (o->record < 0)
        return true;
    if (copy_path(text, path, len) && folder_id_get(AT_FDCWD, text, &id) == 0 &&
        (id.born == 0 || own_record_find(o->record, &id) == MARK_OWN))
        return true;
    path_set_forget(&o->own, path, len);
    return false;
}

/* Whether the path is in the set, at or below a member that is still own. */
static bool covers(struct own_folders *o, const char *head, size_t nhead, const char *tail,
                   size_t ntail)
{
    char text[PATH_BYTES];
    size_t n = path_set_covering(&o->own, head, nhead, tail, ntail), first = n < nhead ? n : nhead;
    if (n == 0 || n >= sizeof(text))
        return false;
    memcpy(text, head, first);
    memcpy(text + first, tail, n - first);
    return is_still_own(o, text, n);
}

/* Finds the topmost folder at or above the path that is in the record, and adds it to the set. A
 * folder that is known not to be in the record need not be looked at again: at worst, later marks
 * by other runs are missed. */
static bool discover(struct own_folders *o, const char *path, size_t len)
{
    char text[PATH_BYTES];
    struct folder_id id;
    size_t known = 0, checked = 0;
    if (!own_record_has_marks(o->record) || !copy_path(text, path, len) || text[0] != '/')
        return false;
    while (known < len && known < o->nchecked && text[known] == o->checked[known])
        known++;
    while (known > 0 && !((known == len || text[known] == '/') &&
                          (known == o->nchecked || o->checked[known] == '/')))
        known--;
    for (size_t i = known + 1; i <= len; i++) {
        if (i < len && path[i] != '/')
            continue;
        text[i] = '\0';
        if (folder_id_get(AT_FDCWD, text, &id) < 0)
            break;
        if (id.born && own_record_find(o->record, &id) == MARK_OWN &&
            own_folders_may_begin(o, path, i)) {
            path_set_add(&o->own, path, i);
            return true;
        }
        checked = i;
        text[i] = '/';
    }
    if (checked) {
        memcpy(o->checked, path, checked);
        o->nchecked = checked;
    }
    return false;
}

/* Git keeps its own folders in order, and nothing else is protected there. */
static bool is_recordable(const char *path, size_t len)
{
    static const char git[] = "/.git/";
    return memmem(path, len, git, sizeof(git) - 1) == NULL;
}

static void mark(struct own_folders *o, int parent, const char *name, const char *path, size_t len)
{
    struct folder_id id;
    if (o->record >= 0 && is_recordable(path, len) && folder_id_get(parent, name, &id) == 0)
        own_record_put(o->record, &id, MARK_OWN);
}

/* Takes the mark from a folder of the set. */
static int unmark(struct own_folders *o, const char *path, size_t len)
{
    char text[PATH_BYTES];
    struct folder_id id;
    if (o->record < 0)
        return 0;
    int err = copy_path(text, path, len) ? folder_id_get(AT_FDCWD, text, &id) : -ENAMETOOLONG;
    if (err == 0)
        own_record_put(o->record, &id, MARK_NONE);
    return err == -ENOENT || err == -ENOTDIR ? 0 : err;
}

static int unmark_below(struct own_folders *o, const char *path, size_t len)
{
    int err = 0;
    for (uint32_t i = 0; err == 0 && i < o->own.n; i++) {
        size_t n;
        const char *member = path_set_at(&o->own, i, &n);
        if (n >= len && memcmp(member, path, len) == 0 && (n == len || member[len] == '/'))
            err = unmark(o, member, n);
    }
    return err;
}

/* The member that the path is in. */
static int unmark_around(struct own_folders *o, const char *path, size_t len)
{
    size_t n = path_set_covering(&o->own, path, len, "", 0);
    return n ? unmark(o, path, n) : 0;
}

/* ---- questions ---- */

int own_folders_init(struct own_folders *o, int record, const char *cwd)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now); /* the clock of file systems */
    o->started = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    o->record = record;
    o->cwd = cwd;
    o->foreign = calloc(SLOTS, sizeof(*o->foreign)); /* untouched pages cost nothing */
    return o->foreign && path_set_init(&o->own) == 0 ? 0 : -1;
}

bool own_folders_contain(struct own_folders *o, const char *path, size_t len)
{
    bool own = covers(o, path, len, "", 0) || discover(o, path, len);
    return own && !is_foreign(o, path, len, "", 0);
}

bool own_folders_cover(struct own_folders *o, const char *head, size_t nhead, const char *tail,
                       size_t ntail)
{
    size_t n = nhead + ntail;
    while (n > 0 && (n > nhead ? tail[n - 1 - nhead] : head[n - 1]) != '/')
        n--;
    n -= n > 0; /* the folder that it is in */
    size_t first = n < nhead ? n : nhead;
    /* what moves is still at its old path, the head, so its mark is found there */
    bool own = covers(o, head, first, tail, n - first) || discover(o, head, first);
    return own && !is_foreign(o, head, nhead, tail, ntail);
}

bool own_folders_may_begin(const struct own_folders *o, const char *path, size_t len)
{
    size_t name = len;
    while (name > 0 && path[name - 1] != '/')
        name--;
    return name < len && path[name] != '.' && !is_foreign(o, path, len, "", 0);
}

bool own_folders_replaced(const struct own_folders *o, const char *path, size_t len)
{
    uint64_t hash = hash_path(path, len);
    return o->full || (o->nforeign > 0 && o->foreign[slot_of(o, hash)] != 0) ||
           (own_record_has_vacated(o->record) && shared_with_cwd(o, path, len) < len &&
            own_record_is_vacated(o->record, hash));
}

/* ---- changes ---- */

bool own_folders_has_record(const struct own_folders *o)
{
    return own_record_has_marks(o->record);
}

void own_folders_notice(struct own_folders *o, int parent, const char *name, const struct stat *st,
                        const char *path, size_t len)
{
    struct folder_id id = {.dev = st->st_dev, .ino = st->st_ino};
    if (own_record_find(o->record, &id) == MARK_NONE)
        return;
    if (folder_id_get(parent, name, &id) == 0 && id.born &&
        own_record_find(o->record, &id) == MARK_OWN && own_folders_may_begin(o, path, len))
        path_set_add(&o->own, path, len);
}

/* Whether a folder was there when the run began. Programs also create folders that are not own,
 * with a dot, and remove them. */
static bool was_there(const struct own_folders *o, int parent, const char *name,
                      struct folder_id *id)
{
    return o->record >= 0 && folder_id_get(parent, name, id) == 0 &&
           (id->born == 0 || id->born < o->started);
}

struct own_removal own_folders_before_removal(struct own_folders *o, int parent, const char *name,
                                              const char *path, size_t len)
{
    struct own_removal r = {.own = own_folders_contain(o, path, len)};
    if (!r.own)
        r.lasting = was_there(o, parent, name, &r.id);
    bool topmost = r.own && path_set_covering(&o->own, path, len, "", 0) == len;
    if (!topmost || o->record < 0 || folder_id_get(parent, name, &r.id) < 0)
        r.id.born = 0;
    return r;
}

int own_folders_before_move(struct own_folders *o, struct own_move *m)
{
    int err = 0;
    struct folder_id id;
    m->own = own_folders_contain(o, m->from, m->nfrom);
    m->replaced_own = own_folders_contain(o, m->to, m->nto);
    m->lasting = !m->own && was_there(o, m->parent, m->name, &id);
    o->nchecked = 0;
    if (m->exchange) {
        if (m->own && m->replaced_own)
            return 0;
        err = unmark_below(o, m->to, m->nto);
        if (err == 0)
            err = unmark_around(o, m->from, m->nfrom);
    }
    if (err == 0 && (m->exchange || !own_folders_may_begin(o, m->to, m->nto)))
        err = unmark_below(o, m->from, m->nfrom);
    /* no longer only the command's, if what moves is somebody else's */
    if (err == 0 && (m->exchange || !m->own))
        err = unmark_around(o, m->to, m->nto);
    return err;
}

void own_folders_created(struct own_folders *o, int parent, const char *name, const char *path,
                         size_t len)
{
    size_t folder = len;
    while (folder > 0 && path[folder - 1] != '/')
        folder--;
    if (path_set_covers(&o->own, path, len, "", 0) || !own_folders_may_begin(o, path, len) ||
        (folder > 1 && discover(o, path, folder - 1)))
        return;
    path_set_add(&o->own, path, len);
    mark(o, parent, name, path, len);
}

void own_folders_removed(struct own_folders *o, const char *path, size_t len,
                         const struct own_removal *what)
{
    own_record_put(o->record, &what->id, MARK_NONE);
    if (what->own)
        path_set_forget(&o->own, path, len);
    else if (!own_folders_is_dependency(o, path, len))
        add_foreign(o, path, len, what->lasting);
}

void own_folders_moved(struct own_folders *o, int parent, const char *name,
                       const struct own_move *m)
{
    bool own = m->own;
    if (!own && !own_folders_is_dependency(o, m->from, m->nfrom))
        add_foreign(o, m->from, m->nfrom, m->lasting);
    if (!own && path_set_covers(&o->own, m->to, m->nto, "", 0))
        add_foreign(o, m->to, m->nto, false);
    /* own folders below it, too, unless it takes a foreign path or a name that begins with a dot */
    if (own_folders_may_begin(o, m->to, m->nto))
        path_set_moved(&o->own, m->from, m->nfrom, m->to, m->nto);
    path_set_forget(&o->own, m->from, m->nfrom);
    if (own)
        own_folders_created(o, parent, name, m->to, m->nto);
}

void own_folders_exchanged(struct own_folders *o, const struct own_move *m)
{
    if (m->own && m->replaced_own)
        return;
    path_set_forget(&o->own, m->from, m->nfrom);
    path_set_forget(&o->own, m->to, m->nto);
    add_foreign(o, m->from, m->nfrom, true);
    add_foreign(o, m->to, m->nto, true);
}
