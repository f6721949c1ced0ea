/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The machine and its other inhabitants: processes outside, kernel files, devices, terminals. Files
 * are opened and closed, never written; signals are number 0; values are only set to what they
 * already are. Every line must report a failure.
 */

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "escape.h"

/* ---- processes outside ---- */

/* PID is an outside process of the same user, by the host's numbering; MARK its command's name. In
 * a pid namespace that number belongs to another process or none, which is as good. */
static bool is_bystander(const char *pid, const char *mark)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof(path), "/proc/%s/cmdline", pid);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return errno != ENOENT;
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    for (ssize_t i = 0; i < n - 1; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    return strstr(text, mark) != NULL;
}

/* Whether it is a folder that we have anyway. */
static bool is_ours(int fd)
{
    struct stat it, root, here;
    return fstat(fd, &it) == 0 && stat("/", &root) == 0 && stat(".", &here) == 0 &&
           ((it.st_ino == root.st_ino && it.st_dev == root.st_dev) ||
            (it.st_ino == here.st_ino && it.st_dev == here.st_dev));
}

static bool is_folder(int fd)
{
    struct stat it;
    return fstat(fd, &it) == 0 && S_ISDIR(it.st_mode);
}

long read_of(const char *path)
{
    char room[4096];
    int fd = open(path, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        return -1;
    long got = read(fd, room, sizeof(room));
    if (got < 0 && errno == EISDIR)
        got = syscall(SYS_getdents64, fd, room, sizeof(room));
    if (is_folder(fd) && got > 0) /* possibly only . and .. */
        got = syscall(SYS_getdents64, fd, room, sizeof(room));
    int err = errno;
    bool ours = is_ours(fd);
    close(fd);
    errno = ours ? EEXIST : err;
    return ours ? -1 : got;
}

static void report_files_of(const char *pid)
{
    static const char *const names[] = {"mem",  "environ", "maps",  "root",   "cwd",      "exe",
                                        "fd/0", "auxv",    "stack", "ns/mnt", "map_files"};
    char path[64], what[64];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "/proc/%s/%s", pid, names[i]);
        snprintf(what, sizeof(what), "its %s", names[i]);
        report(what, read_of(path));
    }
    snprintf(path, sizeof(path), "/proc/%s/mem", pid);
    report_fd("its memory, to write", open(path, O_RDWR));
}

/* Files that others may open but not write are not a stranger's business either. */
static void report_settings_of(const char *pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%s/oom_score_adj", pid);
    report_fd("its badness", open(path, O_WRONLY));
    snprintf(path, sizeof(path), "/proc/%s/comm", pid);
    report_fd("its name", open(path, O_WRONLY));
}

static int machine_bystander(char **a)
{
    pid_t pid = atoi(a[0]);
    char room[16];
    struct iovec ours = {room, sizeof(room)}, theirs = {(void *)0x400000, sizeof(room)};
    struct rlimit limit;
    if (!is_bystander(a[0], a[1])) {
        puts("own: nobody by that number: ok");
        return 0;
    }
    puts("in sight");
    report("signal it", kill(pid, 0));
    report("queue a signal",
           syscall(SYS_rt_sigqueueinfo, pid, 0, &(siginfo_t){.si_code = SI_QUEUE}));
    report("signal its thread", syscall(SYS_tgkill, pid, pid, 0));
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd >= 0) {
        report("signal it by descriptor", syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0));
        report("take its descriptor", syscall(SYS_pidfd_getfd, fd, 0, 0));
        report("join it", setns(fd, CLONE_NEWNS));
    }
    report("seize it", ptrace(PTRACE_SEIZE, pid, NULL, NULL));
    report("read it", process_vm_readv(pid, &ours, 1, &theirs, 1, 0));
    report("write it", process_vm_writev(pid, &ours, 0, &theirs, 0, 0));
    report("compare it", syscall(SYS_kcmp, pid, getpid(), 0, 0, 0));
    report("limit it", (int)syscall(SYS_prlimit64, pid, RLIMIT_CORE, NULL, &limit));
    report_files_of(a[0]);
    report_settings_of(a[0]);
    return 0;
}

/* The sandbox's init and every other visible process that we did not start. */
static int machine_first(char **a)
{
    (void)a;
    report_files_of("1");
    report("seize it", ptrace(PTRACE_SEIZE, 1, NULL, NULL));
    return 0;
}

/* ---- files of the kernel ---- */

static int machine_kernel(char **a)
{
    static const char *const names[] = {
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/kernel/hostname",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/fs/binfmt_misc/register",
        "/proc/sys/kernel/yama/ptrace_scope",
        "/proc/sys/net/ipv4/ip_forward",
        "/proc/sysrq-trigger",
        "/proc/irq/default_smp_affinity",
        "/sys/kernel/uevent_helper",
        "/sys/kernel/mm/ksm/run",
        "/sys/power/state",
        "/sys/class/net/lo/mtu",
        "/sys/fs/cgroup/cgroup.procs",
        "/sys/fs/cgroup/release_agent",
        "/sys/fs/cgroup/memory/release_agent",
        "/sys/fs/cgroup/pids/release_agent",
        "/sys/fs/cgroup/notify_on_release",
        "/sys/kernel/debug/sched_features",
        "/sys/module/kernel/parameters/panic",
        "/dev/mem",
        "/dev/kmem",
        "/dev/port",
        "/dev/kmsg",
        "/dev/sda",
        "/dev/vda",
        "/dev/nvme0n1",
        "/dev/loop-control",
        "/dev/loop0",
        "/dev/fuse",
        "/dev/net/tun",
        "/dev/kvm",
        "/dev/uinput",
        "/dev/input/event0",
        "/dev/console",
        "/dev/tty0",
        "/dev/tty1",
        "/dev/vcs",
        "/dev/hpet",
        "/dev/cpu/0/msr",
        "/dev/snapshot",
        "/dev/vhost-net",
        "/dev/userfaultfd",
        "/dev/mapper/control",
    };
    (void)a;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        report_fd(names[i], open(names[i], O_WRONLY | O_NONBLOCK | O_NOCTTY));
    return 0;
}

/* Creating device files. */
static int machine_devices(char **a)
{
    (void)a;
    report("a memory device", mknod("memory", S_IFCHR | 0600, makedev(1, 1)));
    report("a disk", mknod("disk", S_IFBLK | 0600, makedev(8, 0)));
    report("a disk by folder", mknodat(AT_FDCWD, "disk2", S_IFBLK | 0600, makedev(254, 0)));
    return 0;
}

/* Creating a control group, which would be a way to run a program outside. */
static void make_groups(const char *top)
{
    char path[512];
    DIR *d = opendir(top);
    struct dirent *e;
    snprintf(path, sizeof(path), "%s/buckle-escape", top);
    int made = mkdir(path, 0700);
    report(path, made);
    if (made == 0)
        rmdir(path);
    while (d && (e = readdir(d))) {
        snprintf(path, sizeof(path), "%s/%.200s/buckle-escape", top, e->d_name);
        if (e->d_type != DT_DIR || e->d_name[0] == '.')
            continue;
        made = mkdir(path, 0700);
        report(path, made);
        if (made == 0)
            rmdir(path);
    }
    if (d)
        closedir(d);
}

static int machine_groups(char **a)
{
    (void)a;
    make_groups("/sys/fs/cgroup");
    return 0;
}

/* ---- changing credentials ---- */

static int machine_self(char **a)
{
    (void)a;
    struct {
        unsigned version;
        int pid;
    } head = {0x20080522, 0};
    unsigned all[6] = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u};
    report("all capabilities", syscall(SYS_capset, &head, all));
    report("ambient capability", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0));
    /* without this, a set-id program would gain what is left in the bounding set */
    report("gaining by programs", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? -1 : 0);
    report("no more restrictions", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
    report("no filter", prctl(PR_SET_SECCOMP, 0, 0, 0, 0));
    report("filters off", syscall(SYS_seccomp, 0x55, 0, NULL));
    report("another host name", sethostname("x", 1));
    report("another root", chroot("."));
    report("raw socket", socket(AF_PACKET, SOCK_RAW, 0));
    report("vsock", socket(AF_VSOCK, SOCK_STREAM, 0));
    report("key ring", syscall(SYS_keyctl, 0, -3, 0));
    report("real time", sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){1}));
    return 0;
}

/* ---- terminals ---- */

/* OTHER is another terminal of the same user; ours is descriptor 0. */
static int machine_terminal(char **a)
{
    char byte = 'x';
    int zero = 0, pair;
    report("type into it", ioctl(0, TIOCSTI, &byte));
    report("take the console", ioctl(0, TIOCCONS));
    report("paste", ioctl(0, TIOCLINUX, "\003"));
    report_fd("another's: read", open(a[0], O_RDONLY | O_NOCTTY | O_NONBLOCK));
    report_fd("another's: write", open(a[0], O_WRONLY | O_NOCTTY | O_NONBLOCK));
    report_fd("another's: both", open(a[0], O_RDWR | O_NOCTTY | O_NONBLOCK));
    report("another's: chmod", chmod(a[0], 0666));
    /* the terminal works, and so do new ones */
    report("own: name", ttyname(0) ? 0 : -1);
    report_fd("own: by name", open(ttyname(0) ? ttyname(0) : "", O_RDWR | O_NOCTTY));
    report_fd("own: by its other name", open("/dev/tty", O_RDWR | O_NOCTTY));
    pair = open("/dev/ptmx", O_RDWR | O_NOCTTY);
    report("own: a new one", pair);
    report("own: unlock it", ioctl(pair, TIOCSPTLCK, &zero));
    report_fd("own: its other end", open(ptsname(pair) ? ptsname(pair) : "", O_RDWR | O_NOCTTY));
    return 0;
}

const struct attack attacks_machine[] = {
    {"machine-bystander", 2, machine_bystander}, {"machine-first", 0, machine_first},
    {"machine-kernel", 0, machine_kernel},       {"machine-devices", 0, machine_devices},
    {"machine-groups", 0, machine_groups},       {"machine-self", 0, machine_self},
    {"machine-terminal", 1, machine_terminal},   {0},
};
