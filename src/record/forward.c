/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * One process for each destination and record: a lock on the file with the position says which. The
 * others wait until it is done. It outlives its run until everything is sent, or for AFTER_MS; then
 * the next run continues. A batch can arrive twice after a crash, since its position is written
 * when it has arrived; hashes tell.
 */

#include "record/forward.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "record/record-int.h"
#include "system/descriptors.h"
#include "system/process.h"

enum { ROOM = 2 * RECORD_LINE, IDLE_MS = 200, PAUSE_MS = 250, PAUSE_MOST = 8000 };
static const uint64_t after_ms = 120000;

struct forward {
    const char *url; /* NULL: the journal */
    char path[PATH_MAX];
    int cursor;       /* file with the position */
    int run;          /* becomes readable when the run ends */
    uint64_t ended;   /* when it did; 0: not yet */
    uint32_t segment; /* the position */
    uint64_t offset;
    char room[ROOM];
};

/* ---- the position ---- */

static void load_position(struct forward *w)
{
    char text[64] = "";
    unsigned segment;
    unsigned long long offset;
    if (pread(w->cursor, text, sizeof(text) - 1, 0) > 0 &&
        sscanf(text, "%u %llu", &segment, &offset) == 2 && segment) {
        w->segment = segment;
        w->offset = offset;
    }
}

static void save_position(const struct forward *w)
{
    char text[64];
    int n =
        snprintf(text, sizeof(text), "%010u %020llu\n", w->segment, (unsigned long long)w->offset);
    (void)!pwrite(w->cursor, text, (size_t)n, 0);
}

/* The number of a file, from its first line. 0: unknown. */
static uint32_t segment_of(int fd)
{
    static const char name[] = "\"segment\": ";
    char text[400];
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    if (n <= 0)
        return 0;
    text[n] = '\0';
    const char *at = strstr(text, name);
    return at ? (uint32_t)strtoul(at + sizeof(name) - 1, NULL, 10) : 0;
}

/* Opens the file with this number, full or present; -1: it is gone, or not there yet. *later: a
 * later one is there. */
static int open_segment(const struct forward *w, uint32_t number, bool *later)
{
    char name[PATH_MAX + 16];
    snprintf(name, sizeof(name), "%s.%u", w->path, number);
    int full = open(name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    OWN(fd) int present = open(w->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    uint32_t last = present >= 0 ? segment_of(present) : 0;
    *later = last > number;
    if (full >= 0)
        return full;
    return last == number ? steal_fd(&present) : -1;
}

/* ---- reading ---- */

static void parse_batch(struct forward *w, size_t n, struct forward_batch *b, uint64_t *used)
{
    const char *at = w->room, *end = w->room + n;
    b->n = 0;
    for (const char *newline;
         b->n < FORWARD_LINES && (newline = memchr(at, '\n', (size_t)(end - at))); at = newline + 1)
        b->n += record_line_parse(at, (size_t)(newline - at), &b->lines[b->n]);
    *used = (uint64_t)(at - w->room);
    if (*used == 0 && n == ROOM)
        *used = n; /* no line is that long */
}

/* The next lines. Returns false at the present end. */
static bool next_batch(struct forward *w, struct forward_batch *b, uint64_t *used)
{
    bool later;
    for (;;) {
        OWN(fd) int fd = open_segment(w, w->segment, &later);
        ssize_t n = fd >= 0 ? pread(fd, w->room, ROOM, (off_t)w->offset) : 0;
        if (n > 0)
            parse_batch(w, (size_t)n, b, used);
        if (n > 0 && *used)
            return true;
        if (!later)
            return false;
        w->segment++;
        w->offset = 0;
    }
}

/* ---- the process ---- */

/* Waits; returns false if it is time to end. */
static bool pause_for(struct forward *w, int ms)
{
    struct pollfd run = {w->run, POLLIN, 0};
    if (w->ended) {
        poll(NULL, 0, ms);
        return now_ms() < w->ended + after_ms;
    }
    if (w->run < 0 || poll(&run, 1, ms) > 0)
        w->ended = now_ms();
    return true;
}

static void send_all(struct forward *w)
{
    static struct forward_batch b; /* large */
    int pause = PAUSE_MS;
    uint64_t used;
    for (;;) {
        bool over = w->ended != 0; /* then nothing of our run follows */
        if (!next_batch(w, &b, &used)) {
            if (over || !pause_for(w, IDLE_MS))
                return;
            continue;
        }
        if (!b.n || (w->url ? forward_to_collector(w->url, &b) : forward_to_journal(&b))) {
            w->offset += used;
            save_position(w);
            pause = PAUSE_MS;
            continue;
        }
        if (!pause_for(w, pause))
            return;
        pause = pause * 2 > PAUSE_MOST ? PAUSE_MOST : pause * 2;
    }
}

static void __attribute__((noreturn)) forward_main(struct forward *w)
{
    char name[PATH_MAX + 16];
    process_set_name("buckle-forward");
    signal(SIGPIPE, SIG_IGN);
    snprintf(name, sizeof(name), "%s.%s", w->path, w->url ? "otlp" : "journal");
    w->cursor = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    while (w->cursor >= 0 && flock(w->cursor, LOCK_EX | LOCK_NB) < 0)
        if (!pause_for(w, IDLE_MS))
            _exit(0);
    if (w->cursor < 0)
        _exit(1);
    load_position(w);
    save_position(w);
    send_all(w);
    _exit(0);
}

/* Nothing of the run is left in it except a descriptor that shows its end. */
static void leave_run(int run)
{
    int null = open("/dev/null", O_RDWR);
    setsid();
    for (int fd = 0; fd <= 2; fd++)
        dup2(null, fd);
    if (run > 3)
        fd_close_range(3, run - 1);
    fd_close_range(run > 2 ? run + 1 : 3, -1);
    (void)!chdir("/");
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void start_one(const char *path, const char *url, uint32_t segment, uint64_t offset)
{
    OWN(fd) int run = process_watch(getpid());
    pid_t child = fork();
    if (child > 0)
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    if (child != 0)
        return;
    if (fork() != 0)
        _exit(0);
    struct forward *w = calloc(1, sizeof(*w));
    if (!w || run < 0)
        _exit(1);
    leave_run(run);
    w->url = url;
    w->run = run;
    w->segment = segment;
    w->offset = offset;
    snprintf(w->path, sizeof(w->path), "%s", path);
    forward_main(w);
}

void forward_start(const struct record_options *o, struct record_file *f)
{
    char path[PATH_MAX];
    struct stat st;
    if ((!o->journal && !o->otlp) || !record_path(o->path, path) || fstat(f->fd, &st) < 0)
        return;
    uint32_t segment = segment_of(f->fd);
    if (!segment)
        segment = record_newest(f) + 1;
    if (o->journal)
        start_one(path, NULL, segment, (uint64_t)st.st_size);
    if (o->otlp)
        start_one(path, o->otlp, segment, (uint64_t)st.st_size);
}
