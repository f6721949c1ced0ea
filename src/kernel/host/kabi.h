/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_HOST_KABI_H
#define BK_KERNEL_HOST_KABI_H

#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

/*
 * The kernel's interface where distribution headers are older than the kernels we meet. All such
 * constants are here and nowhere else. Debian 12's headers stop at Landlock ABI 2.
 */

/* ---- Landlock ---- */

enum {
    KABI_LL_EXECUTE = 1 << 0,
    KABI_LL_WRITE_FILE = 1 << 1,
    KABI_LL_READ_FILE = 1 << 2,
    KABI_LL_READ_DIR = 1 << 3,
    KABI_LL_REMOVE_DIR = 1 << 4,
    KABI_LL_REMOVE_FILE = 1 << 5,
    KABI_LL_MAKE_CHAR = 1 << 6,
    KABI_LL_MAKE_DIR = 1 << 7,
    KABI_LL_MAKE_REG = 1 << 8,
    KABI_LL_MAKE_SOCK = 1 << 9,
    KABI_LL_MAKE_FIFO = 1 << 10,
    KABI_LL_MAKE_BLOCK = 1 << 11,
    KABI_LL_MAKE_SYM = 1 << 12,
    KABI_LL_REFER = 1 << 13,     /* ABI 2 */
    KABI_LL_TRUNCATE = 1 << 14,  /* ABI 3 */
    KABI_LL_IOCTL_DEV = 1 << 15, /* ABI 5 */
};

/* Rights that apply to a file; the others need a directory. */
enum {
    KABI_LL_FILE_RIGHTS = KABI_LL_EXECUTE | KABI_LL_WRITE_FILE | KABI_LL_READ_FILE |
                          KABI_LL_TRUNCATE | KABI_LL_IOCTL_DEV,
};

enum { KABI_LL_SCOPE_ABSTRACT_UNIX = 1 << 0, KABI_LL_SCOPE_SIGNAL = 1 << 1 }; /* ABI 6 */

enum { KABI_LL_BIND_TCP = 1 << 0, KABI_LL_CONNECT_TCP = 1 << 1 }; /* ABI 4 */

struct kabi_ll_ruleset { /* older kernels accept a prefix of it */
    uint64_t handled_fs, handled_net, scoped;
};

struct kabi_ll_path_beneath {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

enum { KABI_LL_RULE_PATH_BENEATH = 1, KABI_LL_CREATE_VERSION = 1 };

/* ---- seccomp ---- */

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif
#ifndef SECCOMP_IOCTL_NOTIF_SET_FLAGS
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif
#define KABI_NOTIF_SYNC_WAKE_UP 1UL /* 6.6 */

/* Not of the kernel but ours: an option of prctl() that no kernel knows (launch/nest.h). */
#define KABI_PRCTL_NEST 0x4275636b
/* In the upper half of an argument that chdir() ignores: before its program starts, the command's
 * process changes its folder without a report, which nobody could answer. No address has this half.
 * A program that uses it misleads only the judge's memory of its own folder. */
#define KABI_CHDIR_UNREPORTED 0xb0c4e1d7u

/* ---- mounting ---- */

enum {
    KABI_OPEN_TREE_CLONE = 1,
    KABI_AT_RECURSIVE = 0x8000,
    KABI_MOVE_MOUNT_EMPTY = 0x04 | 0x40, /* both ends are file descriptors */
    KABI_FSOPEN_CLOEXEC = 1,
    KABI_FSCONFIG_FLAG = 0,
    KABI_FSCONFIG_STRING = 1,
    KABI_FSCONFIG_CREATE = 6,
    KABI_FSMOUNT_CLOEXEC = 1,
    KABI_MOUNT_RDONLY = 0x01,
    KABI_MOUNT_NOSUID = 0x02,
    KABI_MOUNT_NODEV = 0x04,
};

#ifndef SYS_open_tree
#define SYS_open_tree 428
#define SYS_move_mount 429
#define SYS_fsopen 430
#define SYS_fsconfig 431
#define SYS_fsmount 432
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

/* ---- files ---- */

#define KABI_FS_IOC_GETFLAGS 0x80086601u
#define KABI_FS_CASEFOLD_FL 0x40000000
#define KABI_FS_IOC_SETFLAGS 0x40086602u
#define KABI_FS_IOC_FSSETXATTR 0x401c5820u
#define KABI_FICLONE 0x40049409u
#define KABI_FICLONERANGE 0x4020940du
#define KABI_FIDEDUPERANGE 0xc0189436u
#define KABI_BTRFS_TYPE 0x9400u /* what the three above share with all other btrfs calls */
#define KABI_FIOSETOWN 0x8901u
#define KABI_SIOCSPGRP 0x8902u
#define KABI_TIOCSPGRP 0x5410u
#define KABI_TIOCSTI 0x5412u
#define KABI_TIOCLINUX 0x541cu

/* Every open flag that could change a file: the access mode, O_CREAT, O_TRUNC and the bit that
 * distinguishes O_TMPFILE from O_DIRECTORY. */
#define KABI_OPEN_WRITES 020001103u
#define KABI_OPEN_UNNAMED 020000000u /* that bit */

#define KABI_RENAME_NOREPLACE 1u
#define KABI_CLOSE_RANGE_UNSHARE 2u
#define KABI_RENAME_WHITEOUT 4u

/* musl's struct statx has reserved bytes where the kernel puts the number of the mount. */
#define KABI_STATX_MNT_ID 0x1000u
#define KABI_STATX_RESERVED 0x80000000u

static inline uint64_t kabi_statx_mnt_id(const struct statx *st)
{
    uint64_t id;
    memcpy(&id, (const char *)st + 0x90, sizeof(id));
    return id;
}

#define KABI_F_SETLEASE 1024u
#define KABI_F_SETDELEG 1040u /* 6.19 */

#define KABI_IOWR(type, number, size) _IOC(_IOC_READ | _IOC_WRITE, type, number, size)

/* ---- FUSE: additions after protocol 7.38 ---- */

#define KABI_FMODE_EXEC                                                                            \
    040u /* open flag: the file is opened for execution; programs cannot set it */

enum { KABI_FUSE_STATX = 52 }; /* 6.6 */

struct kabi_fuse_time {
    int64_t sec;
    uint32_t nsec;
    int32_t reserved;
};

struct kabi_fuse_statx {
    uint32_t mask, blksize;
    uint64_t attributes;
    uint32_t nlink, uid, gid;
    uint16_t mode, spare;
    uint64_t ino, size, blocks, attributes_mask;
    struct kabi_fuse_time atime, btime, ctime, mtime;
    uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
    uint64_t spare2[14];
};

struct kabi_fuse_statx_in {
    uint32_t getattr_flags, reserved;
    uint64_t fh;
    uint32_t sx_flags, sx_mask;
};

struct kabi_fuse_statx_out {
    uint64_t attr_valid;
    uint32_t attr_valid_nsec, flags;
    uint64_t spare[2];
    struct kabi_fuse_statx stat;
};

/* Flags that open() adds by itself and libraries hide. */
#if defined(__aarch64__)
#define KABI_O_LARGEFILE 0400000u
#else
#define KABI_O_LARGEFILE 0100000u
#endif

/* Flags that openat2() accepts without further conditions. */
#define KABI_OPEN_KNOWN                                                                            \
    ((unsigned)(O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK |        \
                O_SYNC | O_NOFOLLOW | O_NOATIME | O_CLOEXEC | O_DIRECT))

/* ---- FUSE ---- */

/* total_extlen of struct fuse_in_header, which was padding before 6.3. */
static inline uint16_t kabi_fuse_extras(const void *header)
{
    uint16_t n;
    memcpy(&n, (const char *)header + 36, sizeof(n));
    return n;
}

/* The highest call number in these tables. Higher numbers get ENOSYS. */
enum { KABI_LAST_SYSCALL = 470 };

#endif
