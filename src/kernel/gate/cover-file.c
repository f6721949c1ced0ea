/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "kernel/gate/cover-file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/host/kabi.h"

int cover_begin(const char *size)
{
    OWN(fd) int fs = (int)syscall(SYS_fsopen, "tmpfs", KABI_FSOPEN_CLOEXEC);
    if (fs < 0 || syscall(SYS_fsconfig, fs, KABI_FSCONFIG_STRING, "size", size, 0) < 0 ||
        syscall(SYS_fsconfig, fs, KABI_FSCONFIG_CREATE, NULL, NULL, 0) < 0)
        return -errno;
    int top =
        (int)syscall(SYS_fsmount, fs, KABI_FSMOUNT_CLOEXEC, KABI_MOUNT_NOSUID | KABI_MOUNT_NODEV);
    return top < 0 ? -errno : top;
}

int cover_file(int top, const char *name, const char *path, const char *text, size_t n)
{
    OWN(fd) int on = open(path, O_PATH | O_CLOEXEC);
    if (on < 0)
        return errno == ENOENT ? 0 : -errno;
    OWN(fd) int file = openat(top, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (file < 0 || write(file, text, n) != (ssize_t)n)
        return -errno;
    OWN(fd) int tree = (int)syscall(SYS_open_tree, top, name, KABI_OPEN_TREE_CLONE | O_CLOEXEC);
    if (tree < 0)
        return -errno;
    return syscall(SYS_move_mount, tree, "", on, "", KABI_MOVE_MOUNT_EMPTY) < 0 ? -errno : 0;
}
