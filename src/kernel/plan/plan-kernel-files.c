/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Files that control the kernel. Root can write to them without any capability. Some make the
 * kernel run programs outside every sandbox (core_pattern) or stop the machine (sysrq-trigger). A
 * policy that allows writing everywhere does not mean these, so a plan makes them read-only.
 */

#include "kernel/plan/plan-kernel-files.h"

#include "command/capabilities.h"

enum when { ALWAYS, WITH_SYSCTL, WITHOUT_SYSCTL };

static const struct plan_kernel_file files[] = {
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

size_t plan_kernel_files(const struct plan_kernel_file **list)
{
    *list = files;
    return sizeof(files) / sizeof(files[0]);
}

bool plan_usually_makes_read_only(const struct plan_kernel_file *file)
{
    return !file->tree && file->when != WITH_SYSCTL;
}

/* Other users cannot open them anyway, and a process that may mount controls the machine. */
bool plan_makes_read_only(const struct plan *p, const struct plan_kernel_file *file)
{
    bool variables = !p->readonly_sysctl;
    if (!p->host.root || !p->mount_ns || caps_lift(p->opt.caps, "mount"))
        return false;
    return file->when == ALWAYS || (file->when == WITH_SYSCTL) == variables;
}
