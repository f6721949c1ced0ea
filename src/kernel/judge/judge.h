/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_JUDGE_JUDGE_H
#define BK_KERNEL_JUDGE_JUDGE_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

#include "graph/graph.h"
#include "kernel/judge/git-judge.h"
#include "kernel/sentry/sentry-process.h"
#include "kernel/plan/judged-calls.h"
#include "kernel/judge/created-repos.h"
#include "kernel/host/file-names.h"
#include "kernel/host/kabi.h"
#include "kernel/judge/kept-socket.h"
#include "kernel/judge/own-object.h"
#include "kernel/judge/own-socket.h"
#include "kernel/plan/plan.h"
#include "kernel/shared/event-send.h"
#include "report/event.h"

/*
 * The worker answers the target's judged calls. It never lets the kernel go on with a call whose
 * arguments the target could still change: it copies the arguments, pins the objects they name,
 * asks the policy about the pinned objects' canonical paths, and performs the call itself.
 *
 * One thread does all of it, so that to the sandboxed processes every judged call is atomic: what a
 * check saw is what the action meets. Calls that may block (FIFOs, connecting) are tried, and tried
 * again (waiting-calls.h).
 *
 * Nothing here allocates per event. The worker's working directory is the host's procfs, whose
 * "self/fd/N" names any object that is pinned in descriptor N.
 */

enum { PATH_BYTES = 4096, XATTR_BYTES = 65536, WATCHED = 128, PROGRAMS = 128 };

/* A file that may be executed. */
struct program {
    dev_t dev;
    ino_t ino;
};

/* A process that is about to execute something, and what it has been until then (handle-exec.c). */
struct watched {
    pid_t pid, tid; /* the thread that executes; it becomes the process's first */
    int pidfd;
    bool any; /* a script, or unreadable: its interpreter will run */
    uint64_t since, stack;
    dev_t dev;
    ino_t ino;
};

/* What thread-cache.c remembers of a thread. */
struct known {
    pid_t tid;     /* 0: of nobody */
    int folder;    /* its /proc/TID */
    uint64_t seen; /* the last request during which the folder was found alive */
    uint64_t sure; /* the last one that was valid after that */
    bool has_umask;
    mode_t umask;
    uint64_t umask_as_of;
};

/* A call of umask() that the kernel goes on with. */
struct changing {
    pid_t tid;
    int folder;
    mode_t mask;
};

enum { KNOWN_THREADS = 64, CHANGING_MAX = 16 };

/* A thread that called, and its descriptor (pidfd-cache.c). */
struct held_task {
    pid_t tid; /* 0: of nobody */
    int fd;
};

enum { HELD_TASKS = 16 };

/* A socket of ours that has the name of one of the target's (handle-datagram.c). */
struct twin {
    int fd;
    ino_t of;
};

enum { TWINS = 32 };

/* What the kernel looks at when somebody uses files. */
enum { PERSON_GROUPS = 1024 };
struct person {
    uid_t real_uid, fsuid;
    gid_t real_gid, fsgid;
    uint64_t permitted, caps;
    uint32_t ngroups;
    gid_t groups[PERSON_GROUPS];
};

struct worker {
    int listener;
    int events;           /* socket to the controller */
    int proc;             /* the host's /proc, also the working directory */
    int inner_proc;       /* the sandbox's own; -1 when it cannot be opened */
    dev_t own_proc_dev;   /* of the /proc that the target sees */
    blksize_t proc_block; /* of every procfs */
    bool pid_ns;          /* the target lives in a pid namespace of its own */
    bool scoped;          /* Landlock keeps signals inside */
    bool spaces;          /* the target may make user namespaces, and change its root in them */
    bool handed;          /* the target's standard input was a terminal */
    bool away;            /* it took the terminal from a job that others are in, */
    unsigned taken_back;  /* and had it taken back so often */
    bool joins;           /* what enters a namespace of the target is out of its reach even so */
    uid_t uid;
    bool who_matters; /* the policy asks who calls */
    uid_t caller_uid; /* then: whoever calls now; else everybody */
    gid_t caller_gid;
    char program[PATH_BYTES]; /* then: what the caller runs */
    size_t program_len;
    bool persons_vary; /* somebody inside has become somebody else */
    bool person_known; /* person is as whom we act */
    bool looks_in;     /* we have CAP_SYS_PTRACE */
    struct person person;
    const struct behind *behind; /* what lies behind the plan's guards */
    struct naming *naming;       /* what else files are called; NULL: nothing */
    struct mounts_view *mounts;  /* of the sandbox, with those that we made; NULL: the same */
    bool mounts_change;          /* some did: one may have been taken away */
    const struct graph *graph;
    struct graph_cache *cache;
    struct graph *renewed;                  /* the graph, when it is not the first */
    uint8_t handler[KABI_LAST_SYSCALL + 1]; /* enum judged_handler by number */
    mode_t umask;                           /* the one in force in this process */
    bool names_judged; /* nothing inside can make an object appear under a name without us */

    struct known known[KNOWN_THREADS]; /* by the thread's number */
    struct held_task tasks[HELD_TASKS];
    struct changing changing[CHANGING_MAX];
    size_t nchanging;
    uint64_t umask_changes;
    bool umask_unsteady; /* what was read once cannot be relied on later */

    /* Folders named .git that the command itself made: default.sb lets it configure those. */
    struct made repositories;
    struct git_judge git;
    int64_t started;                        /* when judging began, in seconds of CLOCK_REALTIME */
    struct own_sockets sockets;             /* what it listens at: it may connect to these */
    bool own_ipc;                           /* System V objects are the sandbox's own */
    struct own_objects objects[SYSV_KINDS]; /* else: those that are (handle-sysv.c) */
    bool own_net;                           /* abstract names are the sandbox's own */
    bool alone;                             /* and nothing leads out of it */
    bool dials;                             /* TCP leads to the gate (handle-dial.c) */
    const struct netgate *gate;             /* then */
    bool sockets_judged;                    /* system-socket */
    bool makes_sockets;       /* the target's are made here: none can be taken from it */
    struct kept_sockets kept; /* then */
    bool datagrams;           /* it may have Unix datagram sockets */
    bool again;               /* the call was made before, and waits (waiting-calls.h) */
    struct twin twins[TWINS]; /* what those send through (handle-datagram.c) */
    unsigned ntwins;
    const struct pinned *moving, *moving_to; /* while a move is judged; else NULL */

    struct watched watched[WATCHED];
    size_t nwatched;
    int first_cwd;    /* the command's working directory, before it runs */
    bool exec_judged; /* whoever calls runs a program that the policy knows */
    struct program programs[PROGRAMS];
    struct program
        own_program; /* applied: what the process was running, whatever the policy says */
    pid_t applied;   /* the process that sandboxed itself; 0: a command was run */
    int applied_fd;  /* then: a pidfd of it */

    struct event event;                /* the one being filled */
    char path[2][PATH_BYTES + 1];      /* strings copied from the target */
    char canonical[2][PATH_BYTES * 2]; /* names that the policy judges */
    char value[XATTR_BYTES];
};

/* The call being answered. */
struct request {
    uint64_t id;
    pid_t tid;
    int nr;
    uint64_t args[6];
};

/* How a handler ended. value is what the call returns, or a negated errno. */
struct answer {
    bool sent;  /* the handler has answered, or will later (waiting-calls.h) */
    bool go_on; /* the kernel is to perform the call: only where it reads nothing of the target's
                   that could have changed since */
    int64_t value;
};

static inline struct answer answer_value(int64_t value)
{
    return (struct answer){.value = value};
}

static inline struct answer answer_errno(int err)
{
    return (struct answer){.value = -(int64_t)err};
}

/* Registers were copied when the call was made: the kernel acts on what was judged. */
static inline struct answer answer_go_on(void)
{
    return (struct answer){.go_on = true};
}

/* The same for a verdict: 0, or a negated errno. */
static inline struct answer answer_verdict(int err)
{
    return err < 0 ? answer_value(err) : answer_go_on();
}

/* ---- target.c: looking into the target ---- */

/* Whether the call still waits for us: everything read before a true answer came from its maker. */
bool request_is_valid(const struct worker *w, const struct request *r);
/* In place of an errno: the target's memory may not be read. Answered with EPERM, and told. */
enum { UNREADABLE = 4000 };
/* As a negated errno: what is meant lies on a mount that was taken away, and has no name. */
enum { NOWHERE = 4001 };
/* Copies n bytes; 0 or a negated errno. */
int target_read(const struct request *r, uint64_t addr, void *to, size_t n);
/* Copies n bytes into the target; 0 or a negated errno. Checks by itself that the request is valid.
 */
int target_write(const struct worker *w, const struct request *r, uint64_t addr, const void *from,
                 size_t n);
/* Copies a string of at most PATH_BYTES - 1 bytes; its length or a negated errno. */
int target_string(const struct request *r, uint64_t addr, char *to);
pid_t target_process(const struct worker *w, const struct request *r); /* or a negated errno */
/* The numbers of process and thread inside the sandbox's pid namespace, if there is one. */
pid_t target_inner_process(const struct worker *w, const struct request *r);
pid_t target_inner_thread(const struct worker *w, const struct request *r);
/* A descriptor of the target, as an O_PATH descriptor of ours; or a negated errno. */
int target_pin_fd(const struct worker *w, const struct request *r, int fd);
/* Whether a descriptor of the target only names a file (O_PATH): most calls refuse those. */
bool target_fd_is_name(const struct worker *w, const struct request *r, int fd);
/* A working copy of a descriptor of the target. */
int target_take_fd(const struct worker *w, const struct request *r, int fd);
/* The same, cheaper for who calls often (pidfd-cache.c). */
int task_take_fd(struct worker *w, const struct request *r, int fd);
/* Whether a signal waits that the target would handle: a long wait should end with EINTR. */
bool target_is_interrupted(const struct worker *w, const struct request *r);

/* ---- thread-cache.c: what is remembered of threads ---- */

/* Opens something in the caller's folder in /proc; or a negated errno. */
int known_open(struct worker *w, const struct request *r, const char *name, int flags);
/* The request was found valid after everything that was opened for it so far. */
void known_confirm(struct worker *w, const struct request *r);
/* Looks at every call before it is answered. */
void known_hear(struct worker *w, const struct request *r);
/* 0 or a negated errno. Checks by itself that the request is valid. */
int known_umask(struct worker *w, const struct request *r, mode_t *mask);

/* ---- creds.c: as whom we act ---- */

/* Takes over the caller's user, groups and capabilities, where they could differ from ours. 0 or a
 * negated errno; then nothing may be done in its stead. */
int person_take(struct worker *w, const struct request *r);
/* Then: who the caller really is, as access() wants to know it. */
int person_take_real(struct worker *w);

/* ---- resolve.c: names → pinned objects ---- */

struct pinned {
    int fd;           /* the object (O_PATH), or -1 when only its folder was asked for */
    int parent;       /* the folder (O_PATH), or -1 when only the object was asked for */
    bool found;       /* there is an object */
    bool procfs;      /* it, or its folder, lies in a procfs */
    const char *name; /* last component in the copied string, with trailing slashes */
    const char *path; /* canonical path of object or would-be object; not always starting with / */
    size_t path_len;
    struct stat st; /* of the object when there is one */
};

void pinned_close(struct pinned *p);
#define OWN_pinned pinned_close

enum {
    PIN_NOFOLLOW = 1,
    PIN_EMPTY = 2, /* an empty path means the descriptor itself */
    PIN_QUICK = 4, /* when it is not found at once it is not there */
};

/* dirfd and path as the target gave them; slot 0 or 1 says which of the worker's buffers to use.
 * 0 or a negated errno. pin_object: the object must exist. pin_parent: the folder must exist, the
 * object need not; it is looked at and not pinned. */
int pin_object(struct worker *w, const struct request *r, int dirfd, uint64_t path, unsigned flags,
               int slot, struct pinned *out);
int pin_parent(struct worker *w, const struct request *r, int dirfd, uint64_t path, int slot,
               struct pinned *out);
/* As pin_parent, but the object is not looked at: pin_look() does that. */
int pin_folder(struct worker *w, const struct request *r, int dirfd, uint64_t path, int slot,
               struct pinned *out);
int pin_look(const struct worker *w, struct pinned *out);
/* The same for a path that was copied from the target as part of something else. */
int pin_object_copied(struct worker *w, const struct request *r, const char *path, size_t n,
                      struct pinned *out);
int pin_parent_copied(struct worker *w, const struct request *r, const char *path, size_t n,
                      struct pinned *out);
/* The path that stands in the worker's buffer already, from a folder of ours, which may be taken
 * over (*base is -1 then). */
int pin_parent_at(struct worker *w, const struct request *r, int *base, int slot,
                  struct pinned *out);
/* Pins, and describes anew, the object that was found in a pinned folder. */
int pin_found(struct worker *w, const struct request *r, int slot, struct pinned *p);
/* An open descriptor of the target. */
int pin_descriptor(struct worker *w, const struct request *r, int fd, int slot, struct pinned *out);
/* Fills path and st of an object already pinned in out->fd. */
int pin_describe(struct worker *w, const struct request *r, int slot, struct pinned *out);

/* ---- procfs.c: what may be reached in a procfs ---- */

bool procfs_may_be(const struct worker *w, unsigned dev_major, blksize_t block);
bool procfs_is(const struct worker *w, int fd, const struct stat *st);
/* Whether a pinned object may be used on behalf of the target at all: -EACCES, 1 when it may and
 * lies in a procfs, 0 when it lies in none. */
int procfs_check(struct worker *w, const struct request *r, int fd, const struct stat *st,
                 const char *path);
/* What the policy says about processes and variables of the kernel, as far as the object is one. 0
 * or a negated errno; the path itself is asked about as any other. */
enum { PROCFS_LOOK = 1, PROCFS_READ = 2, PROCFS_CHANGE = 4 };
int procfs_ask(struct worker *w, const struct request *r, const struct pinned *p, unsigned what);

/* ---- syscall-args.c: calls that name one object in one of several ways ---- */

/* What a call names, and the rest of what it says. */
struct named {
    struct pinned p;
    int held;             /* the descriptor, when the call names no path but that; else -1 */
    unsigned flags;       /* AT_… */
    const uint64_t *rest; /* the arguments after those that name the object */
};

/* Pins what the call means. 0 or a negated errno; p is to be closed either way. */
int pin_named(struct worker *w, const struct request *r, struct named *n);
void named_close(struct named *n);
#define OWN_named named_close

/* Name of a pinned object among the worker's own descriptors. */
void pin_name(const struct pinned *p, char out[32]);

/* ---- ask.c: the policy, and telling about it ---- */

/* Whether the policy allows op on this object. When it does not: the event has been sent, and the
 * answer is the negated errno (EPERM, or what the rule says). */
int ask_path(struct worker *w, const struct request *r, enum vocab_op op, const struct pinned *p);
int ask_name(struct worker *w, const struct request *r, enum vocab_op op, const char *path,
             size_t len, const struct stat *st);
/* The same for what may have no path: what lies in memory is judged by what it is called. */
int ask_object(struct worker *w, const struct request *r, enum vocab_op op, const struct pinned *p);
/* Whether something of this type (S_IFREG, S_IFLNK…) may be made under the pinned name. */
int ask_create(struct worker *w, const struct request *r, const struct pinned *p, mode_t type);
/* Whether the command made the repository that a path is in. */
bool ask_is_created(const struct worker *w, const char *path, size_t len);
/* Whether something of this class may be made. Later: tells of content that did not take its place,
 * when its writer cannot be refused any more. */
int ask_git(struct worker *w, const struct request *r, enum git_class class, const char *path,
            size_t len, const struct stat *st);
void ask_git_later(struct worker *w, enum git_class class, const char *path, size_t len);
/* Whether a new file may get this mode: set-id bits take a permission of their own. */
int ask_setugid(struct worker *w, const struct request *r, const char *path, size_t len,
                mode_t mode);
/* Only the verdict: nothing is reported. */
bool would_allow(struct worker *w, enum vocab_op op, const char *path, size_t len,
                 const struct stat *st);
/* Whether it is denied only because nothing allows it there, and not by a rule about such names. */
bool is_out_of_bounds(struct worker *w, enum vocab_op op, const char *path, size_t len,
                      const struct stat *st);
/* name: of the attribute; NULL when all are listed. */
int ask_xattr(struct worker *w, const struct request *r, enum vocab_op op, const struct pinned *p,
              const char *name);
/* own: the command bound this socket itself. */
int ask_unix(struct worker *w, const struct request *r, enum vocab_op op, const char *path,
             size_t len, bool own);

/* Whether a policy has rules about who calls; and finding that out, for the questions that follow:
 * 0 or a negated errno. */
bool asks_who(const struct graph *g);
int ask_who(struct worker *w, const struct request *r);

/* Any other question: facts besides who asks; shown is what the event tells. */
enum { ASK_MORE = 12 };
int ask_about(struct worker *w, const struct request *r, enum vocab_op op,
              const struct graph_fact *more, size_t nmore, const char *shown);

/* Tells that a call was refused because its arguments could not be read; -EPERM. */
int ask_in_vain(struct worker *w, const struct request *r);
/* The same of a call about something that has no name (NOWHERE). */
int ask_nowhere(struct worker *w, const struct request *r);

/* ---- relation.c: what another process is to the caller ---- */

/* Bits by the numbers of (target …). A process is several of these at once. */
enum {
    RELATION_SELF = 1 << 1,
    RELATION_GROUP = 1 << 2,  /* the same process group */
    RELATION_OTHERS = 1 << 3, /* everybody but itself */
    RELATION_CHILD = 1 << 4,  /* a descendant */
    RELATION_SANDBOX = 1 << 5,
    RELATION_INIT = 1 << 6, /* the first process */
};

/* pid as the caller would name it: a process or a thread, 0 for itself. -ESRCH when there is none,
 * or another negated errno. True of the moment: numbers are used again. */
int relation_of(const struct worker *w, const struct request *r, pid_t pid);

/* Asks about every process of a set, until one answer is negative. -ESRCH when it is empty. */
enum relation_set {
    WHO_GROUP,
    WHO_OWN_GROUP, /* without those of it that are not of the sandbox */
    WHO_EVERYBODY,
};
typedef int relation_fn(struct worker *w, const struct request *r, int relation, pid_t pid,
                        const void *arg);
int relation_each(struct worker *w, const struct request *r, enum relation_set set,
                  pid_t group /* 0: the caller's own */, relation_fn *ask, const void *arg);

/* Signals the members of the caller's group that are of its sandbox. The command shares its group
 * with whoever started it, namespaces notwithstanding. */
int relation_signal_group(const struct worker *w, const struct request *r, int sig);

/* Parent and group of a process, by the numbers of a procfs; 0 or -ESRCH. */
int relation_kin(int proc, pid_t pid, pid_t *parent, pid_t *group);

/* (target …) and (target pid …) as facts. */
enum { RELATION_FACTS = 7 };
size_t relation_facts(int relation, pid_t pid, struct graph_fact *f);

/* Tells of something that is refused whatever the policy says of it. */
void tell_refused(struct worker *w, const struct request *r, enum vocab_op op, const char *what);
void tell_refused_as(struct worker *w, const struct request *r, enum vocab_op op, const char *what,
                     int err);

/* ---- handlers (act-*.c) ---- */

struct answer act_open(struct worker *w, const struct request *r);
struct answer act_mkdir(struct worker *w, const struct request *r);
struct answer act_mknod(struct worker *w, const struct request *r);
struct answer act_symlink(struct worker *w, const struct request *r);
struct answer act_link(struct worker *w, const struct request *r);
struct answer act_unlink(struct worker *w, const struct request *r);
struct answer act_rename(struct worker *w, const struct request *r);
struct answer act_truncate(struct worker *w, const struct request *r);
struct answer act_chmod(struct worker *w, const struct request *r);
struct answer act_chown(struct worker *w, const struct request *r);
struct answer act_times(struct worker *w, const struct request *r);
struct answer act_setxattr(struct worker *w, const struct request *r);
struct answer act_removexattr(struct worker *w, const struct request *r);
struct answer act_connect(struct worker *w, const struct request *r);
struct answer act_bind(struct worker *w, const struct request *r);
struct answer act_socket(struct worker *w, const struct request *r);
struct answer act_send(struct worker *w, const struct request *r);
struct answer act_listen(struct worker *w, const struct request *r);
/* Waits a moment until what was sent by connected datagram sockets has been passed on. */
void datagram_drain(void);
struct answer act_umask(struct worker *w, const struct request *r);
struct answer act_ioctl(struct worker *w, const struct request *r);
/* Of those: TIOCSPGRP. */
struct answer act_foreground(struct worker *w, const struct request *r);
struct answer act_person(struct worker *w, const struct request *r);
struct answer act_stat(struct worker *w, const struct request *r);
struct answer act_statx(struct worker *w, const struct request *r);
struct answer act_statfs(struct worker *w, const struct request *r);
struct answer act_access(struct worker *w, const struct request *r);
struct answer act_readlink(struct worker *w, const struct request *r);
struct answer act_watch(struct worker *w, const struct request *r);
struct answer act_getxattr(struct worker *w, const struct request *r);
struct answer act_listxattr(struct worker *w, const struct request *r);
/* Opening with O_PATH; called by act_open. */
struct answer act_open_name(struct worker *w, const struct request *r, int dirfd, uint64_t path,
                            int flags);

struct answer act_signal(struct worker *w, const struct request *r);
struct answer act_fcntl(struct worker *w, const struct request *r);
/* Of those: F_SETOWN. */
struct answer act_owner(struct worker *w, const struct request *r);
struct answer act_sched(struct worker *w, const struct request *r);
struct answer act_fork(struct worker *w, const struct request *r);
struct answer act_exec(struct worker *w, const struct request *r);
struct answer act_map(struct worker *w, const struct request *r);
struct answer act_protect(struct worker *w, const struct request *r);
struct answer act_sysv(struct worker *w, const struct request *r);
struct answer act_queue(struct worker *w, const struct request *r);
struct answer act_system_socket(struct worker *w, const struct request *r);

/* A file operation on /dev/shm/NAME is one on the object that this name stands for: asks about
 * that, too. */
int ask_posix_ipc(struct worker *w, const struct request *r, enum vocab_op op, const char *path,
                  size_t len);

/* Asks whether the command itself may be executed, before there is anybody to answer its calls. cwd
 * is where it will run, while the worker's own working directory is procfs already. out is the
 * program's path. */
int exec_first(struct worker *w, int cwd, const char *name, char out[PATH_BYTES]);
/* Looks at processes that were let go to execute something; tid: only at this one, which has just
 * called. */
void exec_look(struct worker *w, pid_t tid);
/* Whether the caller runs a program that may run; when not, it was ended. */
bool exec_caller_is_known(struct worker *w, const struct request *r);
/* How long to wait at most until the next look; NULL: for ever. */
const struct timespec *exec_pause(const struct worker *w);

/* handle-space.c: opens a file of procfs that says who is who in a user namespace, as the target
 * would; -ENOTSUP when it is none, or user namespaces are not allowed. */
int space_open(struct worker *w, const struct request *r, const struct pinned *p, int flags);
/* Whether absolute names mean other files to the target; refuses one, which is told: -EPERM. */
bool space_other_root(const struct worker *w, const struct request *r);
int space_refuse_name(struct worker *w, const struct request *r);
/* Whether flags of clone() or unshare() ask for a namespace that is refused; refuses, and tells. */
bool space_is_refused(const struct worker *w, uint64_t flags);
struct answer space_refuse(struct worker *w, const struct request *r);
struct answer act_unshare(struct worker *w, const struct request *r);

/* Sets this process's umask to the target's, for calls that create. 0 or a negated errno. */
int worker_take_umask(struct worker *w, const struct request *r);

/* For threads besides the worker's own, before anything else: gives this one a working directory of
 * its own (the worker's moves about), and has its waiting interrupted (EINTR) now and then. 0, with
 * a timer to delete, or a negated errno. */
int worker_look_up_often(const struct worker *w, timer_t *timer);

/* Answers a call; gives fd to the target as its result (closing ours) or fails the call. Safe to
 * call from any thread. */
void worker_send(int listener, uint64_t id, int64_t value);
void worker_send_fd(int listener, uint64_t id, int fd, bool cloexec);

/* Performs or refuses a call, and answers it unless it waits. */
void worker_try(struct worker *w, const struct request *r);

/* Receives one call that waits, and answers it. */
void worker_answer(struct worker *w);

/* The policy from now on; what was renewed before is freed. 0 or -ENOMEM, and the old one stays. g
 * is taken over. */
int worker_renew(struct worker *w, struct graph *g);

/* w is zeroed: it is large, and touching all of it would take longer than the rest. */
int worker_init(struct worker *w, const struct plan *plan, const struct graph *g, int listener,
                int events, int proc, bool pid_ns);

#endif
