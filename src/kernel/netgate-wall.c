/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What the gate's process keeps: sockets, memory, and files to be read. It speaks with strangers on
 * both sides; whoever talks it into something else finds that there is nothing else.
 */

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/confine.h"
#include "kernel/kabi.h"
#include "kernel/netgate.h"

#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#else
#define NATIVE AUDIT_ARCH_AARCH64
#endif

static const int needed[] = {
#ifdef SYS_epoll_wait
    SYS_epoll_wait,     SYS_poll,          SYS_readlink,
#endif
    SYS_read,           SYS_write,         SYS_readv,
    SYS_writev,         SYS_pread64,       SYS_close,
    SYS_sendto,         SYS_recvfrom,      SYS_sendmsg,
    SYS_recvmsg,        SYS_socket,        SYS_connect,
    SYS_bind,           SYS_getsockopt,    SYS_setsockopt,
    SYS_getsockname,    SYS_getpeername,   SYS_accept4,
    SYS_shutdown,       SYS_epoll_create1, SYS_epoll_ctl,
    SYS_epoll_pwait,    SYS_ppoll,         SYS_clock_gettime,
    SYS_gettimeofday,   SYS_brk,           SYS_mmap,
    SYS_munmap,         SYS_mremap,        SYS_mprotect,
    SYS_madvise,        SYS_futex,         SYS_rt_sigreturn,
    SYS_rt_sigprocmask, SYS_rt_sigaction,  SYS_sigaltstack,
    SYS_exit_group,     SYS_exit,          SYS_newfstatat,
    SYS_fstat,          SYS_lseek,         SYS_getdents64,
    SYS_readlinkat,     SYS_ioctl,         SYS_fcntl,
    SYS_getrandom,      SYS_getpid,        SYS_gettid,
    SYS_uname,          SYS_sched_yield,   SYS_restart_syscall,
};

enum { NEEDED = sizeof(needed) / sizeof(needed[0]) };

int netgate_confine(uint64_t caps)
{
    struct sock_filter f[2 * NEEDED + 16] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    size_t n = 4;
    for (size_t i = 0; i < NEEDED; i++) {
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)needed[i], 0, 1);
        f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    }
    /* files are opened to be read; the low half of an argument comes first on both architectures */
    const struct sock_filter opens[] = {
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, KABI_OPEN_WRITES, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    for (size_t i = 0; i < sizeof(opens) / sizeof(opens[0]); i++)
        f[n++] = opens[i];
    struct sock_fprog program = {(unsigned short)n, f};
    int err = capabilities_drop(caps);
    if (err < 0)
        return err;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -errno;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}
