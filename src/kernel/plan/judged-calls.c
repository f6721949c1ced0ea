/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* syscalls.def as tables. */

#include "kernel/plan/judged-calls.h"

#include <errno.h>
#include <string.h>

#include "kernel/plan/plan.h"

const uint16_t judged_sets[SET_COUNT][SET_OPS] = {
    [SET_OPENS] = {OP_FILE_READ_DATA, OP_FILE_WRITE_DATA, OP_FILE_WRITE_CREATE, OP_IPC_POSIX_SHM,
                   OP_IPC_POSIX_SEM, OP_PROCESS_INFO, OP_SYSCTL_READ, OP_SYSCTL_WRITE,
                   OP_PSEUDO_TTY, OP_NONE},
    [SET_CREATES] = {OP_FILE_WRITE_CREATE, OP_NONE},
    [SET_MKNODS] = {OP_FILE_WRITE_CREATE, OP_FILE_MKNOD, OP_NONE},
    [SET_LINKS] = {OP_FILE_WRITE_CREATE, OP_FILE_LINK, OP_IPC_POSIX_SEM, OP_NONE},
    [SET_UNLINKS] = {OP_FILE_WRITE_UNLINK, OP_IPC_POSIX_SHM, OP_IPC_POSIX_SEM, OP_NONE},
    [SET_RENAMES] = {OP_FILE_WRITE_UNLINK, OP_FILE_WRITE_CREATE, OP_IPC_POSIX_SHM, OP_IPC_POSIX_SEM,
                     OP_NONE},
    [SET_DATA] = {OP_FILE_WRITE_DATA, OP_NONE},
    [SET_MODE] = {OP_FILE_WRITE_MODE, OP_FILE_WRITE_SETUGID, OP_NONE},
    [SET_OWNER] = {OP_FILE_WRITE_OWNER, OP_NONE},
    [SET_TIMES] = {OP_FILE_WRITE_TIMES, OP_NONE},
    [SET_XATTR] = {OP_FILE_WRITE_XATTR, OP_NONE},
    [SET_FLAGS] = {OP_FILE_WRITE_FLAGS, OP_NONE},
    [SET_METADATA] = {OP_FILE_READ_METADATA, OP_PROCESS_INFO, OP_NONE},
    [SET_ACCESS] = {OP_FILE_TEST_EXISTENCE, OP_FILE_READ_METADATA, OP_NONE},
    [SET_READS] = {OP_FILE_READ_DATA, OP_NONE},
    [SET_READ_XATTR] = {OP_FILE_READ_XATTR, OP_NONE},
    [SET_SOCKETS] = {OP_NETWORK_OUTBOUND, OP_NETWORK_BIND, OP_NONE},
    [SET_SIGNAL] = {OP_SIGNAL, OP_NONE},
    [SET_SCHED] = {OP_SYSTEM_SCHED, OP_NONE},
    [SET_FORK] = {OP_PROCESS_FORK, OP_NONE},
    [SET_EXEC] = {OP_PROCESS_EXEC, OP_PROCESS_EXEC_INTERPRETER, OP_NONE},
    [SET_CODE] = {OP_FILE_MAP_EXECUTABLE, OP_DYNAMIC_CODE_GENERATION, OP_NONE},
    [SET_SHM] = {OP_IPC_SYSV_SHM, OP_NONE},
    [SET_SEM] = {OP_IPC_SYSV_SEM, OP_NONE},
    [SET_MSG] = {OP_IPC_SYSV_MSG, OP_NONE},
    [SET_QUEUE] = {OP_IPC_POSIX, OP_NONE},
};

#define NO -1
#define W(set) SET_##set
#define ALWAYS WHEN_ALWAYS, 0
#define OPEN_FLAGS(arg) WHEN_OPENS, arg
#define ACCESS_MODE(arg) WHEN_TESTS, arg

const struct judged_call judged_calls[] = {
#define JUDGED(name, x86, arm, handler, set, when)                                                 \
    {#name, CALL_NUMBERS(x86, arm), HANDLE_##handler, set, when},
#include "kernel/plan/syscalls.def"
};
const size_t judged_call_count = sizeof(judged_calls) / sizeof(judged_calls[0]);

const struct refused_call refused_calls[] = {
#define REFUSED(name, x86, arm, err, why) {#name, CALL_NUMBERS(x86, arm), err, why},
#include "kernel/plan/syscalls.def"
};
const size_t refused_call_count = sizeof(refused_calls) / sizeof(refused_calls[0]);

/* Calls that the filter may send to the judge after testing their arguments. */
static const struct {
    int16_t nr[PLAN_ARCHES];
    uint8_t handler;
} tested[] = {
#define TESTED(name, x86, arm, handler) {CALL_NUMBERS(x86, arm), HANDLE_##handler},
#include "kernel/plan/syscalls.def"
};

static void set_handler(uint8_t *by_number, const int16_t nr[PLAN_ARCHES], uint8_t handler)
{
    if (nr[PLAN_NATIVE] >= 0)
        by_number[nr[PLAN_NATIVE]] = handler;
}

void judged_handlers(uint8_t by_number[KABI_LAST_SYSCALL + 1])
{
    memset(by_number, HANDLE_NONE, KABI_LAST_SYSCALL + 1);
    for (size_t i = 0; i < sizeof(tested) / sizeof(tested[0]); i++)
        set_handler(by_number, tested[i].nr, tested[i].handler);
    for (size_t i = 0; i < judged_call_count; i++)
        set_handler(by_number, judged_calls[i].nr, judged_calls[i].handler);
}
