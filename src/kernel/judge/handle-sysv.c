/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * System V objects. The arguments of these calls are all numbers, so the kernel performs them once
 * the policy allows it.
 *
 * Without an ipc namespace, the objects of all other processes are visible. Then the judge creates
 * the command's objects on its behalf and remembers them; others do not exist for the command. The
 * kernel reuses an id only long after its object is gone: the judge removes semaphores and queues
 * itself and forgets them, and shared memory, which stays as long as a process uses it, records its
 * creator.
 */

#include <errno.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kernel/judge/ask.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/own-object.h"

static const struct kind {
    uint16_t op;
    int get, control;    /* system calls */
    unsigned flags_at;   /* get: the argument with the flags */
    unsigned command_at; /* control: the argument with the command */
    int by_place;        /* commands from here on take an index into the kernel's table */
} kinds[SYSV_KINDS] = {
    {OP_IPC_SYSV_SHM, SYS_shmget, SYS_shmctl, 2, 1, 13 /* SHM_STAT */},
    {OP_IPC_SYSV_SEM, SYS_semget, SYS_semctl, 2, 2, 18 /* SEM_STAT */},
    {OP_IPC_SYSV_MSG, SYS_msgget, SYS_msgctl, 1, 1, 11 /* MSG_STAT */},
};

static const struct kind *kind_of(enum vocab_op op)
{
    const struct kind *k = kinds;
    while (k->op != op)
        k++;
    return k;
}

/* ---- the sandbox's own objects ---- */

static long sysv_get(const struct kind *k, const struct request *r, int flags)
{
    uint64_t a[] = {r->args[0], r->args[1], r->args[2]};
    a[k->flags_at] = (unsigned)flags;
    long id = syscall(k->get, (int)a[0], a[1], a[2]);
    return id < 0 ? -errno : id;
}

/* IPC_RMID is 0, and so may be the other argument, whichever the command is. */
static int sysv_remove(const struct kind *k, int id)
{
    return syscall(k->control, id, IPC_RMID, IPC_RMID) < 0 ? -errno : 0;
}

/* Shared memory that was removed while in use may be gone by now. */
static bool is_gone(const struct kind *k, int id)
{
    struct shmid_ds st;
    return k->op == OP_IPC_SYSV_SHM && (shmctl(id, IPC_STAT, &st) < 0 || st.shm_cpid != getpid());
}

static bool is_own(struct own_objects *own, const struct kind *k, int id)
{
    if (!own_object_is(own, id))
        return false;
    if (!is_gone(k, id))
        return true;
    own_object_forget(own, id);
    return false;
}

static long sysv_create(struct own_objects *own, const struct kind *k, const struct request *r,
                        int flags)
{
    long id = sysv_get(k, r, flags | IPC_CREAT | IPC_EXCL);
    if (id < 0 || own_object_add(own, (int)id))
        return id;
    sysv_remove(k, (int)id);
    return -ENOSPC;
}

/* A key that another process uses is as good as another user's. */
static struct answer get_own_object(struct own_objects *own, const struct kind *k,
                                    const struct request *r)
{
    int flags = (int)r->args[k->flags_at];
    bool makes = (int)r->args[0] == IPC_PRIVATE || (flags & IPC_CREAT);
    long id = makes ? sysv_create(own, k, r, flags) : -EEXIST;
    if (id != -EEXIST || (makes && (flags & IPC_EXCL)))
        return answer_value(id);
    id = sysv_get(k, r, flags & ~(IPC_CREAT | IPC_EXCL));
    if (id >= 0 && !is_own(own, k, (int)id))
        id = makes ? -EACCES : -ENOENT;
    return answer_value(id);
}

static struct answer use_own_object(struct own_objects *own, const struct kind *k,
                                    const struct request *r)
{
    enum { COMMAND = 0xff };
    int id = (int)r->args[0], command = (int)r->args[k->command_at] & COMMAND;
    bool controls = r->nr == k->control;
    if (controls && command >= k->by_place)
        return answer_errno(EPERM);
    if (!is_own(own, k, id))
        return answer_errno(EINVAL);
    if (!controls || command != IPC_RMID || k->op == OP_IPC_SYSV_SHM)
        return answer_verdict(0);
    int err = sysv_remove(k, id);
    if (err == 0)
        own_object_forget(own, id);
    return answer_value(err);
}

/* ---- asking ---- */

struct answer handle_sysv(struct judge *j, const struct request *r)
{
    enum vocab_op op = OP_IPC_SYSV_SHM;
    const char *name = "shmat";
    for (size_t i = 0; i < judged_call_count; i++)
        if (judged_calls[i].nr[PLAN_NATIVE] == r->nr) {
            op = judged_sets[judged_calls[i].set][0];
            name = judged_calls[i].name;
        }
    int err = ask_about(j, r, op, NULL, 0, name);
    if (err < 0 || j->sysv.own_ns)
        return answer_verdict(err);
    const struct kind *k = kind_of(op);
    struct own_objects *own = &j->sysv.objects[k - kinds];
    return r->nr == k->get ? get_own_object(own, k, r) : use_own_object(own, k, r);
}
