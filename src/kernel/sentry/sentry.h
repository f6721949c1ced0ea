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
 * A sentry is mounted over a folder or file that the policy denies reading, in the sandbox's own
 * mount namespace. It is a FUSE file system that checks the policy for every access there, passes
 * on what is allowed, and refuses and reports the rest. Elsewhere nothing is checked.
 *
 * All sentries of a run are one file system. Its root is a folder with an entry for each guarded
 * path, named by its number ("0", "1"…), which is the real folder or file of that path. The
 * mounting process binds <fuse>/N onto the guarded path. The server (sentry_serve) is a separate
 * process:
 *
 *  - It is outside the sandbox, with the caller's credentials. In root's run these are root's,
 *    because it takes the sender's for each request.
 *  - No other process may have the device's file descriptor. Then the end of the server is the end
 *    of the file system (ENOTCONN), and nothing hangs.
 *  - A process outside the sandbox's pid namespace must mount the file system. Otherwise requests
 *    name their senders by pids that mean nothing here.
 *  - It only reads. The judge must judge and perform every write beneath a guarded path on the real
 *    folder, even where the policy allows all writing.
 *
 * It checks file-read-metadata for stat, readlink, statfs and access (file-test-existence if access
 * asks for nothing else), file-read-data for opening files and folders, file-read-xattr for
 * attributes, process-exec for executing. Walking through a folder, and following a symlink whose
 * metadata is allowed, is not checked; a missing name is missing (ENOENT). An open file is not
 * checked again.
 */
struct sentry;

struct sentry_options {
    const struct graph *graph;
    int events; /* socket to the controller, for struct event */
    int proc;   /* a procfs in which "self" is the serving process and senders have pids */
    struct file_names *names; /* all names of files, where the guarded paths were opened */
    bool attached;            /* file systems can be unmounted there */
    int root;  /* where names begin, in the host's mount namespace: its root, or that of a chroot;
                  -1: the former */
    uid_t uid; /* the command's user, for the policy */
    gid_t gid; /* the same */
    bool any_user;  /* root's run: senders may have other credentials than the server */
    bool settles;   /* the serving thread calls sentry_settle() */
    ino_t mount_ns; /* of the sandbox, as in /proc/PID/ns/mnt: processes that may get the signal of
                       a rule's modifier; 0: none */
    /* Called by the serving thread while the kernel remembers too many names, at most every 5 ms:
     * another thread should call sentry_drop(). NULL: none does, and a process that walks through
     * more files than the tables hold gets ENFILE. Must not wait for anything. */
    void (*crowded)(void *arg);
    /* Called by the serving thread before it answers a request; false: it must exit. Or NULL. */
    bool (*before)(void *arg);
    void *arg;
};

/* The options of the file system, for fsconfig(): SENTRY_MOUNT_TYPE with fd=N (of /dev/fuse, opened
 * in the mounting user namespace), rootmode=40000, user_id=N, group_id=N and the flag allow_other.
 * Not default_permissions: the server opens with the sender's rights, so that ACLs and groups count
 * as in the real folder. Mounted with nosuid and nodev, and not read-only, which would make
 * access(W_OK) wrong about what the judge can write. */
#define SENTRY_MOUNT_TYPE "fuse"

enum { SENTRY_PATHS = 4096 };

/* Call it in the process that will serve. It changes the working directory unless sentry_settle()
 * does, raises the limit of open files and allocates all memory for serving. Returns NULL, with
 * errno, on failure. The caller keeps its file descriptors. */
struct sentry *sentry_new(const struct sentry_options *opt);
void sentry_free(struct sentry *s); /* NULL is fine; closes the guarded paths */

/* Adds a guarded path. Returns its number or a negative errno. real is an O_PATH file descriptor of
 * a folder or regular file; on success it is taken over. It must have been opened in the host's
 * mount namespace: in the sandbox's the server would meet itself beneath. Its path is the kernel's
 * name for it, now and later. Any thread may call this while another one serves. */
int sentry_path_add(struct sentry *s, int real);
/* Call it when no mount uses it any more. Open files stay open. Numbers are reused. */
void sentry_path_remove(struct sentry *s, int number);

/* Paths that were added before serving begins can be used quicker. Call this in the serving thread,
 * with its own table of file descriptors: it returns how many of these the server takes over, and
 * which, at most SENTRY_PATHS_FIRST. */
enum { SENTRY_PATHS_FIRST = 256 };
size_t sentry_paths_keep(struct sentry *s, int fds[SENTRY_PATHS_FIRST]);
/* Makes the kernel know as many of them as fit into one answer, for a tick of its clock or two, so
 * that it need not look up each. fs is a mount of the file system. Call it once, while no other
 * process can reach that and another thread serves. Failing has no effect. */
void sentry_paths_list(struct sentry *s, int fs);

/* Sets the policy from the next request on. Takes ownership of g, and frees it when it is replaced.
 * Any thread may call this while another one serves. */
void sentry_update(struct sentry *s, struct graph *g, uint32_t number);

/* Call it in the serving thread, if it did not make the sentry: by then it has its own file
 * descriptor table and working directory. Returns 0 or a negative errno. */
int sentry_settle(struct sentry *s);

/* Answers until the file system is gone (returns 0) or a fatal error (a negative errno). One thread
 * must serve all requests. */
int sentry_serve(struct sentry *s, int dev);

/* Makes the kernel drop names that no process uses; fs is any mount of the file system. Returns 0
 * or a negative errno. Not for the serving thread: needs CAP_SYS_ADMIN where it was mounted. */
int sentry_drop(int fs);

#endif
