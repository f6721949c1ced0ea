/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Operations without a counterpart on Linux: Mach ports, the I/O registry, Apple events, firmware
 * variables, code signatures and related services. Names are prefixes, since the operations come in
 * families.
 */

#include "cli/profile/linux-support.h"

#include <string.h>

static const char *const absent[] = {
    "appleevent-",
    "authorization-right-",
    "boot-arg-",
    "darwin-notification-",
    "default-message-filter",
    "device",
    "distributed-notification-",
    "file-issue-extension",
    "file-revoke",
    "file-search",
    "file-write-finderinfo",
    "fs-snapshot",
    "generic-issue-extension",
    "hid-control",
    "iokit",
    "ipc-posix-issue-extension",
    "job-creation",
    "load-unsigned-code",
    "lsopen",
    "mach",
    "managed-preference-",
    "necp-",
    "nvram",
    "opendirectory-",
    "process-codesigning",
    "process-exec-update-label",
    "process-info-codesignature",
    "process-info-dirtycontrol",
    "process-info-ledger",
    "process-info-pidfileportinfo",
    "process-legacy-codesigning",
    "qtn-",
    "storage-class-map",
    "syscall-mach",
    "syscall-mig",
    "system-audit",
    "system-automount",
    "system-chud",
    "system-debug",
    "system-kas-info",
    "system-lcid",
    "system-mac",
    "system-memorystatus-control",
    "system-necp-client-action",
    "system-nfssvc",
    "system-package-check",
    "system-privilege",
    "system-write-bootstrap",
    "user-preference",
    "xpc-",
};

bool linux_has_operation(enum vocab_op op)
{
    const char *name = vocab_ops[op].name;
    for (size_t i = 0; i < sizeof(absent) / sizeof(*absent); i++)
        if (strncmp(name, absent[i], strlen(absent[i])) == 0)
            return false;
    return true;
}
