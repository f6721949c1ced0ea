/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Races. One thread changes what the arguments of a call mean, as fast as it can, while others make
 * the call: had the kernel gone on with what was judged a moment ago, sooner or later it would act
 * on what never was. IN is a folder that may be written, OUT one that may not; they differ in one
 * byte, and both hold "victim", a file, and "sub", an empty folder.
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "escape.h"

enum { RACING_FD = 100, RACERS = 3 };

static const char *inside, *outside;

static char racing_path[4][4096]; /* victim, sub, new, new2 */
static size_t differs_at;
static char choice[2];
static int choice_fd[2];
static atomic_bool over;
static atomic_ulong passed, refused;

static void count(long result)
{
    if (result >= 0)
        atomic_fetch_add(&passed, 1);
    else if (errno == EPERM || errno == EACCES)
        atomic_fetch_add(&refused, 1);
}

static void count_fd(int fd)
{
    count(fd);
    if (fd >= 0)
        close(fd);
}

/* ---- flippers ---- */

static void *flip_memory(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !atomic_load_explicit(&over, memory_order_relaxed); i++)
        for (int p = 0; p < 4; p++)
            ((volatile char *)racing_path[p])[differs_at] = choice[i & 1];
    return NULL;
}

static void *flip_descriptor(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !atomic_load_explicit(&over, memory_order_relaxed); i++)
        dup2(choice_fd[i & 1], RACING_FD);
    return NULL;
}

/* A link in IN that leads to IN/. or to OUT. */
static void *flip_link(void *arg)
{
    char link[4096], spare[4096];
    (void)arg;
    snprintf(link, sizeof(link), "%s/swap", inside);
    snprintf(spare, sizeof(spare), "%s/spare", inside);
    for (unsigned i = 0; !atomic_load_explicit(&over, memory_order_relaxed); i++)
        if (symlink(i & 1 ? inside : outside, spare) == 0)
            rename(spare, link);
    return NULL;
}

/* ---- hammers ---- */

static void try_names(char path[4][4096])
{
    count_fd(open(path[0], O_WRONLY | O_TRUNC));
    count_fd(open(path[2], O_WRONLY | O_CREAT | O_EXCL, 0600));
    count(unlink(path[2]));
    count_fd(open(path[2], O_WRONLY | O_CREAT | O_NONBLOCK, 0600));
    count(rename(path[2], path[3]));
    count(link(path[3], path[2]));
    count(unlink(path[3]));
    count(unlink(path[2]));
    count(mkdir(path[2], 0700));
    count(rename(path[2], path[3]));
    count(rmdir(path[3]));
    count(symlink("x", path[2]));
    count(unlink(path[2]));
    count(mkfifo(path[2], 0600));
    count(unlink(path[2]));
}

static void try_attributes(char path[4][4096])
{
    static const struct timespec times[2] = {{1, 1}, {1, 1}};
    count(chmod(path[0], 0400));
    count(chmod(path[0], 0600));
    count(truncate(path[0], 2));
    count(utimensat(AT_FDCWD, path[0], times, 0));
    count(chown(path[0], getuid(), getgid()));
    count(setxattr(path[0], "user.race", "v", 1, 0));
    count(removexattr(path[0], "user.race"));
}

static void *hammer_paths(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        try_names(racing_path);
        try_attributes(racing_path);
    }
    return NULL;
}

static void *hammer_folder_descriptor(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        count_fd(openat(RACING_FD, "victim", O_WRONLY | O_TRUNC));
        count_fd(openat(RACING_FD, "new", O_WRONLY | O_CREAT | O_EXCL, 0600));
        count(renameat(RACING_FD, "new", RACING_FD, "new2"));
        count(unlinkat(RACING_FD, "new2", 0));
        count(unlinkat(RACING_FD, "new", 0));
        count(mkdirat(RACING_FD, "new", 0700));
        count(unlinkat(RACING_FD, "new", AT_REMOVEDIR));
        count(fchmodat(RACING_FD, "victim", 0400, 0));
        count(fchmodat(RACING_FD, "victim", 0600, 0));
        count(utimensat(RACING_FD, "victim", NULL, 0));
    }
    return NULL;
}

static void *hammer_file_descriptor(void *arg)
{
    static const struct timespec times[2] = {{1, 1}, {1, 1}};
    int flags = FS_NODUMP_FL;
    (void)arg;
    while (!atomic_load(&over)) {
        count(fchmod(RACING_FD, 0400));
        count(fchmod(RACING_FD, 0600));
        count(futimens(RACING_FD, times));
        count(fchown(RACING_FD, getuid(), getgid()));
        count(fsetxattr(RACING_FD, "user.race", "v", 1, 0));
        count(fremovexattr(RACING_FD, "user.race"));
        count(ioctl(RACING_FD, FS_IOC_SETFLAGS, &flags));
        count_fd(open("/proc/self/fd/100", O_WRONLY | O_TRUNC));
        count_fd(open("/dev/fd/100", O_WRONLY | O_TRUNC));
    }
    return NULL;
}

/* ---- running them ---- */

static int run_race(double seconds, void *(*flip)(void *), void *(*const *hammers)(void *), int n)
{
    pthread_t threads[RACERS * 2 + 1];
    int started = 0;
    if (flip)
        must(-pthread_create(&threads[started++], NULL, flip, NULL), "thread");
    for (int i = 0; i < n; i++)
        must(-pthread_create(&threads[started++], NULL, hammers[i], NULL), "thread");
    for (double end = now() + seconds; now() < end;)
        usleep(10000);
    atomic_store(&over, true);
    while (started > 0)
        pthread_join(threads[--started], NULL);
    printf("passed %lu\nrefused %lu\n", atomic_load(&passed), atomic_load(&refused));
    return 0;
}

static void prepare(char **a)
{
    static const char *const names[] = {"victim", "sub", "new", "new2"};
    inside = a[1];
    outside = a[2];
    while (inside[differs_at] && inside[differs_at] == outside[differs_at])
        differs_at++;
    choice[0] = inside[differs_at];
    choice[1] = outside[differs_at];
    for (int i = 0; i < 4; i++)
        snprintf(racing_path[i], sizeof(racing_path[i]), "%s/%s", inside, names[i]);
}

static int race_memory(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_paths, hammer_paths};
    prepare(a);
    return run_race(atof(a[0]), flip_memory, hammers, 2);
}

static void through_link(void)
{
    static const char *const names[] = {"victim", "sub", "new", "new2"};
    for (int i = 0; i < 4; i++)
        snprintf(racing_path[i], sizeof(racing_path[i]), "%s/swap/%s", inside, names[i]);
}

static int race_link(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_paths, hammer_paths};
    prepare(a);
    through_link();
    return run_race(atof(a[0]), flip_link, hammers, 2);
}

/* The other half runs outside the sandbox, as fast as the machine lets it. */
static int race_link_hammer(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_paths};
    prepare(a);
    through_link();
    return run_race(atof(a[0]), NULL, hammers, 1);
}

static int race_link_flip(char **a)
{
    prepare(a);
    return run_race(atof(a[0]), flip_link, NULL, 0);
}

static void open_choices(const char *name, int flags)
{
    const char *dirs[] = {inside, outside};
    for (int i = 0; i < 2; i++) {
        choice_fd[i] = open(in_folder(dirs[i], name), flags);
        must(choice_fd[i], name);
    }
    must(dup2(choice_fd[0], RACING_FD), "dup2");
}

static int race_dirfd(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_folder_descriptor, hammer_folder_descriptor};
    prepare(a);
    open_choices(".", O_RDONLY | O_DIRECTORY);
    return run_race(atof(a[0]), flip_descriptor, hammers, 2);
}

static int race_fd(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_file_descriptor, hammer_file_descriptor};
    prepare(a);
    open_choices("victim", O_RDONLY);
    return run_race(atof(a[0]), flip_descriptor, hammers, 2);
}

/* ---- sockets ---- */

static struct sockaddr_un racing_address = {.sun_family = AF_UNIX};

static void *flip_address(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !atomic_load_explicit(&over, memory_order_relaxed); i++)
        ((volatile char *)racing_address.sun_path)[differs_at] = choice[i & 1];
    return NULL;
}

static void *hammer_connect(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        count(connect(fd, (struct sockaddr *)&racing_address, sizeof(racing_address)));
        close(fd);
    }
    return NULL;
}

/* Asks for the denied socket all the time: if it were remembered anywhere, it could be mistaken. */
static void *hammer_denied(void *arg)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    (void)arg;
    snprintf(to.sun_path, sizeof(to.sun_path), "%.90s/socket", outside);
    while (!atomic_load(&over)) {
        int fd = socket(AF_UNIX, SOCK_STREAM, 0);
        count(connect(fd, (struct sockaddr *)&to, sizeof(to)));
        close(fd);
    }
    return NULL;
}

static void *accept_all(void *arg)
{
    for (;;) {
        int fd = accept(*(int *)arg, NULL, NULL);
        if (fd >= 0)
            close(fd);
    }
    return NULL;
}

static int race_connect(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_connect, hammer_connect, hammer_denied};
    static int server;
    pthread_t thread;
    prepare(a);
    snprintf(racing_address.sun_path, sizeof(racing_address.sun_path), "%.90s/socket", inside);
    server = socket(AF_UNIX, SOCK_STREAM, 0);
    must(bind(server, (struct sockaddr *)&racing_address, sizeof(racing_address)), "bind");
    must(listen(server, 64), "listen");
    must(-pthread_create(&thread, NULL, accept_all, &server), "thread");
    return run_race(atof(a[0]), flip_address, hammers, 3);
}

/* ---- planting a folder by moving it ---- */

static void *hammer_plant(void *arg)
{
    char hooks[4096], hook[4096];
    (void)arg;
    snprintf(hooks, sizeof(hooks), "%s/a/hooks", inside);
    snprintf(hook, sizeof(hook), "%s/a/hooks/pre-commit", inside);
    while (!atomic_load(&over)) {
        count(mkdir(in_folder(inside, "a"), 0700));
        count(mkdir(hooks, 0700));
        count_fd(open(hook, O_WRONLY | O_CREAT, 0700));
    }
    return NULL;
}

static void *hammer_move(void *arg)
{
    char from[4096], to[4096], back[4096];
    (void)arg;
    snprintf(from, sizeof(from), "%s/a", inside);
    snprintf(to, sizeof(to), "%s/.git", inside);
    for (unsigned i = 0; !atomic_load(&over); i++) {
        count(rename(from, to));
        /* an empty one is in the way and may or may not be removed */
        count(rmdir(to));
        snprintf(back, sizeof(back), "%s/old-%u", inside, i);
        count(rename(from, back));
    }
    return NULL;
}

static int race_plant(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_plant, hammer_move};
    prepare(a);
    return run_race(atof(a[0]), NULL, hammers, 2);
}

/* ---- datagrams ---- */

/* Exchanges the descriptor and the address at once. */
static void *flip_both(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !atomic_load_explicit(&over, memory_order_relaxed); i++) {
        ((volatile char *)racing_address.sun_path)[differs_at] = choice[i & 1];
        if (i % 7 == 0)
            dup2(choice_fd[i / 7 & 1], RACING_FD);
    }
    return NULL;
}

static void *hammer_messages(void *arg)
{
    struct iovec one = {(void *)(uintptr_t) "x", 1};
    struct mmsghdr m = {.msg_hdr = {.msg_name = &racing_address,
                                    .msg_namelen = sizeof(racing_address),
                                    .msg_iov = &one,
                                    .msg_iovlen = 1}};
    (void)arg;
    while (!atomic_load(&over)) {
        count(sendmsg(RACING_FD, &m.msg_hdr, MSG_NOSIGNAL | MSG_DONTWAIT));
        count(sendto(RACING_FD, "x", 1, MSG_NOSIGNAL | MSG_DONTWAIT,
                     (struct sockaddr *)&racing_address, sizeof(racing_address)));
        count(sendmmsg(RACING_FD, &m, 1, MSG_NOSIGNAL | MSG_DONTWAIT));
    }
    return NULL;
}

static void *receive_all(void *arg)
{
    char byte;
    for (;;)
        recv(*(int *)arg, &byte, 1, 0);
    return NULL;
}

/* A stream, with which the kernel may go on, becomes a datagram socket meanwhile. */
static int race_datagram(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_messages, hammer_messages};
    static int server, ends[2];
    pthread_t thread;
    prepare(a);
    snprintf(racing_address.sun_path, sizeof(racing_address.sun_path), "%.90s/socket", inside);
    server = socket(AF_UNIX, SOCK_DGRAM, 0);
    must(bind(server, (struct sockaddr *)&racing_address, sizeof(racing_address)), "bind");
    must(-pthread_create(&thread, NULL, receive_all, &server), "thread");
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
    must(-pthread_create(&thread, NULL, receive_all, &ends[1]), "thread");
    choice_fd[0] = ends[0];
    choice_fd[1] = socket(AF_UNIX, SOCK_DGRAM, 0);
    must(dup2(choice_fd[0], RACING_FD), "dup2");
    return run_race(atof(a[0]), flip_both, hammers, 2);
}

/* ---- addresses of the Internet ---- */

static struct sockaddr_in dialled = {.sin_family = AF_INET};
static struct in_addr dial_choice[2];

static void *flip_dialled(void *arg)
{
    (void)arg;
    for (unsigned i = 0; !atomic_load_explicit(&over, memory_order_relaxed); i++)
        *(volatile uint32_t *)&dialled.sin_addr.s_addr = dial_choice[i & 1].s_addr;
    return NULL;
}

/* Passed: somebody answered. */
static void *hammer_dial(void *arg)
{
    static const char ask[] = "hello\r\n";
    char byte;
    (void)arg;
    while (!atomic_load(&over)) {
        int fd = socket(AF_INET, SOCK_STREAM, 0);
        long got = connect(fd, (struct sockaddr *)&dialled, sizeof(dialled));
        if (got == 0 &&
            (send(fd, ask, sizeof(ask) - 1, MSG_NOSIGNAL) < 0 || recv(fd, &byte, 1, 0) != 1)) {
            errno = EACCES;
            got = -1;
        }
        count(got);
        close(fd);
    }
    return NULL;
}

/* SECONDS, an address that may be reached, one that may not, a port. */
static int race_dial(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_dial, hammer_dial};
    dialled.sin_port = htons((uint16_t)atoi(a[3]));
    for (int i = 0; i < 2; i++)
        must(inet_pton(AF_INET, a[1 + i], &dial_choice[i]) - 1, a[1 + i]);
    dialled.sin_addr = dial_choice[0];
    return run_race(atof(a[0]), flip_dialled, hammers, 2);
}

/* ---- stretched ---- */

/* Paths whose last part lies on a page that takes its time (a file of a FUSE that answers slowly):
 * what comes before it has long been read when that arrives, and has long changed. */
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
    for (unsigned i = 0; !atomic_load_explicit(&over, memory_order_relaxed); i++) {
        ((volatile char *)slow_path)[differs_at] = choice[i & 1];
        dup2(choice_fd[i & 1], RACING_FD);
    }
    return NULL;
}

static void *hammer_slow(void *arg)
{
    const char *name = (char *)((uintptr_t)slow_path - (uintptr_t)slow_path % 4096 + 4096);
    char other[4096];
    (void)arg;
    snprintf(other, sizeof(other), "%s/other", inside);
    for (unsigned i = 0; !atomic_load(&over); i++) {
        forget_page();
        switch (i % 6) {
        case 0:
            count_fd(open(slow_path, O_WRONLY | O_TRUNC));
            break;
        case 1:
            count(chmod(slow_path, 0600));
            break;
        case 2: /* the other name is pinned, and then this one is waited for */
            close(open(other, O_WRONLY | O_CREAT, 0600));
            count(rename(other, slow_path));
            break;
        case 3:
            count(renameat(RACING_FD, name, RACING_FD, "moved"));
            count(renameat(RACING_FD, "moved", RACING_FD, "victim"));
            break;
        case 4:
            count_fd(openat(RACING_FD, name, O_WRONLY));
            break;
        case 5:
            count(truncate(slow_path, 1));
            break;
        }
    }
    return NULL;
}

static int race_slow(char **a)
{
    static void *(*const hammers[])(void *) = {hammer_slow, hammer_slow};
    prepare(a);
    open_choices(".", O_RDONLY | O_DIRECTORY);
    slow_file = open(a[3], O_RDONLY);
    must(slow_file, a[3]);
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool there = pages != MAP_FAILED && mmap(pages + 4096, 4096, PROT_READ, MAP_SHARED | MAP_FIXED,
                                             slow_file, 0) != MAP_FAILED;
    must(there ? 0 : -1, "mmap");
    size_t n = strlen(inside);
    slow_path = pages + 4096 - n - 1;
    memcpy(slow_path, inside, n);
    slow_path[n] = '/';
    return run_race(atof(a[0]), flip_slow, hammers, 2);
}

const struct attack attacks_race[] = {
    {"race-memory", 3, race_memory},
    {"race-link", 3, race_link},
    {"race-link-hammer", 3, race_link_hammer},
    {"race-link-flip", 3, race_link_flip},
    {"race-dirfd", 3, race_dirfd},
    {"race-fd", 3, race_fd},
    {"race-connect", 3, race_connect},
    {"race-datagram", 3, race_datagram},
    {"race-dial", 4, race_dial},
    {"race-plant", 3, race_plant},
    {"race-slow", 4, race_slow},
    {0},
};
