/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_CREDS_H
#define BK_KERNEL_JUDGE_CREDS_H

#include "kernel/judge/request.h"

/* The credentials that the judge acts with. */

enum { CREDS_GROUPS = 1024 };

/* What the kernel checks when a process uses files. */
struct creds {
    uid_t real_uid, fsuid;
    gid_t real_gid, fsgid;
    uint64_t permitted, caps;
    uint32_t ngroups;
    gid_t groups[CREDS_GROUPS];
};

struct creds_in_use {
    bool vary;       /* some process inside may have other credentials than the judge */
    bool known;      /* `now` holds what the judge acts with */
    bool alone;      /* the judge outlives its parent */
    bool may_ptrace; /* the judge has CAP_SYS_PTRACE */
    bool reported;   /* every call that can change a thread's is reported, execve() too */
    uint64_t as_of;  /* counts such calls, and changes of `now` */
    struct creds now;
};

/* Takes over the caller's user, groups and capabilities, if they can differ from ours. Returns 0 or
 * a negative errno; after a failure, nothing may be done on the caller's behalf. */
int creds_take(struct judge *j, const struct request *r);
/* Then switches to the caller's real ids, as access() wants. Returns 0 or a negative errno. */
int creds_take_real(struct judge *j);
/* The caller's credentials may change after this request; with `others`, another thread may get
 * them. */
void creds_change(struct judge *j, bool others);

#endif
