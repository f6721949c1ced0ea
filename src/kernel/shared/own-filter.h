/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SHARED_OWN_FILTER_H
#define BK_KERNEL_SHARED_OWN_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "kernel/host/kabi.h"

/*
 * Filters that our own processes install once they have what they need. Listed calls get one answer
 * and all others another (SECCOMP_RET_…), except for a few that depend on arguments. A call of
 * another architecture kills the process.
 */
struct own_call {
    int nr;
    uint8_t nchecks;
    struct {
        uint8_t arg;
        uint8_t how; /* enum own_how */
        uint32_t value;
    } checks[2];          /* of the low half of an argument */
    uint32_t then, else_; /* all conditions hold, or not all */
};

enum own_how { OWN_EQUAL, OWN_ANY /* of these bits */ };
enum { OWN_CALLS = 3 };

/* Files are opened only for reading. C libraries differ in the call that they use. */
#define OWN_READS_BY(call, flags)                                                                  \
    {                                                                                              \
        call, 1, {{flags, OWN_ANY, KABI_OPEN_WRITES}}, SECCOMP_RET_ERRNO | EPERM,                  \
            SECCOMP_RET_ALLOW                                                                      \
    }
#ifdef SYS_open
#define OWN_READS OWN_READS_BY(SYS_openat, 2), OWN_READS_BY(SYS_open, 1)
enum { OWN_NREADS = 2 };
#else
#define OWN_READS OWN_READS_BY(SYS_openat, 2)
enum { OWN_NREADS = 1 };
#endif

struct own_filter {
    struct own_calls {
        const int *numbers;
        size_t n;
    } lists[2];
    uint32_t listed, others;
    struct own_call but[OWN_CALLS]; /* calls outside the list that depend on arguments */
    size_t nbut;
};

enum { OWN_FILTER_CALLS = 128, OWN_FILTER_MAX = 4 * OWN_FILTER_CALLS + 16 };

/* Writes the program. Returns its length, or 0 if there are too many calls. */
size_t own_filter_make(const struct own_filter *f, struct sock_filter out[OWN_FILTER_MAX]);

/* Installs it for the calling thread, permanently. Returns 0 or a negative errno. */
int own_filter_install(const struct own_filter *f);

#endif
