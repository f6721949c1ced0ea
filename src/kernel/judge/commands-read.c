/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Programs and arguments as text: what the kernel will see, copied once from the memory of the
 * process that starts a program. The text is the arguments behind the first, each after a space,
 * with room in front for the names that the program has: that of its file, the one it was called
 * by, and the one that the caller gives as its first argument. A rule about any of these counts.
 *
 *   | room | git | push| origin|
 *           ^ a name is written here, just before the arguments
 *
 * Some programs are others in disguise: `busybox rm` is rm, and so is `ld.so /bin/rm`. Their first
 * argument is a name, too.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "command/conceal.h"
#include "kernel/judge/commands.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/target.h"

enum {
    ROOM = 3 * PATH_BYTES,
    ARGUMENTS = 256 * 1024, /* of more, only the program counts */
    PAGE = 4096,
};

static struct {
    char bytes[ROOM + ARGUMENTS];
    size_t n;               /* of the arguments */
    bool whole;             /* all of them are there */
    char first[PATH_BYTES]; /* argument 0 */
} text;

/* ---- copying ---- */

/* A part of the target's memory, at most a page. */
struct window {
    uint64_t at;
    size_t n;
    char bytes[PAGE];
};

static int look(struct window *w, const struct request *r, uint64_t addr)
{
    if (addr >= w->at && addr < w->at + w->n)
        return 0;
    size_t n = PAGE - (addr & (PAGE - 1));
    w->n = 0;
    int err = target_read(r, addr, w->bytes, n);
    if (err < 0)
        return err;
    w->at = addr;
    w->n = n;
    return 0;
}

/* Appends a string. Returns its length, or a negative errno: E2BIG if there is no room. */
static int copy_string(struct window *w, const struct request *r, uint64_t addr, char *to,
                       size_t room)
{
    size_t have = 0;
    for (;;) {
        int err = look(w, r, addr + have);
        if (err < 0)
            return err;
        const char *from = w->bytes + (addr + have - w->at);
        size_t left = w->n - (size_t)(from - w->bytes);
        const char *end = memchr(from, '\0', left);
        size_t n = end ? (size_t)(end - from) : left;
        if (n >= room - have)
            return -E2BIG;
        memcpy(to + have, from, n);
        have += n;
        if (end)
            return (int)have;
    }
}

/* Spaces divide words; an argument may contain any. What a terminal would obey is none of a
 * command's text. */
static void tidy(char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] == '\n' || s[i] == '\t' || s[i] == '\r')
            s[i] = ' ';
}

static void begin(void)
{
    text.n = 0;
    text.whole = true;
    text.first[0] = '\0';
}

static int copy_argument(struct window *strings, const struct request *r, uint64_t addr, size_t i)
{
    char *to = text.bytes + ROOM + text.n;
    size_t room = sizeof(text.bytes) - ROOM - text.n;
    int n;
    if (i == 0) {
        n = copy_string(strings, r, addr, text.first, sizeof(text.first));
        text.first[n < 0 ? 0 : n] = '\0';
        return n < 0 && n != -E2BIG ? n : 0;
    }
    if (room < 2)
        return -E2BIG;
    n = copy_string(strings, r, addr, to + 1, room - 1);
    if (n < 0)
        return n;
    to[0] = ' ';
    tidy(to + 1, (size_t)n);
    text.n += (size_t)n + 1;
    return 0;
}

int commands_read(struct judge *j, const struct request *r, uint64_t argv)
{
    static struct window pointers, strings;
    pointers.n = strings.n = 0;
    begin();
    for (size_t i = 0; argv && text.whole; i++) {
        uint64_t addr;
        int err = look(&pointers, r, argv + i * sizeof(addr));
        if (err < 0)
            return err;
        size_t at = (size_t)(argv + i * sizeof(addr) - pointers.at);
        if (at + sizeof(addr) > pointers.n) /* not aligned: across two pages */
            err = target_read(r, argv + i * sizeof(addr), &addr, sizeof(addr));
        else
            memcpy(&addr, pointers.bytes + at, sizeof(addr));
        if (err < 0)
            return err;
        if (!addr)
            break;
        err = copy_argument(&strings, r, addr, i);
        if (err < 0 && err != -E2BIG)
            return err;
        text.whole = err == 0;
    }
    return request_is_valid(j, r) ? 0 : -EPERM;
}

/* Adds an argument of our own. */
static void add(const char *s, size_t n)
{
    char *to = text.bytes + ROOM + text.n;
    text.whole = text.whole && n + 1 < sizeof(text.bytes) - ROOM - text.n;
    if (!text.whole)
        return;
    to[0] = ' ';
    memcpy(to + 1, s, n);
    tidy(to + 1, n);
    text.n += n + 1;
}

static void add_first(const char *s, size_t n)
{
    n = n < sizeof(text.first) ? n : sizeof(text.first) - 1;
    memcpy(text.first, s, n);
    text.first[n] = '\0';
}

void commands_take(struct judge *j, char *const *argv)
{
    (void)j;
    begin();
    for (size_t i = 0; argv[i]; i++)
        (i ? add : add_first)(argv[i], strlen(argv[i]));
}

bool commands_read_process(struct judge *j, pid_t pid)
{
    static char bytes[ARGUMENTS];
    char name[32];
    size_t have = 0;
    snprintf(name, sizeof(name), "%d/cmdline", pid);
    OWN(fd) int fd = openat(j->proc, name, O_RDONLY | O_CLOEXEC);
    for (ssize_t n;
         fd >= 0 && have < sizeof(bytes) && (n = read(fd, bytes + have, sizeof(bytes) - have)) > 0;)
        have += (size_t)n;
    begin();
    for (size_t at = 0; at < have; at++) {
        size_t n = strnlen(bytes + at, have - at);
        (at ? add : add_first)(bytes + at, n);
        at += n;
    }
    text.whole = text.whole && have < sizeof(bytes);
    return have > 0;
}

/* ---- matching ---- */

/* A program with a name, and arguments that begin at `args`. */
static uint32_t fit_name(const struct judge *j, const char *name, size_t n, size_t args)
{
    uint32_t found = 0;
    char *at = text.bytes + ROOM + args - n;
    if (n == 0 || n > ROOM + args)
        return 0;
    memmove(at, name, n);
    for (uint32_t i = 0; i < j->commands.n; i++) {
        const struct graph_test *p = j->commands.patterns[i];
        if (text.whole ? graph_command_fits(p->str, p->len, at, n + text.n - args)
                       : graph_command_fits_program(p->str, p->len, at, n))
            found |= UINT32_C(1) << i;
    }
    return found;
}

static const char *last_part(const char *path, size_t *n)
{
    size_t at = *n;
    while (at > 0 && path[at - 1] != '/')
        at--;
    *n -= at;
    return path + at;
}

/* By the whole path, for patterns that have one, and by its last part. */
static uint32_t fit_path(const struct judge *j, const char *path, size_t n, size_t args)
{
    uint32_t found = fit_name(j, path, n, args);
    const char *name = last_part(path, &n);
    return found | fit_name(j, name, n, args);
}

/* Programs that run the one that their first argument names. */
static bool is_disguise(const char *path, size_t n)
{
    static const char *const starts[] = {"busybox", "toybox", "ld-linux",
                                         "ld-musl", "ld.so",  "ld-2."};
    const char *name = last_part(path, &n);
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
        if (n >= strlen(starts[i]) && memcmp(name, starts[i], strlen(starts[i])) == 0)
            return true;
    return false;
}

/* The arguments after the first that is no option, which is the program. */
static uint32_t fit_disguised(const struct judge *j)
{
    static char name[PATH_BYTES];
    const char *from = text.bytes + ROOM;
    size_t at = 0;
    while (at + 1 < text.n && from[at + 1] == '-') {
        const char *next = memchr(from + at + 1, ' ', text.n - at - 1);
        at = next ? (size_t)(next - from) : text.n;
    }
    if (at >= text.n)
        return 0;
    const char *end = memchr(from + at + 1, ' ', text.n - at - 1);
    size_t n = (end ? (size_t)(end - from) : text.n) - at - 1;
    if (n == 0 || n >= sizeof(name))
        return 0;
    memcpy(name, from + at + 1, n);
    /* it is written over itself, so the arguments stay as they are */
    return fit_path(j, name, n, at + 1 + n);
}

uint32_t commands_fit(const struct judge *j, const char *path, size_t len, const char *name)
{
    uint32_t found = fit_path(j, path, len, 0);
    if (name && name[0])
        found |= fit_path(j, name, strlen(name), 0);
    if (text.first[0])
        found |= fit_path(j, text.first, strlen(text.first), 0);
    if (is_disguise(path, len))
        found |= fit_disguised(j);
    return found;
}

uint32_t commands_fit_script(const struct judge *j, const char *path, size_t len, const char *line,
                             size_t n, const char *script)
{
    static char name[2 * PATH_BYTES + 512];
    size_t word = strcspn(line, " \t\n");
    word = word < n ? word : n;
    size_t rest = word;
    while (rest < n && (line[rest] == ' ' || line[rest] == '\t'))
        rest++;
    const char *names[] = {path, line};
    size_t lens[] = {len, word};
    uint32_t found = 0;
    for (int i = 0; i < 2; i++) {
        int all = snprintf(name, sizeof(name), "%.*s%s%.*s %s", (int)lens[i], names[i],
                           rest < n ? " " : "", (int)(n - rest), line + rest, script);
        if (all <= 0 || (size_t)all >= sizeof(name))
            return UINT32_MAX;
        found |= fit_name(j, name, (size_t)all, 0);
        size_t bare = lens[i];
        const char *last = last_part(names[i], &bare);
        found |= fit_name(j, name + (last - names[i]), (size_t)all - (size_t)(last - names[i]), 0);
    }
    return found;
}

/* For the user: without secrets. */
static void show(struct judge *j, const char *path, size_t len)
{
    static char bytes[2 * PATH_BYTES];
    struct command_use *c = &j->commands;
    OWN(buf) struct buf shown = {0};
    len = len < PATH_BYTES / 2 ? len : PATH_BYTES / 2;
    size_t n = text.n < PATH_BYTES ? text.n : PATH_BYTES;
    memcpy(bytes, path, len);
    memcpy(bytes + len, text.bytes + ROOM, n);
    conceal_text(bytes, len + n, false, &shown);
    bool ok = buf_ok(&shown) && shown.n; /* out of memory: without its arguments */
    n = ok ? shown.n : len;
    n = n < sizeof(c->shown) ? n : sizeof(c->shown) - 1;
    memcpy(c->shown, ok ? shown.s : bytes, n);
    c->shown[n] = '\0';
    c->nshown = n;
}

void commands_starting(struct judge *j, uint32_t fits, const char *path, size_t len)
{
    struct command_use *c = &j->commands;
    bool asks = false;
    if (c->starting == 0)
        c->nshown = 0; /* else the interpreter of a script, which the user sees by its own name */
    c->starting = fits;
    for (uint32_t i = 0; i < c->n; i++)
        asks |= (fits >> i & 1) && c->agreed[i];
    if (asks && !c->nshown)
        show(j, path, len);
}
