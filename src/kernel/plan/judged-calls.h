/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_PLAN_JUDGED_CALLS_H
#define BK_KERNEL_PLAN_JUDGED_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "kernel/host/kabi.h"
#include "vocab/vocab.h"

/*
 * The rows of syscalls.def as a table that planner and judge share: which calls can be judged,
 * what the policy is asked for each, and which handler performs them.
 */
enum judged_handler {
    HANDLE_OPEN,
    HANDLE_MKDIR,
    HANDLE_MKNOD,
    HANDLE_SYMLINK,
    HANDLE_LINK,
    HANDLE_UNLINK,
    HANDLE_RENAME,
    HANDLE_TRUNCATE,
    HANDLE_CHMOD,
    HANDLE_CHOWN,
    HANDLE_TIMES,
    HANDLE_SETXATTR,
    HANDLE_REMOVEXATTR,
    HANDLE_CONNECT,
    HANDLE_BIND,
    HANDLE_SOCKET, /* socket and socketpair: Unix datagrams */
    HANDLE_SEND,   /* sendto, sendmsg and sendmmsg: the same */
    HANDLE_LISTEN,
    HANDLE_IOCTL,
    HANDLE_CREDS, /* setuid and its kin */
    HANDLE_STAT,
    HANDLE_STATX,
    HANDLE_STATFS,
    HANDLE_ACCESS,
    HANDLE_READLINK,
    HANDLE_WATCH, /* inotify_add_watch */
    HANDLE_GETXATTR,
    HANDLE_LISTXATTR,
    HANDLE_SIGNAL,
    HANDLE_FCNTL, /* owners and leases */
    HANDLE_SCHED,
    HANDLE_FORK,  /* clone, fork and vfork */
    HANDLE_SPACE, /* unshare */
    HANDLE_EXEC,
    HANDLE_MAP,     /* mmap of code */
    HANDLE_PROTECT, /* mprotect to code */
    HANDLE_SYSV,
    HANDLE_QUEUE,
    HANDLE_UMASK, /* umask, and what stops sharing it: only heard */
    HANDLE_COUNT,
};

/* Sets of operations that one call may need. */
enum judged_set {
    SET_OPENS,
    SET_CREATES,
    SET_MKNODS,
    SET_LINKS,
    SET_UNLINKS,
    SET_RENAMES,
    SET_DATA,
    SET_MODE,
    SET_OWNER,
    SET_TIMES,
    SET_XATTR,
    SET_FLAGS,
    SET_SOCKETS,
    SET_METADATA,
    SET_ACCESS,
    SET_READS,
    SET_READ_XATTR,
    SET_SIGNAL,
    SET_SCHED,
    SET_FORK,
    SET_EXEC,
    SET_CODE,
    SET_SHM,
    SET_SEM,
    SET_MSG,
    SET_QUEUE,
    SET_COUNT,
};

enum { SET_OPS = 10 };
extern const uint16_t judged_sets[SET_COUNT][SET_OPS]; /* filled up with OP_NONE */

/* When a call asks. */
enum judged_when {
    WHEN_ALWAYS,
    WHEN_OPENS, /* by its open flags: reading, writing and naming are different operations */
    WHEN_TESTS, /* by its mode: none only asks whether something is there */
};

struct judged_call {
    const char *name;
    int16_t nr[2];   /* by enum plan_arch; -1 when absent */
    uint8_t handler; /* enum judged_handler */
    uint8_t set;     /* enum judged_set */
    uint8_t when;    /* enum judged_when */
    uint8_t arg;     /* the argument that this depends on */
};

struct refused_call {
    const char *name;
    int16_t nr[2];
    uint16_t err;
    const char *why;
};

extern const struct judged_call judged_calls[];
extern const size_t judged_call_count;
extern const struct refused_call refused_calls[];
extern const size_t refused_call_count;

/* Handlers by native call numbers; HANDLE_COUNT where there is none. */
void judged_handlers(uint8_t by_number[KABI_LAST_SYSCALL + 1]);

#endif
