/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Simulates another environment: removes what a container, a security module or an older kernel
 * would, then runs a command. Must start as root, because setting this up needs what it removes.
 *
 *     pretend WORD… -- COMMAND [ARGUMENT…]
 *
 * The order of words does not matter: mounts come first, then filters, capabilities, ids. See the
 * table at the end. Also: uid=N, chroot=FOLDER, cd=FOLDER, kernel.NAME=VALUE.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_NEW_LISTENER
#define SECCOMP_FILTER_FLAG_NEW_LISTENER (1UL << 3)
#endif

enum {
    NR_OPEN_TREE = 428,
    NR_MOVE_MOUNT,
    NR_FSOPEN,
    NR_FSCONFIG,
    NR_FSMOUNT,
    NR_FSPICK,
    NR_CLONE3 = 435,
    NR_PIDFD_GETFD = 438,
    NR_MOUNT_SETATTR = 442,
    NR_LANDLOCK = 444,
};

enum { LISTENER_FD = 200 };

#define ALL_SPACES 0x7e020000u

static void fail(const char *what)
{
    fprintf(stderr, "pretend: %s: %s\n", what, strerror(errno));
    exit(99);
}

static void must(long result, const char *what)
{
    if (result < 0)
        fail(what);
}

/* ---- filters ---- */

static void install(const struct sock_filter *code, size_t n, unsigned long flags)
{
    struct sock_fprog prog = {.len = (unsigned short)n, .filter = (struct sock_filter *)code};
    must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog), "seccomp");
}

static void refuse(long nr, int error)
{
    const struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    install(code, 4, 0);
}

/* Rejects a call when one of these bits is set in an argument. */
static void refuse_bits(long nr, unsigned arg, uint32_t bits, int error)
{
    const struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                 (uint32_t)(offsetof(struct seccomp_data, args) + arg * 8)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    install(code, 6, 0);
}

static void refuse_spaces(uint32_t which)
{
    refuse_bits(SYS_clone, 0, which, EPERM);
    refuse_bits(SYS_unshare, 0, which, EPERM);
    refuse(NR_CLONE3, ENOSYS); /* as Docker does, since its flags are in memory */
}

static void refuse_mounts(void)
{
    static const long calls[] = {SYS_mount,        SYS_umount2, SYS_pivot_root, NR_OPEN_TREE,
                                 NR_MOVE_MOUNT,    NR_FSOPEN,   NR_FSCONFIG,    NR_FSMOUNT,
                                 NR_MOUNT_SETATTR, NR_FSPICK};
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        refuse(calls[i], EPERM);
}

static void no_userns(void)
{
    refuse_spaces(CLONE_NEWUSER);
}

/* Docker's default profile, for processes without CAP_SYS_ADMIN. */
static void no_namespaces(void)
{
    refuse_spaces(ALL_SPACES);
    refuse(SYS_unshare, EPERM); /* whatever it is to unshare */
    refuse(SYS_setns, EPERM);
    refuse_mounts();
}

/* Ubuntu's AppArmor: any user may make a user namespace, but has no capability in it. */
static void empty_userns(void)
{
    refuse_spaces(ALL_SPACES & ~(uint32_t)CLONE_NEWUSER);
    refuse(SYS_setns, EPERM);
    refuse(SYS_sethostname, EPERM);
    refuse_mounts();
}

static void no_getfd(void)
{
    refuse(NR_PIDFD_GETFD, EPERM);
}

static void no_readv(void)
{
    refuse(SYS_process_vm_readv, EPERM);
}

/* A kernel without nf_tables, where such sockets cannot be created. */
static void no_netfilter(void)
{
    enum { NR = offsetof(struct seccomp_data, nr), ARGS = offsetof(struct seccomp_data, args) };
    const struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NR),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 5),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGS + 16),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NETLINK_NETFILTER, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    install(code, sizeof(code) / sizeof(code[0]), 0);
}

static void no_landlock(void)
{
    for (long i = 0; i < 3; i++)
        refuse(NR_LANDLOCK + i, ENOSYS);
}

static void no_notify(void)
{
    refuse_bits(SYS_seccomp, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER, EINVAL);
}

static void listener(void)
{
    const struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog prog = {.len = 1, .filter = (struct sock_filter *)code};
    long fd =
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog);
    must(fd, "listener");
    must(dup2((int)fd, LISTENER_FD), "listener"); /* which stays open on exec */
}

/* ---- mounts ---- */

static void cover(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return;
    if (S_ISDIR(st.st_mode))
        must(mount("tmpfs", path, "tmpfs", MS_RDONLY, "size=0k"), path);
    else
        must(mount("/dev/null", path, NULL, MS_BIND, NULL), path);
}

static void read_only(const char *path)
{
    must(mount(path, path, NULL, MS_BIND | MS_REC, NULL), path);
    must(mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL), path);
}

/* What runc masks by default, if it exists. */
static void masked_proc(void)
{
    static const char *const masked[] = {"/proc/acpi",          "/proc/kcore",      "/proc/keys",
                                         "/proc/latency_stats", "/proc/timer_list", "/proc/scsi",
                                         "/proc/interrupts",    "/proc/asound"};
    static const char *const fixed[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys",
                                        "/proc/sysrq-trigger"};
    for (size_t i = 0; i < sizeof(masked) / sizeof(masked[0]); i++)
        cover(masked[i]);
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        if (access(fixed[i], F_OK) == 0)
            read_only(fixed[i]);
}

static void read_only_proc(void)
{
    read_only("/proc");
}

static void read_only_sys(void)
{
    read_only("/sys");
}

static void bind_device(const char *name)
{
    char from[64], to[64];
    snprintf(from, sizeof(from), "/proc/self/cwd/%s", name); /* the old /dev */
    snprintf(to, sizeof(to), "/dev/%s", name);
    must(close(open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0666)), to);
    must(mount(from, to, NULL, MS_BIND, NULL), to);
}

/* A container's /dev: no FUSE, no disks. */
static void small_dev(void)
{
    static const char *const devices[] = {"null", "zero", "full", "random", "urandom", "tty"};
    char here[4096];
    if (!getcwd(here, sizeof(here)))
        fail("getcwd");
    must(chdir("/dev"), "/dev");
    must(mount("tmpfs", "/dev", "tmpfs", MS_NOSUID, "mode=755,size=64k"), "/dev");
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++)
        bind_device(devices[i]);
    must(mkdir("/dev/shm", 01777), "/dev/shm");
    must(mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777"), "/dev/shm");
    must(mkdir("/dev/pts", 0755), "/dev/pts");
    must(mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666"),
         "/dev/pts");
    must(symlink("pts/ptmx", "/dev/ptmx"), "/dev/ptmx");
    must(symlink("/proc/self/fd", "/dev/fd"), "/dev/fd");
    must(symlink("/proc/self/fd/0", "/dev/stdin"), "/dev/stdin");
    must(symlink("/proc/self/fd/1", "/dev/stdout"), "/dev/stdout");
    must(symlink("/proc/self/fd/2", "/dev/stderr"), "/dev/stderr");
    must(chdir(here), here);
}

/* ---- namespaces around ---- */

static void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
        fail(path);
    close(fd);
}

/* A process that has just entered a user namespace can map only its own id, so a child outside does
 * it. */
static void enter_mapped(void)
{
    int wait[2], status;
    char byte = 0;
    must(pipe(wait), "pipe");
    pid_t outside = fork();
    if (outside == 0) {
        char path[64];
        close(wait[1]);
        if (read(wait[0], &byte, 1) != 1)
            _exit(1);
        snprintf(path, sizeof(path), "/proc/%d/uid_map", getppid());
        put(path, "0 0 100000");
        snprintf(path, sizeof(path), "/proc/%d/gid_map", getppid());
        put(path, "0 0 100000");
        _exit(0);
    }
    must(unshare(CLONE_NEWUSER), "user namespace");
    must(write(wait[1], &byte, 1), "pipe");
    close(wait[0]);
    close(wait[1]);
    if (waitpid(outside, &status, 0) != outside || status != 0)
        fail("maps");
}

/* user.max_user_namespaces=0 for processes inside: the limit is used up. */
static void spent_userns(void)
{
    enter_mapped();
    put("/proc/sys/user/max_user_namespaces", "0");
}

/* Root in a rootless container: a few ids, and every capability over them. */
static void rootless(void)
{
    enter_mapped();
}

/* Kernel settings: those given as kernel.NAME=VALUE, and no others. */
static void set_kernel(const char *name)
{
    char path[256];
    const char *value = strchr(name, '=');
    static bool covered;
    if (!covered)
        must(mount("tmpfs", "/proc/sys/kernel", "tmpfs", 0, "mode=755"), "/proc/sys/kernel");
    covered = true;
    snprintf(path, sizeof(path), "/proc/sys/kernel/%.*s", (int)(value - name), name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, value + 1, strlen(value + 1)) < 0)
        fail(path);
    close(fd);
}

/* ---- capabilities ---- */

#define BIT(cap) (UINT64_C(1) << (cap))

static void keep_caps(uint64_t keep)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2];
    for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
        if (!(keep & BIT(cap)))
            must(prctl(PR_CAPBSET_DROP, cap, 0, 0, 0), "bounding set");
    must(syscall(SYS_capget, &head, data), "capget");
    for (int i = 0; i < 2; i++) {
        data[i].permitted &= (uint32_t)(keep >> (32 * i));
        data[i].effective = data[i].permitted;
        data[i].inheritable = 0;
    }
    must(syscall(SYS_capset, &head, data), "capset");
}

static void docker_caps(void)
{
    keep_caps(BIT(CAP_CHOWN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FSETID) | BIT(CAP_FOWNER) |
              BIT(CAP_MKNOD) | BIT(CAP_NET_RAW) | BIT(CAP_SETGID) | BIT(CAP_SETUID) |
              BIT(CAP_SETFCAP) | BIT(CAP_SETPCAP) | BIT(CAP_NET_BIND_SERVICE) |
              BIT(CAP_SYS_CHROOT) | BIT(CAP_KILL) | BIT(CAP_AUDIT_WRITE));
}

static void no_caps(void)
{
    keep_caps(0);
}

static void no_new_privs(void)
{
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
}

/* ---- an agent's sandbox without namespaces, as Codex describes its own ---- */

enum { WRITES = 0x1ffe & ~0xc, READS = 0xd }; /* LANDLOCK_ACCESS_FS_*, of the first ABI */

static void open_beneath(int ruleset, const char *path, uint64_t rights)
{
    struct {
        uint64_t rights;
        int32_t fd;
    } __attribute__((packed)) rule = {rights, open(path, O_PATH | O_CLOEXEC)};
    must(rule.fd, path);
    must((int)syscall(NR_LANDLOCK + 1, ruleset, 1, &rule, 0), path);
    close(rule.fd);
}

/* Everything can be read; only the working folder, /tmp and /dev/null can be written. */
static void writes_walled(void)
{
    uint64_t handled = WRITES | READS;
    int ruleset = (int)syscall(NR_LANDLOCK, &handled, sizeof(handled), 0);
    must(ruleset, "Landlock");
    open_beneath(ruleset, "/", READS);
    open_beneath(ruleset, ".", handled);
    open_beneath(ruleset, "/tmp", handled);
    open_beneath(ruleset, "/dev/null", 0x2 | 0x4);
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
    must((int)syscall(NR_LANDLOCK + 2, ruleset, 0), "Landlock");
    close(ruleset);
}

/* Only Unix sockets can be made, and no socket can be connected or addressed. */
static void no_network_calls(void)
{
    static const long calls[] = {SYS_connect,    SYS_accept,      SYS_accept4,     SYS_bind,
                                 SYS_listen,     SYS_getpeername, SYS_getsockname, SYS_shutdown,
                                 SYS_sendto,     SYS_sendmmsg,    SYS_recvmmsg,    SYS_getsockopt,
                                 SYS_setsockopt, SYS_ptrace};
    must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        refuse(calls[i], EPERM);
    refuse_bits(SYS_socket, 0, ~(uint32_t)AF_UNIX, EPERM);
    refuse_bits(SYS_socketpair, 0, ~(uint32_t)AF_UNIX, EPERM);
}

/* ---- the table ---- */

static const struct {
    const char *word;
    void (*make)(void);
    bool mounts; /* needs a mount namespace */
} places[] = {
    {"masked-proc", masked_proc, true},      {"read-only-proc", read_only_proc, true},
    {"read-only-sys", read_only_sys, true},  {"small-dev", small_dev, true},
    {"spent-userns", spent_userns, false},   {"rootless", rootless, false},
    {"no-userns", no_userns, false},         {"empty-userns", empty_userns, false},
    {"no-namespaces", no_namespaces, false}, {"no-getfd", no_getfd, false},
    {"no-readv", no_readv, false},           {"no-landlock", no_landlock, false},
    {"no-notify", no_notify, false},         {"listener", listener, false},
    {"docker-caps", docker_caps, false},     {"no-caps", no_caps, false},
    {"no-new-privs", no_new_privs, false},   {"no-netfilter", no_netfilter, false},
    {"writes-walled", writes_walled, false}, {"no-network-calls", no_network_calls, false},
};

enum { PLACES = sizeof(places) / sizeof(places[0]) };

static bool wanted[PLACES];

static void want(const char *word)
{
    for (size_t i = 0; i < PLACES; i++)
        if (strcmp(places[i].word, word) == 0) {
            wanted[i] = true;
            return;
        }
    fprintf(stderr, "pretend: no such word: %s\n", word);
    exit(99);
}

int main(int argc, char **argv)
{
    int at = 1, uid = -1;
    const char *root = NULL, *folder = NULL;
    bool mounts = false;
    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        if (strncmp(argv[at], "uid=", 4) == 0)
            uid = atoi(argv[at] + 4);
        else if (strncmp(argv[at], "chroot=", 7) == 0)
            mounts = (root = argv[at] + 7) != NULL;
        else if (strncmp(argv[at], "cd=", 3) == 0)
            folder = argv[at] + 3;
        else if (strncmp(argv[at], "kernel.", 7) == 0 && strchr(argv[at], '='))
            mounts = true;
        else
            want(argv[at]);
    }
    if (at + 1 >= argc)
        return 99;
    for (size_t i = 0; i < PLACES; i++)
        mounts |= wanted[i] && places[i].mounts;
    if (mounts) {
        must(unshare(CLONE_NEWNS), "mount namespace");
        must(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");
    }
    for (int i = 1; i < at; i++)
        if (strncmp(argv[i], "kernel.", 7) == 0)
            set_kernel(argv[i] + 7);
    if (root) { /* everything that exists, but as a folder's contents */
        must(mount("/", root, NULL, MS_BIND | MS_REC, NULL), root);
        must(chdir(root), root);
        must(chroot("."), "chroot");
    }
    if (folder)
        must(chdir(folder), folder);
    for (size_t i = 0; i < PLACES; i++)
        if (wanted[i])
            places[i].make();
    if (uid >= 0) {
        must(setresgid((gid_t)uid, (gid_t)uid, (gid_t)uid), "gid");
        must(setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid), "uid");
    }
    execvp(argv[at + 1], argv + at + 1);
    fail(argv[at + 1]);
}
