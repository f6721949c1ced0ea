/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Every message is a request and at most one answer, except that the layers come one by one. The
 * server never waits for a client: one that does not read its answers loses its connection.
 */

#include "kernel/launch/layer-server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "base/remove-tree.h"
#include "kernel/host/host.h"
#include "kernel/launch/init.h"
#include "kernel/launch/layers.h"
#include "command/tmpdir.h"
#include "kernel/launch/walls.h"
#include "kernel/sentry/sentry.h"
#include "base/proc-text.h"
#include "kernel/shared/fd-pass.h"
#include "kernel/shared/roles.h"
#include "system/descriptors.h"

enum { CLIENTS = 1024, PATH_BYTES = 512, PATIENCE_MS = 5000 };

enum request { TAKE_LAYERS, FORGET_NAMES, JOIN, TAKE_PLACE };

/* A request; all but TAKE_PLACE are only the first word. */
struct asked {
    uint32_t request;
    char path[PATH_BYTES];
};

/* An answer. With an empty path: that was all. */
struct given {
    char path[PATH_BYTES];
};

/* ---- the server ---- */

struct server {
    struct pollfd clients[CLIENTS];
    nfds_t nclients;
    const char *const *paths;
    int layers[PLAN_LAYERS]; /* by path; -1: none */
    size_t n;
    /* Layers of a world, made when a run first asks for one. They are in a mount namespace without
     * the others, so that a place may be below one of those. */
    int world; /* its folder, or -1 */
    bool user_ns;
    int namespaces[2]; /* that of the world's layers, and that of the others */
    char *places[PLAN_LAYERS];
    int place_layers[PLAN_LAYERS];
    size_t nplaces;
    int above;  /* the server that can make the kernel forget names, or -1 */
    int folder; /* what has the TMPDIR, or -1, and its name in there: */
    char name[64];
};

static void forget_names(const struct server *s)
{
    bool ask = false;
    for (size_t i = 0; i < s->n; i++)
        ask |= s->layers[i] >= 0 && sentry_drop(s->layers[i]) == -EPERM;
    for (size_t i = 0; i < s->nplaces; i++)
        (void)sentry_drop(s->place_layers[i]);
    if (ask && s->above >= 0)
        layer_server_forget_names(s->above);
}

/* Returns whether the client may stay. */
static bool give_layers(const struct server *s, int client)
{
    struct given given;
    forget_names(s); /* nobody has watched what is below them since the last run */
    for (size_t i = 0; i < s->n; i++) {
        OWN(fd) int tree = s->layers[i] < 0 ? -1 : layers_copy(s->layers[i]);
        if (tree < 0)
            continue;
        memset(&given, 0, sizeof(given));
        memcpy(given.path, s->paths[i], strlen(s->paths[i]));
        if (fd_pass_try_many(client, &given, sizeof(given), &tree, 1) < 0)
            return false;
    }
    memset(&given, 0, sizeof(given));
    return fd_pass_try_many(client, &given, sizeof(given), NULL, 0) == 0;
}

static bool overlaps(const char *a, const char *b)
{
    size_t n = strlen(a), k = strlen(b), least = n < k ? n : k;
    return memcmp(a, b, least) == 0 && (n == k || (n < k ? b : a)[least] == '/');
}

/* The layer over a place of the world. Places that are one in another need policies that differ. */
static int find_place(struct server *s, const char *path)
{
    for (size_t i = 0; i < s->nplaces; i++)
        if (strcmp(s->places[i], path) == 0)
            return s->place_layers[i];
        else if (overlaps(s->places[i], path))
            return -EBUSY;
    char *copy = s->nplaces == PLAN_LAYERS ? NULL : strdup(path);
    int layer = copy ? layers_hold_place(path, s->user_ns, s->world) : -ENOMEM;
    if (layer < 0)
        return free(copy), layer;
    s->places[s->nplaces] = copy;
    s->place_layers[s->nplaces++] = layer;
    return layer;
}

static bool enter_namespace(const struct server *s, size_t which)
{
    return setns(s->namespaces[which], CLONE_NEWNS) == 0 && chdir("/proc") == 0;
}

/* Answers with the layer, or with nothing. */
static bool give_place(struct server *s, int client, const char *path)
{
    struct given given;
    int layer = -1;
    memset(&given, 0, sizeof(given));
    if (s->world >= 0 && path[0] == '/' && enter_namespace(s, 0))
        layer = find_place(s, path);
    OWN(fd) int tree = layer < 0 ? -1 : layers_copy(layer);
    if (s->world >= 0 && !enter_namespace(s, 1))
        return false;
    if (tree >= 0)
        memcpy(given.path, path, strlen(path));
    return fd_pass_try_many(client, &given, sizeof(given), &tree, tree >= 0) == 0;
}

static bool add_client(struct server *s, int client)
{
    if (s->nclients == CLIENTS)
        return false;
    s->clients[s->nclients++] = (struct pollfd){.fd = client, .events = POLLIN};
    return true;
}

static bool serve_client(struct server *s, int client)
{
    struct asked asked = {0};
    int passed = -1;
    size_t came = 0;
    ssize_t n = fd_pass_poll_many(client, &asked, sizeof(asked), &passed, 1, &came);
    OWN(fd) int joins = came ? passed : -1;
    if (n == -EAGAIN || n == -EINTR)
        return true;
    size_t whole = asked.request == TAKE_PLACE ? sizeof(asked) : sizeof(asked.request);
    if (n != (ssize_t)whole)
        return false;
    switch (asked.request) {
    case TAKE_PLACE:
        asked.path[PATH_BYTES - 1] = '\0';
        return give_place(s, client, asked.path);
    case TAKE_LAYERS:
        return give_layers(s, client);
    case FORGET_NAMES:
        forget_names(s);
        return send(client, &asked.request, sizeof(asked.request), MSG_NOSIGNAL | MSG_DONTWAIT) > 0;
    case JOIN:
        if (joins >= 0 && add_client(s, joins))
            (void)steal_fd(&joins);
        return true;
    default:
        return false;
    }
}

static void serve(struct server *s)
{
    while (s->nclients) {
        if (poll(s->clients, s->nclients, -1) < 0 && errno != EINTR)
            return;
        for (nfds_t i = s->nclients; i-- > 0;) {
            if (!s->clients[i].revents || serve_client(s, s->clients[i].fd))
                continue;
            close(s->clients[i].fd);
            s->clients[i] = s->clients[--s->nclients];
        }
    }
}

/* ---- starting ---- */

struct task {
    const char *const *paths;
    size_t n;
    bool user_ns;
    uid_t uid;
    gid_t gid;
    int socket;
    int init;                  /* to enter this sandbox, or -1: in namespaces of its own */
    int above;                 /* or -1 */
    int folder, lock, numbers; /* of the TMPDIR, or -1 */
    const char *world;         /* the folder of a world, or NULL */
    const char *name;
    struct id_maps maps;
};

static bool make_namespaces(struct task *t)
{
    return (!t->user_ns || id_maps_take(&t->maps, t->uid, t->gid) == 0) &&
           unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0;
}

static bool enter(const struct task *t)
{
    OWN(fd) int proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    pid_t pid = pidfd_process(t->init);
    return proc >= 0 && pid > 0 &&
           init_enter(t->init, pid, proc, CLONE_NEWNS | (t->user_ns ? CLONE_NEWUSER : 0)) == 0;
}

static int own_namespace(void)
{
    return open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
}

static bool open_world(struct server *s, const struct task *t)
{
    /* an overlay takes only folders that were opened in its own mount namespace */
    OWN(fd) int world = open(t->world, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    s->namespaces[0] = own_namespace();
    if (s->namespaces[0] < 0 || unshare(CLONE_NEWNS) < 0)
        return false;
    s->namespaces[1] = own_namespace();
    s->user_ns = t->user_ns;
    s->world = s->namespaces[1] < 0 ? -1 : steal_fd(&world);
    return s->world >= 0;
}

static void open_layers(struct server *s, struct task *t)
{
    bool inside = t->init >= 0;
    if (!(inside ? enter(t) : make_namespaces(t)) || (t->world && !open_world(s, t)) ||
        chdir("/proc") < 0)
        return;
    for (size_t i = 0; i < t->n; i++) {
        int layer = strlen(t->paths[i]) >= PATH_BYTES ? -1
                    : inside                          ? layers_find(t->paths[i])
                                                      : layers_hold(t->paths[i], t->user_ns);
        s->layers[s->n++] = layer < 0 ? -1 : layer;
    }
}

static void __attribute__((noreturn)) server_main(struct task *t)
{
    static struct server s;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL); /* it ends with its clients */
    setsid();
    role_take(ROLE_LAYERS);
    int keep[] = {t->socket, t->init,    t->above,        t->folder,
                  t->lock,   t->numbers, t->maps.wait[0], t->maps.wait[1]};
    fd_close_others(keep, sizeof(keep) / sizeof(keep[0]));
    s.paths = t->paths;
    s.world = -1;
    s.above = t->above;
    s.folder = t->folder;
    if (t->name)
        memcpy(s.name, t->name, strnlen(t->name, sizeof(s.name) - 1));
    open_layers(&s, t);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    add_client(&s, t->socket);
    serve(&s);
    if (s.folder >= 0)
        remove_tree_at(s.folder, s.name);
    _exit(0);
}

static int start(struct task *t, pid_t *pid)
{
    int ends[2];
    bool new_user = t->init < 0 && t->user_ns;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    OWN(fd) int ours = ends[0];
    OWN(fd) int theirs = ends[1];
    t->socket = theirs;
    t->uid = geteuid();
    t->gid = getegid();
    int err = id_maps_open(&t->maps, new_user);
    if (err < 0)
        return err;
    *pid = (pid_t)syscall(SYS_clone, SIGCHLD | (new_user ? CLONE_NEWUSER : 0), 0, 0, 0, 0);
    if (*pid == 0)
        server_main(t);
    err = *pid < 0 ? -errno : 0;
    id_maps_give(&t->maps, *pid); /* when that fails, it has no layers */
    return err < 0 ? err : steal_fd(&ours);
}

int layer_server_start(const char *const *paths, size_t n, const struct tmpdir *tmpdir,
                       const char *world, pid_t *pid)
{
    struct host h;
    struct bk_err ignored;
    struct task t = {.paths = paths,
                     .n = n,
                     .init = -1,
                     .above = -1,
                     .lock = tmpdir->lock,
                     .numbers = tmpdir->number ? tmpdir->numbers : -1,
                     .world = world};
    const char *pretend = getenv("BUCKLE_PRETEND");
    host_quick(&h);
    if (pretend)
        (void)host_pretend(&h, pretend, &ignored);
    t.user_ns = host_spaces(&h).user;
    if (!host_spaces(&h).mount)
        t.n = 0;
    OWN(fd) int folder = tmpdir_open_above(tmpdir, &t.name);
    t.folder = folder;
    int result = start(&t, pid);
    if (result == -EPERM || result == -ENOSPC || result == -EUSERS) { /* no user namespaces here */
        t.user_ns = false;
        t.n = 0;
        t.world = NULL;
        result = start(&t, pid);
    }
    return result;
}

int layer_server_start_inside(int init, bool user_ns, const char *const *paths, size_t n, int above,
                              pid_t *pid)
{
    struct task t = {.paths = paths,
                     .n = n < PLAN_LAYERS ? n : PLAN_LAYERS,
                     .user_ns = user_ns,
                     .init = init,
                     .above = -1,
                     .folder = -1,
                     .lock = -1,
                     .numbers = -1};
    int ends[2] = {-1, -1};
    if (above > 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    OWN(fd) int ours = ends[0];
    OWN(fd) int theirs = ends[1];
    int err = above > 0 ? layer_server_join(above, theirs) : 0;
    t.above = ours;
    return err < 0 ? err : start(&t, pid);
}

/* ---- the client's side ---- */

static int ask(int server, enum request kind, int passed)
{
    uint32_t request = kind;
    return fd_pass_send(server, &request, sizeof(request), passed);
}

static bool comes_soon(int server)
{
    struct pollfd p = {server, POLLIN, 0};
    return poll(&p, 1, PATIENCE_MS) == 1;
}

int layer_server_join(int server, int client)
{
    return ask(server, JOIN, client);
}

/* The layer over a place of the session's world, or -1. */
static int take_place(int server, const char *path)
{
    struct asked asked = {.request = TAKE_PLACE};
    struct given given;
    int tree = -1;
    size_t n = strlen(path);
    if (n >= PATH_BYTES)
        return -1;
    memcpy(asked.path, path, n);
    if (fd_pass_send(server, &asked, sizeof(asked), -1) < 0 || !comes_soon(server) ||
        fd_pass_receive(server, &given, sizeof(given), &tree) != sizeof(given))
        return -1;
    return tree;
}

void layer_server_take_places(int server, const struct plan *p, int trees[PLAN_LAYERS])
{
    for (size_t i = 0; i < p->nlayers && i < PLAN_LAYERS; i++)
        if (p->layers[i].kind == LAYER_TRY && trees[i] < 0)
            trees[i] = take_place(server, p->layers[i].path);
}

void layer_server_take(int server, const struct plan *p, int trees[PLAN_LAYERS])
{
    struct given given;
    for (size_t i = 0; i < PLAN_LAYERS; i++)
        trees[i] = -1;
    if (ask(server, TAKE_LAYERS, -1) < 0)
        return;
    while (comes_soon(server)) {
        int passed = -1;
        ssize_t n = fd_pass_receive(server, &given, sizeof(given), &passed);
        OWN(fd) int tree = passed;
        if (n != sizeof(given) || !given.path[0] || tree < 0)
            return;
        given.path[PATH_BYTES - 1] = '\0';
        for (size_t i = 0; i < p->nlayers && i < PLAN_LAYERS && tree >= 0; i++)
            if (trees[i] < 0 && strcmp(p->layers[i].path, given.path) == 0)
                trees[i] = steal_fd(&tree);
    }
}

int layer_server_forget_names(int server)
{
    uint32_t answer;
    int err = ask(server, FORGET_NAMES, -1);
    if (err < 0)
        return err;
    if (!comes_soon(server))
        return -ETIMEDOUT;
    return recv(server, &answer, sizeof(answer), 0) == sizeof(answer) ? 0 : -EPIPE;
}
