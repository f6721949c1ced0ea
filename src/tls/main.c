/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * buckle-tls: the TLS library's process beside the gate, which starts it for policies that check
 * requests. It has the authority's key and every connection's keys, and reads what strangers send.
 * So it has no sockets but the one to the gate, writes no file and starts nothing. It is a program
 * of its own because it loads a library, and Buckle itself is static. As `buckle-tls ssh` it is the
 * agent that a command with rules about keys of ssh gets (ssh-serve.c).
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/launch/walls.h"
#include "kernel/shared/own-filter.h"
#include "tls/serve.h"
#include "tls/ssh-serve.h"
#include "tls/ssh-wall.h"
#include "tls/tls-library.h"

static const int needed[] = {
    SYS_read,
    SYS_pread64,
    SYS_close,
    SYS_sendto,
    SYS_recvfrom,
    SYS_clock_gettime,
    SYS_gettimeofday,
    SYS_brk,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_futex,
    SYS_rt_sigreturn,
    SYS_rt_sigprocmask,
    SYS_exit_group,
    SYS_exit,
    SYS_newfstatat,
    SYS_fstat,
    SYS_lseek,
    SYS_getdents64,
    SYS_getrandom,
    SYS_getpid,
    SYS_gettid,
    SYS_sched_yield,
    SYS_sched_setaffinity,
    SYS_restart_syscall,
    SYS_rt_sigaction,
    SYS_clock_nanosleep,
    SYS_fcntl,
};

static int confine(void)
{
    const struct own_filter filter = {
        .lists = {{needed, sizeof(needed) / sizeof(needed[0])}},
        .listed = SECCOMP_RET_ALLOW,
        .others = SECCOMP_RET_ERRNO | EPERM,
        .but = {OWN_READS},
        .nbut = OWN_NREADS,
    };
    int err = capabilities_drop(0);
    return err < 0 ? err : own_filter_install(&filter);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "ssh") == 0)
        return ssh_serve(argc - 2, argv + 2, &ssh_hooks);
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* keys */
    struct tls_areas *areas =
        mmap(NULL, sizeof(*areas), PROT_READ | PROT_WRITE, MAP_SHARED, TLS_MEMORY_FD, 0);
    if (areas == MAP_FAILED) {
        fprintf(stderr, "buckle-tls: only the gate of a sandbox starts this program\n");
        return 2;
    }
    /* without the library, the gate learns it from the first reply */
    tls_library_load();
    if (confine() < 0)
        return 1;
    return tls_serve(TLS_SOCKET_FD, areas) < 0;
}
