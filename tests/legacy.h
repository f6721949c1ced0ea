/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TESTS_LEGACY_H
#define BK_TESTS_LEGACY_H

/* Calls that arm64 never had: trying one there fails as on any kernel that lacks it (ENOSYS). */

#include <sys/syscall.h>

#ifndef SYS_access
#define SYS_access -1
#endif
#ifndef SYS_chmod
#define SYS_chmod -1
#endif
#ifndef SYS_chown
#define SYS_chown -1
#endif
#ifndef SYS_creat
#define SYS_creat -1
#endif
#ifndef SYS_futimesat
#define SYS_futimesat -1
#endif
#ifndef SYS_lchown
#define SYS_lchown -1
#endif
#ifndef SYS_link
#define SYS_link -1
#endif
#ifndef SYS_lstat
#define SYS_lstat -1
#endif
#ifndef SYS_mkdir
#define SYS_mkdir -1
#endif
#ifndef SYS_mknod
#define SYS_mknod -1
#endif
#ifndef SYS_open
#define SYS_open -1
#endif
#ifndef SYS_readlink
#define SYS_readlink -1
#endif
#ifndef SYS_rename
#define SYS_rename -1
#endif
#ifndef SYS_rmdir
#define SYS_rmdir -1
#endif
#ifndef SYS_stat
#define SYS_stat -1
#endif
#ifndef SYS_symlink
#define SYS_symlink -1
#endif
#ifndef SYS_unlink
#define SYS_unlink -1
#endif
#ifndef SYS_utime
#define SYS_utime -1
#endif
#ifndef SYS_utimes
#define SYS_utimes -1
#endif

#endif
