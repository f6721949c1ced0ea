/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The minimum cost of a launch with these walls: the kernel's work and nothing else. No profile,
 * no plan, no judge that answers, no report; what a real sandbox judges or denies is denied.
 *
 *     bench-floor launch COMMAND…            once, as `buckle run` would from the command line
 *     bench-floor walls COMMAND…             the same without a listener: the command may have one
 *     bench-floor guard N PATH… COMMAND…     with a separate file system on N paths
 *     bench-floor times REPETITIONS PAUSE COMMAND…
 *
 * The last launches repeatedly from a running process, in turns with vfork and exec of the same
 * command, and prints a line of nanoseconds for each, the bare one first. A launch is an init in
 * new namespaces (user, unless root; mount, pid, network, ipc, uts) with a /proc, a /dev/shm and,
 * set up in parallel, a loopback; its child in a Landlock domain, behind a filter with a listener,
 * executes the command.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "floor.h"
#include "kernel/host/kabi.h"

void __attribute__((noreturn)) give_up(const char *what)
{
    fprintf(stderr, "bench-floor: %s: %s\n", what, strerror(errno));
    exit(2);
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- the filter ---- */

/* About as many as a plan has. The cost is that the kernel evaluates every call number when the
 * filter is installed. */
static const int refused[] = {
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_acct,
    SYS_settimeofday,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_init_module,
    SYS_delete_module,
    SYS_quotactl,
    SYS_clock_settime,
    SYS_kexec_load,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_migrate_pages,
    SYS_move_pages,
    SYS_fanotify_init,
    SYS_perf_event_open,
    SYS_name_to_handle_at,
    SYS_setns,
    SYS_kcmp,
    SYS_process_vm_writev,
    SYS_finit_module,
    SYS_bpf,
    SYS_userfaultfd,
    SYS_open_by_handle_at,
    SYS_unshare,
    SYS_syslog,
    SYS_vhangup,
};
/* Refused as well, unless a process inside answers them. */
static const int judged[] = {
    SYS_setuid,           SYS_setgid,      SYS_setreuid,     SYS_setregid,     SYS_setgroups,
    SYS_setresuid,        SYS_setresgid,   SYS_setfsuid,     SYS_setfsgid,     SYS_capset,
    SYS_process_vm_readv, SYS_socket,      SYS_connect,      SYS_bind,         SYS_socketpair,
    SYS_truncate,         SYS_fchmod,      SYS_fchown,       SYS_setxattr,     SYS_lsetxattr,
    SYS_fsetxattr,        SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr, SYS_mkdirat,
    SYS_mknodat,          SYS_fchownat,    SYS_unlinkat,     SYS_linkat,       SYS_symlinkat,
    SYS_fchmodat,         SYS_renameat2,
};
enum {
    REFUSED = sizeof(refused) / sizeof(refused[0]),
    JUDGED = sizeof(judged) / sizeof(judged[0]),
    PROGRAM_MAX = 4 * (REFUSED + JUDGED) + 16
};

static struct sock_filter program[PROGRAM_MAX];
static unsigned short length;

static int by_number(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

static void emit(unsigned short code, unsigned value)
{
    program[length++] = (struct sock_filter){.code = code, .k = value};
}

/* A tree over numbers[0..n), in which every path ends with an answer. */
static void emit_tree(const int *numbers, size_t n)
{
    if (n == 1) {
        program[length++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[0], 0, 1);
        emit(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
        emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        return;
    }
    unsigned short here = length;
    emit(BPF_JMP | BPF_JGE | BPF_K, (unsigned)numbers[n / 2]);
    emit(BPF_JMP | BPF_JA, 0); /* farther than a conditional jump can reach */
    emit_tree(numbers, n / 2);
    program[here].jf = 1;
    program[here + 1].k = (unsigned)(length - here - 2);
    program[here].jt = 0;
    emit_tree(numbers + n / 2, n - n / 2);
}

static void make_filter(bool walls_alone)
{
    int sorted[REFUSED + JUDGED];
    size_t n = walls_alone ? REFUSED : REFUSED + JUDGED;
    memcpy(sorted, refused, sizeof(refused));
    memcpy(sorted + REFUSED, judged, sizeof(judged));
    qsort(sorted, n, sizeof(sorted[0]), by_number);
    emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
#if defined(__x86_64__)
    emit(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64);
#else
    emit(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_AARCH64);
#endif
    program[length - 1].jt = 1;
    emit(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    /* opening is inspected, since writing differs from reading; here both are allowed */
    program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 4);
    emit(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]));
    program[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, O_PATH, 0, 1);
    emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    emit(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    emit_tree(sorted, n);
}

/* ---- the walls ---- */

/* Writing only in these; in the first two, every kind of writing. */
static int make_ruleset(void)
{
    static const char *const places[] = {".",         "/tmp",      "/dev/null",
                                         "/dev/zero", "/dev/full", "/dev/tty",
                                         "/dev/ptmx", "/dev/pts",  "/dev/shm"};
    struct kabi_ll_ruleset set = {
        .handled_fs = KABI_LL_WRITE_FILE | KABI_LL_REMOVE_DIR | KABI_LL_REMOVE_FILE |
                      KABI_LL_MAKE_DIR | KABI_LL_MAKE_REG | KABI_LL_MAKE_SYM | KABI_LL_REFER};
    int fd = (int)syscall(SYS_landlock_create_ruleset, &set, sizeof(set.handled_fs), 0);
    if (fd < 0)
        give_up("landlock_create_ruleset");
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct kabi_ll_path_beneath rule = {.allowed = i > 1 ? KABI_LL_WRITE_FILE : set.handled_fs,
                                            .parent_fd = open(places[i], O_PATH | O_CLOEXEC)};
        if (rule.parent_fd >= 0) {
            syscall(SYS_landlock_add_rule, fd, KABI_LL_RULE_PATH_BENEATH, &rule, 0);
            close(rule.parent_fd);
        }
    }
    return fd;
}

static void put(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        give_up(path);
    close(fd);
}

static void map_user(uid_t uid, gid_t gid)
{
    char map[64];
    put("/proc/self/setgroups", "deny");
    snprintf(map, sizeof(map), "%u %u 1", uid, uid);
    put("/proc/self/uid_map", map);
    snprintf(map, sizeof(map), "%u %u 1", gid, gid);
    put("/proc/self/gid_map", map);
}

/* ---- the place ---- */

static int rules = -1;
static unsigned long listens = SECCOMP_FILTER_FLAG_NEW_LISTENER;

/* Everything except the network. */
static void *furnish(void *arg)
{
    (void)arg;
    if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") < 0)
        give_up("mount");
    sentry_points();
    rules = make_ruleset();
    return NULL;
}

static void network(void)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    if (unshare(CLONE_NEWNET) < 0)
        give_up("the network");
    int s = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (s < 0 || ioctl(s, SIOCSIFFLAGS, &lo) < 0)
        give_up("loopback");
    close(s);
}

/* Otherwise a new thread may queue behind its creator while another processor is idle. */
static void send_off(pthread_t other)
{
    cpu_set_t all, others;
    if (sched_getaffinity(0, sizeof(all), &all) < 0)
        return;
    others = all;
    CPU_CLR(sched_getcpu(), &others);
    if (CPU_COUNT(&others) > 0 && pthread_setaffinity_np(other, sizeof(others), &others) == 0)
        pthread_setaffinity_np(other, sizeof(all), &all);
}

/* Init: sets everything up, and waits for the command. */
static void __attribute__((noreturn)) first_process(char **argv, uid_t uid, gid_t gid, int to)
{
    int status;
    pthread_t other;
    if (uid != 0)
        map_user(uid, gid);
    /* in parallel, on another processor: the network takes as long as all the rest */
    if (pthread_create(&other, NULL, furnish, NULL) != 0)
        give_up("thread");
    send_off(other);
    network();
    pthread_join(other, NULL);
    struct sock_fprog filter = {.len = length, .filter = program};
    pid_t pid = vfork();
    if (pid == 0) {
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
            syscall(SYS_landlock_restrict_self, rules, 0) < 0 ||
            syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, listens, &filter) < 0)
            _exit(126);
        execv(argv[0], argv);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        _exit(125);
    unsigned char code = WIFEXITED(status) ? (unsigned char)WEXITSTATUS(status) : 124;
    if (write(to, &code, 1) != 1)
        _exit(125);
    _exit(code);
}

/* leave: a caller that exits right afterwards need not wait for the cleanup. */
static int launch(char **argv, bool leave)
{
    int status, ends[2];
    unsigned char code = 125;
    uid_t uid = geteuid();
    gid_t gid = getegid();
    unsigned long spaces =
        CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | (uid ? CLONE_NEWUSER : 0);
    if (pipe2(ends, O_CLOEXEC) < 0)
        give_up("pipe");
    pid_t pid = (pid_t)syscall(SYS_clone, spaces | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0)
        first_process(argv, uid, gid, ends[1]);
    close(ends[1]);
    if (pid < 0 || read(ends[0], &code, 1) != 1)
        give_up("clone");
    close(ends[0]);
    if (!leave && waitpid(pid, &status, 0) < 0)
        give_up("wait");
    return code;
}

static int bare(char **argv)
{
    int status = -1;
    pid_t pid = vfork();
    if (pid == 0) {
        execv(argv[0], argv);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        give_up("vfork");
    return status;
}

static void times(size_t n, useconds_t pause, char **argv)
{
    double *took = calloc(2 * n, sizeof(*took));
    if (!took)
        give_up("memory");
    for (size_t r = 0; r < 2 * n + 2; r++) {
        bool walls = r / 2 % 2 != r % 2; /* alternates which comes first */
        double start = now_ns();
        if ((walls ? launch(argv, false) : bare(argv)) != 0)
            give_up("the command failed");
        if (r >= 2) /* the first of each warms the caches */
            took[(walls ? n : 0) + r / 2 - 1] = now_ns() - start;
        usleep(pause);
    }
    for (size_t i = 0; i < 2 * n; i++)
        printf("%.0f%s", took[i], (i + 1) % n ? " " : "\n");
    free(took);
}

int main(int argc, char **argv)
{
    bool walls_alone = argc > 2 && strcmp(argv[1], "walls") == 0;
    make_filter(walls_alone);
    if (walls_alone)
        listens = 0;
    if (walls_alone || (argc > 2 && strcmp(argv[1], "launch") == 0))
        return launch(argv + 2, true);
    if (argc > 4 && strcmp(argv[1], "guard") == 0) {
        size_t n = strtoul(argv[2], NULL, 10);
        if (n + 3 < (size_t)argc) {
            mount_sentries(argv + 3, n);
            return launch(argv + 3 + n, true);
        }
    }
    if (argc > 4 && strcmp(argv[1], "times") == 0 && strtoul(argv[2], NULL, 10) > 0) {
        times(strtoul(argv[2], NULL, 10), (useconds_t)strtoul(argv[3], NULL, 10), argv + 4);
        return 0;
    }
    fprintf(stderr, "usage: bench-floor launch COMMAND… | walls COMMAND… | guard N PATH… "
                    "COMMAND… | times REPETITIONS PAUSE COMMAND…\n");
    return 2;
}
