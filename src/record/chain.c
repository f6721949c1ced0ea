/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Appending. A lock on the file orders its writers. The writer that has it knows the end of the
 * chain if the file still has the size that it left, and reads the last line otherwise. One write
 * appends all lines, so that a crash can only cut off the last ones; the next writer ends such a
 * line and notes its hash ("torn"). So nothing is ever overwritten, and a file that can only be
 * appended to (chattr +a) will do.
 *
 * A full file is renamed to NAME.NUMBER, and its successor begins with its last hash. After a crash
 * in between the next writer finds the number among the names.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/own.h"
#include "record/record-int.h"

static const char no_hash[] = "0000000000000000000000000000000000000000000000000000000000000000";

/* ---- one line ---- */

/* The text between a line's last members. */
#define TORN ", \"torn\": \""
#define PREV ", \"prev\": \""
#define HASH "\", \"hash\": \""
enum {
    HASH_TAIL = sizeof(HASH) - 1 + SHA256_HEX + 2, /* from `", "hash"` to the brace */
    TAIL = sizeof(PREV) - 1 + SHA256_HEX + HASH_TAIL,
    TORN_TAIL = sizeof(TORN) - 1 + SHA256_HEX + 1 + TAIL,
};

static bool copy_hash(const char *at, char out[SHA256_HEX + 1])
{
    for (size_t i = 0; i < SHA256_HEX; i++)
        if (!((at[i] >= '0' && at[i] <= '9') || (at[i] >= 'a' && at[i] <= 'f')))
            return false;
    memcpy(out, at, SHA256_HEX);
    out[SHA256_HEX] = '\0';
    return true;
}

bool record_line_parse(const char *text, size_t n, struct record_line *out)
{
    static const char start[] = "{\"seq\": ";
    size_t at = sizeof(start) - 1;
    uint64_t seq = 0;
    if (n < at + 1 + TAIL || memcmp(text, start, at) != 0 || text[at] < '1' || text[at] > '9')
        return false;
    for (; text[at] >= '0' && text[at] <= '9'; at++) {
        if (seq > UINT64_MAX / 10 - 1)
            return false;
        seq = seq * 10 + (uint64_t)(text[at] - '0');
    }
    const char *tail = text + n - TAIL, *hash = text + n - HASH_TAIL;
    if (memcmp(tail, PREV, sizeof(PREV) - 1) != 0 || memcmp(hash, HASH, sizeof(HASH) - 1) != 0 ||
        memcmp(text + n - 2, "\"}", 2) != 0)
        return false;
    struct record_line l = {.text = text, .n = n, .seq = seq};
    if (!copy_hash(tail + sizeof(PREV) - 1, l.prev) || !copy_hash(hash + sizeof(HASH) - 1, l.hash))
        return false;
    const char *torn = n > at + TORN_TAIL ? text + n - TORN_TAIL : NULL;
    if (torn && memcmp(torn, TORN, sizeof(TORN) - 1) == 0)
        copy_hash(torn + sizeof(TORN) - 1, l.torn);
    *out = l;
    return true;
}

/* The hash covers the quote before `, "hash"`. */
bool record_line_holds(const struct record_line *l)
{
    char is[SHA256_HEX + 1];
    sha256_hex(l->text, l->n - HASH_TAIL + 1, is);
    return memcmp(is, l->hash, SHA256_HEX) == 0;
}

static void add_line(struct record_file *f, const char *body, size_t n, struct buf *out)
{
    size_t start = out->n;
    buf_fmt(out, "{\"seq\": %llu, ", (unsigned long long)f->seq + 1);
    buf_add(out, body, n);
    if (f->torn[0])
        buf_fmt(out, TORN "%s\"", f->torn);
    buf_fmt(out, PREV "%s\"", f->hash);
    if (!buf_ok(out))
        return;
    sha256_hex(out->s + start, out->n - start, f->hash);
    buf_fmt(out, "%s%s\"}\n", &HASH[1], f->hash);
    f->torn[0] = '\0';
    f->seq++;
}

/* ---- the end of the chain ---- */

static void note_torn(struct record_file *f, const char *bytes, size_t n)
{
    f->torn[0] = '\0';
    if (n)
        sha256_hex(bytes, n, f->torn);
}

static void take_line(struct record_file *f, const struct record_line *l)
{
    f->seq = l->seq;
    memcpy(f->hash, l->hash, sizeof(f->hash));
}

/* Finds the last whole line among n bytes. What is behind it was cut off by a crash, or by several.
 * Returns -ENODATA if there is no such line. */
static int take_tail(struct record_file *f, const char *bytes, size_t n)
{
    struct record_line l;
    const char *last = bytes_find_last(bytes, '\n', n), *rest = last ? last + 1 : bytes;
    f->open_end =
        record_line_parse(rest, n - (size_t)(rest - bytes), &l); /* only the newline is missing */
    if (f->open_end) {
        note_torn(f, NULL, 0);
        take_line(f, &l);
        return 0;
    }
    for (size_t end = n; end;) {
        const char *newline = bytes_find_last(bytes, '\n', end);
        if (!newline)
            return -ENODATA;
        size_t whole = (size_t)(newline - bytes);
        const char *before = bytes_find_last(bytes, '\n', whole);
        const char *line = before ? before + 1 : bytes;
        if (record_line_parse(line, (size_t)(newline - line), &l)) {
            note_torn(f, newline + 1, n - whole - 1);
            take_line(f, &l);
            return 0;
        }
        end = whole;
    }
    return -ENODATA;
}

static int read_tail(struct record_file *f, int fd, uint64_t size)
{
    enum { ROOM = 2 * RECORD_LINE };
    uint64_t from = size > ROOM ? size - ROOM : 0;
    OWN(mem) char *bytes = malloc(ROOM);
    ssize_t n = bytes ? pread(fd, bytes, (size_t)(size - from), (off_t)from) : -1;
    if (!bytes || n < 0)
        return bytes ? -errno : -ENOMEM;
    int got = take_tail(f, bytes, (size_t)n);
    if (got == -ENODATA && from)
        return -EBADMSG; /* no crash does that */
    if (got == -ENODATA)
        note_torn(f, bytes, (size_t)n);
    return got;
}

uint32_t record_suffix(const char *name, const char *file)
{
    size_t n = strlen(name);
    char *end;
    if (strncmp(file, name, n) != 0 || file[n] != '.' || file[n + 1] < '1' || file[n + 1] > '9')
        return 0;
    unsigned long v = strtoul(file + n + 1, &end, 10);
    return *end || v >= UINT32_MAX ? 0 : (uint32_t)v;
}

/* The number of the newest or the oldest full file; 0: none. */
static uint32_t find_segment(const struct record_file *f, bool newest)
{
    uint32_t found = 0;
    int fd = openat(f->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    OWN(dir) DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        uint32_t number = record_suffix(f->name, e->d_name);
        if (number && (!found || (newest ? number > found : number < found)))
            found = number;
    }
    return found;
}

uint32_t record_newest(const struct record_file *f)
{
    return find_segment(f, true);
}

static void segment_name(const struct record_file *f, uint32_t number, char out[RECORD_NAME + 16])
{
    snprintf(out, RECORD_NAME + 16, "%s.%u", f->name, number);
}

/* Begins the chain, or continues that of the file before. A file that a crash cut off before its
 * first line ended keeps these bytes. */
static int begin_segment(struct record_file *f, struct buf *out)
{
    char name[RECORD_NAME + 16], body[200], when[32], torn[SHA256_HEX + 1];
    uint32_t before = find_segment(f, true);
    struct stat st;
    f->seq = 0;
    memcpy(torn, f->torn, sizeof(torn));
    memcpy(f->hash, no_hash, sizeof(f->hash));
    if (before) {
        segment_name(f, before, name);
        OWN(fd) int fd = openat(f->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &st) < 0)
            return -errno;
        int got = read_tail(f, fd, (uint64_t)st.st_size);
        if (got < 0)
            return got;
    }
    if (torn[0])
        memcpy(f->torn, torn, sizeof(torn));
    f->segment = before + 1;
    record_time(date_ns(), when);
    int n = snprintf(body, sizeof(body),
                     "\"kind\": \"segment\", \"time\": \"%s\", \"format\": 1, \"segment\": %u",
                     when, f->segment);
    add_line(f, body, (size_t)n, out);
    return 0;
}

void record_time(uint64_t ns, char out[32])
{
    time_t seconds = (time_t)(ns / 1000000000u);
    struct tm tm;
    char text[24] = "1970-01-01T00:00:00";
    if (gmtime_r(&seconds, &tm))
        strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(out, 32, "%s.%03uZ", text, (unsigned)(ns / 1000000u % 1000u));
}

/* ---- opening ---- */

bool record_path(const char *path, char out[PATH_MAX])
{
    struct stat st;
    size_t n = strlen(path);
    bool folder = (n && path[n - 1] == '/') || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
    while (n > 1 && path[n - 1] == '/')
        n--;
    return snprintf(out, PATH_MAX, "%.*s%s", (int)n, path, folder ? "/" RECORD_FILE : "") <
           PATH_MAX;
}

/* A file with a second name could be written by that one. */
static const char *fault_of(int fd, const struct stat *st)
{
    static const char start[] = "{\"seq\": ";
    char bytes[sizeof(start) - 1];
    if (!S_ISREG(st->st_mode))
        return "is not a file";
    if (st->st_nlink != 1)
        return "has more than one name (hard links)";
    if (st->st_uid != geteuid())
        return "belongs to another user";
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return "can be written by other users";
    ssize_t n = pread(fd, bytes, sizeof(bytes), 0); /* a crash may have left less */
    return n < 0 || memcmp(bytes, start, (size_t)n) != 0 ? "is not a record" : NULL;
}

static int open_file(struct record_file *f)
{
    f->end = UINT64_MAX;
    return openat(f->folder, f->name,
                  O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
                  0600);
}

int record_open(struct record_file *f, const struct record_options *o, struct bk_err *err)
{
    char path[PATH_MAX];
    struct stat st;
    *f = (struct record_file){.folder = -1,
                              .fd = -1,
                              .max_bytes = o->max_bytes ? o->max_bytes : RECORD_BYTES,
                              .keep = o->keep ? o->keep : RECORD_KEEP};
    if (!record_path(o->path, path))
        return err_set(err, BK_E_INPUT, "the record's path is too long");
    char *slash = strrchr(path, '/');
    if (path[0] != '/' || !slash[1] || strlen(slash + 1) >= sizeof(f->name))
        return err_set(err, BK_E_INPUT, "the record %.100s must be an absolute path", path);
    snprintf(f->name, sizeof(f->name), "%s", slash + 1);
    *slash = '\0';
    const char *folder = *path ? path : "/";
    if (mkdir(folder, 0700) < 0 && errno != EEXIST)
        return err_sys(err, "cannot create the record's folder %.200s", folder);
    f->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    f->fd = f->folder >= 0 ? open_file(f) : -1;
    if (f->fd < 0 || fstat(f->fd, &st) < 0) {
        err_sys(err, "cannot open the record %.200s", o->path);
        return record_close(f), -1;
    }
    const char *fault = fault_of(f->fd, &st);
    if (!fault)
        return 0;
    record_close(f);
    err_set(err, BK_E_INPUT, "the record %.200s %s", o->path, fault);
    err_hint(err, "choose a new file");
    return -1;
}

void record_close(struct record_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    if (f->folder >= 0)
        close(f->folder);
    f->fd = f->folder = -1;
}

/* ---- appending ---- */

/* A writer has the lock for microseconds. Any process that can read the file can take it for
 * longer, to keep others from writing: so after a long wait it does not count. */
static int lock(int fd, unsigned wait_ms, uint64_t until)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -errno;
        if (now_ms() >= until)
            return wait_ms < RECORD_PATIENCE_MS ? -EAGAIN : 0;
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* Locks the present file: another writer may have begun a new one. */
static int lock_present(struct record_file *f, unsigned wait_ms, struct stat *st)
{
    uint64_t until = now_ms() + wait_ms;
    for (;;) {
        struct stat now;
        int got = lock(f->fd, wait_ms, until);
        if (got < 0)
            return got;
        if (fstat(f->fd, st) < 0)
            return flock(f->fd, LOCK_UN), -EIO;
        if (fstatat(f->folder, f->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
            now.st_ino == st->st_ino && now.st_dev == st->st_dev)
            return 0;
        int fd = open_file(f);
        if (fd < 0)
            return flock(f->fd, LOCK_UN), -errno;
        close(f->fd);
        f->fd = fd;
        if (fstat(fd, &now) < 0 || fault_of(fd, &now))
            return -EBADMSG;
    }
}

/* Learns how the chain ends now. New lines that have to come first go to out. */
static int find_end(struct record_file *f, const struct stat *st, struct buf *out)
{
    if ((uint64_t)st->st_size == f->end)
        return 0;
    f->torn[0] = '\0';
    int got = st->st_size ? read_tail(f, f->fd, (uint64_t)st->st_size) : -ENODATA;
    if (f->torn[0] || (got == 0 && f->open_end))
        buf_chr(out, '\n');
    if (got == -ENODATA)
        return begin_segment(f, out);
    f->segment = got < 0 ? 0 : find_segment(f, true) + 1;
    return got;
}

/* Removes full files up to this number; oldest first, so that a crash leaves no gap. */
static void remove_old(const struct record_file *f, uint32_t last)
{
    char name[RECORD_NAME + 16];
    for (;;) {
        uint32_t oldest = find_segment(f, false);
        segment_name(f, oldest, name);
        if (!oldest || oldest > last || unlinkat(f->folder, name, 0) < 0)
            return;
    }
}

/* Renames the full file. Where that cannot be done, it goes on. */
static bool rotate(struct record_file *f)
{
    char name[RECORD_NAME + 16];
    struct stat st;
    uint32_t number = find_segment(f, true) + 1;
    segment_name(f, number, name);
    if (fstatat(f->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
        renameat(f->folder, f->name, f->folder, name) < 0)
        return false;
    if (number > f->keep)
        remove_old(f, number - f->keep);
    return true;
}

static int write_lines(struct record_file *f, const struct buf *out, uint64_t size)
{
    if (!buf_ok(out))
        return -ENOMEM;
    f->end = UINT64_MAX;
    if (fd_write_all(f->fd, out->s, out->n) < 0) {
        int err = errno ? errno : EIO;
        (void)!ftruncate(f->fd, (off_t)size); /* else the next writer finds a torn line */
        return -err;
    }
    f->end = size + out->n;
    return 0;
}

static int append_locked(struct record_file *f, const struct stat *st, const struct buf *bodies)
{
    OWN(buf) struct buf out = {0};
    int got = find_end(f, st, &out);
    for (const char *at = bodies->s, *end = at + bodies->n; got == 0 && at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t n = newline ? (size_t)(newline - at) : (size_t)(end - at);
        add_line(f, at, n, &out);
        at += n + 1;
    }
    got = got < 0 ? got : write_lines(f, &out, (uint64_t)st->st_size);
    if (got < 0)
        f->end = UINT64_MAX; /* what we know of the chain was not written */
    return got;
}

int record_append(struct record_file *f, const struct buf *bodies, unsigned wait_ms)
{
    struct stat st;
    if (!bodies->n)
        return 0;
    for (bool full = true;;) {
        int got = lock_present(f, wait_ms, &st);
        if (got < 0)
            return got;
        full = full && (uint64_t)st.st_size >= f->max_bytes && rotate(f);
        if (full) {
            flock(f->fd, LOCK_UN); /* its name leads elsewhere now */
            continue;
        }
        got = append_locked(f, &st, bodies);
        flock(f->fd, LOCK_UN);
        return got;
    }
}
