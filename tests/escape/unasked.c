/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Calls that change or read more than their names suggest: modes of new files, devices that a move
 * leaves behind, ioctl through read-only descriptors, limits, disks below the files, a terminal's
 * foreground.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "escape.h"

#ifndef RENAME_WHITEOUT
#define RENAME_WHITEOUT (1 << 2)
#endif
#ifndef F_SETLEASE
#define F_SETLEASE 1024
#endif

/* ---- set-id programs ---- */

/* Reports whether it is set-id now; removes the file. */
static void report_setid(const char *what, const char *path)
{
    struct stat st;
    bool made = stat(path, &st) == 0 && (st.st_mode & (S_ISUID | S_ISGID));
    unlink(path);
    errno = EPERM;
    report(what, made ? 0 : -1);
}

static void made(const char *what, int fd)
{
    if (fd >= 0)
        close(fd);
    report_setid(what, "made");
}

/* Gives an unnamed file a name. */
static void name_it(const char *what, int fd)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd >= 0 && linkat(AT_FDCWD, path, AT_FDCWD, "made", AT_SYMLINK_FOLLOW) < 0)
        (void)!linkat(fd, "", AT_FDCWD, "made", AT_EMPTY_PATH);
    made(what, fd);
}

static int plain_file(void)
{
    int fd = open("made", O_CREAT | O_RDWR, 0755);
    must(fd, "a file of its own");
    return fd;
}

static void report_openings(void)
{
    int here = open(".", O_RDONLY | O_DIRECTORY);
    uint64_t how[3] = {O_CREAT | O_RDWR, 04755, 0};
    made("open, set-uid", open("made", O_CREAT | O_RDWR, 04755));
    made("open, set-gid", open("made", O_CREAT | O_RDWR, 02755));
    made("open, only to read", open("made", O_CREAT | O_RDONLY, 06755));
    made("open, a new one", open("made", O_CREAT | O_EXCL | O_RDWR, 06755));
    made("openat", openat(here, "made", O_CREAT | O_WRONLY, 06755));
    made("openat2", (int)syscall(437, AT_FDCWD, "made", how, sizeof(how)));
    made("creat", creat("made", 06755));
    (void)!symlink("made", "link");
    made("through a link", open("link", O_CREAT | O_RDWR, 06755));
    unlink("link");
    name_it("without a name", open(".", O_TMPFILE | O_RDWR, 04755));
    name_it("without a name, set-gid", openat(here, ".", O_TMPFILE | O_WRONLY, 02755));
    int fd = open(".", O_TMPFILE | O_RDWR, 0755);
    fchmod(fd, 04755);
    name_it("without a name, chmod", fd);
    close(here);
}

static int unasked_modes(char **a)
{
    (void)a;
    umask(0);
    report_openings();
    made("mknod", mknod("made", S_IFREG | 06755, 0));
    made("mknod without a type", mknod("made", 06755, 0));
    made("mknodat", mknodat(AT_FDCWD, "made", S_IFREG | 04755, 0));
    int fd = plain_file();
    made("chmod", (chmod("made", 04755), fd));
    fd = plain_file();
    made("fchmod", (fchmod(fd, 06755), fd));
    fd = plain_file();
    made("fchmodat", (fchmodat(AT_FDCWD, "made", 04755, 0), fd));
    fd = plain_file();
    made("fchmodat2", (syscall(452, fd, "", 04755, AT_EMPTY_PATH), fd));
    /* folders may be set-group-ID, but nothing else */
    report("own: a folder", mkdir("folder", 02775));
    report("own: its group", chmod("folder", 02775));
    report("own: a file", (close(plain_file()), chmod("made", 01755)));
    rmdir("folder");
    unlink("made");
    return 0;
}

/* ---- what a move leaves behind ---- */

static void report_left(const char *what, const char *path)
{
    struct stat st;
    errno = EPERM;
    report(what, lstat(path, &st) == 0 && S_ISCHR(st.st_mode) ? 0 : -1);
    unlink(path);
    unlink("moved");
    rmdir("moved");
}

static int unasked_whiteout(char **a)
{
    int here = open(".", O_RDONLY | O_DIRECTORY);
    (void)a;
    close(plain_file());
    syscall(SYS_renameat2, AT_FDCWD, "made", AT_FDCWD, "moved", RENAME_WHITEOUT);
    report_left("a device in a file's place", "made");
    close(plain_file());
    syscall(SYS_renameat2, here, "made", here, "moved", RENAME_WHITEOUT | 1 /* not over others */);
    report_left("the same, by folder", "made");
    must(mkdir("folder", 0700), "a folder of its own");
    syscall(SYS_renameat2, AT_FDCWD, "folder", AT_FDCWD, "moved", RENAME_WHITEOUT);
    report_left("a device in a folder's place", "folder");
    rmdir("folder");
    close(plain_file());
    report("own: a move",
           syscall(SYS_renameat2, AT_FDCWD, "made", AT_FDCWD, "moved", 1 /* not over others */));
    unlink("moved");
    close(here);
    return 0;
}

/* ---- ioctl ---- */

static const struct {
    const char *name;
    unsigned long number;
} orders[] = {
    {"EXT4_IOC_MIGRATE", _IO('f', 9)},
    {"EXT4_IOC_ALLOC_DA_BLKS", _IO('f', 12)},
    {"EXT4_IOC_MOVE_EXT", _IOC(_IOC_READ | _IOC_WRITE, 'f', 15, 40)},
    {"EXT4_IOC_SWAP_BOOT", _IO('f', 17)},
    {"EXT4_IOC_CLEAR_ES_CACHE", _IO('f', 40)},
    {"FS_IOC_SETVERSION", 0x40087602},
    {"FS_IOC_SETFSLABEL", _IOC(_IOC_WRITE, 0x94, 50, 256)},
    {"FS_IOC_SET_ENCRYPTION_POLICY", 0x800c6613},
    {"FS_IOC_ENABLE_VERITY", 0x40806685},
    {"FS_IOC_ADD_ENCRYPTION_KEY", _IOC(_IOC_READ | _IOC_WRITE, 'f', 23, 80)},
    {"FAT_IOCTL_SET_ATTRIBUTES", _IOW('r', 0x11, __u32)},
    {"XFS_IOC_SWAPEXT", _IOC(_IOC_READ | _IOC_WRITE, 'X', 109, 192)},
    {"XFS_IOC_FREE_EOFBLOCKS", _IOC(_IOC_READ, 'X', 58, 128)},
    {"XFS_IOC_EXCHANGE_RANGE", _IOC(_IOC_WRITE, 'X', 129, 40)},
    {"FITRIM", _IOC(_IOC_READ | _IOC_WRITE, 'X', 121, 24)},
    {"BTRFS_IOC_DEFRAG", _IOC(_IOC_WRITE, 0x94, 2, 4096)},
    {"BTRFS_IOC_SUBVOL_CREATE", _IOC(_IOC_WRITE, 0x94, 14, 4096)},
    {"BTRFS_IOC_SUBVOL_SETFLAGS", _IOC(_IOC_WRITE, 0x94, 26, 8)},
    {"FIDEDUPERANGE", _IOC(_IOC_READ | _IOC_WRITE, 0x94, 54, 24)},
    {"F2FS_IOC_SET_PIN_FILE", _IOC(_IOC_WRITE, 0xf5, 13, 4)},
    {"BCH_IOCTL_SUBVOLUME_CREATE", _IOC(_IOC_WRITE, 0xbc, 16, 32)},
    {"CEPH_IOC_SET_LAYOUT", _IOC(_IOC_WRITE, 0x97, 2, 40)},
    {"OCFS2_IOC_REFLINK", _IOC(_IOC_WRITE, 'o', 4, 24)},
    {"NILFS_IOCTL_CHANGE_CPMODE", _IOC(_IOC_WRITE, 'n', 128, 16)},
    {"HFSPLUS_IOC_BLESS", _IO('h', 0x80)},
    {"a number that nobody knows", _IOC(_IOC_WRITE, 0xdb, 7, 8)},
};

/* A file system's answer (EINVAL, EFAULT, EOPNOTSUPP) shows that the call reached it. */
static void report_order(const char *on, const char *name, int fd, unsigned long number)
{
    char what[96], room[4096] = {0};
    long got = ioctl(fd, number, room);
    bool kept = got < 0 && (errno == ENOTTY || errno == EPERM);
    snprintf(what, sizeof(what), "%s: %s", on, name);
    if (!kept && got < 0)
        printf("# %s met the file system: %s\n", what, outcome(got));
    report(what, kept ? -1 : 0);
}

static int unasked_orders(char **a)
{
    int file = open(in_folder(a[1], "victim"), O_RDONLY), folder = open(a[1], O_RDONLY);
    int null = open("/dev/null", O_RDONLY), made_here = open("orders", O_CREAT | O_RDWR, 0600);
    long flags = 0;
    int block;
    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        report_order("file", orders[i].name, file, orders[i].number);
        report_order("folder", orders[i].name, folder, orders[i].number);
    }
    report_order("high bits", "EXT4_IOC_MIGRATE", file, _IO('f', 9) | 1UL << 32);
    report("own: FS_IOC_GETFLAGS", ioctl(file, _IOR('f', 1, long), &flags));
    report("own: FIGETBSZ", ioctl(file, 2, &block));
    report("own: FIOCLEX", ioctl(file, 0x5451));
    report("own: FIONREAD", ioctl(file, 0x541b, &block));
    report("own: FS_IOC_SETFLAGS", ioctl(made_here, _IOW('f', 2, long), &flags));
    unlink("orders");
    close(null);
    return 0;
}

static int unasked_leases(char **a)
{
    int fd = open(in_folder(a[1], "victim"), O_RDONLY);
    struct {
        uint32_t flags;
        uint16_t type, pad;
    } deleg = {0, F_RDLCK, 0};
    struct flock lock = {.l_type = F_RDLCK};
    must(fd, "reading the victim");
    report("a lease to read", fcntl(fd, F_SETLEASE, F_RDLCK));
    report("a lease to write", fcntl(fd, F_SETLEASE, F_WRLCK));
    report("a delegation", fcntl(fd, 1040, &deleg));
    report("own: a lock", fcntl(fd, F_SETLK, &lock));
    report("own: its flags", fcntl(fd, F_SETFL, O_NONBLOCK));
    return 0;
}

/* ---- what a crash leaves behind ---- */

static void report_limit(const char *what)
{
    struct rlimit r;
    must(getrlimit(RLIMIT_CORE, &r), "getrlimit");
    errno = EPERM;
    /* a hard limit of 0 stays as it is */
    report(what, r.rlim_cur == 1 || r.rlim_max == 0 ? -1 : 0);
}

static int unasked_limits(char **a)
{
    struct rlimit none = {0, 1}, more = {1 << 20, 1 << 20}, was;
    (void)a;
    report_limit("a limit that lets it through");
    report("own: lowering it, as ssh-agent does", setrlimit(RLIMIT_CORE, &none));
    report_limit("lowered");
    setrlimit(RLIMIT_CORE, &more);
    report_limit("raised");
    syscall(SYS_prlimit64, 0, RLIMIT_CORE, &none, &was);
    report_limit("lowered by prlimit");
    syscall(SYS_prlimit64, getpid(), RLIMIT_CORE, &none, NULL);
    report_limit("lowered by number");
#ifdef SYS_setrlimit
    syscall(SYS_setrlimit, RLIMIT_CORE | 1L << 32, &none);
    report_limit("lowered, with high bits");
#endif
    /* an address whose low half is zero */
    struct rlimit *high = mmap((void *)(1L << 36), 4096, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (high != MAP_FAILED) {
        *high = none;
        syscall(SYS_prlimit64, 0, RLIMIT_CORE, high, NULL);
    }
    report_limit("lowered, from an odd address");
    report("own: another limit", setrlimit(RLIMIT_MEMLOCK, &(struct rlimit){0, 0}));
    report("own: reading it", getrlimit(RLIMIT_CORE, &was));
    return 0;
}

static int unasked_crash(char **a)
{
    (void)a;
    signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    return 0;
}

/* ---- disks ---- */

/* Paths of devices that hold the same secret, one argument each; separated by colons. */
static int unasked_disks(char **a)
{
    char what[300], room[4096];
    for (char *path = strtok(a[0], ":"); path; path = strtok(NULL, ":")) {
        int name = open(path, O_PATH);
        snprintf(what, sizeof(what), "%.200s: read", path);
        report(what, read_of(path));
        snprintf(what, sizeof(what), "%.200s: both", path);
        report_fd(what, open(path, O_RDWR | O_NONBLOCK));
        snprintf(room, sizeof(room), "/proc/self/fd/%d", name);
        snprintf(what, sizeof(what), "%.200s: by descriptor", path);
        report(what, name < 0 ? name : read_of(room));
        snprintf(room, sizeof(room), "/proc/self/root%.200s", path);
        snprintf(what, sizeof(what), "%.200s: by its root", path);
        report(what, read_of(room));
        if (name >= 0)
            close(name);
    }
    report("own: /dev/null", read_of("/dev/null"));
    report("own: /dev/zero", read_of("/dev/zero"));
    report("own: /dev/urandom", read_of("/dev/urandom"));
    report_fd("own: /dev/full", open("/dev/full", O_RDWR));
    report_fd("own: /dev/ptmx", open("/dev/ptmx", O_RDWR | O_NOCTTY));
    return 0;
}

/* ---- the terminal's foreground ---- */

/* Takes the terminal again and again. READS: makes a process of the background group read from it,
 * for which the kernel stops the whole group. */
static int unasked_foreground(char **a)
{
    char byte;
    int fd = open("/dev/tty", O_RDWR);
    must(fd, "/dev/tty");
    pid_t behind = strcmp(a[1], "reads") == 0 ? fork() : getpid();
    must(behind, "fork");
    for (int i = 0; behind == 0 && i < 20; i++) {
        fcntl(fd, F_SETFL, O_NONBLOCK);
        usleep(20000);
        (void)!read(fd, &byte, 1);
    }
    if (behind == 0)
        _exit(0);
    signal(SIGTTOU, SIG_IGN);
    signal(SIGTTIN, SIG_IGN);
    must(setpgid(0, 0), "a group of its own");
    report("take the foreground", tcsetpgrp(fd, getpid()));
    if (atoi(a[0]) > 0)
        report("give it to another", tcsetpgrp(fd, atoi(a[0])));
    for (double end = now() + 0.6; now() < end; usleep(2000))
        (void)!tcsetpgrp(fd, getpid());
    report("keep it", tcsetpgrp(fd, getpid()));
    if (behind != getpid())
        kill(behind, SIGKILL);
    return 0;
}

const struct attack attacks_unasked[] = {
    {"unasked-modes", 0, unasked_modes},
    {"unasked-whiteout", 0, unasked_whiteout},
    {"unasked-orders", 2, unasked_orders},
    {"unasked-leases", 2, unasked_leases},
    {"unasked-limits", 0, unasked_limits},
    {"unasked-crash", 0, unasked_crash},
    {"unasked-disks", 1, unasked_disks},
    {"unasked-foreground", 2, unasked_foreground},
    {0},
};
