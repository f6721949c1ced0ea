/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_HOST_HOST_H
#define BK_KERNEL_HOST_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/*
 * What this host can enforce. A child process probes each ability by using it, because AppArmor or
 * a container may block what looks available. We never guess from a version. A pretended host
 * (tests, $BUCKLE_PRETEND for `doctor` and `--dry-run`) is the same struct.
 */
struct host {
    bool root;            /* effective uid 0 in the initial or only user namespace */
    uint64_t caps;        /* its other permitted capabilities (capabilities.h) */
    int landlock;         /* ABI: 0 absent, 1…; */
    bool seccomp_notify;  /* a listener can be installed and answered */
    bool notify_killable; /* WAIT_KILLABLE_RECV (5.19) */
    bool notify_sync;     /* SYNC_WAKE_UP (6.6) */
    bool notify_addfd;    /* ADDFD with SEND (5.14) */
    bool listener_taken;  /* another process above us has a listener: EBUSY */
    bool user_ns;         /* unprivileged user namespaces work, with maps */
    bool mount_ns, pid_ns, net_ns, ipc_ns, uts_ns;
    bool mount_proc;  /* a fresh /proc can be mounted in a new pid namespace */
    bool pidfd_getfd; /* file descriptors can be taken from a child */
    bool read_memory; /* process_vm_readv of a child works (Yama, seccomp) */
    bool nodev;       /* a mount namespace can forbid device files */
    bool disks;       /* this user can read some disk; not probed where nodev works */
    bool fuse;        /* /dev/fuse can be opened and mounted in a user namespace */
    bool nftables;    /* nft works in a new network namespace */
    bool nft_tproxy;  /* and can redirect datagrams */
    bool cgroup;      /* a delegated cgroup with memory and pids controllers */
    char kernel[64];  /* uname -r */
};

/* Whether namespaces work without a user namespace. Root in a container often lacks that. */
bool host_may_administer(const struct host *h);

/* The namespaces that a sandbox can have here, whatever its policy. */
struct host_spaces {
    bool user, mount, pid, net, ipc, uts;
};
struct host_spaces host_spaces(const struct host *h);

/* Fills only what a launch needs, without a child process: Landlock's ABI, root, and optimistic
 * values for what the launch finds out itself. Caches nothing. */
void host_quick(struct host *h);

/* Finds out whether this user can read a disk, where no wall can protect it. */
void host_find_disks(struct host *h);

/* Probes everything; for `buckle doctor`. */
int host_probe(struct host *h, struct bk_err *err);

/* Overrides for tests: "landlock=4,user_ns=0,…". kernel=6.1 removes every later feature
 * (kernels.def) and adds none. Returns -1 on an unknown name. */
int host_pretend(struct host *h, const char *text, struct bk_err *err);

/* ---- the abilities as a table (abilities.def) ---- */

enum ability_kind { ABILITY_LEVEL, ABILITY_FLAG, ABILITY_FACT, ABILITY_TRAP };

enum ability_fix {
    FIX_NONE,
    FIX_KERNEL,
    FIX_LANDLOCK,
    FIX_SECCOMP,
    FIX_LISTENER,
    FIX_YAMA,
    FIX_USERNS,
    FIX_PROC,
    FIX_FUSE,
    FIX_NFT,
    FIX_CGROUP,
    FIX_COUNT,
};

struct host_ability {
    const char *name;  /* as host_pretend() takes it */
    const char *words; /* "user namespaces" */
    const char *use;   /* what Buckle does with it */
    const char *since; /* the first kernel that has it; empty if it is no kernel feature */
    uint8_t kind;      /* enum ability_kind */
    uint8_t fix;       /* enum ability_fix */
    size_t offset;     /* in struct host */
};

extern const struct host_ability host_abilities[];
extern const size_t host_ability_count;

int host_ability_value(const struct host *h, const struct host_ability *a);
/* Whether it needs no fix: present, or for a trap absent. */
bool host_ability_good(const struct host *h, const struct host_ability *a);

/* ---- features by kernel version (kernels.def) ---- */

struct host_feature {
    const char *since, *words, *without;
    const char *ability; /* the field of struct host that shows it */
    int level;           /* the lowest value that has it */
};

extern const struct host_feature host_features[];
extern const size_t host_feature_count;

bool host_has_feature(const struct host *h, const struct host_feature *f);
/* Whether a version such as 6.1.0-17-amd64 is at least another. */
bool version_at_least(const char *version, const char *least);

#endif
