/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Communication inside the sandbox: POSIX shared memory, semaphores and message queues, and sockets
 * of unusual families. handle-sysv.c has System V objects.
 *
 * The arguments of socket() are all numbers, so the kernel performs it. On Linux, POSIX shared
 * memory and semaphores are files in /dev/shm: a question about such a file is also one about the
 * object of that name. The name of a message queue is in memory, which may change after it was
 * judged; the ipc namespace ensures that every queue is the sandbox's own.
 */

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "kernel/judge/ask.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/target.h"
#include "kernel/plan/plan.h"

/* ---- POSIX names ---- */

/* Programs pass "/name"; Apple's rules have names with and without the slash. */
enum { NAME_FACTS = 2 };

static void name_facts(const char *with_slash, size_t len, struct graph_fact facts[NAME_FACTS])
{
    facts[0] = (struct graph_fact){
        .filter = FILTER_IPC_POSIX_NAME, .str = with_slash, .len = (uint32_t)len};
    facts[1] = (struct graph_fact){
        .filter = FILTER_IPC_POSIX_NAME, .str = with_slash + 1, .len = (uint32_t)len - 1};
}

static int ask_named(struct judge *j, const struct request *r, enum vocab_op op,
                     const char *with_slash, size_t len)
{
    struct graph_fact facts[NAME_FACTS];
    name_facts(with_slash, len, facts);
    return ask_about(j, r, op, facts, NAME_FACTS, with_slash);
}

static const struct {
    uint16_t file, shm, sem;
} posix_ops[] = {
    {OP_FILE_READ_DATA, OP_IPC_POSIX_SHM_READ_DATA, OP_IPC_POSIX_SEM_OPEN},
    {OP_FILE_READ_METADATA, OP_IPC_POSIX_SHM_READ_METADATA, OP_IPC_POSIX_SEM_OPEN},
    {OP_FILE_WRITE_DATA, OP_IPC_POSIX_SHM_WRITE_DATA, OP_IPC_POSIX_SEM_OPEN},
    {OP_FILE_WRITE_CREATE, OP_IPC_POSIX_SHM_WRITE_CREATE, OP_IPC_POSIX_SEM_CREATE},
    {OP_FILE_WRITE_UNLINK, OP_IPC_POSIX_SHM_WRITE_UNLINK, OP_IPC_POSIX_SEM_UNLINK},
    {OP_FILE_LINK, OP_NONE, OP_IPC_POSIX_SEM_CREATE},
};

enum { POSIX_OPS = sizeof(posix_ops) / sizeof(posix_ops[0]) };

/* glibc creates a semaphore under a temporary name of six letters and links it to the real one,
 * which is judged. */
static bool is_unfinished(const char *name, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]))
            return false;
    return n == 6;
}

static const char shm_folder[] = "/dev/shm/", sem_prefix[] = "sem.";

/* The POSIX object behind a file. */
struct posix_object {
    enum vocab_op op; /* on it */
    bool sem, unfinished;
    size_t len;
    char name[256 + 2]; /* with a slash */
};

static bool posix_object(enum vocab_op op, const char *path, size_t len, struct posix_object *out)
{
    enum { FOLDER = sizeof(shm_folder) - 1, SEM = sizeof(sem_prefix) - 1 };
    size_t i = 0;
    if (len <= FOLDER || len - FOLDER > 255 || memcmp(path, shm_folder, FOLDER) != 0 ||
        memchr(path + FOLDER, '/', len - FOLDER))
        return false;
    const char *from = path + FOLDER;
    size_t n = len - FOLDER;
    out->sem = n > SEM && memcmp(from, sem_prefix, SEM) == 0;
    if (out->sem) {
        from += SEM;
        n -= SEM;
    }
    out->unfinished = out->sem && is_unfinished(from, n);
    out->name[0] = '/';
    memcpy(out->name + 1, from, n);
    out->name[n + 1] = '\0';
    out->len = n + 1;
    while (i < POSIX_OPS && posix_ops[i].file != op)
        i++;
    out->op = i == POSIX_OPS ? OP_NONE : out->sem ? posix_ops[i].sem : posix_ops[i].shm;
    return out->op != OP_NONE;
}

int ask_posix_ipc(struct judge *j, const struct request *r, enum vocab_op op, const char *path,
                  size_t len)
{
    struct posix_object o;
    uint32_t node;
    if (!posix_object(op, path, len, &o) || (o.unfinished && !graph_uniform(j->graph, o.op, &node)))
        return 0;
    return ask_named(j, r, o.op, o.name, o.len);
}

/* Elsewhere semaphores are no files, so a profile that allows them says nothing about files. */
bool semaphore_is_allowed(struct judge *j, enum vocab_op op, const char *path, size_t len)
{
    struct graph_fact facts[NAME_FACTS];
    struct posix_object o;
    uint32_t node;
    if (!posix_object(op, path, len, &o) || !o.sem)
        return false;
    if (o.unfinished && !graph_uniform(j->graph, o.op, &node))
        return true; /* the real name follows */
    name_facts(o.name, o.len, facts);
    return would_allow_about(j, o.op, facts, NAME_FACTS);
}

/* mq_open() and mq_unlink(); the C library has removed the slash. */
struct answer handle_queue(struct judge *j, const struct request *r)
{
    char *name = j->path[0];
    int n = target_string(r, r->args[0], name);
    if (n < 0)
        return answer_value(n);
    if (n == 0 || n > 255 || memchr(name, '/', (size_t)n))
        return answer_errno(n == 0 ? ENOENT : n > 255 ? ENAMETOOLONG : EACCES);
    memmove(name + 1, name, (size_t)n + 1);
    name[0] = '/';
    if (!request_is_valid(j, r))
        return answer_errno(EPERM);
    return answer_verdict(ask_named(j, r, OP_IPC_POSIX, name, (size_t)n + 1));
}

/* ---- sockets ---- */

/* Apple's number of an address family, or -1 for families of Linux only. Both systems have a socket
 * that reports addresses and routes; Apple calls it AF_ROUTE. */
static int64_t apple_family(int family)
{
    static const struct {
        int family;
        const char *name;
    } families[] = {
        {AF_UNIX, "AF_UNIX"},     {AF_INET, "AF_INET"}, {AF_INET6, "AF_INET6"},
        {AF_NETLINK, "AF_ROUTE"}, {AF_IPX, "AF_IPX"},   {AF_APPLETALK, "AF_APPLETALK"},
        {AF_VSOCK, "AF_VSOCK"},
    };
    int64_t number;
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (families[i].family == family &&
            vocab_filter_constant(FILTER_SOCKET_DOMAIN, families[i].name, strlen(families[i].name),
                                  &number))
            return number;
    return -1;
}

struct answer handle_system_socket(struct judge *j, const struct request *r)
{
    enum { TYPE = 0xf };
    char shown[64];
    int64_t family = apple_family((int)r->args[0]);
    struct graph_fact facts[] = {
        {.filter = FILTER_SOCKET_TYPE, .num = (int)r->args[1] & TYPE},
        {.filter = FILTER_SOCKET_PROTOCOL, .num = (int)r->args[2]},
        {.filter = FILTER_SOCKET_DOMAIN, .num = family},
    };
    snprintf(shown, sizeof(shown), "domain %d type %d protocol %d", (int)r->args[0],
             (int)r->args[1] & TYPE, (int)r->args[2]);
    return answer_verdict(ask_about(j, r, OP_SYSTEM_SOCKET, facts, family < 0 ? 2 : 3, shown));
}
