/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Races. One thread changes what a call's arguments mean, as fast as it can, while others make the
 * call: if the kernel continued with what was judged a moment ago, sooner or later it would act on
 * something never judged. IN is a writable folder, OUT is not; they differ in one byte, and both
 * contain "victim", a file, and "sub", an empty folder.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "escape.h"
#include "race.h"

enum { RACING_FD = 100 };

struct race_at race_at;

static char racing_path[4][4096]; /* victim, sub, new, new2 */
static int choice_fd[2];
atomic_bool race_over;
static atomic_ulong passed, refused;

void race_count(long result)
{
    if (result >= 0)
        atomic_fetch_add(&passed, 1);
    else if (errno == EPERM || errno == EACCES)
        atomic_fetch_add(&refused, 1);
}

void race_count_fd(int fd)
{
    race_count(fd);
    if (fd >= 0)
        close(fd);
}

/* ---- flippers ---- */

static void *flip_memory(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !atomic_load_explicit(&race_over, memory_order_relaxed); i++)
        for (int p = 0; p < 4; p++)
            ((volatile char *)racing_path[p])[race_at.differs_at] = race_at.choice[i & 1];
    return NULL;
}

static void *flip_descriptor(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !atomic_load_explicit(&race_over, memory_order_relaxed); i++)
        dup2(choice_fd[i & 1], RACING_FD);
    return NULL;
}

/* A symlink in IN that leads to IN/. or to OUT. */
static void *flip_link(void *arg)
{
    char link[4096], spare[4096];
    (void)arg;
    snprintf(link, sizeof(link), "%s/swap", race_at.inside);
    snprintf(spare, sizeof(spare), "%s/spare", race_at.inside);
    unlink(spare); /* left over from a killed one */
    for (unsigned i = 0; !atomic_load_explicit(&race_over, memory_order_relaxed); i++)
        if (symlink(i & 1 ? race_at.inside : race_at.outside, spare) == 0)
            rename(spare, link);
    return NULL;
}

/* ---- hammers ---- */

void race_names(char path[4][4096])
{
    race_count_fd(open(path[0], O_WRONLY | O_TRUNC));
    race_count_fd(open(path[2], O_WRONLY | O_CREAT | O_EXCL, 0600));
    race_count(unlink(path[2]));
    race_count_fd(open(path[2], O_WRONLY | O_CREAT | O_NONBLOCK, 0600));
    race_count(rename(path[2], path[3]));
    race_count(link(path[3], path[2]));
    race_count(unlink(path[3]));
    race_count(unlink(path[2]));
    race_count(mkdir(path[2], 0700));
    race_count(rename(path[2], path[3]));
    race_count(rmdir(path[3]));
    race_count(symlink("x", path[2]));
    race_count(unlink(path[2]));
    race_count(mkfifo(path[2], 0600));
    race_count(unlink(path[2]));
}

void race_attributes(char path[4][4096])
{
    static const struct timespec times[2] = {{1, 1}, {1, 1}};
    race_count(chmod(path[0], 0400));
    race_count(chmod(path[0], 0600));
    race_count(truncate(path[0], 2));
    race_count(utimensat(AT_FDCWD, path[0], times, 0));
    race_count(chown(path[0], getuid(), getgid()));
    race_count(setxattr(path[0], "user.race", "v", 1, 0));
    race_count(removexattr(path[0], "user.race"));
}

static void *hammer_paths(void *arg)
{
    (void)arg;
    while (!atomic_load(&race_over)) {
        race_names(racing_path);
        race_attributes(racing_path);
    }
    return NULL;
}

static void *hammer_folder_descriptor(void *arg)
{
    (void)arg;
    while (!atomic_load(&race_over)) {
        race_count_fd(openat(RACING_FD, "victim", O_WRONLY | O_TRUNC));
        race_count_fd(openat(RACING_FD, "new", O_WRONLY | O_CREAT | O_EXCL, 0600));
        race_count(renameat(RACING_FD, "new", RACING_FD, "new2"));
        race_count(unlinkat(RACING_FD, "new2", 0));
        race_count(unlinkat(RACING_FD, "new", 0));
        race_count(mkdirat(RACING_FD, "new", 0700));
        race_count(unlinkat(RACING_FD, "new", AT_REMOVEDIR));
        race_count(fchmodat(RACING_FD, "victim", 0400, 0));
        race_count(fchmodat(RACING_FD, "victim", 0600, 0));
        race_count(utimensat(RACING_FD, "victim", NULL, 0));
    }
    return NULL;
}

static void *hammer_file_descriptor(void *arg)
{
    static const struct timespec times[2] = {{1, 1}, {1, 1}};
    int flags = FS_NODUMP_FL;
    (void)arg;
    while (!atomic_load(&race_over)) {
        race_count(fchmod(RACING_FD, 0400));
        race_count(fchmod(RACING_FD, 0600));
        race_count(futimens(RACING_FD, times));
        race_count(fchown(RACING_FD, getuid(), getgid()));
        race_count(fsetxattr(RACING_FD, "user.race", "v", 1, 0));
        race_count(fremovexattr(RACING_FD, "user.race"));
        race_count(ioctl(RACING_FD, FS_IOC_SETFLAGS, &flags));
        race_count_fd(open("/proc/self/fd/100", O_WRONLY | O_TRUNC));
        race_count_fd(open("/dev/fd/100", O_WRONLY | O_TRUNC));
    }
    return NULL;
}

/* ---- running them ---- */

enum { ENOUGH = 20, PATIENCE = 15 };

static bool both(void)
{
    return atomic_load(&passed) > ENOUGH && atomic_load(&refused) > ENOUGH;
}

int race_run(double seconds, void *(*flip)(void *), void *(*const *hammers)(void *), int n)
{
    pthread_t threads[RACE_THREADS + 1];
    int started = 0;
    if (flip)
        must(-pthread_create(&threads[started++], NULL, flip, NULL), "thread");
    for (int i = 0; i < n; i++)
        must(-pthread_create(&threads[started++], NULL, hammers[i], NULL), "thread");
    for (double end = now() + seconds; now() < end || (n && now() < end + PATIENCE && !both());)
        usleep(10000);
    atomic_store(&race_over, true);
    while (started > 0)
        pthread_join(threads[--started], NULL);
    printf("passed %lu\nrefused %lu\n", atomic_load(&passed), atomic_load(&refused));
    return 0;
}

void race_prepare(char **a)
{
    size_t at = 0;
    while (a[1][at] && a[1][at] == a[2][at])
        at++;
    race_at = (struct race_at){a[1], a[2], at, {a[1][at], a[2][at]}};
}

void race_paths(char path[4][4096], const char *folder, const char *below)
{
    static const char *const names[] = {"victim", "sub", "new", "new2"};
    for (int i = 0; i < 4; i++)
        snprintf(path[i], sizeof(path[i]), "%s/%s%s", folder, below, names[i]);
}

static int race_memory(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_paths, hammer_paths};
    race_prepare(a);
    race_paths(racing_path, race_at.inside, "");
    return race_run(atof(a[0]), flip_memory, hammers, 2);
}

static int race_link(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_paths, hammer_paths};
    race_prepare(a);
    race_paths(racing_path, race_at.inside, "swap/");
    return race_run(atof(a[0]), flip_link, hammers, 2);
}

/* The other half runs outside the sandbox, as fast as the machine allows. */
static int race_link_hammer(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_paths};
    race_prepare(a);
    race_paths(racing_path, race_at.inside, "swap/");
    return race_run(atof(a[0]), NULL, hammers, 1);
}

static int race_link_flip(char **a)
{
    race_prepare(a);
    return race_run(atof(a[0]), flip_link, NULL, 0);
}

static void open_choices(const char *name, int flags)
{
    const char *dirs[] = {race_at.inside, race_at.outside};
    for (int i = 0; i < 2; i++) {
        choice_fd[i] = open(in_folder(dirs[i], name), flags);
        must(choice_fd[i], name);
    }
    must(dup2(choice_fd[0], RACING_FD), "dup2");
}

static int race_dirfd(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_folder_descriptor, hammer_folder_descriptor};
    race_prepare(a);
    open_choices(".", O_RDONLY | O_DIRECTORY);
    return race_run(atof(a[0]), flip_descriptor, hammers, 2);
}

static int race_fd(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_file_descriptor, hammer_file_descriptor};
    race_prepare(a);
    open_choices("victim", O_RDONLY);
    return race_run(atof(a[0]), flip_descriptor, hammers, 2);
}

/* ---- planting a folder by moving it ---- */

static void *hammer_plant(void *arg)
{
    char hooks[4096], hook[4096];
    (void)arg;
    snprintf(hooks, sizeof(hooks), "%s/a/hooks", race_at.inside);
    snprintf(hook, sizeof(hook), "%s/a/hooks/pre-commit", race_at.inside);
    while (!atomic_load(&race_over)) {
        race_count(mkdir(in_folder(race_at.inside, "a"), 0700));
        race_count(mkdir(hooks, 0700));
        race_count_fd(open(hook, O_WRONLY | O_CREAT, 0700));
    }
    return NULL;
}

static void *hammer_move(void *arg)
{
    char from[4096], to[4096], back[4096];
    (void)arg;
    snprintf(from, sizeof(from), "%s/a", race_at.inside);
    snprintf(to, sizeof(to), "%s/.git", race_at.inside);
    for (unsigned i = 0; !atomic_load(&race_over); i++) {
        race_count(rename(from, to));
        /* an empty folder is in the way and may or may not be removable */
        race_count(rmdir(to));
        snprintf(back, sizeof(back), "%s/old-%u", race_at.inside, i);
        race_count(rename(from, back));
    }
    return NULL;
}

static int race_plant(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_plant, hammer_move};
    race_prepare(a);
    return race_run(atof(a[0]), NULL, hammers, 2);
}

/* ---- stretched ---- */

/* Paths whose last part is on a slow page (a file of a FUSE that answers slowly): when it arrives,
 * what precedes it has long been read, and has long changed. */
static char *slow_path;
static int slow_file;

static void forget_page(void)
{
    madvise(slow_path - (uintptr_t)slow_path % 4096 + 4096, 4096, MADV_DONTNEED);
    posix_fadvise(slow_file, 0, 0, POSIX_FADV_DONTNEED);
}

static void *flip_slow(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !atomic_load_explicit(&race_over, memory_order_relaxed); i++) {
        ((volatile char *)slow_path)[race_at.differs_at] = race_at.choice[i & 1];
        dup2(choice_fd[i & 1], RACING_FD);
    }
    return NULL;
}

static void *hammer_slow(void *arg)
{
    const char *name = (char *)((uintptr_t)slow_path - (uintptr_t)slow_path % 4096 + 4096);
    char other[4096];
    (void)arg;
    snprintf(other, sizeof(other), "%s/other", race_at.inside);
    for (unsigned i = 0; !atomic_load(&race_over); i++) {
        forget_page();
        switch (i % 6) {
        case 0:
            race_count_fd(open(slow_path, O_WRONLY | O_TRUNC));
            break;
        case 1:
            race_count(chmod(slow_path, 0600));
            break;
        case 2: /* the other name is pinned while this one is awaited */
            close(open(other, O_WRONLY | O_CREAT, 0600));
            race_count(rename(other, slow_path));
            break;
        case 3:
            race_count(renameat(RACING_FD, name, RACING_FD, "moved"));
            race_count(renameat(RACING_FD, "moved", RACING_FD, "victim"));
            break;
        case 4:
            race_count_fd(openat(RACING_FD, name, O_WRONLY));
            break;
        case 5:
            race_count(truncate(slow_path, 1));
            break;
        }
    }
    return NULL;
}

static int race_slow(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_slow, hammer_slow};
    race_prepare(a);
    open_choices(".", O_RDONLY | O_DIRECTORY);
    slow_file = open(a[3], O_RDONLY);
    must(slow_file, a[3]);
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool there = pages != MAP_FAILED && mmap(pages + 4096, 4096, PROT_READ, MAP_SHARED | MAP_FIXED,
                                             slow_file, 0) != MAP_FAILED;
    must(there ? 0 : -1, "mmap");
    size_t n = strlen(race_at.inside);
    slow_path = pages + 4096 - n - 1;
    memcpy(slow_path, race_at.inside, n);
    slow_path[n] = '/';
    return race_run(atof(a[0]), flip_slow, hammers, 2);
}

const struct attack attacks_race[] = {
    {"race-memory", 3, race_memory},
    {"race-link", 3, race_link},
    {"race-link-hammer", 3, race_link_hammer},
    {"race-link-flip", 3, race_link_flip},
    {"race-dirfd", 3, race_dirfd},
    {"race-fd", 3, race_fd},
    {"race-plant", 3, race_plant},
    {"race-slow", 4, race_slow},
    {0},
};
