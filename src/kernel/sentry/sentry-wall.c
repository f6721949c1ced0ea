/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * What the sentry's threads give up once they have what they need. The serving thread answers
 * requests that the command causes: it only reads, so an attacker cannot make it change a file,
 * start a program, open a socket or mount. The other thread mounts, and does no more than that. A
 * filter applies to one thread, and both share their memory, so it is a second line of defence and
 * not a wall between them.
 */

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

#include "kernel/host/kabi.h"
#include "kernel/launch/walls.h"
#include "kernel/sentry/sentry-main.h"
#include "kernel/shared/own-filter.h"

/* Neither thread ever calls these. */
static const int useless[] = {
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
    SYS_creat,
    SYS_unlink,
    SYS_rmdir,
    SYS_rename,
    SYS_mkdir,
    SYS_mknod,
    SYS_link,
    SYS_symlink,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
#endif
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_socket,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_unlinkat,
    SYS_renameat2,
    SYS_mkdirat,
    SYS_mknodat,
    SYS_linkat,
    SYS_symlinkat,
    SYS_fchmod,
    SYS_fchmodat,
    SYS_fchown,
    SYS_fchownat,
    SYS_truncate,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_io_uring_setup,
    SYS_userfaultfd,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_open_by_handle_at,
    SYS_memfd_create,
    SYS_kill,
    SYS_personality,
    SYS_sethostname,
};

/* The serving thread never calls these either. */
static const int for_mounting[] = {
    SYS_fsopen,        SYS_fsmount,  SYS_open_tree,     SYS_move_mount,
    SYS_fspick,        SYS_fsconfig, SYS_clone,         SYS_clone3,
    SYS_openat2,       SYS_unshare,  SYS_inotify_init1, SYS_inotify_add_watch,
    SYS_mount_setattr,
};

static int install(bool serving)
{
    const struct own_filter filter = {
        .lists = {{useless, sizeof(useless) / sizeof(useless[0])},
                  {for_mounting, serving ? sizeof(for_mounting) / sizeof(for_mounting[0]) : 0}},
        .listed = SECCOMP_RET_ERRNO | EPERM,
        .others = SECCOMP_RET_ALLOW,
        .but = {OWN_READS},
        .nbut = OWN_NREADS,
    };
    return own_filter_install(&filter);
}

#define BIT(cap) (UINT64_C(1) << (cap))

int sentry_process_confine(const struct sentry_process *p, bool serving)
{
    /* as root the server reads with the sender's rights, which may be root's */
    static const uint64_t reads = BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH);
    static const uint64_t becomes =
        BIT(CAP_SETUID) | BIT(CAP_SETGID) | BIT(CAP_KILL) | BIT(CAP_SYS_PTRACE);
    bool root = p->plan->host.root;
    uint64_t keep = serving ? (root ? reads | becomes | BIT(CAP_SYS_ADMIN) : 0)
                            : (root ? reads : 0) | BIT(CAP_SYS_ADMIN);
    int err = capabilities_drop(keep);
    return err < 0 ? err : install(serving);
}
