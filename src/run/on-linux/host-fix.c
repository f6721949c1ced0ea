/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Remedies. Probes find what does not work; this reads the few kernel settings that can be the
 * cause, and names the one that applies with the command that changes it.
 */

#include "run/on-linux/host-fix.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "run/apparmor-profile.h"

/* ---- looking ---- */

/* The number in a file of /proc/sys; -1 when there is none. */
static long setting(const char *path)
{
    char text[32] = {0};
    OWN(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 ? strtol(text, NULL, 10) : -1;
}

static bool is_container(void)
{
    return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
}

static bool lists_landlock(void)
{
    char text[256] = {0};
    OWN(fd) int fd = open("/sys/kernel/security/lsm", O_RDONLY | O_CLOEXEC);
    /* unknown if unreadable: don't send the user to the boot loader */
    return fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || strstr(text, "landlock");
}

/* ---- remedies ---- */

static void about_kernel(const struct host *h, const struct host_ability *a, struct buf *out)
{
    if (!version_at_least(h->kernel, a->since))
        buf_fmt(out, "needs Linux %s; this is %s\n", a->since, h->kernel);
    else if (is_container())
        buf_str(out, "this kernel is new enough, but the container's seccomp profile blocks it\n");
    else
        buf_str(out, "this kernel is new enough, but a filter or its configuration blocks it\n");
}

static void about_landlock(const struct host *h, const struct host_ability *a, struct buf *out)
{
    if (version_at_least(h->kernel, a->since) && !lists_landlock())
        buf_str(out, "the kernel was started without it: add landlock to the boot parameter "
                     "lsm=…\n(see /sys/kernel/security/lsm), then restart\n");
    else
        about_kernel(h, a, out);
}

static void about_listener(const struct host *h, const struct host_ability *a, struct buf *out)
{
    (void)h, (void)a;
    buf_str(out, "another supervisor already watches this process: a `buckle run`, WSL's init or "
                 "a\ncontainer runtime. Start buckle outside of it\n");
}

static void about_yama(const struct host *h, const struct host_ability *a, struct buf *out)
{
    if (setting("/proc/sys/kernel/yama/ptrace_scope") >= 2)
        buf_str(out, "Yama forbids it: sudo sysctl kernel.yama.ptrace_scope=1\n");
    else
        about_kernel(h, a, out);
}

/* The packages' profile, for this program instead of theirs. */
static void write_profile(const char *exe, struct buf *out)
{
    static const char packaged[] = "/usr/bin/buckle";
    const char *text = APPARMOR_PROFILE;
    const char *path = strstr(text, packaged);
    for (const char *line = text, *end; *line; line = end) {
        end = line + strcspn(line, "\n") + 1;
        if (*line != '\n')
            buf_str(out, "    ");
        if (path >= line && path < end) {
            buf_add(out, line, (size_t)(path - line));
            buf_safe(out, exe, strlen(exe));
            line = path + strlen(packaged);
        }
        buf_add(out, line, (size_t)(end - line));
    }
}

/* Ubuntu allows user namespaces to programs with an AppArmor profile. */
static void about_apparmor(struct buf *out)
{
    char exe[PATH_MAX] = {0};
    if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) <= 0)
        snprintf(exe, sizeof(exe), "/usr/local/bin/buckle");
    buf_str(out, "AppArmor denies it capabilities (kernel.apparmor_restrict_unprivileged_userns\n"
                 "is 1). Write this to /etc/apparmor.d/buckle:\n"
                 "\n");
    write_profile(exe, out);
    buf_str(out, "\nand load it: sudo apparmor_parser -r /etc/apparmor.d/buckle\n");
}

static void about_userns(const struct host *h, const struct host_ability *a, struct buf *out)
{
    if (h->user_ns && strcmp(a->name, "user_ns") != 0 && !h->root)
        buf_str(out, "user namespaces work, so a filter or security module blocks this one\n");
    else if (setting("/proc/sys/user/max_user_namespaces") == 0)
        buf_str(out, "their limit is 0: sudo sysctl user.max_user_namespaces=15000\n");
    else if (setting("/proc/sys/kernel/unprivileged_userns_clone") == 0)
        buf_str(out, "only root can create them: sudo sysctl kernel.unprivileged_userns_clone=1\n");
    else if (setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1)
        about_apparmor(out);
    else if (is_container())
        buf_str(out, "the container refuses them; with Docker: docker run --security-opt\n"
                     "seccomp=unconfined --security-opt apparmor=unconfined\n");
    else
        about_kernel(h, a, out);
}

static void about_proc(const struct host *h, const struct host_ability *a, struct buf *out)
{
    if (!h->pid_ns)
        buf_str(out, "needs the pid namespace\n");
    else if (is_container())
        buf_str(out, "the container masks parts of /proc; with Docker: docker run "
                     "--security-opt\nsystempaths=unconfined. Otherwise Buckle tracks processes "
                     "one by one\n");
    else
        about_userns(h, a, out);
}

static void about_fuse(const struct host *h, const struct host_ability *a, struct buf *out)
{
    OWN(fd) int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (fd < 0 && errno == EACCES)
        buf_str(
            out,
            "you cannot open /dev/fuse: sudo chmod 0666 /dev/fuse (the default on most systems)\n");
    else if (fd < 0 && is_container())
        buf_str(out, "with Docker: docker run --device /dev/fuse\n");
    else if (fd < 0)
        buf_str(out, "there is no /dev/fuse: sudo modprobe fuse\n");
    else
        about_userns(h, a, out);
}

static void about_nft(const struct host *h, const struct host_ability *a, struct buf *out)
{
    if (!h->net_ns)
        buf_str(out, "needs the network namespace\n");
    else if (!version_at_least(h->kernel, a->since))
        about_kernel(h, a, out);
    else
        buf_str(out, "sudo modprobe nf_tables nft_redir nft_tproxy\n");
    if (h->net_ns && !h->nftables)
        buf_fmt(out,
                "without it, hosts are filtered only on certain ports, on which no process inside "
                "can\nlisten; other ports are refused: %s\n",
                remedy_words(REMEDY_SHOW_PLAN));
}

static void about_cgroup(const struct host *h, const struct host_ability *a, struct buf *out)
{
    (void)h, (void)a;
    buf_str(out, "without one, limits apply to each process separately. With systemd: systemd-run "
                 "--user\n--scope -p Delegate=yes buckle run …\n");
}

void host_fix_text(const struct host *h, const struct host_ability *a, struct buf *out)
{
    static void (*const about[FIX_COUNT])(const struct host *, const struct host_ability *,
                                          struct buf *) = {
        [FIX_KERNEL] = about_kernel,  [FIX_LANDLOCK] = about_landlock,
        [FIX_SECCOMP] = about_kernel, [FIX_LISTENER] = about_listener,
        [FIX_YAMA] = about_yama,      [FIX_USERNS] = about_userns,
        [FIX_PROC] = about_proc,      [FIX_FUSE] = about_fuse,
        [FIX_NFT] = about_nft,        [FIX_CGROUP] = about_cgroup,
    };
    if (about[a->fix])
        about[a->fix](h, a, out);
}
