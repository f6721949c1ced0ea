/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_HOST_HOST_PROBE_H
#define BK_KERNEL_HOST_HOST_PROBE_H

#include "kernel/host/host.h"

/*
 * Probes. Each runs in its own child process, which the caller kills after a time limit. A probe
 * returns a small number: a set of bits, or 1 for yes.
 */
typedef unsigned probe_fn(const struct host *h);

/* Runs a probe in a child. Returns 0 if it fails, dies or takes too long. */
unsigned probe_run(probe_fn *probe, const struct host *h);

/* ---- host-seccomp.c ---- */

enum {
    PROBE_NOTIFY = 1 << 0,
    PROBE_KILLABLE = 1 << 1,
    PROBE_SYNC = 1 << 2,
    PROBE_ADDFD = 1 << 3,
    PROBE_TAKEN = 1 << 4,
};
probe_fn probe_seccomp;

/* ---- host-spaces.c: namespaces and what we make in them; all but the first enter a user namespace
 * first unless h->root ---- */

probe_fn probe_user, probe_mount, probe_nodev, probe_net, probe_ipc, probe_uts, probe_fuse,
    probe_nftables, probe_tproxy;

enum { PROBE_PIDS = 1 << 0, PROBE_PROC = 1 << 1 };
probe_fn probe_pid;

#endif
