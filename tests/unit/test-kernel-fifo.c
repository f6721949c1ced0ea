/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Ends of FIFOs that wait without blocking: what they see, and what other processes see of them. */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/judge/fifo.h"
#include "tap.h"

static char folder[] = "/tmp/buckle-fifo-XXXXXX", path[64];
static int events;

static struct fifo_end begin(int flags, bool may_read)
{
    struct fifo_end e;
    int pin = open(path, O_PATH | O_CLOEXEC), got = fifo_begin(&e, pin, flags, may_read);
    is_int(got, -EAGAIN, "an end waits");
    fifo_hold(&e);
    fifo_watch(&e, events);
    return e;
}

static bool is_notified(void)
{
    char bytes[4096];
    return read(events, bytes, sizeof(bytes)) > 0;
}

static bool is_open(int fd, int mode)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_ACCMODE) == mode && !(flags & O_NONBLOCK);
}

/* ---- those who sleep in open() ---- */

static int flags_asleep;

static void *open_asleep(void *arg)
{
    (void)arg;
    return (void *)(intptr_t)open(path, flags_asleep | O_CLOEXEC);
}

static pthread_t sleeper(int flags)
{
    pthread_t thread;
    flags_asleep = flags;
    pthread_create(&thread, NULL, open_asleep, NULL);
    usleep(50000);
    return thread;
}

static int awake(pthread_t thread)
{
    void *fd;
    pthread_join(thread, &fd);
    return (int)(intptr_t)fd;
}

static void test_reader(void)
{
    struct fifo_end e = begin(O_RDONLY, true);
    char c;
    is_int(fifo_try(&e, false), -EAGAIN, "no writer, no descriptor");
    OWN(fd) int other = open(path, O_RDONLY | O_NONBLOCK);
    ok(other >= 0 && is_notified(), "another reader is notified");
    is_int(fifo_try(&e, true), -EAGAIN, "but is no writer");
    OWN(fd) int writer = open(path, O_WRONLY | O_NONBLOCK);
    ok(writer >= 0 && is_notified(), "a writer finds the reader that waits, and is notified");
    OWN(fd) int fd = fifo_try(&e, true);
    ok(is_open(fd, O_RDONLY) && e.fd < 0, "the reader has its end, as it wanted it");
    ok(write(writer, "x", 1) == 1 && read(fd, &c, 1) == 1 && c == 'x', "and hears of all of it");
    fifo_end(&e);
}

static void test_reader_of_what_was(void)
{
    struct fifo_end e = begin(O_RDONLY, true);
    OWN(fd) int writer = open(path, O_WRONLY | O_NONBLOCK);
    is_int(write(writer, "xy", 2), 2, "written before anybody looked");
    close(steal_fd(&writer));
    OWN(fd) int fd = fifo_try(&e, false);
    char bytes[4];
    is_int(read(fd, bytes, 4), 2, "nothing of it is lost by looking");
    is_int(read(fd, bytes, 4), 0, "then it ends");
    fifo_end(&e);
    e = begin(O_RDONLY, true);
    close(open(path, O_WRONLY | O_NONBLOCK));
    OWN(fd) int gone = fifo_try(&e, false);
    ok(gone >= 0, "a writer that came and left lets the reader go");
    fifo_end(&e);
}

static void test_reader_meets_sleeper(void)
{
    struct fifo_end e;
    pthread_t thread = sleeper(O_WRONLY);
    OWN(fd) int pin = open(path, O_PATH | O_CLOEXEC);
    OWN(fd) int fd = fifo_begin(&e, pin, O_RDONLY, true);
    ok(is_open(fd, O_RDONLY), "a reader does not wait for a writer that sleeps");
    OWN(fd) int writer = awake(thread);
    ok(writer >= 0, "who goes on");
}

static void test_writer(void)
{
    struct fifo_end e = begin(O_WRONLY | O_APPEND, true);
    (void)is_notified();
    ok(e.held >= 0 && e.watch >= 0, "a writer is held for readers to find");
    is_int(fifo_try(&e, false), -EAGAIN, "no reader, no descriptor");
    ok(open(path, O_WRONLY | O_NONBLOCK) < 0 && errno == ENXIO, "it is no reader to other writers");
    OWN(fd) int reader = awake(sleeper(O_RDONLY));
    ok(reader >= 0 && is_notified(), "a reader does not sleep, and is notified");
    OWN(fd) int fd = fifo_try(&e, false);
    ok(is_open(fd, O_WRONLY) && (fcntl(fd, F_GETFL) & O_APPEND), "the writer has its end");
    char c = 0;
    fifo_end(&e);
    ok(write(fd, "x", 1) == 1 && read(reader, &c, 1) == 1 && c == 'x', "which leads there");
}

static void test_writer_of_what_was(void)
{
    struct fifo_end e = begin(O_WRONLY, true);
    (void)is_notified();
    close(open(path, O_RDONLY | O_NONBLOCK));
    ok(is_notified(), "a reader came and left");
    OWN(fd) int fd = fifo_try(&e, true);
    ok(is_open(fd, O_WRONLY), "which lets the writer go");
    fifo_end(&e);
}

/* An end that may not read must not open both ends. */
static void test_writer_only(void)
{
    struct fifo_end e = begin(O_WRONLY, false);
    ok(e.held < 0, "nothing is held for who may not read");
    is_int(fifo_try(&e, false), -EAGAIN, "it is tried");
    pthread_t thread = sleeper(O_RDONLY);
    OWN(fd) int fd = fifo_try(&e, false);
    ok(is_open(fd, O_WRONLY), "and tried again, until there is a reader");
    OWN(fd) int reader = awake(thread);
    char c = 0;
    fifo_end(&e);
    ok(write(fd, "x", 1) == 1 && read(reader, &c, 1) == 1, "who finds no end of file");
}

int main(void)
{
    if (!mkdtemp(folder) || chdir("/proc") < 0)
        return 1;
    snprintf(path, sizeof(path), "%s/fifo", folder);
    events = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    ok(mkfifo(path, 0600) == 0, "a FIFO");
    test_reader();
    test_reader_of_what_was();
    test_reader_meets_sleeper();
    test_writer();
    test_writer_of_what_was();
    test_writer_only();
    unlink(path);
    rmdir(folder);
    return done_testing();
}
