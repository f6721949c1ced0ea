/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * One folder at a time: names that are no folders are judged as they are read, and folders wait in
 * a list of paths. The kernel says what each name is (d_type), so nothing is looked up but folders.
 */

#include "kernel/shared/name-search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"
#include "kernel/shared/event-send.h"

enum { PATH_ROOM = 4096, BLOCK = 32768 };

bool name_search_denies(const struct name_search *s, const char *path, size_t len, mode_t type)
{
    struct graph_fact facts[EVENT_FACTS];
    struct stat st = {.st_mode = type & S_IFMT};
    struct graph_query q = {.op = OP_FILE_READ_DATA, .facts = facts};
    q.nfacts = event_path_facts(path, len, s->uid, s->gid, &st, facts);
    struct graph_verdict v = graph_eval(s->graph, s->cache, &q);
    return !v.allow || v.flags != 0;
}

/* ---- folders that wait ---- */

static int push(struct name_search *s, const char *path, size_t len)
{
    if (s->npending + len + 1 > s->room) {
        size_t room = s->room ? 2 * s->room : 65536;
        char *more = realloc(s->pending, room);
        if (!more)
            return -ENOMEM;
        s->pending = more;
        s->room = room;
    }
    memcpy(s->pending + s->npending, path, len + 1);
    s->npending += len + 1;
    return 0;
}

/* Takes the last one. Returns its length. */
static size_t pop(struct name_search *s, char path[PATH_ROOM])
{
    size_t at = s->npending - 1;
    while (at > 0 && s->pending[at - 1])
        at--;
    size_t len = s->npending - 1 - at;
    memcpy(path, s->pending + at, len + 1);
    s->npending = at;
    return len;
}

/* ---- records ---- */

enum { SETTLED_S = 2, RECORD_MAX = 50000 };

struct name_recall {
    const struct name_record *record;
    uint8_t *state;  /* of each folder */
    uint32_t *slots; /* by path: a folder's index plus one; made when it is needed */
    uint32_t nslots; /* a power of two */
    int top;         /* the first folder, which most are below (O_PATH); or -1 */
    size_t top_len;
};

enum { RECALL_UNKNOWN, RECALL_SAME, RECALL_CHANGED, RECALL_GONE };

static bool grow(void *list, uint32_t n, uint32_t *room, size_t size)
{
    void *more;
    if (n < *room)
        return true;
    uint32_t wanted = *room ? 2 * *room : 256;
    if (wanted > RECORD_MAX * 2 || !(more = realloc(*(void **)list, wanted * size)))
        return false;
    *(void **)list = more;
    *room = wanted;
    return true;
}

void name_recorder_begin(struct name_recorder *r)
{
    *r = (struct name_recorder){.began = time(NULL)};
}

void name_recorder_free(struct name_recorder *r)
{
    for (uint32_t i = 0; i < r->record.nfolders; i++)
        free((char *)r->record.folders[i].path);
    for (uint32_t i = 0; i < r->record.nnames; i++)
        free((char *)r->record.names[i]);
    free(r->record.folders);
    free(r->record.names);
    free(r->record.in);
    *r = (struct name_recorder){0};
}

static void record_folder(struct name_recorder *r, const char *path, const struct stat *st)
{
    struct name_record *to = &r->record;
    bool settled = st->st_ctim.tv_sec < r->began - SETTLED_S;
    char *copy = grow(&to->folders, to->nfolders, &r->folders_room, sizeof(*to->folders))
                     ? strdup(path)
                     : NULL;
    r->failed |= !copy;
    if (copy)
        to->folders[to->nfolders++] =
            (struct name_folder){copy, st->st_dev, st->st_ino, settled ? st->st_ctim.tv_sec : 0,
                                 settled ? (uint32_t)st->st_ctim.tv_nsec : 0};
}

/* In the folder that was recorded last, or another. */
static void record_name(struct name_recorder *r, const char *path, uint32_t in)
{
    struct name_record *to = &r->record;
    uint32_t room = r->names_room;
    bool grown = grow(&to->in, to->nnames, &room, sizeof(*to->in)) &&
                 grow(&to->names, to->nnames, &r->names_room, sizeof(*to->names));
    char *copy = grown && to->nfolders ? strdup(path) : NULL;
    r->failed |= !copy;
    if (!copy)
        return;
    to->in[to->nnames] = in;
    to->names[to->nnames++] = copy;
}

static uint32_t hash_of(const char *path)
{
    uint64_t h = UINT64_C(14695981039346656037);
    for (; *path; path++)
        h = (h ^ (unsigned char)*path) * UINT64_C(1099511628211);
    return (uint32_t)(h ^ h >> 32);
}

/* Whether a folder is in the record that is searched again, and so needs no search here. */
static bool is_recalled(const struct name_search *s, const char *path)
{
    const struct name_recall *c = s->recall;
    if (!c)
        return false;
    for (uint32_t at = hash_of(path) & (c->nslots - 1); c->slots[at];
         at = (at + 1) & (c->nslots - 1))
        if (strcmp(c->record->folders[c->slots[at] - 1].path, path) == 0)
            return c->state[c->slots[at] - 1] != RECALL_GONE;
    return false;
}

static int found(struct name_search *s, const char *path, size_t len)
{
    if (s->recorder)
        record_name(s->recorder, path, s->recorder->record.nfolders - 1);
    return s->found(s->arg, path, len);
}

/* ---- one folder ---- */

/* Whether names there change only by calls of this machine, and a mount on one stays on it. */
static bool is_local(int fd)
{
    static const uint64_t types[] = {0xef53 /* ext */,       0x58465342 /* xfs */,
                                     0x9123683e /* btrfs */, 0x01021994 /* tmpfs */,
                                     0xf2f52010 /* f2fs */,  0x794c7630 /* overlayfs */,
                                     0x2fc12fc1 /* zfs */,   0xca451a4e /* bcachefs */};
    struct statfs s;
    if (fstatfs(fd, &s) < 0)
        return false;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if ((uint64_t)s.f_type == types[i])
            return true;
    return false;
}

static int open_folder(const struct name_search *s, const char *path)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int fd = (int)syscall(SYS_openat2, s->root, path[1] ? path + 1 : ".", &how, sizeof(how));
    return fd < 0 ? -errno : fd;
}

static int look_at(struct name_search *s, int folder, char path[PATH_ROOM], size_t len,
                   const struct dirent *e)
{
    size_t n = strlen(e->d_name);
    mode_t type = DTTOIF(e->d_type);
    struct stat st;
    if (s->left == 0 || len + 1 + n >= PATH_ROOM)
        return -E2BIG;
    s->left--;
    if (e->d_type == DT_UNKNOWN) {
        if (fstatat(folder, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
            return errno == ENOENT ? 0 : -errno;
        type = st.st_mode;
    }
    if (S_ISLNK(type) || S_ISSOCK(type))
        return 0; /* neither has contents to read */
    path[len] = '/';
    memcpy(path + len + 1, e->d_name, n + 1);
    if (name_search_denies(s, path, len + 1 + n, type))
        return found(s, path, len + 1 + n);
    return S_ISDIR(type) && !is_recalled(s, path) ? push(s, path, len + 1 + n) : 0;
}

static int read_folder(struct name_search *s, int fd, char path[PATH_ROOM], size_t len)
{
    _Alignas(8) char block[BLOCK];
    for (;;) {
        long n = syscall(SYS_getdents64, fd, block, sizeof(block));
        if (n <= 0)
            return n < 0 && errno != ENOENT ? -errno : 0;
        for (long at = 0; at < n;) {
            const struct dirent *e = (const void *)(block + at);
            at += e->d_reclen;
            if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
                continue;
            int err = look_at(s, fd, path, len, e);
            if (err < 0)
                return err;
        }
    }
}

static int search_folder(struct name_search *s, char path[PATH_ROOM], size_t len)
{
    struct stat st;
    int left_out = s->folder ? s->folder(s->arg, path) : 0;
    if (left_out)
        return left_out < 0 ? left_out : 0;
    OWN(fd) int fd = open_folder(s, path);
    if (fd == -EACCES && s->lenient) {
        s->closed = true;
        return 0;
    }
    if (fd < 0) /* it is gone, or something else by now */
        return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? 0 : fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_dev != s->device && !is_local(fd))
        return -EXDEV;
    s->device = st.st_dev;
    if (s->recorder)
        record_folder(s->recorder, path, &st);
    return read_folder(s, fd, path, len);
}

/* ---- all of them ---- */

static int search_pending(struct name_search *s)
{
    char at[PATH_ROOM];
    int err = 0;
    while (err == 0 && s->npending > 0) {
        size_t n = pop(s, at);
        err = search_folder(s, at, n);
    }
    return err;
}

int name_search(struct name_search *s, const char *path, size_t len)
{
    char at[PATH_ROOM];
    struct stat st;
    if (len >= PATH_ROOM)
        return -ENAMETOOLONG;
    memcpy(at, path, len);
    at[len] = '\0';
    if (fstatat(s->root, at + 1, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
    if (!S_ISLNK(st.st_mode) && !S_ISSOCK(st.st_mode) && name_search_denies(s, at, len, st.st_mode))
        return found(s, at, len);
    s->npending = 0;
    int err = S_ISDIR(st.st_mode) ? push(s, at, len) : 0;
    return err < 0 ? err : search_pending(s);
}

/* ---- once more ---- */

static int fill_slots(struct name_recall *c)
{
    c->nslots = 1024;
    while (c->nslots < 2 * c->record->nfolders)
        c->nslots *= 2;
    c->slots = calloc(c->nslots, sizeof(*c->slots));
    for (uint32_t i = 0; c->slots && i < c->record->nfolders; i++) {
        uint32_t at = hash_of(c->record->folders[i].path) & (c->nslots - 1);
        while (c->slots[at])
            at = (at + 1) & (c->nslots - 1);
        c->slots[at] = i + 1;
    }
    return c->slots ? 0 : -ENOMEM;
}

static int compare_folder(struct name_search *s, struct name_recall *c, uint32_t i)
{
    const struct name_folder *f = &c->record->folders[i];
    struct stat st;
    int left_out = s->folder ? s->folder(s->arg, f->path) : 0;
    c->state[i] = left_out ? RECALL_GONE : RECALL_SAME;
    if (left_out)
        return left_out < 0 ? left_out : 0;
    bool beneath = c->top >= 0 && strncmp(f->path, c->record->folders[0].path, c->top_len) == 0 &&
                   f->path[c->top_len] == '/';
    if (fstatat(beneath ? c->top : s->root, f->path + (beneath ? c->top_len : 0) + 1, &st,
                AT_SYMLINK_NOFOLLOW) < 0 ||
        !S_ISDIR(st.st_mode))
        c->state[i] = RECALL_GONE;
    else if (st.st_ino != f->ino || st.st_dev != f->dev || st.st_ctim.tv_sec != f->sec ||
             st.st_ctim.tv_nsec != (long)f->nsec)
        c->state[i] = RECALL_CHANGED;
    else if (s->recorder)
        record_folder(s->recorder, f->path, &st);
    return 0;
}

/* Reads the folders that changed, and all below them that are not in the record. */
static int read_changed(struct name_search *s, struct name_recall *c)
{
    int err = fill_slots(c);
    s->recall = c;
    for (uint32_t i = 0; i < c->record->nfolders && err == 0; i++) {
        if (c->state[i] != RECALL_CHANGED)
            continue;
        s->npending = 0;
        err = push(s, c->record->folders[i].path, strlen(c->record->folders[i].path));
        if (err == 0)
            err = search_pending(s);
    }
    s->recall = NULL;
    return err;
}

/* Names in folders that are the same. Their folders come first in a new record, in the same order.
 */
static int recall_names(struct name_search *s, const struct name_recall *c)
{
    const struct name_record *r = c->record;
    uint32_t folder = 0, recorded = 0;
    int err = 0;
    for (uint32_t i = 0; i < r->nnames && err == 0; i++) {
        if (r->in[i] >= r->nfolders || c->state[r->in[i]] != RECALL_SAME)
            continue;
        if (folder > r->in[i])
            folder = recorded = 0;
        for (; folder < r->in[i]; folder++)
            recorded += c->state[folder] == RECALL_SAME;
        if (s->recorder)
            record_name(s->recorder, r->names[i], recorded);
        err = s->found(s->arg, r->names[i], strlen(r->names[i]));
    }
    return err;
}

bool name_record_has(const struct name_record *r, const char *path)
{
    for (uint32_t i = 0; i < r->nfolders; i++)
        if (strcmp(r->folders[i].path, path) == 0)
            return true;
    return false;
}

int name_search_again(struct name_search *s, const struct name_record *r, bool *changed)
{
    struct name_recall c = {.record = r, .state = calloc(r->nfolders + 1, 1), .top = -1};
    int err = c.state ? 0 : -ENOMEM;
    if (r->nfolders) {
        c.top_len = strlen(r->folders[0].path);
        c.top = open_folder(s, r->folders[0].path);
    }
    for (uint32_t i = 0; i < r->nfolders && err == 0; i++) {
        err = compare_folder(s, &c, i);
        *changed |= c.state[i] != RECALL_SAME;
    }
    if (err == 0)
        err = recall_names(s, &c);
    if (err == 0 && *changed)
        err = read_changed(s, &c);
    if (c.top >= 0)
        close(c.top);
    free(c.state);
    free(c.slots);
    return err;
}

void name_search_free(struct name_search *s)
{
    free(s->pending);
    s->pending = NULL;
}

static int count_found(void *arg, const char *path, size_t len)
{
    size_t *n = arg;
    (void)path;
    (void)len;
    return ++*n > NAME_SEARCH_FOUND ? -E2BIG : 0;
}

bool name_search_fits(const struct graph *g, const char *const *paths, size_t n)
{
    size_t found = 0;
    OWN(fd) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct name_search s = {.graph = g,
                            .cache = graph_cache_new(g),
                            .root = root,
                            .uid = geteuid(),
                            .gid = getegid(),
                            .left = NAME_SEARCH_MAX,
                            .found = count_found,
                            .arg = &found};
    bool fits = s.cache && root >= 0;
    for (size_t i = 0; i < n && fits; i++)
        fits = name_search(&s, paths[i], strlen(paths[i])) == 0;
    graph_cache_free(s.cache);
    name_search_free(&s);
    return fits;
}
