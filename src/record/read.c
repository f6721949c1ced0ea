/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Reading a record: its full files by number, then the present one. Lines are found by their ends
 * only, so that what a crash left is never taken for a line. The check follows the chain: each line
 * has the right hash, the hash of the line before it, and the next number. Bytes that are no line
 * must be noted by the line behind them.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "record/record-int.h"

enum { ROOM = 2 * RECORD_LINE };

struct reading {
    struct record_check *check; /* or NULL */
    const char *expect;
    record_line_fn *each;
    void *arg;
    bool stop;
    uint64_t seq; /* of the line before; 0: none */
    char hash[SHA256_HEX + 1];
    bool apart; /* bytes that are no line precede */
    struct sha256 between;
    uint64_t nbetween;
};

/* ---- the check ---- */

static void wrong(const struct reading *r, const struct record_line *l, const char *what)
{
    char file[24] = "";
    if (r->check->wrong[0])
        return;
    if (l->segment)
        snprintf(file, sizeof(file), "file .%u, ", l->segment);
    snprintf(r->check->wrong, sizeof(r->check->wrong), "%sbyte %llu, record %llu: %s", file,
             (unsigned long long)l->offset, (unsigned long long)l->seq, what);
}

static void check_torn(struct reading *r, const struct record_line *l)
{
    char is[SHA256_HEX + 1] = "";
    if (r->apart)
        sha256_end_hex(&r->between, is);
    r->check->torn += r->apart;
    if (strcmp(is, l->torn) != 0)
        wrong(r, l,
              r->apart ? "bytes before it are not a record, and it does not note them"
                       : "a line that was cut off before it is gone");
}

static void check_line(struct reading *r, const struct record_line *l)
{
    struct record_check *c = r->check;
    static const char none[] = "0000000000000000000000000000000000000000000000000000000000000000";
    check_torn(r, l);
    if (!record_line_holds(l))
        wrong(r, l, "its hash is wrong: it was changed");
    if (r->seq && l->seq != r->seq + 1)
        wrong(r, l, "its number does not follow: lines were removed or inserted");
    if (r->seq && strcmp(l->prev, r->hash) != 0)
        wrong(r, l, "it does not continue the line before it");
    if (!r->seq && l->seq == 1 && strcmp(l->prev, none) != 0)
        wrong(r, l, "the first line claims to continue another");
    c->first = r->seq ? c->first : l->seq;
    c->last = l->seq;
    c->lines++;
    c->found |= r->expect && strcmp(r->expect, l->hash) == 0;
    memcpy(c->hash, l->hash, sizeof(c->hash));
}

/* Bytes that are no line, perhaps more of them. */
static void add_between(struct reading *r, const char *bytes, size_t n)
{
    if (!r->apart)
        sha256_begin(&r->between);
    else
        sha256_add(&r->between, "\n", 1);
    r->nbetween += n + r->apart;
    r->apart = true;
    sha256_add(&r->between, bytes, n);
}

static void take_line(struct reading *r, const char *text, size_t n, uint32_t segment,
                      uint64_t offset)
{
    struct record_line l;
    if (!record_line_parse(text, n, &l)) {
        add_between(r, text, n);
        return;
    }
    l.segment = segment;
    l.offset = offset;
    if (r->check)
        check_line(r, &l);
    r->apart = false;
    r->nbetween = 0;
    r->seq = l.seq;
    memcpy(r->hash, l.hash, sizeof(r->hash));
    if (r->each && !r->each(r->arg, &l))
        r->stop = true;
}

/* ---- files ---- */

/* Returns 0, or -1 with errno. */
static int read_file(struct reading *r, int fd, uint32_t segment, char *room)
{
    size_t held = 0;
    uint64_t offset = 0;
    while (!r->stop) {
        ssize_t n = read(fd, room + held, ROOM - held);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        held += (size_t)n;
        char *at = room, *end = room + held;
        for (char *newline; !r->stop && (newline = memchr(at, '\n', (size_t)(end - at)));) {
            take_line(r, at, (size_t)(newline - at), segment, offset);
            offset += (uint64_t)(newline + 1 - at);
            at = newline + 1;
        }
        held = (size_t)(end - at);
        if (held && (n == 0 || held == ROOM)) { /* too long for a line, or the end */
            take_line(r, at, held, segment, offset);
            offset += held;
            held = 0;
        }
        memmove(room, at, held);
        if (n == 0)
            return 0;
    }
    return 0;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The numbers of the full files, in order, and 0 for the present one. Returns how many. */
static size_t find_files(const char *folder, const char *name, uint32_t **out)
{
    size_t n = 0, cap = 0;
    uint32_t *list = NULL;
    OWN(dir) DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        uint32_t number = record_suffix(name, e->d_name);
        if (!number)
            continue;
        if (n + 2 > cap) {
            uint32_t *more = realloc(list, (cap = 2 * n + 8) * sizeof(*list));
            if (!more)
                return free(list), 0;
            list = more;
        }
        list[n++] = number;
    }
    if (n)
        qsort(list, n, sizeof(*list), by_number);
    else
        list = malloc(sizeof(*list));
    if (!list)
        return 0;
    list[n++] = 0;
    *out = list;
    return n;
}

static int read_files(struct reading *r, char *path, const uint32_t *numbers, size_t n,
                      struct bk_err *err)
{
    OWN(mem) char *room = malloc(ROOM);
    if (!room)
        return err_nomem(err);
    for (size_t i = 0; i < n && !r->stop; i++) {
        char file[PATH_MAX + 16];
        snprintf(file, sizeof(file), numbers[i] ? "%s.%u" : "%s", path, numbers[i]);
        OWN(fd) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0 && errno == ENOENT && n > 1)
            continue; /* a writer is about to begin the next one, or has removed an old one */
        if (fd < 0 || read_file(r, fd, numbers[i], room) < 0)
            return err_sys(err, "%s", file);
        if (r->check)
            r->check->files++;
    }
    return 0;
}

int record_read(const char *path, struct record_check *check, const char *expect,
                record_line_fn *each, void *arg, struct bk_err *err)
{
    struct reading r = {.check = check, .expect = expect, .each = each, .arg = arg};
    char file[PATH_MAX], folder[PATH_MAX];
    OWN(mem) uint32_t *numbers = NULL;
    if (check)
        *check = (struct record_check){0};
    if (!record_path(path, file))
        return err_set(err, BK_E_INPUT, "%.200s: path too long", path);
    memcpy(folder, file, sizeof(folder));
    char *slash = strrchr(folder, '/');
    const char *name = slash ? file + (slash - folder) + 1 : file;
    if (slash)
        slash[slash == folder] = '\0';
    size_t n = find_files(slash ? folder : ".", name, &numbers);
    if (!n)
        return err_nomem(err);
    if (read_files(&r, file, numbers, n, err) < 0)
        return -1;
    if (check)
        check->torn_bytes = r.nbetween;
    return 0;
}
