/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Descriptors come back in any order. Memory has names, a listener is recognised by its kind, and
 * of the two ends of the socket the agent's is the one with the cookie in the record. */

#include "node/record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/own.h"

enum { RECORD_MAGIC = 0x626b7202 }; /* another layout: another number */

#define BOOK_NAME "buckle-calls"
#define RECORD_NAME "buckle-record"

static void *make_memory(const char *name, size_t size, int *fd)
{
    *fd = memfd_create(name, MFD_CLOEXEC);
    if (*fd < 0 || ftruncate(*fd, (off_t)size) < 0)
        return NULL;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

static uint64_t cookie_of(int sock)
{
    uint64_t cookie = 0;
    socklen_t n = sizeof(cookie);
    return getsockopt(sock, SOL_SOCKET, SO_COOKIE, &cookie, &n) == 0 ? cookie : 0;
}

void container_fds_close(struct container_fds *f)
{
    int fds[] = {f->listener, f->events, f->judge_end, f->book_fd, f->record_fd};
    if (f->book)
        munmap(f->book, sizeof(*f->book));
    if (f->record)
        munmap(f->record, sizeof(*f->record));
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    *f = (struct container_fds){-1, -1, -1, -1, -1, NULL, NULL};
}

int container_fds_make(struct container_fds *f, const struct state *s)
{
    int ends[2] = {-1, -1}, listener = f->listener;
    *f = (struct container_fds){listener, -1, -1, -1, -1, NULL, NULL};
    f->book = make_memory(BOOK_NAME, sizeof(*f->book), &f->book_fd);
    f->record = make_memory(RECORD_NAME, sizeof(*f->record), &f->record_fd);
    bool good =
        f->book && f->record && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0;
    f->events = ends[0];
    f->judge_end = ends[1];
    if (!good) {
        f->listener = -1; /* the caller's */
        container_fds_close(f);
        return -1;
    }
    *f->record = (struct record){.magic = RECORD_MAGIC,
                                 .size = sizeof(struct record),
                                 .book_size = sizeof(struct call_book),
                                 .cookie = cookie_of(f->events),
                                 .state = *s};
    return 0;
}

void container_fds_store(const struct container_fds *f, const struct keep *k, const char *name)
{
    int fds[] = {f->listener, f->events, f->judge_end, f->book_fd, f->record_fd};
    keep_store(k, name, fds, sizeof(fds) / sizeof(fds[0]));
}

/* ---- taking over ---- */

static bool is_called(int fd, const char *what)
{
    char name[32], is[64];
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(name, is, sizeof(is) - 1);
    is[n > 0 ? n : 0] = '\0';
    return strcmp(is, what) == 0;
}

static void *map(int fd, size_t size)
{
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_size != (off_t)size)
        return NULL;
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void sort_out(struct container_fds *f, struct kept *set)
{
    for (size_t i = 0; i < set->n; i++) {
        int fd = set->fds[i];
        int *place = is_called(fd, "anon_inode:seccomp notify")          ? &f->listener
                     : is_called(fd, "/memfd:" BOOK_NAME " (deleted)")   ? &f->book_fd
                     : is_called(fd, "/memfd:" RECORD_NAME " (deleted)") ? &f->record_fd
                     : cookie_of(fd) && f->events < 0                    ? &f->events
                                                                         : &f->judge_end;
        set->fds[i] = -1;
        if (*place >= 0)
            close(fd);
        else
            *place = fd;
    }
    set->n = 0;
}

static bool is_sound(const struct record *r)
{
    return r->magic == RECORD_MAGIC && r->size == sizeof(*r) &&
           r->book_size == sizeof(struct call_book) && r->state.pid > 0 &&
           memchr(r->state.id, '\0', sizeof(r->state.id)) &&
           memchr(r->state.profile, '\0', sizeof(r->state.profile)) &&
           state_is_profile(r->state.profile);
}

int container_fds_take(struct container_fds *f, struct kept *set)
{
    *f = (struct container_fds){-1, -1, -1, -1, -1, NULL, NULL};
    sort_out(f, set);
    f->book = map(f->book_fd, sizeof(*f->book));
    f->record = map(f->record_fd, sizeof(*f->record));
    if (f->record && is_sound(f->record) && f->events >= 0 &&
        cookie_of(f->events) != f->record->cookie) {
        int other = f->events;
        f->events = f->judge_end;
        f->judge_end = other;
    }
    if (f->listener >= 0 && f->judge_end >= 0 && f->book && f->record && is_sound(f->record) &&
        f->events >= 0 && cookie_of(f->events) == f->record->cookie)
        return 0;
    container_fds_close(f);
    return -1;
}
