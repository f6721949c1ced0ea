/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Makes the files that control the kernel (plan/plan-kernel-files.c) read-only in the sandbox's
 * mount namespace. No call inside can undo that.
 */

#include "kernel/launch/kernel-files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/plan/plan-kernel-files.h"

static int set_read_only(const char *path, bool tree)
{
    struct {
        uint64_t set, clear, propagation, userns;
    } attr = {.set = 1 /* MOUNT_ATTR_RDONLY */};
    if (syscall(SYS_mount_setattr, AT_FDCWD, path, tree ? 0x8000 /* AT_RECURSIVE */ : 0, &attr,
                sizeof(attr)) == 0)
        return 0;
    if (errno != ENOSYS)
        return -errno;
    return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0 ? -errno : 0;
}

static int make_mount(const char *path)
{
    return mount(path, path, NULL, MS_BIND, NULL) < 0 ? -errno : 0;
}

static int make_read_only(const char *path, bool tree)
{
    int err = set_read_only(path, tree);
    if (tree || err != -EINVAL) /* it is a mount already */
        return err;
    err = make_mount(path);
    return err < 0 ? err : set_read_only(path, tree);
}

void kernel_files_prepare(void)
{
    const struct plan_kernel_file *files;
    size_t n = plan_kernel_files(&files);
    for (size_t i = 0; i < n && geteuid() == 0; i++)
        if (plan_usually_makes_read_only(&files[i]))
            (void)make_mount(files[i].path);
}

int kernel_files_make_read_only(const struct plan *p)
{
    const struct plan_kernel_file *files;
    size_t n = plan_kernel_files(&files);
    for (size_t i = 0; i < n; i++) {
        int err =
            plan_makes_read_only(p, &files[i]) ? make_read_only(files[i].path, files[i].tree) : 0;
        /* EINVAL: a plain folder with nothing mounted on it */
        if (err < 0 && err != -ENOENT && !(files[i].tree && err == -EINVAL))
            return err;
    }
    if (p->mask_sysctl &&
        mount("tmpfs", "/proc/sys", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
              "mode=555,size=4k") < 0)
        return errno == ENOENT ? 0 : -errno;
    return 0;
}
