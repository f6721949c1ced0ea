/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Files that control the kernel. Root can write to them without any capability. Some make the
 * kernel run programs outside every sandbox (core_pattern) or stop the machine (sysrq-trigger). A
 * policy that allows writing everywhere does not mean these, so they become read-only in the
 * sandbox's mount namespace. No call inside can undo that.
 */

#include "kernel/launch/kernel-files.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/host/kabi.h"
#include "kernel/plan/capabilities.h"

enum when { ALWAYS, WITH_SYSCTL, WITHOUT_SYSCTL };

static const struct {
    const char *path;
    uint8_t when; /* enum when: whether variables may be written at all */
    bool tree;    /* a file system that contains others */
} read_only_files[] = {
    {"/proc/sysrq-trigger", ALWAYS, false},
    {"/proc/irq", ALWAYS, false},
    {"/proc/bus", ALWAYS, false},
    {"/proc/fs", ALWAYS, false},
    {"/proc/acpi", ALWAYS, false},
    {"/proc/scsi", ALWAYS, false},
    {"/proc/sys", WITHOUT_SYSCTL, false},
    {"/proc/sys/kernel/core_pattern", WITH_SYSCTL, false},
    {"/proc/sys/kernel/modprobe", WITH_SYSCTL, false},
    {"/proc/sys/kernel/hotplug", WITH_SYSCTL, false},
    {"/proc/sys/kernel/poweroff_cmd", WITH_SYSCTL, false},
    {"/proc/sys/kernel/sysrq", WITH_SYSCTL, false},
    {"/proc/sys/kernel/usermodehelper", WITH_SYSCTL, false},
    {"/proc/sys/fs/binfmt_misc", WITH_SYSCTL, false},
    {"/sys", ALWAYS, true},
};

/* Other users cannot open them anyway, and a process that may mount controls the machine. */
static bool applies(const struct plan *p, uint8_t when)
{
    bool variables = !p->readonly_sysctl;
    if (!p->host.root || !p->mount_ns || caps_lift(p->opt.caps, "mount"))
        return false;
    return when == ALWAYS || (when == WITH_SYSCTL) == variables;
}

static int make_read_only(const char *path, bool tree)
{
    struct {
        uint64_t set, clear, propagation, userns;
    } attr = {.set = 1 /* MOUNT_ATTR_RDONLY */};
    if (!tree && mount(path, path, NULL, MS_BIND, NULL) < 0)
        return -errno;
    if (syscall(SYS_mount_setattr, AT_FDCWD, path, tree ? 0x8000 /* AT_RECURSIVE */ : 0, &attr,
                sizeof(attr)) == 0)
        return 0;
    if (errno != ENOSYS)
        return -errno;
    return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) < 0 ? -errno : 0;
}

int kernel_files_make_read_only(const struct plan *p)
{
    for (size_t i = 0; i < sizeof(read_only_files) / sizeof(read_only_files[0]); i++) {
        int err = applies(p, read_only_files[i].when)
                      ? make_read_only(read_only_files[i].path, read_only_files[i].tree)
                      : 0;
        /* EINVAL: a plain folder with nothing mounted on it */
        if (err < 0 && err != -ENOENT && !(read_only_files[i].tree && err == -EINVAL))
            return err;
    }
    if (p->mask_sysctl &&
        mount("tmpfs", "/proc/sys", "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
              "mode=555,size=4k") < 0)
        return errno == ENOENT ? 0 : -errno;
    return 0;
}

size_t kernel_files_list(const struct plan *p, const char **names, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof(read_only_files) / sizeof(read_only_files[0]) && n < cap; i++)
        if (applies(p, read_only_files[i].when))
            names[n++] = read_only_files[i].path;
    return n;
}
