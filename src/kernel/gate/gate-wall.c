/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What the gate's process keeps: sockets, memory, and files to read. It talks to untrusted peers on
 * both sides. An attacker who takes it over can do nothing else.
 */

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "kernel/gate/gate-main.h"
#include "kernel/launch/walls.h"
#include "kernel/shared/own-filter.h"

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

/* Where it listens on single ports, and later rules may name more of them. */
static const int needed_at_ports[] = {SYS_listen};

int gate_process_confine(uint64_t caps, bool at_ports)
{
    const struct own_filter filter = {
        .lists = {{needed, sizeof(needed) / sizeof(needed[0])},
                  {needed_at_ports, at_ports ? sizeof(needed_at_ports) / sizeof(int) : 0}},
        .listed = SECCOMP_RET_ALLOW,
        .others = SECCOMP_RET_ERRNO | EPERM,
        .but = {OWN_READS},
        .nbut = OWN_NREADS,
    };
    int err = capabilities_drop(caps);
    return err < 0 ? err : own_filter_install(&filter);
}
