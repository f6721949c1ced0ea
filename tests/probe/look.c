/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Examines the files of the working directory in every possible way, valid and invalid, and prints
 * the outcome: results, errors, and the bytes written, as far as they are the same each time. It
 * must print the same with and without a sandbox.
 *
 *     look                                   tests/e2e/e2e-metadata.py makes the files
 *     look NAME DENIED INODE SECONDS         swaps one name for the other meanwhile
 */

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "legacy.h"

enum { HERE = AT_FDCWD, ROOM = 512, UNTOUCHED = 0xa5 };

static const char *const names[] = {
    "file",
    "empty",
    "folder",
    "link",
    "dangling",
    "loop",
    "fifo",
    "socket",
    "absent",
    "folder/file",
    "file/beneath",
    "absent/beneath",
    "through/",
    "link/",
    "folder/",
    "file/",
    "",
    ".",
    "..",
    "/",
    "/dev/null",
    "unreadable",
    "tofolder",
    "tofolder/",
    "/dev/stdin",
    "tofolder/file",
};
enum { NAMES = sizeof(names) / sizeof(names[0]) };

static union {
    struct stat stat;
    struct statx statx;
    struct statfs statfs;
    unsigned char bytes[ROOM];
    char text[ROOM];
} room;

static void clean(void)
{
    memset(&room, UNTOUCHED, sizeof(room));
}

/* Prints the bytes up to the last one that was written. */
static void show(const char *call, const char *of, long got)
{
    int err = errno;
    printf("%s %s: %ld %s", call, of, got, got < 0 ? strerrorname_np(err) : "");
    size_t n = sizeof(room);
    while (n > 0 && room.bytes[n - 1] == UNTOUCHED)
        n--;
    for (size_t i = 0; i < n; i++)
        printf("%s%02x", i % 8 ? "" : " ", room.bytes[i]);
    putchar('\n');
    clean();
}

/* Access times change by looking, and mount ids differ between mount namespaces. */
static void show_stat(const char *call, const char *of, long got)
{
    if (got == 0)
        memset(&room.stat.st_atim, 0, sizeof(room.stat.st_atim));
    show(call, of, got);
}

static void show_statx(const char *call, const char *of, long got)
{
    if (got == 0) {
        memset(&room.statx.stx_atime, 0, sizeof(room.statx.stx_atime));
        memset((char *)&room.statx + 0x90, 0, 8); /* stx_mnt_id */
    }
    show(call, of, got);
}

static void show_statfs(const char *call, const char *of, long got)
{
    if (got == 0) /* free space changes meanwhile, and flags are the mount's */
        memset(&room.statfs.f_bfree, 0, offsetof(struct statfs, f_fsid) - 3 * 8);
    if (got == 0)
        memset(&room.statfs.f_flags, 0, sizeof(room.statfs.f_flags));
    show(call, of, got);
}

static void look_at(const char *name)
{
    static const int flags[] = {
        0,      AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH, AT_NO_AUTOMOUNT, 0x2000, 0x4000, 0x6000,
        0x8000, AT_SYMLINK_FOLLOW,   AT_REMOVEDIR};
#ifdef SYS_stat
    show_stat("stat", name, syscall(SYS_stat, name, &room));
    show_stat("lstat", name, syscall(SYS_lstat, name, &room));
    for (int mode = -1; mode <= 8; mode++)
        show("access", name, syscall(SYS_access, name, mode));
    show("readlink", name, syscall(SYS_readlink, name, &room, 3));
#endif
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        show_stat("newfstatat", name, syscall(SYS_newfstatat, HERE, name, &room, flags[i]));
        show_statx("statx", name, syscall(SYS_statx, HERE, name, flags[i], 0x7ff, &room));
        show("faccessat2", name, syscall(SYS_faccessat2, HERE, name, R_OK, flags[i]));
    }
    show_statx("statx", name, syscall(SYS_statx, HERE, name, 0, 0x80000000u, &room));
    show_statfs("statfs", name, syscall(SYS_statfs, name, &room));
    for (int mode = 0; mode <= 8; mode++) {
        show("faccessat", name, syscall(SYS_faccessat, HERE, name, mode));
        show("faccessat2", name, syscall(SYS_faccessat2, HERE, name, mode, AT_EACCESS));
    }
    show("readlinkat", name, syscall(SYS_readlinkat, HERE, name, &room, 100));
    show("readlinkat", name, syscall(SYS_readlinkat, HERE, name, &room, 0));
    show("readlinkat", name, syscall(SYS_readlinkat, HERE, name, &room, -1));
}

static void attributes_of(const char *name)
{
    static const char *const attributes[] = {"user.one", "user.two", "user.absent",
                                             "",         "nonsense", "system.posix_acl_access"};
    static const size_t sizes[] = {0, 1, 3, 100, 70000};
    static char large[70000], long_name[400];
    memset(long_name, 'x', sizeof(long_name) - 1);
    memcpy(long_name, "user.", 5);
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            void *to = sizes[s] > ROOM ? (void *)large : (void *)&room;
            show("getxattr", name, syscall(SYS_getxattr, name, attributes[i], to, sizes[s]));
            show("lgetxattr", name, syscall(SYS_lgetxattr, name, attributes[i], to, sizes[s]));
        }
    show("getxattr", name, syscall(SYS_getxattr, name, long_name, &room, 10));
    show("getxattr", name, syscall(SYS_getxattr, name, 16, &room, 10));
    show("getxattr", name, syscall(SYS_getxattr, name, "user.one", 16, 10));
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        void *to = sizes[s] > ROOM ? (void *)large : (void *)&room;
        show("listxattr", name, syscall(SYS_listxattr, name, to, sizes[s]));
        show("llistxattr", name, syscall(SYS_llistxattr, name, to, sizes[s]));
    }
}

static void look_through(const char *what, int fd)
{
    struct stat first, second;
    show_statx("statx empty", what,
               syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_MODE, &room) < 0 ? -1
                                                                                             : 0);
    /* pipes and the like differ from run to run: two calls have to agree */
    memset(&first, 0, sizeof(first));
    memset(&second, 0, sizeof(second));
    show("fstat", what, syscall(SYS_fstat, fd, &first));
    show("newfstatat empty", what, syscall(SYS_newfstatat, fd, "", &second, AT_EMPTY_PATH));
    printf("%s: %s\n", what, memcmp(&first, &second, sizeof(first)) == 0 ? "agree" : "differ");
    show("newfstatat no flag", what, syscall(SYS_newfstatat, fd, "", &room, 0));
    show("readlinkat empty", what, syscall(SYS_readlinkat, fd, "", &room, 100));
    show("faccessat2 empty", what, syscall(SYS_faccessat2, fd, "", R_OK, AT_EMPTY_PATH));
    if (fd == HERE) /* newer kernels treat it as a descriptor */
        return;
    show("fgetxattr", what, syscall(SYS_fgetxattr, fd, "user.one", &room, 100));
    show("flistxattr", what, syscall(SYS_flistxattr, fd, &room, 100));
}

static void descriptors(void)
{
    int ends[2], pair[2];
    if (pipe(ends) < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
        exit(1);
    look_through("file", open("file", O_RDONLY));
    look_through("folder", open("folder", O_RDONLY));
    look_through("name of file", open("file", O_PATH));
    look_through("name of link", open("link", O_PATH | O_NOFOLLOW));
    look_through("name of absent", open("absent", O_PATH));
    look_through("pipe", ends[0]);
    look_through("socketpair", pair[0]);
    look_through("memory", memfd_create("memory", 0));
    look_through("eventfd", eventfd(0, 0));
    look_through("closed", 999);
    look_through("here", HERE);
    int gone = open("folder/gone", O_RDONLY);
    unlink("folder/gone");
    look_through("removed", gone);
    int from = open("folder", O_RDONLY | O_DIRECTORY);
    show("newfstatat from", "file", syscall(SYS_newfstatat, from, "file", &room, 0) < 0 ? -1 : 0);
    show("newfstatat from a file", "file", syscall(SYS_newfstatat, gone, "file", &room, 0));
    show("newfstatat from nowhere", "file", syscall(SYS_newfstatat, 999, "file", &room, 0));
    show("newfstatat from nowhere", "/", syscall(SYS_newfstatat, 999, "/dev/null", &room, 0) < 0);
}

static void memory(void)
{
    static char longest[5000];
    memset(longest, 'x', sizeof(longest) - 1);
    show("newfstatat into nothing", "file", syscall(SYS_newfstatat, HERE, "file", 0, 0));
    show("newfstatat into nothing", "file", syscall(SYS_newfstatat, HERE, "file", 16, 0));
    show("newfstatat into nothing", "file", syscall(SYS_newfstatat, HERE, "file", -1L, 0));
    show("newfstatat from nothing", "file", syscall(SYS_newfstatat, HERE, 16, &room, 0));
    show("newfstatat too long", "x", syscall(SYS_newfstatat, HERE, longest, &room, 0));
    longest[300] = '\0';
    show("newfstatat long name", "x", syscall(SYS_newfstatat, HERE, longest, &room, 0));
    show("readlinkat into nothing", "link", syscall(SYS_readlinkat, HERE, "link", 16, 10));
    show("statfs into nothing", ".", syscall(SYS_statfs, ".", 16));
    show("statx into nothing", ".", syscall(SYS_statx, HERE, ".", 0, 0x7ff, 16));
    show("listxattr into nothing", "file", syscall(SYS_listxattr, "file", 16, 100));
    /* half of it fits */
    long page = sysconf(_SC_PAGESIZE);
    char *two =
        mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(two + page, (size_t)page);
    show("newfstatat over the edge", "file",
         syscall(SYS_newfstatat, HERE, "file", two + page - 16, 0));
    memcpy(two + page - 5, "file", 5);
    show("newfstatat to the edge", "file",
         syscall(SYS_newfstatat, HERE, two + page - 5, &room, 0) < 0 ? -1 : 0);
}

static void own_links(void)
{
    char text[64], want[64];
    ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);
    text[n < 0 ? 0 : n] = '\0';
    snprintf(want, sizeof(want), "%d", getpid());
    printf("/proc/self is %s\n", strcmp(text, want) == 0 ? "us" : "somebody else");
    n = readlink("/proc/thread-self", text, sizeof(text) - 1);
    text[n < 0 ? 0 : n] = '\0';
    snprintf(want, sizeof(want), "%d/task/%d", getpid(), (int)syscall(SYS_gettid));
    printf("/proc/thread-self is %s\n", strcmp(text, want) == 0 ? "us" : "somebody else");
    struct stat st = {0};
    show("lstat", "/proc/self",
         syscall(SYS_newfstatat, HERE, "/proc/self", &st, AT_SYMLINK_NOFOLLOW));
    printf("/proc/self is %s\n", S_ISLNK(st.st_mode) ? "a link" : "no link");
    show("stat", "/proc/self", syscall(SYS_newfstatat, HERE, "/proc/self", &st, 0));
    printf("/proc/self leads to %s\n", S_ISDIR(st.st_mode) ? "a folder" : "something else");
    show("readlink", "/proc/self/cwd", syscall(SYS_readlinkat, HERE, "/proc/self/cwd", &room, 400));
    show("readlink", "/proc/self/exe", syscall(SYS_readlinkat, HERE, "/proc/self/exe", &room, 400));
    show("readlink", "/proc/mounts", syscall(SYS_readlinkat, HERE, "/proc/mounts", &room, 400));
    int from = open("/proc/self", O_RDONLY | O_DIRECTORY);
    show("readlink", "cwd", syscall(SYS_readlinkat, from, "cwd", &room, 400));
    show("readlink", "self", syscall(SYS_readlinkat, from, "../self/cwd", &room, 400));
}

static void watches(void)
{
    int queue = inotify_init1(IN_NONBLOCK);
    show("watch", "folder", syscall(SYS_inotify_add_watch, queue, "folder", IN_CREATE));
    show("watch", "file", syscall(SYS_inotify_add_watch, queue, "file", IN_OPEN | IN_ONLYDIR));
    show("watch", "file", syscall(SYS_inotify_add_watch, queue, "file", IN_OPEN));
    show("watch", "link", syscall(SYS_inotify_add_watch, queue, "link", IN_OPEN));
    show("watch", "link", syscall(SYS_inotify_add_watch, queue, "link", IN_OPEN | IN_DONT_FOLLOW));
    show("watch", "absent", syscall(SYS_inotify_add_watch, queue, "absent", IN_OPEN));
    show("watch", "nothing asked", syscall(SYS_inotify_add_watch, queue, "file", 0));
    show("watch", "no queue", syscall(SYS_inotify_add_watch, 0, "file", IN_OPEN));
    show("watch", "nowhere", syscall(SYS_inotify_add_watch, 999, "file", IN_OPEN));
    close(open("folder/new", O_CREAT | O_WRONLY, 0600));
    unlink("folder/new");
    show("watched", "folder", read(queue, &room, sizeof(room)));
}

/* ---- while the name changes ---- */

static volatile char name_now[256];
static const char *two_names[2];

static void *change(void *arg)
{
    size_t n = strlen(two_names[0]);
    for (unsigned i = 0;; i++)
        for (size_t at = 0; at < n; at++)
            name_now[at] = two_names[i & 1][at];
    return arg;
}

/* Also puts other descriptors under the number being examined. */
static void *change_number(void *arg)
{
    int *fds = arg;
    for (unsigned i = 0;; i++)
        dup2(fds[i & 1], fds[2]);
    return arg;
}

/* Looks for the inode in every way; 0 when none shows it. */
static int race(double seconds, ino_t wanted)
{
    pthread_t thread, other;
    struct timespec start, now;
    const char *name = (const char *)name_now;
    int fds[3] = {open(two_names[0], O_RDONLY), -1, 100}, shown = 0;
    unsigned looks = 0;
    strcpy((char *)(uintptr_t)name, two_names[0]);
    pthread_create(&thread, NULL, change, NULL);
    clock_gettime(CLOCK_MONOTONIC, &start);
    do {
        struct stat st = {0};
        struct statx stx = {0};
        shown |= syscall(SYS_newfstatat, HERE, name, &st, 0) == 0 && st.st_ino == wanted;
        shown |= (syscall(SYS_statx, HERE, name, 0, STATX_INO, &stx) == 0 && stx.stx_ino == wanted)
                 << 1;
        int fd = (int)syscall(SYS_openat, HERE, name, O_PATH);
        shown |= (syscall(SYS_fstat, fd, &st) == 0 && st.st_ino == wanted) << 2;
        if (fd >= 0 && fds[1] < 0 && syscall(SYS_fstat, fd, &st) < 0) {
            /* the kernel opened the other name; now the descriptor number */
            fds[1] = fd;
            dup2(fds[0], fds[2]);
            pthread_create(&other, NULL, change_number, fds);
        } else if (fd >= 0) {
            close(fd);
        }
        if (fds[1] >= 0) {
            looks++;
            shown |= (syscall(SYS_fstat, fds[2], &st) == 0 && st.st_ino == wanted) << 3;
            shown |= (syscall(SYS_statx, fds[2], "", AT_EMPTY_PATH, STATX_INO, &stx) == 0 &&
                      stx.stx_ino == wanted)
                     << 4;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9 <
             seconds);
    printf("shown %d, %s\n", shown, looks ? "with a number" : "without a number");
    return shown;
}

int main(int argc, char **argv)
{
    if (argc == 5) {
        two_names[0] = argv[1];
        two_names[1] = argv[2];
        int shown = race(atof(argv[4]), strtoul(argv[3], NULL, 10));
        fflush(stdout);
        _exit(shown ? 1 : 0);
    }
    clean();
    for (size_t i = 0; i < NAMES; i++) {
        look_at(names[i]);
        attributes_of(names[i]);
    }
    descriptors();
    memory();
    own_links();
    watches();
    return 0;
}
