/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The first process of the sandbox's pid namespace. It mounts the namespace's own /proc, gives up
 * everything else it could do, and from then on only collects orphans. When it ends, the kernel
 * ends every process of the namespace.
 *
 * It should: mount, drop, wait. It must not: read anything the command controls, or be worth
 * attacking, which is why its own filter leaves it nothing but waiting.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/confine.h"
#include "kernel/stage.h"

static volatile sig_atomic_t leave_when_alone;

static void on_leave(int sig)
{
    (void)sig;
    leave_when_alone = 1;
}

static int only_wait(void)
{
#define ALLOW(call)                                                                                \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1),                                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(wait4),
        ALLOW(rt_sigsuspend),
        ALLOW(rt_sigreturn),
        ALLOW(exit_group),
        ALLOW(restart_syscall),
        /* sanitizers ask where the stack is before a call that does not return */
        ALLOW(sigaltstack),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
#undef ALLOW
    struct sock_fprog prog = {sizeof(program) / sizeof(program[0]), program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0 ? -errno : 0;
}

static void __attribute__((noreturn)) collect(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (;;) {
        pid_t pid = waitpid(-1, NULL, leave_when_alone ? 0 : WNOHANG);
        if (pid < 0 && errno == ECHILD && leave_when_alone)
            _exit(0);
        if (pid <= 0)
            sigsuspend(&none);
    }
}

static void on_child(int sig)
{
    (void)sig;
}

static void __attribute__((noreturn)) init_main(int ready)
{
    int err = 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    prctl(PR_SET_NAME, "buckle-init", 0, 0, 0);
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        err = errno;
    if (write(ready, &err, sizeof(err)) != sizeof(err) || err)
        _exit(1);
    struct sigaction leave = {.sa_handler = on_leave}, child = {.sa_handler = on_child};
    sigaction(SIGUSR1, &leave, NULL);
    sigaction(SIGCHLD, &child, NULL);
    closefrom(0);
    if (capabilities_drop(false) < 0 || only_wait() < 0)
        _exit(1);
    collect();
}

int init_start(pid_t *pid, enum launch_stage *stage)
{
    int ready[2], err = 0;
    *stage = STAGE_INIT;
    if (pipe2(ready, O_CLOEXEC) < 0)
        return -errno;
    OWN(fd) int from = ready[0];
    pid_t child = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        init_main(ready[1]);
    close(ready[1]);
    if (child < 0)
        return -errno;
    ssize_t n = read(from, &err, sizeof(err));
    if (n == sizeof(err) && err == 0) {
        *pid = child;
        return 0;
    }
    if (n == sizeof(err))
        *stage = STAGE_MOUNT_PROC;
    waitpid(child, NULL, 0);
    return n == sizeof(err) ? -err : -EIO;
}
