/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Two hash tables with small buckets. A question reads one bucket and a change writes one entry, so
 * nothing is loaded at the start, and runs at the same time see each other's changes at once. There
 * is no lock that a stopped process could hold: if two write to the same entry, one mark is lost,
 * which protects more. The file is created whole under another name.
 */

#include "command/own-record.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "command/state-folder.h"

enum {
    BUCKET = 8,
    MARK_BUCKETS = 2048,
    PATH_BUCKETS = 1024,
    WEEK = 7 * 24 * 3600,
};

struct head {
    char magic[24];
    uint32_t order, version; /* the order of bytes, as this machine has it */
    uint32_t marks, paths;   /* whether there are any */
};

struct mark_entry {
    struct folder_id id;
    uint32_t mark; /* enum own_mark; 0: free */
    uint32_t unused;
};

struct path_entry {
    uint64_t hash;
    int64_t until; /* seconds since 1970; 0: free */
};

static const struct head empty = {
    .magic = "buckle own folders\n", .order = 0x01020304, .version = 1};

enum {
    MARKS_AT = 4096,
    PATHS_AT = MARKS_AT + MARK_BUCKETS * BUCKET * (int)sizeof(struct mark_entry),
    RECORD_BYTES = PATHS_AT + PATH_BUCKETS * BUCKET * (int)sizeof(struct path_entry),
};
_Static_assert(RECORD_BYTES < 1000000, "the record stays below 1 MB");

/* ---- the file ---- */

bool own_record_path(char path[PATH_MAX])
{
    return state_path(path, "own-folders");
}

static bool is_whole(int fd, const struct stat *st)
{
    struct head h;
    return st->st_size == RECORD_BYTES && pread(fd, &h, sizeof(h), 0) == sizeof(h) &&
           memcmp(&h, &empty, offsetof(struct head, marks)) == 0;
}

/* Makes an empty record and puts it in place; `over` one that is useless, or where there is none.
 */
static int create(const char *path, bool over)
{
    char fresh[PATH_MAX + 32];
    snprintf(fresh, sizeof(fresh), "%s.%d", path, (int)getpid());
    unlink(fresh);
    OWN(fd) int fd = open(fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return -1;
    bool made = fchmod(fd, 0600) == 0 && ftruncate(fd, RECORD_BYTES) == 0 &&
                pwrite(fd, &empty, sizeof(empty), 0) == sizeof(empty);
    if (made && over)
        made = rename(fresh, path) == 0;
    else if (made) /* unless another run was quicker */
        made = file_rename_new(fresh, path) == 0;
    if (made)
        return steal_fd(&fd);
    unlink(fresh);
    return -1;
}

static int open_there(const char *path)
{
    return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
}

static int open_new(const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
    if (!state_make_folders(folder, STATE_FOLDERS))
        return -1;
    int fd = create(path, false);
    return fd >= 0 ? fd : open_there(path);
}

int own_record_open(const char *path, bool may_create)
{
    struct stat st;
    OWN(fd) int fd = open_there(path);
    if (fd < 0 && errno == ENOENT && may_create)
        fd = open_new(path);
    if (fd < 0 || !state_file_is_private(fd, &st))
        return -1;
    if (is_whole(fd, &st))
        return steal_fd(&fd);
    return may_create ? create(path, true) : -1;
}

static struct {
    const char *at; /* NULL: not mapped */
    int record;
} mapped;

void own_record_map(int record)
{
    void *at = record < 0 ? MAP_FAILED : mmap(NULL, RECORD_BYTES, PROT_READ, MAP_SHARED, record, 0);
    mapped.at = at == MAP_FAILED ? NULL : at;
    mapped.record = record;
}

static bool read_at(int record, void *out, size_t n, off_t at)
{
    if (record < 0 || !mapped.at || mapped.record != record)
        return record >= 0 && pread(record, out, n, at) == (ssize_t)n;
    memcpy(out, mapped.at + at, n);
    return true;
}

/* ---- marks ---- */

static off_t mark_bucket(const struct folder_id *id)
{
    uint64_t x = (id->ino ^ id->dev << 40) * UINT64_C(0x9e3779b97f4a7c15);
    return MARKS_AT + (off_t)(x >> 40) % MARK_BUCKETS * BUCKET * (off_t)sizeof(struct mark_entry);
}

static bool read_marks(int record, const struct folder_id *id, struct mark_entry b[BUCKET])
{
    return read_at(record, b, BUCKET * sizeof(*b), mark_bucket(id));
}

static bool is_same(const struct folder_id *a, const struct folder_id *b)
{
    return a->dev == b->dev && a->ino == b->ino && (a->born == b->born || b->born == 0);
}

enum own_mark own_record_find(int record, const struct folder_id *id)
{
    struct mark_entry b[BUCKET];
    if (!read_marks(record, id, b))
        return MARK_NONE;
    for (int i = 0; i < BUCKET; i++)
        if ((b[i].mark == MARK_OWN || b[i].mark == MARK_ADOPTED) && is_same(&b[i].id, id))
            return (enum own_mark)b[i].mark;
    return MARK_NONE;
}

static void set_flag(int record, off_t at)
{
    uint32_t now = 0, yes = 1;
    if (read_at(record, &now, sizeof(now), at) && !now && pwrite(record, &yes, sizeof(yes), at) < 0)
        return; /* then what is there is not found, which protects more */
}

static bool has_flag(int record, off_t at)
{
    uint32_t now = 0;
    return read_at(record, &now, sizeof(now), at) && now;
}

bool own_record_has_marks(int record)
{
    return has_flag(record, offsetof(struct head, marks));
}

void own_record_put(int record, const struct folder_id *id, enum own_mark mark)
{
    struct mark_entry b[BUCKET], new = {.id = *id, .mark = mark};
    int at = 0;
    if (id->born == 0 || !read_marks(record, id, b))
        return;
    for (int i = 0; i < BUCKET; i++) {
        if (b[i].mark && is_same(&b[i].id, id)) {
            at = i;
            break;
        }
        if (b[at].mark && (!b[i].mark || b[i].id.born < b[at].id.born))
            at = i;
    }
    if (mark == MARK_NONE && !(b[at].mark && is_same(&b[at].id, id)))
        return;
    if (pwrite(record, &new, sizeof(new), mark_bucket(id) + at * (off_t)sizeof(new)) < 0)
        return;
    if (mark == MARK_OWN)
        set_flag(record, offsetof(struct head, marks));
}

/* The nearest mark at or above a path; *len is where. Adopts all of them, or stops at the first. */
static enum own_mark walk_up(int record, const char *path, bool adopt, size_t *len)
{
    char at[PATH_MAX];
    struct folder_id id;
    enum own_mark nearest = MARK_NONE;
    size_t n = strlen(path);
    if (n >= sizeof(at) || path[0] != '/' || !own_record_has_marks(record))
        return MARK_NONE;
    memcpy(at, path, n + 1);
    for (; n > 1 && (adopt || !nearest); n--) {
        if (at[n] != '\0' && at[n] != '/')
            continue;
        at[n] = '\0';
        if (folder_id_get(AT_FDCWD, at, &id) < 0 || !id.born)
            continue;
        enum own_mark mark = own_record_find(record, &id);
        if (mark && !nearest) {
            nearest = mark;
            *len = n;
        }
        if (adopt && mark == MARK_OWN)
            own_record_put(record, &id, MARK_ADOPTED);
    }
    return nearest;
}

void own_record_adopt(int record, const char *path)
{
    size_t len;
    walk_up(record, path, true, &len);
}

enum own_mark own_record_above(int record, const char *path, size_t *len)
{
    return walk_up(record, path, false, len);
}

/* ---- vacated paths ---- */

static off_t path_bucket(uint64_t hash)
{
    return PATHS_AT +
           (off_t)((hash ^ hash >> 29) % PATH_BUCKETS) * BUCKET * (off_t)sizeof(struct path_entry);
}

static bool read_paths(int record, uint64_t hash, struct path_entry b[BUCKET])
{
    return read_at(record, b, BUCKET * sizeof(*b), path_bucket(hash));
}

void own_record_vacate(int record, uint64_t hash)
{
    struct path_entry b[BUCKET], new = {hash, time(NULL) + WEEK};
    int at = -1;
    if (!read_paths(record, hash, b))
        return;
    for (int i = BUCKET - 1; i >= 0; i--) {
        bool same = b[i].hash == hash && b[i].until;
        if (same || b[i].until < time(NULL))
            at = i;
        if (same)
            break;
    }
    if (at >= 0 &&
        pwrite(record, &new, sizeof(new), path_bucket(hash) + at * (off_t)sizeof(new)) < 0)
        return;
    set_flag(record, offsetof(struct head, paths));
}

void own_record_unvacate(int record, uint64_t hash)
{
    struct path_entry b[BUCKET], none = {0};
    bool is_there = read_paths(record, hash, b);
    for (int i = 0; is_there && i < BUCKET; i++)
        if (b[i].hash == hash &&
            pwrite(record, &none, sizeof(none), path_bucket(hash) + i * (off_t)sizeof(none)) < 0)
            return; /* then it expires */
}

bool own_record_has_vacated(int record)
{
    return has_flag(record, offsetof(struct head, paths));
}

bool own_record_is_vacated(int record, uint64_t hash)
{
    struct path_entry b[BUCKET];
    int full = 0;
    if (!read_paths(record, hash, b))
        return true;
    for (int i = 0; i < BUCKET; i++) {
        bool current = b[i].until >= time(NULL);
        if (current && b[i].hash == hash)
            return true;
        full += current;
    }
    return full == BUCKET;
}
