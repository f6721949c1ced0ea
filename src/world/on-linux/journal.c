/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "world/on-linux/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/hex.h"
#include "base/own.h"
#include "base/remove-tree.h"
#include "world/keep.h"
#include "world/on-linux/undone.h"
#include "world/on-linux/upper.h"

static const size_t JOURNAL_MOST = (size_t)1 << 30;
enum { NOREPLACE = 1, EXCHANGE = 2 };
static const char head[] = "buckle-keep 1\n";

void (*world_keep_step)(void);

static void step(void)
{
    if (world_keep_step)
        world_keep_step();
}

void staging_name(const struct world *w, char out[STAGING_NAME])
{
    snprintf(out, STAGING_NAME, ".buckle-keep-%s", w->id);
}

void op_name(size_t i, char out[OP_NAME])
{
    snprintf(out, OP_NAME, "%zu", i);
}

/* ---- writing ---- */

static int replace_journal(const struct world *w, const char *text, size_t n)
{
    OWN(fd)
    int fd =
        openat(w->fd, "journal.new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fd_write_all(fd, text, n) < 0 || fsync(fd) < 0)
        return -errno;
    if (renameat(w->fd, "journal.new", w->fd, "journal") < 0 || fsync(w->fd) < 0)
        return -errno;
    return 0;
}

static void put_op(struct buf *out, const struct op *o, int number)
{
    buf_fmt(out, "op %c %d %d %llu %llu %lld.%09ld %lld.%09ld ", o->kind, o->dressed, number,
            (unsigned long long)o->staged, (unsigned long long)o->old, (long long)o->was.tv_sec,
            o->was.tv_nsec, (long long)o->is.tv_sec, o->is.tv_nsec);
    for (const char *c = o->path; *c; c++)
        buf_fmt(out, "%02x", (unsigned char)*c);
    buf_str(out, "-\n");
}

static void put_seen(struct buf *out, size_t i, const struct stat *st)
{
    if (st->st_ino)
        buf_fmt(out, "seen %zu %o %llu %u %u %lld %lld.%09ld\n", i, st->st_mode,
                (unsigned long long)st->st_ino, st->st_uid, st->st_gid, (long long)st->st_size,
                (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
}

int journal_write(const struct world *w, const struct ops *ops, bool ready)
{
    OWN(buf) struct buf text = {0};
    buf_str(&text, head);
    buf_str(&text, ops->whole ? "whole\n" : "");
    for (size_t i = 0; i < ops->n; i++)
        put_op(&text, &ops->at[i], w->places[ops->at[i].place].number);
    for (size_t i = 0; i < ops->n; i++)
        put_seen(&text, i, &ops->at[i].seen);
    buf_str(&text, ready ? "ready\n" : "");
    return buf_ok(&text) ? replace_journal(w, text.s, text.n) : -ENOMEM;
}

int journal_done(const struct world *w)
{
    OWN(fd) int fd = openat(w->fd, "journal", O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 || fd_write_all(fd, "done\n", 5) < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* ---- undoing ---- */

static uint64_t inode_at(int folder, const char *name)
{
    struct stat st;
    return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_ino;
}

static int move(int from, const char *name, int to, const char *as, unsigned how)
{
    return (int)syscall(SYS_renameat2, from, name, to, as, how);
}

static void undo_one(int staging, int above, const char *name, const struct op *o, const char *as)
{
    uint64_t here = inode_at(staging, as), there = inode_at(above, name);
    if (o->kind == OP_NEW && o->staged && there == o->staged && !here)
        move(above, name, staging, as, NOREPLACE);
    if (o->kind == OP_REMOVE && here == o->old)
        move(staging, as, above, name, NOREPLACE);
    if (o->kind == OP_EXCHANGE && here == o->old && there == o->staged)
        move(staging, as, above, name, EXCHANGE);
}

static int open_staging(const struct world *w, size_t place)
{
    char name[STAGING_NAME];
    staging_name(w, name);
    if (w->places[place].lower < 0)
        return -1;
    return openat(w->places[place].lower, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static void undo_in(const struct world *w, const struct ops *ops, size_t place)
{
    OWN(fd) int staging = open_staging(w, place);
    for (size_t i = ops->n; staging >= 0 && i-- > 0;) {
        const struct op *o = &ops->at[i];
        const char *name;
        char as[OP_NAME];
        if (o->place != place || o->kind == OP_FOLDER)
            continue;
        OWN(fd) int above = beneath_above(w->places[place].lower, o->path, &name);
        op_name(i, as);
        step();
        if (above >= 0)
            undo_one(staging, above, name, o, as);
    }
}

/* Old files that could not be put back stay where they are. */
static bool holds_old(const struct world *w, const struct ops *ops, size_t place)
{
    OWN(fd) int staging = open_staging(w, place);
    for (size_t i = 0; staging >= 0 && i < ops->n; i++) {
        char as[OP_NAME];
        op_name(i, as);
        if (ops->at[i].place == place && ops->at[i].old && inode_at(staging, as) == ops->at[i].old)
            return true;
    }
    return false;
}

static void remove_staging(const struct world *w, size_t place)
{
    char name[STAGING_NAME];
    staging_name(w, name);
    step();
    if (w->places[place].lower >= 0)
        remove_tree_at(w->places[place].lower, name);
}

static void set_times(const struct world *w, const struct ops *ops, bool undone)
{
    for (size_t i = 0; i < ops->n; i++) {
        const struct op *o = &ops->at[i];
        const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, undone ? o->was : o->is};
        struct stat st;
        if (o->kind != OP_FOLDER || w->places[o->place].lower < 0)
            continue;
        OWN(fd) int fd = beneath_open(w->places[o->place].lower, o->path, O_RDONLY | O_DIRECTORY);
        bool same = fd >= 0 && fstat(fd, &st) == 0 && st.st_mtim.tv_sec == times[1].tv_sec &&
                    st.st_mtim.tv_nsec == times[1].tv_nsec;
        if (fd >= 0 && !same) /* or it has a new ctime without need */
            futimens(fd, times);
    }
}

void journal_undo(const struct world *w, const struct ops *ops)
{
    bool stays = false;
    for (size_t i = 0; i < w->nplaces; i++) {
        undo_in(w, ops, i);
        bool held = holds_old(w, ops, i);
        stays |= held;
        if (!held)
            remove_staging(w, i);
    }
    set_times(w, ops, true);
    step();
    undone_note(w, ops);
    if (!stays)
        unlinkat(w->fd, "journal", 0);
}

/* ---- finishing ---- */

int look_copy(int from, int to, const struct stat *st)
{
    struct stat now;
    int err = xattrs_copy(from, to);
    if (err < 0 || fstat(to, &now) < 0)
        return err < 0 ? err : -errno;
    if (now.st_uid != st->st_uid || now.st_gid != st->st_gid)
        if (fchown(to, st->st_uid, st->st_gid) < 0 && errno != EPERM)
            return -errno;
    return fchmod(to, st->st_mode & 07777) < 0 ? -errno : 0;
}

int look_copy_folder(int from, int to)
{
    struct stat st;
    if (from < 0 || to < 0)
        return from < 0 ? from : to;
    if (fstat(from, &st) < 0)
        return -errno;
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    int err = look_copy(from, to, &st);
    return err < 0 ? err : futimens(to, times) < 0 ? -errno : 0;
}

static void dress_folders(const struct world *w, const struct ops *ops, size_t place)
{
    OWN(fd) int staging = open_staging(w, place);
    for (size_t i = 0; staging >= 0 && i < ops->n; i++) {
        const struct op *o = &ops->at[i];
        struct stat st;
        char as[OP_NAME];
        if (o->place != place || !o->dressed)
            continue;
        op_name(i, as);
        OWN(fd) int from = openat(staging, as, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        OWN(fd) int to = beneath_open(w->places[place].lower, o->path, O_RDONLY | O_DIRECTORY);
        step();
        if (from >= 0 && to >= 0 && fstat(from, &st) == 0)
            look_copy(from, to, &st);
    }
}

/* What was kept is the same in the world and outside now. */
static void forget_kept(const struct world *w, const struct ops *ops)
{
    for (size_t i = 0; i < ops->n; i++) {
        const struct op *o = &ops->at[i];
        const char *name;
        if (o->kind == OP_FOLDER)
            continue;
        OWN(fd) int above = beneath_above(w->places[o->place].upper, o->path, &name);
        step();
        if (above >= 0)
            remove_tree_at(above, name);
    }
}

void journal_finish(struct world *w, const struct ops *ops)
{
    struct bk_err err;
    for (size_t i = 0; i < w->nplaces; i++) {
        dress_folders(w, ops, i);
        remove_staging(w, i);
    }
    set_times(w, ops, false);
    step();
    if (ops->whole) {
        world_discard(w, &err);
        return;
    }
    forget_kept(w, ops);
    unlinkat(w->fd, "journal", 0);
}

/* ---- reading ---- */

struct op *ops_add(struct ops *ops)
{
    if (ops->n == ops->cap) {
        size_t cap = ops->cap ? ops->cap * 2 : 64;
        struct op *more = realloc(ops->at, cap * sizeof(*more));
        if (!more)
            return NULL;
        ops->at = more;
        ops->cap = cap;
    }
    ops->at[ops->n] = (struct op){.kind = 0};
    return &ops->at[ops->n++];
}

static const char *take_path(struct arena *a, const char *hex)
{
    size_t n = strspn(hex, "0123456789abcdef");
    char *path = n % 2 == 0 && hex[n] == '-' ? arena_alloc(a, n / 2 + 1) : NULL;
    for (size_t i = 0; path && i < n / 2; i++)
        path[i] = (char)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
    return path;
}

static bool take_op(const struct world *w, const char *line, struct ops *ops)
{
    int dressed, number, used = 0;
    unsigned long long staged, old;
    long long was, is;
    long was_ns, is_ns;
    char kind;
    if (sscanf(line, "op %c %d %d %llu %llu %lld.%ld %lld.%ld %n", &kind, &dressed, &number,
               &staged, &old, &was, &was_ns, &is, &is_ns, &used) < 9 ||
        !used)
        return false;
    size_t place = 0;
    while (place < w->nplaces && w->places[place].number != number)
        place++;
    struct op *o = place < w->nplaces ? ops_add(ops) : NULL;
    if (!o)
        return false;
    *o = (struct op){.kind = kind,
                     .dressed = dressed,
                     .place = (uint16_t)place,
                     .path = take_path(&ops->arena, line + used),
                     .staged = staged,
                     .old = old,
                     .was = {was, was_ns},
                     .is = {is, is_ns}};
    return o->path != NULL;
}

static bool take_seen(const char *line, struct ops *ops)
{
    size_t i;
    unsigned mode, uid, gid;
    unsigned long long ino;
    long long size, seconds;
    long ns;
    if (sscanf(line, "seen %zu %o %llu %u %u %lld %lld.%ld", &i, &mode, &ino, &uid, &gid, &size,
               &seconds, &ns) != 8 ||
        i >= ops->n)
        return false;
    ops->at[i].seen = (struct stat){.st_mode = mode,
                                    .st_ino = ino,
                                    .st_uid = uid,
                                    .st_gid = gid,
                                    .st_size = size,
                                    .st_mtim = {seconds, ns}};
    return true;
}

/* Returns how far it came: 0 nothing has changed, 1 "ready", 2 "done", or -1. */
static int take_lines(const struct world *w, char *text, struct ops *ops)
{
    int state = 0;
    for (char *save, *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        if (strncmp(line, "op ", 3) == 0) {
            if (!take_op(w, line, ops))
                return -1;
        } else if (strncmp(line, "seen ", 5) == 0) {
            if (!take_seen(line, ops))
                return -1;
        } else if (strcmp(line, "whole") == 0) {
            ops->whole = true;
        } else if (strcmp(line, "ready") == 0) {
            state = 1;
        } else if (strcmp(line, "done") == 0) {
            state = 2;
        }
    }
    return state;
}

int journal_recover(struct world *w, struct bk_err *err)
{
    struct stat st;
    struct ops ops = {.n = 0};
    OWN(fd) int fd = openat(w->fd, "journal", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (fstat(fd, &st) < 0 || (size_t)st.st_size > JOURNAL_MOST)
        return err_set(err, BK_E_INPUT, "the journal of the world %s cannot be read", w->id);
    OWN(mem) char *text = malloc((size_t)st.st_size + 1);
    ssize_t n = text ? fd_read_all(fd, text, (size_t)st.st_size) : -1;
    if (n < 0)
        return err_nomem(err);
    text[n] = '\0';
    arena_init(&ops.arena, JOURNAL_MOST);
    int state = take_lines(w, text, &ops);
    if (state == 2)
        journal_finish(w, &ops);
    else if (state >= 0)
        journal_undo(w, &ops);
    free(ops.at);
    arena_free(&ops.arena);
    if (state == 2 && w->fd < 0)
        return err_set(err, BK_E_INPUT, "everything in the world %s had been kept", w->id);
    return state < 0 ? err_set(err, BK_E_INPUT, "the journal of the world %s is broken", w->id) : 0;
}
