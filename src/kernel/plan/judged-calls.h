/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_PLAN_JUDGED_CALLS_H
#define BK_KERNEL_PLAN_JUDGED_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "command/plan-options.h"
#include "kernel/host/kabi.h"
#include "vocab/vocab.h"

/*
 * The rows of syscalls.def as tables that planner and judge share: which calls can be judged,
 * which operations the policy is asked about, and which handler performs each call.
 */
enum judged_handler {
#define HANDLER(id, name) HANDLE_##id,
#include "kernel/plan/syscalls.def"
    HANDLE_COUNT,
    HANDLE_NONE = HANDLE_COUNT,
};

/* By enum plan_arch. riscv64 has the numbers of arm64: both use the kernel's generic table, of
 * which riscv64 lacks one call that is judged, renameat. No program there makes it. */
#define CALL_NUMBERS(x86, generic)                                                                 \
    {                                                                                              \
        x86, generic, generic                                                                      \
    }

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

/* When a call goes to the judge. */
enum judged_when {
    WHEN_ALWAYS,
    WHEN_OPENS, /* by its open flags: reading, writing and naming are different operations */
    WHEN_TESTS, /* by its mode: 0 only tests whether something exists */
};

struct judged_call {
    const char *name;
    int16_t nr[PLAN_ARCHES]; /* -1 when absent */
    uint8_t handler;         /* enum judged_handler */
    uint8_t set;             /* enum judged_set */
    uint8_t when;            /* enum judged_when */
    uint8_t arg;             /* the argument that this depends on */
};

struct refused_call {
    const char *name;
    int16_t nr[PLAN_ARCHES];
    uint16_t err;
    const char *why;
};

extern const struct judged_call judged_calls[];
extern const size_t judged_call_count;
extern const struct refused_call refused_calls[];
extern const size_t refused_call_count;

/* Fills in the handler of each native call number; HANDLE_NONE if there is none. */
void judged_handlers(uint8_t by_number[KABI_LAST_SYSCALL + 1]);

#endif
