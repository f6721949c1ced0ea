/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * System calls that no sandbox may leave open: ways around its filter, its judge or its walls.
 * Arguments are chosen so that nothing happens if a call gets through.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "escape.h"

/* ---- by number ---- */

static const struct {
    const char *name;
    long nr, a, b, c;
} calls[] = {
    {"io_uring_setup", 425, 1, 0, 0},
    {"io_uring_enter", 426, -1, 0, 0},
    {"io_uring_register", 427, -1, 0, 0},
    {"userfaultfd", SYS_userfaultfd, O_CLOEXEC, 0, 0},
    {"open_by_handle_at", SYS_open_by_handle_at, -1, 0, 0},
    {"name_to_handle_at", SYS_name_to_handle_at, -1, 0, 0},
    {"pidfd_getfd", 438, -1, 0, 0},
    {"process_vm_readv", SYS_process_vm_readv, 1, 0, 0},
    {"process_vm_writev", SYS_process_vm_writev, 1, 0, 0},
    {"process_madvise", 440, -1, 0, 0},
    {"bpf", SYS_bpf, 0, 0, 0},
    {"perf_event_open", SYS_perf_event_open, 0, 0, -1},
    {"mount", SYS_mount, 0, 0, 0},
    {"umount2", SYS_umount2, 0, 0, 0},
    {"pivot_root", SYS_pivot_root, 0, 0, 0},
    {"chroot", SYS_chroot, 0, 0, 0},
    {"setns", SYS_setns, -1, 0, 0},
    {"open_tree", 428, AT_FDCWD, 0, 0},
    {"move_mount", 429, -1, 0, -1},
    {"fsopen", 430, 0, 0, 0},
    {"fsconfig", 431, -1, 0, 0},
    {"fsmount", 432, -1, 0, 0},
    {"fspick", 433, -1, 0, 0},
    {"mount_setattr", 442, -1, 0, 0},
    {"keyctl", SYS_keyctl, 0, -3, 0},
    {"add_key", SYS_add_key, 0, 0, 0},
    {"request_key", SYS_request_key, 0, 0, 0},
    {"kexec_load", SYS_kexec_load, 0, 0, 0},
    {"init_module", SYS_init_module, 0, 0, 0},
    {"finit_module", SYS_finit_module, -1, 0, 0},
    {"delete_module", SYS_delete_module, 0, 0, 0},
    {"swapon", SYS_swapon, 0, 0, 0},
    {"swapoff", SYS_swapoff, 0, 0, 0},
    {"reboot", SYS_reboot, 0, 0, 0},
    {"acct", SYS_acct, -1, 0, 0},
    {"quotactl", SYS_quotactl, 0, 0, 0},
    {"fanotify_init", SYS_fanotify_init, 0, 0, 0},
    {"unshare user", SYS_unshare, CLONE_NEWUSER, 0, 0},
    {"unshare mount", SYS_unshare, CLONE_NEWNS, 0, 0},
    {"unshare net", SYS_unshare, CLONE_NEWNET, 0, 0},
    {"unshare time", SYS_unshare, 0x80, 0, 0},
    {"TIOCSTI", SYS_ioctl, 0, TIOCSTI, 0},
    {"TIOCSTI, high bits", SYS_ioctl, 0, TIOCSTI | 1L << 32, 0},
    {"TIOCLINUX", SYS_ioctl, 0, TIOCLINUX, 0},
    {"btrfs: make a subvolume", SYS_ioctl, 0, 0x5000940e, 0},
    {"btrfs: remove a subvolume", SYS_ioctl, 0, 0x5000940f, 0},
    {"FS_IOC_SETVERSION", SYS_ioctl, 0, 0x40087602, 0},
    {"EXT4_IOC_SETVERSION", SYS_ioctl, 0, 0x40086604, 0},
    {"FS_IOC_ENABLE_VERITY", SYS_ioctl, 0, 0x40806685, 0},
    {"clone3", 435, 0, 0, 0},
    {"openat2", 437, AT_FDCWD, 0, 0},
    {"setxattrat", 463, AT_FDCWD, 0, 0},
    {"removexattrat", 466, AT_FDCWD, 0, 0},
    {"file_setattr", 469, AT_FDCWD, 0, 0},
    {"number 600", 600, 0, 0, 0},
    {"number 100000", 100000, 0, 0, 0},
    {"number -2", -2, 0, 0, 0},
};

static int call_numbers(char **a)
{
    (void)a;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        report(calls[i].name, syscall(calls[i].nr, calls[i].a, calls[i].b, calls[i].c, 0, 0, 0));
    return 0;
}

/* ---- other entries into the kernel ---- */

/* Runs work in a child, which may be killed for it. */
static void report_child(const char *what, long (*work)(void))
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    must(child, "fork");
    if (child == 0) {
        long got = work();
        report(what, got);
        _exit(0);
    }
    must(waitpid(child, &status, 0), "waitpid");
    if (WIFSIGNALED(status))
        printf("%s: killed by signal %d\n", what, WTERMSIG(status));
    fflush(stdout);
}

#ifdef __x86_64__
static long old_entry(void)
{
    long got = 20; /* getpid() there */
    __asm__ volatile("int $0x80" : "+a"(got) : : "memory", "r8", "r9", "r10", "r11");
    if (got >= 0)
        return got;
    errno = (int)-got;
    return -1;
}

static long x32_entry(void)
{
    return syscall(0x40000000 | SYS_getpid);
}
#endif

static long new_user_namespace(void)
{
    long got = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
    if (got == 0)
        _exit(0);
    return got;
}

/* clone3 with its flags in memory. */
static long new_user_namespace3(void)
{
    uint64_t args[11] = {CLONE_NEWUSER, [4] = SIGCHLD};
    long got = syscall(435, args, sizeof(args));
    if (got == 0)
        _exit(0);
    return got;
}

static int call_entries(char **a)
{
    (void)a;
#ifdef __x86_64__
    report_child("int 0x80", old_entry);
    report_child("x32", x32_entry);
#endif
    report_child("clone with a user namespace", new_user_namespace);
    report_child("clone3 with a user namespace", new_user_namespace3);
    return 0;
}

/* ---- the judge itself ---- */

static long install(unsigned flags)
{
    struct sock_filter pass[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {1, pass};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void ask_about(pid_t pid)
{
    char path[32];
    if (pid <= 0 || pid == getpid())
        return;
    if (kill(pid, 0) == 0)
        printf("can signal process %d\n", pid);
    snprintf(path, sizeof(path), "/proc/%d/mem", pid);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        return;
    printf("can read process %d\n", pid);
    close(fd);
}

/* Signal 0 checks for permission and does nothing: if a sandbox lets it through, no outside process
 * must suffer. Judge and init started just before us. */
static void ask_to_signal(void)
{
    report("signal the first process", kill(1, 0));
    if (getppid() > 0) /* 0: it is not even visible */
        report("signal the parent", kill(getppid(), 0));
    for (pid_t pid = 1; pid < 1000; pid++)
        ask_about(pid);
    for (pid_t pid = getpid() - 500; pid < getpid() + 50; pid++)
        ask_about(pid);
}

static int call_judge(char **a)
{
    (void)a;
    report("a listener of its own", install(SECCOMP_FILTER_FLAG_NEW_LISTENER));
    report("a listener, with threads",
           install(SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_TSYNC |
                   SECCOMP_FILTER_FLAG_TSYNC_ESRCH));
    report("a filter of its own", install(0));
    ask_to_signal();
    report("the judge answers", open("still-judged", O_WRONLY | O_CREAT, 0600));
    return 0;
}

/* Tries without end to write to a file and to become its own judge. */
static int call_insist(char **a)
{
    puts("insisting");
    fflush(stdout);
    for (double end = now() + 60; now() < end;) {
        int fd = open(a[0], O_WRONLY | O_TRUNC);
        if (fd >= 0)
            puts("written");
        if (install(SECCOMP_FILTER_FLAG_NEW_LISTENER) >= 0)
            puts("judges itself");
        if (fd < 0 && errno == ENOSYS)
            puts("nobody judges");
        fflush(stdout);
    }
    return 0;
}

/* ---- memory that cannot be read ---- */

static int call_hidden(char **a)
{
    report("hide", prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
    report("create", open("hidden-file", O_WRONLY | O_CREAT, 0600));
    report("write elsewhere", open(a[0], O_WRONLY));
    return 0;
}

/* For a program that may be run but not read. */
static int call_create(char **a)
{
    report("create", open(a[0], O_WRONLY | O_CREAT, 0600));
    report("make a folder", mkdir("made-hidden", 0700));
    report("write elsewhere", open(a[1], O_WRONLY));
    return 0;
}

const struct attack attacks_call[] = {
    {"call-numbers", 0, call_numbers},
    {"call-doors", 0, call_entries},
    {"call-judge", 0, call_judge},
    {"call-insist", 1, call_insist},
    {"call-hidden", 1, call_hidden},
    {"call-create", 2, call_create},
    {0},
};
