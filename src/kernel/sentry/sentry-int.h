/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_KERNEL_SENTRY_SENTRY_INT_H
#define BK_KERNEL_SENTRY_SENTRY_INT_H

#include <linux/fuse.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "kernel/sentry/sentry.h"
#include "kernel/shared/event-send.h"

/*
 * Inside the sentries' server. It allocates everything that a request may need when it starts.
 * While it serves, its working directory is its own /proc/self/fd, where "12" names what file
 * descriptor 12 pins, and opens it anew.
 */
enum {
    SENTRY_NAME = 255,        /* longest name of any file system below */
    SENTRY_PATH = 4096,       /* longest path that the kernel reports */
    SENTRY_REQUEST = 16384,   /* above FUSE_MIN_READ_BUFFER: nothing is written through us */
    SENTRY_DATA = 128 * 1024, /* the largest answer */
    SENTRY_READ_PAGES = SENTRY_DATA / 4096,
    SENTRY_TABLE = 65536, /* the most nodes, and the most open files */
    SENTRY_GROUPS = 64,   /* opens of a sender with more of them are refused */
};

/* ---- sentry-node.c: what the kernel knows by number ---- */

/*
 * A file or folder that the kernel knows about, until it forgets it. The same object has a node for
 * each name, because the policy is about names. It is pinned, so that no other object can get its
 * inode number.
 */
struct node {
    int fd;           /* O_PATH; -1: this entry is free */
    uint32_t serial;  /* upper half of the number: none is used twice */
    uint32_t next;    /* in its bucket, or in the free list */
    mode_t mode;      /* the type never changes */
    uint64_t parent;  /* number of the folder in which it was found */
    uint64_t lookups; /* how often a look-up returned it */
    uint32_t opens;   /* handles on it */
    bool answered;    /* a look-up has returned its attributes, for a moment */
    dev_t dev;
    ino_t ino;
    uint8_t len;
    char name[SENTRY_NAME];
};

/* An open file or folder. */
struct handle {
    int fd; /* -1: this entry is free */
    uint32_t serial;
    uint32_t next;
    bool folder;
    off_t at;      /* where the next entry of a folder is read */
    uint64_t node; /* its node */
};

struct node_table {
    struct node *list;
    uint32_t *buckets; /* SENTRY_TABLE; position plus one, 0: none */
    uint32_t max, used, free;
    uint32_t live; /* of those that were ever used */
};

struct handle_table {
    struct handle *list;
    uint32_t max, used, free;
};

int nodes_init(struct node_table *t, uint32_t max);
void nodes_free(struct node_table *t);
/* The node with a number, or NULL. */
struct node *node_of(struct node_table *t, uint64_t id);
uint64_t node_id(const struct node_table *t, const struct node *n);
/* Whether any node has this name, whatever object it is now. */
bool node_is_known(const struct node_table *t, uint64_t parent, const char *name, size_t len);
struct node *node_find(struct node_table *t, uint64_t parent, const char *name, size_t len,
                       const struct stat *st);
/* Takes ownership of fd. Returns NULL if the table is full. */
struct node *node_add(struct node_table *t, uint64_t parent, const char *name, size_t len,
                      const struct stat *st, int fd);
void node_forget(struct node_table *t, uint64_t id, uint64_t lookups);

int handles_init(struct handle_table *t, uint32_t max);
void handles_free(struct handle_table *t);
/* Takes ownership of fd. Returns its number, or 0 if the table is full. */
uint64_t handle_add(struct handle_table *t, int fd, bool folder, uint64_t node);
struct handle *handle_of(struct handle_table *t, uint64_t id, bool folder);
/* Returns the number of its node, or 0. */
uint64_t handle_remove(struct handle_table *t, uint64_t id);

/* ---- the server ---- */

/* Credentials in force in the serving thread, as far as they matter for opening files. */
struct sentry_creds {
    uid_t uid;
    gid_t gid;
    uint64_t caps; /* of those that override modes */
    uint32_t ngroups;
    gid_t groups[SENTRY_GROUPS];
};

struct sentry {
    struct sentry_options opt;
    struct graph_cache *cache;
    struct graph *updated;           /* the policy, if it is not the first one */
    _Atomic(struct graph *) pending; /* an update that is not in force yet, */
    _Atomic uint32_t number;         /* and its number */
    int fds;                         /* /proc/self/fd */
    int dev;                         /* /dev/fuse, while serving; else -1 */
    pthread_mutex_t lock;            /* guards the array of guarded paths */
    int npaths;                      /* how many entries have ever been used */
    int paths[SENTRY_PATHS];         /* -1: free */
    int nfirst;                      /* so many were there first: numbers that are not used again */
    int first[SENTRY_PATHS_FIRST];   /* the server's own descriptors of these; -1: used */
    atomic_bool listing;             /* we list the root, and nobody else can */
    struct node_table nodes;
    struct handle_table handles;
    struct sentry_creds creds, own;
    bool creds_known;
    uint64_t called_ms; /* when the crowding was last reported */
    struct event event;
    char root[SENTRY_PATH]; /* prefix of every path; empty if it is / */
    size_t root_len;
    bool root_known;
    char path[2 * SENTRY_PATH]; /* of what is being checked */
    size_t path_len;
    _Alignas(8) unsigned char request[SENTRY_REQUEST];
    _Alignas(
        8) unsigned char scratch[SENTRY_DATA]; /* entries of a folder as the kernel returns them */
    /* an answer: struct fuse_out_header, then its payload */
    _Alignas(8) unsigned char answer[sizeof(struct fuse_out_header) + SENTRY_DATA];
};

static inline void *sentry_out(struct sentry *s)
{
    return s->answer + sizeof(struct fuse_out_header);
}

/* ---- sentry-ask.c: the policy ---- */

/* Puts the path of a file descriptor into s->path. Returns 0 or a negative errno. */
int sentry_locate(struct sentry *s, int fd);
/* Appends "/name" to it. */
int sentry_locate_in(struct sentry *s, const char *name, size_t len);

/* Whether the policy allows op on s->path. Reports nothing. */
bool sentry_would(struct sentry *s, enum vocab_op op, const struct stat *st);
/* The same, and no rule wants a report either. */
bool sentry_is_free(struct sentry *s, enum vocab_op op, const struct stat *st);
/* Checks the object of a file descriptor for the sender, and reports. Returns 0 or the negative
 * errno to answer. attribute: of FILTER_XATTR, or NULL. */
int sentry_ask(struct sentry *s, const struct fuse_in_header *h, enum vocab_op op, int fd,
               const struct stat *st, const char *attribute);

/* Takes the sender's credentials until the next request. Returns 0 or a negative errno. */
int sentry_become(struct sentry *s, const struct fuse_in_header *h);
int sentry_creds_init(struct sentry *s);

/* ---- requests ---- */

/* One request: its argument of n bytes, at least as many as the table of requests requires. Returns
 * the bytes of the answer at sentry_out(), or a negative errno. */
typedef int sentry_op(struct sentry *s, const struct fuse_in_header *h, const void *arg, size_t n);

enum { SENTRY_SILENT = -4096 }; /* no answer is expected */

/* sentry-name.c: names and attributes */
/* All guarded paths from a number on, as entries that the kernel remembers; size: its room. */
int sentry_list_guarded(struct sentry *s, uint64_t from, size_t size);
sentry_op sentry_lookup, sentry_getattr, sentry_statx, sentry_readlink, sentry_access,
    sentry_statfs, sentry_getxattr, sentry_listxattr;
/* sentry-open.c: contents */
sentry_op sentry_open, sentry_read, sentry_seek, sentry_opendir, sentry_readdir,
    sentry_readdir_plus, sentry_release;

/* Invalidates the attributes that a look-up returned. */
void sentry_expire(struct sentry *s, struct node *n);

/* Answers a request of n bytes, aligned for a uint64_t. Returns the bytes of the answer in
 * s->answer; 0: the kernel expects none. */
size_t sentry_answer(struct sentry *s, const void *request, size_t n);

#endif
