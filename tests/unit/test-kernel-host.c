/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The host: the table of abilities, pretended hosts, the quick probe and the full probes. We do not
 * know what this machine can do, so we compare the probes with what the test finds out itself, and
 * with walls that it puts up first.
 */

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/own.h"
#include "kernel/host/host.h"
#include "tap.h"

static void check_table(void)
{
    struct host h = {0};
    struct bk_err err;
    for (size_t i = 0; i < host_ability_count; i++) {
        const struct host_ability *a = &host_abilities[i];
        char text[64];
        is_int(host_ability_value(&h, a), 0, "%s begins as nothing", a->name);
        snprintf(text, sizeof(text), "%s=1", a->name);
        is_int(host_pretend(&h, text, &err), 0, "pretend %s", text);
        is_int(host_ability_value(&h, a), 1, "%s can be pretended", a->name);
        for (size_t k = i + 1; k < host_ability_count; k++)
            if (host_ability_value(&h, &host_abilities[k]) != 0)
                ok(false, "%s changes %s", text, host_abilities[k].name);
        ok(a->words[0] && a->use[0], "%s has words", a->name);
        bool good = host_ability_good(&h, a);
        ok(a->kind == ABILITY_TRAP ? !good : good, "%s is judged by its kind", a->name);
    }
    ok(h.root && h.landlock == 1 && h.user_ns && h.cgroup && h.listener_taken,
       "the table reaches the fields");
}

static void check_pretend(void)
{
    static const char *const bad[] = {
        "nothing=1",   "user_ns",      "user_ns=",  "user_ns=2",        "user_ns=x",
        "landlock=-1", "landlock=100", "=1",        "landlock=4,foo=0", "kernel=",
        "user_ns=0 ",  "landlock=4x",  "kernel=new"};
    struct bk_err err;
    struct host h = {.user_ns = true, .landlock = 7};
    const struct host before = h;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        err.msg[0] = '\0';
        ok(host_pretend(&h, bad[i], &err) < 0 && err.msg[0], "refused: %s", bad[i]);
        ok(memcmp(&h, &before, sizeof(h)) == 0, "and nothing is changed");
    }
    is_int(host_pretend(&h, "landlock=4,user_ns=0,kernel=6.8.0-31-generic,", &err), 0, "a list");
    ok(h.landlock == 4 && !h.user_ns, "takes effect");
    is_str(h.kernel, "6.8.0-31-generic", "with the kernel's name");
    is_int(host_pretend(&h, "", &err), 0, "nothing to pretend");
}

/* Landlock's documentation says which kernel has which ABI; seccomp_unotify(2) has the flags. */
static void check_kernels(void)
{
    static const struct {
        const char *kernel;
        int landlock;
        bool addfd, killable, sync;
    } known[] = {
        {"5.10.0-8-amd64", 0, false, false, false},
        {"5.13", 1, false, false, false},
        {"5.15.0-100-generic", 1, true, false, false},
        {"5.19.0", 2, true, true, false},
        {"6.1.0-17-amd64", 2, true, true, false},
        {"6.2", 3, true, true, false},
        {"6.4", 3, true, true, false},
        {"6.6.1", 3, true, true, true},
        {"6.7", 4, true, true, true},
        {"6.8.0-31-generic", 4, true, true, true},
        {"6.10", 5, true, true, true},
        {"6.12.1", 6, true, true, true},
        {"6.15", 7, true, true, true},
        {"7.0", 7, true, true, true},
    };
    struct bk_err err;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        struct host h = {.landlock = 7,
                         .seccomp_notify = true,
                         .notify_addfd = true,
                         .notify_killable = true,
                         .notify_sync = true,
                         .pidfd_getfd = true,
                         .nodev = true,
                         .user_ns = true};
        char text[64];
        snprintf(text, sizeof(text), "kernel=%s", known[i].kernel);
        is_int(host_pretend(&h, text, &err), 0, "%s", text);
        is_int(h.landlock, known[i].landlock, "%s: Landlock", text);
        ok(h.notify_addfd == known[i].addfd && h.notify_killable == known[i].killable &&
               h.notify_sync == known[i].sync && h.seccomp_notify && h.user_ns,
           "%s: seccomp", text);
        for (size_t f = 0; f < host_feature_count; f++)
            if (host_has_feature(&h, &host_features[f]) !=
                version_at_least(known[i].kernel, host_features[f].since))
                ok(false, "%s: %s", text, host_features[f].words);
    }
    struct host poor = {.landlock = 1};
    is_int(host_pretend(&poor, "kernel=6.12", &err), 0, "a newer kernel than this one");
    ok(poor.landlock == 1 && !poor.notify_sync, "gives nothing that is not there");
    for (size_t f = 1; f < host_feature_count; f++)
        ok(version_at_least(host_features[f].since, host_features[f - 1].since), "%s: in order",
           host_features[f].words);
}

static int open_descriptors(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static void check_quick(void)
{
    struct host h;
    host_quick(&h);
    long abi = syscall(444, NULL, 0, 1);
    is_int(h.landlock, abi > 0 ? abi : 0, "Landlock's ABI as the kernel tells it");
    is_int(h.root, geteuid() == 0, "root");
    ok(h.kernel[0] >= '2' && h.kernel[0] <= '9', "the kernel's version: %s", h.kernel);
    ok(!h.listener_taken, "nothing is assumed to be in the way");
}

/* Whether a child may create a user namespace at all. If not, the probe must say no as well. */
static bool can_unshare(int flags)
{
    int status = -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        _exit(unshare(flags) == 0 ? 0 : 1);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void check_probe(void)
{
    struct host h;
    struct bk_err err;
    struct timespec a, b;
    fflush(stdout);
    int before = open_descriptors();
    clock_gettime(CLOCK_MONOTONIC, &a);
    is_int(host_probe(&h, &err), 0, "the probes run");
    clock_gettime(CLOCK_MONOTONIC, &b);
    ok(b.tv_sec - a.tv_sec < 15, "and end soon");
    is_int(open_descriptors(), before, "no descriptor is left open");
    ok(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "no process is left behind");
    if (h.user_ns)
        ok(can_unshare(CLONE_NEWUSER), "user namespaces: the kernel agrees");
    else
        ok(true, "no user namespaces here");
    ok(!h.mount_proc || h.pid_ns, "a fresh /proc only with a pid namespace");
    ok(!h.notify_addfd || h.seccomp_notify, "no descriptors without a listener");
    ok(!(h.seccomp_notify && h.listener_taken), "a listener is free or taken, not both");
    printf("# landlock %d notify %d user_ns %d fuse %d nft %d cgroup %d\n", h.landlock,
           h.seccomp_notify, h.user_ns, h.fuse, h.nftables, h.cgroup);
}

/* ---- probing inside walls of our own ---- */

static int install(const struct sock_filter *code, size_t n, unsigned long flags)
{
    struct sock_fprog p = {.len = (unsigned short)n, .filter = (struct sock_filter *)code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p);
}

static int refuse_call(long nr, int error)
{
    const struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    return install(code, 4, 0);
}

static int take_listener(void)
{
    const struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    return install(code, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER) < 0 ? -1 : 0;
}

static int no_unshare(void)
{
    return refuse_call(SYS_unshare, EPERM);
}

static int no_memory(void)
{
    return refuse_call(SYS_process_vm_readv, EPERM) || refuse_call(SYS_pread64, EPERM);
}

static int one_way_to_memory(void)
{
    return refuse_call(SYS_process_vm_readv, EPERM);
}

static int no_getfd(void)
{
    return refuse_call(438, EPERM);
}

static int no_mount(void)
{
    return refuse_call(SYS_mount, EPERM);
}

static int no_landlock(void)
{
    return refuse_call(446, EPERM);
}

static bool probe_after(int (*wall)(void), struct host *out)
{
    int status = -1;
    struct host *shared =
        mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return false;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct bk_err err;
        _exit(wall() == 0 && host_probe(shared, &err) == 0 ? 0 : 1);
    }
    bool done = pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
    *out = *shared;
    munmap(shared, sizeof(*shared));
    return done;
}

static void check_walls(void)
{
    struct host h, open;
    struct bk_err err;
    host_probe(&open, &err);
    ok(probe_after(take_listener, &h), "probed below a listener");
    if (open.seccomp_notify)
        ok(h.listener_taken && !h.seccomp_notify, "the listener is found to be taken");
    else
        skip("no seccomp notification");
    ok(probe_after(no_unshare, &h), "probed without unshare");
    ok(!h.user_ns && !h.mount_ns && !h.pid_ns && !h.net_ns && !h.ipc_ns && !h.uts_ns && !h.fuse &&
           !h.nftables && !h.nft_tproxy,
       "nothing is claimed that needs it");
    is_int(h.landlock, open.landlock, "what does not need it is still there");
    ok(probe_after(no_memory, &h) && !h.read_memory, "reading memory, when it is refused");
    ok(probe_after(one_way_to_memory, &h) && h.read_memory, "or one of two ways is");
    ok(probe_after(no_getfd, &h) && !h.pidfd_getfd, "taking descriptors, when it is refused");
    ok(probe_after(no_mount, &h) && !h.mount_ns && !h.mount_proc && !h.fuse,
       "mounting, when it is refused");
    is_int(h.net_ns, open.net_ns, "the network does not need it");
    ok(probe_after(no_landlock, &h) && h.landlock == 0, "Landlock, when it cannot be entered");
}

int main(void)
{
    check_table();
    check_pretend();
    check_kernels();
    check_quick();
    check_probe();
    check_walls();
    return done_testing();
}
