/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SENTRY_SENTRY_H
#define BK_KERNEL_SENTRY_SENTRY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "graph/eval.h"
#include "kernel/host/file-names.h"

/*
 * A sentry stands on a folder or file that the policy keeps from being read, in the sandbox's own
 * mount namespace: a FUSE file system that asks the policy about whatever is looked at there, hands
 * on what is allowed and refuses and reports the rest. Elsewhere nothing is asked.
 *
 * All sentries of a run are one file system. Its root is a folder with an entry for each point,
 * named by its number ("0", "1"…), which is the real folder or file of that point; whoever mounts
 * binds <fuse>/N onto the path to be guarded. The server (sentry_serve) is a process of its own:
 *
 *  - outside the sandbox, in the caller's credentials: with root's run in root's, since it takes
 *    those of whoever asks, for each request;
 *  - nobody else may hold the device's descriptor: then the end of the server is the end of the
 *    file system (ENOTCONN), and nothing hangs;
 *  - the file system is to be mounted by a process outside the sandbox's pid namespace, or requests
 *    name their senders by numbers that mean nothing here;
 *  - it only reads. Whatever writes beneath a point has to be judged and performed by the judge on
 *    the real folder, also where the policy allows all writing.
 *
 * What is asked: file-read-metadata for stat, readlink, statfs and access
 * (file-test-existence when access asks for nothing else), file-read-data for opening files and
 * folders, file-read-xattr for attributes, process-exec for executing. Walking through a folder,
 * and following a symbolic link whose metadata is allowed, is no question; a name that is not there
 * is not there (ENOENT). What has been opened is not asked about again.
 */
struct sentry;

struct sentry_options {
    const struct graph *graph;
    int events; /* socket to the controller, for struct event */
    int proc;   /* a procfs in which "self" is the serving process and senders have numbers */
    struct file_names *naming; /* what else files are called where the points were opened */
    bool attached;             /* there, mounts can be taken away */
    int root;       /* where names begin, in the host's mount namespace: its root, or that of a
                       chroot; -1: the former */
    uid_t uid;      /* whom the policy takes the command for */
    gid_t gid;      /* the same */
    bool any_user;  /* root's run: senders may have other credentials than the server */
    bool settles;   /* whoever serves calls sentry_settle() */
    ino_t mount_ns; /* of the sandbox, as /proc/PID/ns/mnt shows it: those who may be sent a signal
                       that a rule's modifier asks for; 0: nobody is */
    /* Called by the serving thread while more is remembered than should be, at most every 5 ms:
     * somebody else should call sentry_drop(). NULL: nobody does, and whoever walks through more
     * files than the tables hold gets ENFILE. Must not wait for anything. */
    void (*crowded)(void *arg);
    /* Called by the serving thread before it answers a request; false: it is to end. Or NULL. */
    bool (*before)(void *arg);
    void *arg;
};

/* The options of the file system, for fsconfig(): SENTRY_MOUNT_TYPE with fd=N (of /dev/fuse, opened
 * in the user namespace that mounts), rootmode=40000, user_id=N, group_id=N and the flag
 * allow_other. Not default_permissions: the server opens with the sender's rights, so that ACLs and
 * groups count as they do in the real folder. Mounted with nosuid and nodev, and not read-only,
 * which would make access(W_OK) lie about what the judge can write. */
#define SENTRY_MOUNT_TYPE "fuse"

enum { SENTRY_POINTS = 4096 };

/* To be called in the process that will serve: changes its working directory unless that is left to
 * sentry_settle(), raises its limit of open files to what is permitted and takes all memory that
 * serving will need. NULL, with errno,
 * when that fails. Descriptors stay the caller's. */
struct sentry *sentry_new(const struct sentry_options *opt);
void sentry_free(struct sentry *s); /* NULL is fine; closes the points */

/* A new point: its number, or a negated errno. real is an O_PATH descriptor of a folder or regular
 * file, taken over on success, and must have been opened in the host's mount namespace: in the
 * sandbox's one the server would meet itself beneath. Its path is what the kernel calls it, now and
 * later. Any thread may call this while another one serves. */
int sentry_point_add(struct sentry *s, int real);
/* Nothing is bound to it any more. What is still open or current stays so. Numbers are used again.
 */
void sentry_point_remove(struct sentry *s, int number);

/* The policy from the next request on; g is taken over, and freed when it is replaced. Any thread
 * may call this while another one serves. */
void sentry_update(struct sentry *s, struct graph *g, uint32_t number);

/* By the thread that will serve, when it is not the one that made the sentry: it has a table of
 * descriptors and a working directory of its own by then. 0 or a negated errno. */
int sentry_settle(struct sentry *s);

/* Answers until the file system has gone (0) or something fails that cannot be mended (a negated
 * errno). One thread, the same from the first request to the last. */
int sentry_serve(struct sentry *s, int dev);

/* Has the kernel drop what it remembers of names that nobody uses; fs is any mount of the file
 * system. 0 or a negated errno. Not for the serving thread: needs CAP_SYS_ADMIN where it was
 * mounted. */
int sentry_drop(int fs);

#endif
