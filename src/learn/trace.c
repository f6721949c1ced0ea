/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The tree of used paths. A table finds a node by its parent and name, so a use costs one look-up a
 * component. Limits on nodes, on names in one folder, hosts and programs bound the memory; what
 * does not fit is merged into the folder that it is in, so nothing is lost but its name.
 */

#include "learn/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "graph/peer.h"

enum {
    MAX_NODES = 200000,
    MAX_CHILDREN = 2000,
    MAX_HOSTS = 4000,
    MAX_PROGRAMS = 1000,
    MAX_DEPTH = 200,
    MAX_BYTES = 64 << 20, /* of names */
};

/* clang-format off */
const uint16_t use_ops[] = {
    OP_FILE_READ_DATA, OP_FILE_READ_XATTR, OP_FILE_READ_METADATA,
    OP_FILE_WRITE_CREATE, OP_FILE_WRITE_DATA, OP_FILE_WRITE_UNLINK, OP_FILE_WRITE_MODE,
    OP_FILE_WRITE_OWNER, OP_FILE_WRITE_TIMES, OP_FILE_WRITE_FLAGS, OP_FILE_WRITE_XATTR,
    OP_FILE_WRITE_ACL, OP_FILE_MKNOD,
    OP_PROCESS_EXEC, OP_PROCESS_EXEC_INTERPRETER,
    OP_NETWORK_BIND, OP_NETWORK_INBOUND,
    OP_NETWORK_OUTBOUND,
};
static const uint8_t classes[] = {
    USE_READ, USE_READ, USE_READ,
    USE_WRITE, USE_WRITE, USE_WRITE, USE_WRITE,
    USE_WRITE, USE_WRITE, USE_WRITE, USE_WRITE,
    USE_WRITE, USE_WRITE,
    USE_EXEC, USE_EXEC,
    USE_SERVE, USE_SERVE,
    USE_CONNECT,
};
/* clang-format on */
const size_t use_op_count = sizeof(use_ops) / sizeof(use_ops[0]);

enum use_class use_class_of(size_t bit)
{
    return (enum use_class)classes[bit];
}

uint32_t use_class_bits(enum use_class c)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < use_op_count; i++)
        bits |= classes[i] == c ? 1u << i : 0;
    return bits;
}

static int bit_of(enum vocab_op op)
{
    for (size_t i = 0; i < use_op_count; i++)
        if (use_ops[i] == op)
            return (int)i;
    return -1;
}

/* ---- nodes ---- */

/* Seeded: the command chooses the names. */
static uint32_t hash_name(const struct trace *t, uint32_t parent, const char *name, size_t n)
{
    uint64_t h = (t->seed ^ parent) * 0x9e3779b97f4a7c15u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)name[i]) * 0x100000001b3u;
    return (uint32_t)(h ^ h >> 32);
}

/* The slot of a name in a folder, or the empty one where it belongs. */
static uint32_t *slot_of(const struct trace *t, uint32_t parent, const char *name, size_t n)
{
    for (uint32_t i = hash_name(t, parent, name, n);; i++) {
        uint32_t *slot = &t->slots[i & t->mask];
        const struct trace_node *at = *slot ? &t->nodes[*slot - 1] : NULL;
        if (!at || (at->parent == parent && at->len == n && memcmp(at->name, name, n) == 0))
            return slot;
    }
}

static int grow_nodes(struct trace *t)
{
    uint32_t cap = t->cap_nodes ? t->cap_nodes * 2 : 1024;
    if (t->nnodes < t->cap_nodes)
        return 0;
    struct trace_node *nodes = realloc(t->nodes, cap * sizeof(*nodes));
    uint32_t *slots = calloc((size_t)cap * 2, sizeof(*slots));
    if (nodes)
        t->nodes = nodes;
    if (!nodes || !slots)
        return free(slots), -1;
    free(t->slots);
    t->slots = slots;
    t->mask = cap * 2 - 1;
    t->cap_nodes = cap;
    for (uint32_t i = 1; i < t->nnodes; i++)
        *slot_of(t, t->nodes[i].parent, t->nodes[i].name, t->nodes[i].len) = i + 1;
    return 0;
}

/* Returns the child of that name, made if there is room; 0 if there is none. */
static uint32_t child_of(struct trace *t, uint32_t parent, const char *name, size_t n)
{
    uint32_t *slot = slot_of(t, parent, name, n);
    if (*slot)
        return *slot - 1;
    if (t->nnodes >= t->limits.nodes || t->nodes[parent].nchildren >= t->limits.children)
        return 0;
    const char *kept = arena_strndup(&t->arena, name, n);
    if (!kept || grow_nodes(t) < 0)
        return 0;
    uint32_t node = t->nnodes++;
    *slot_of(t, parent, name, n) = node + 1;
    t->nodes[node] = (struct trace_node){
        .name = kept, .len = (uint32_t)n, .parent = parent, .next = t->nodes[parent].child};
    t->nodes[parent].child = node;
    t->nodes[parent].nchildren++;
    return node;
}

static uint32_t program_of(struct trace *t, const char *name)
{
    if (!name[0])
        return 0;
    for (uint32_t i = 1; i < t->nprograms; i++)
        if (strcmp(t->programs[i], name) == 0)
            return i;
    if (t->nprograms >= t->limits.programs)
        return 0;
    const char *kept = arena_strndup(&t->arena, name, strlen(name));
    if (!kept)
        return 0;
    t->programs[t->nprograms] = kept;
    return t->nprograms++;
}

static void note_use(struct trace *t, struct use *u, uint32_t ops, uint64_t count,
                     const char *program)
{
    if (!u->ops)
        u->program = program_of(t, program);
    u->ops |= ops;
    u->count += count;
    t->events += count;
}

/* An absolute path without empty, "." and ".." components. */
static bool is_plain(const char *path, size_t len)
{
    if (len == 0 || path[0] != '/' || len >= EVENT_PATH - 1 || memchr(path, '\0', len))
        return false;
    for (size_t i = 1, start = 1; len > 1 && i <= len; i++) {
        if (i < len && path[i] != '/')
            continue;
        size_t n = i - start;
        if (n == 0 || (n == 1 && path[start] == '.') ||
            (n == 2 && path[start] == '.' && path[start + 1] == '.'))
            return false;
        start = i + 1;
    }
    return true;
}

/* The node of a path; *inner: the path has no node, and this is the innermost folder that has. */
static uint32_t walk(struct trace *t, const char *path, size_t len, bool *inner)
{
    uint32_t node = 0;
    size_t depth = 0;
    *inner = false;
    for (size_t at = 1; at < len;) {
        const char *slash = memchr(path + at, '/', len - at);
        size_t n = slash ? (size_t)(slash - path) - at : len - at;
        uint32_t next = ++depth > MAX_DEPTH ? 0 : child_of(t, node, path + at, n);
        if (!next)
            return *inner = true, node;
        node = next;
        at += n + 1;
    }
    return node;
}

int trace_add_path(struct trace *t, enum vocab_op op, const char *path, size_t len,
                   const char *program, uint64_t count)
{
    bool inner;
    int bit = bit_of(op);
    if (bit < 0 || !is_plain(path, len))
        return t->skipped++, 0;
    uint32_t node = walk(t, path, len, &inner);
    struct trace_node *n = &t->nodes[node];
    note_use(t, inner ? &n->many : &n->own, 1u << bit, count, program);
    t->left += inner ? count : 0;
    return 0;
}

int trace_add_many(struct trace *t, const char *folder, size_t len, const struct use *use,
                   const char *program)
{
    bool inner;
    if (!is_plain(folder, len))
        return t->skipped++, 0;
    uint32_t node = walk(t, folder, len, &inner);
    note_use(t, &t->nodes[node].many, use->ops, use->count, program);
    t->left += use->count;
    return 0;
}

/* ---- hosts ---- */

static int grow_hosts(struct trace *t)
{
    uint32_t cap = t->cap_hosts ? t->cap_hosts * 2 : 16;
    if (t->nhosts < t->cap_hosts)
        return 0;
    struct trace_host *hosts = realloc(t->hosts, cap * sizeof(*hosts));
    if (!hosts)
        return -1;
    t->hosts = hosts;
    t->cap_hosts = cap;
    return 0;
}

int trace_add_host(struct trace *t, const char *host, size_t len, uint16_t port,
                   const char *program, uint64_t count)
{
    uint32_t out = 1u << bit_of(OP_NETWORK_OUTBOUND);
    for (uint32_t i = 0; i < t->nhosts; i++) {
        struct trace_host *h = &t->hosts[i];
        if (h->port == port && strlen(h->name) == len && memcmp(h->name, host, len) == 0) {
            note_use(t, &h->use, out, count, program);
            return 0;
        }
    }
    if (t->nhosts >= t->limits.hosts)
        return t->skipped++, 0;
    const char *kept = arena_strndup(&t->arena, host, len);
    if (!kept || grow_hosts(t) < 0)
        return -1;
    struct trace_host *h = &t->hosts[t->nhosts++];
    *h = (struct trace_host){.name = kept, .port = port};
    note_use(t, &h->use, out, count, program);
    return 0;
}

/* "name:port", "address:port" or "[address]:port", as the gate writes them. */
static int add_endpoint(struct trace *t, const struct event *e)
{
    struct peer peer;
    uint16_t port;
    if (!peer_parse_authority(e->path, e->path_len, 0, &peer, &port))
        return t->skipped++, 0;
    return trace_add_host(t, peer.name, peer.len, port, e->exe, 1);
}

int trace_add(struct trace *t, const struct event *e)
{
    if (bit_of((enum vocab_op)e->op) < 0)
        return 0;
    uint64_t count = e->count ? e->count : 1;
    if (e->path[0] == '/')
        return trace_add_path(t, (enum vocab_op)e->op, e->path, e->path_len, e->exe, count);
    /* abstract names are the sandbox's own */
    if (e->op != OP_NETWORK_OUTBOUND || e->path[0] == '@')
        return t->skipped += e->path[0] != '@', 0;
    return add_endpoint(t, e);
}

/* ---- all of it ---- */

int trace_init(struct trace *t, const struct trace_limits *limits, struct bk_err *err)
{
    static const struct trace_limits none;
    const struct trace_limits *l = limits ? limits : &none;
    *t = (struct trace){.limits = {.nodes = l->nodes ? l->nodes : MAX_NODES,
                                   .children = l->children ? l->children : MAX_CHILDREN,
                                   .hosts = l->hosts ? l->hosts : MAX_HOSTS,
                                   .programs = l->programs ? l->programs : MAX_PROGRAMS}};
    arena_init(&t->arena, MAX_BYTES);
    t->programs = calloc(t->limits.programs + 1, sizeof(*t->programs));
    if (!t->programs || grow_nodes(t) < 0)
        return err_nomem(err);
    t->seed = (uintptr_t)t ^ (uint64_t)(uintptr_t)t->programs << 32;
    t->programs[0] = "";
    t->nprograms = 1;
    t->nodes[0] = (struct trace_node){.name = ""};
    t->nnodes = 1;
    return 0;
}

void trace_free(struct trace *t)
{
    free(t->nodes);
    free(t->slots);
    free(t->hosts);
    free(t->programs);
    arena_free(&t->arena);
    *t = (struct trace){0};
}

const char *trace_program(const struct trace *t, uint32_t program)
{
    return program < t->nprograms ? t->programs[program] : "";
}

void trace_path(const struct trace *t, uint32_t node, struct buf *out)
{
    uint32_t chain[MAX_DEPTH + 1];
    size_t n = 0;
    for (; node && n <= MAX_DEPTH; node = t->nodes[node].parent)
        chain[n++] = node;
    if (n == 0)
        buf_chr(out, '/');
    while (n-- > 0) {
        buf_chr(out, '/');
        buf_add(out, t->nodes[chain[n]].name, t->nodes[chain[n]].len);
    }
}

uint32_t trace_find(const struct trace *t, const char *path)
{
    uint32_t node = 0;
    size_t len = strlen(path);
    if (!is_plain(path, len))
        return UINT32_MAX;
    for (size_t at = 1; at < len;) {
        size_t n = strcspn(path + at, "/");
        uint32_t slot = *slot_of(t, node, path + at, n);
        if (!slot)
            return UINT32_MAX;
        node = slot - 1;
        at += n + 1;
    }
    return node;
}

int trace_each(const struct trace *t, trace_fn *each, void *arg)
{
    OWN(buf) struct buf path = {0};
    for (uint32_t i = 0; i < t->nnodes; i++) {
        if (!t->nodes[i].own.ops)
            continue;
        path.n = 0;
        trace_path(t, i, &path);
        if (!buf_ok(&path))
            return -1;
        for (size_t bit = 0; bit < use_op_count; bit++) {
            int r = t->nodes[i].own.ops >> bit & 1
                        ? each(arg, i, (enum vocab_op)use_ops[bit], path.s, path.n)
                        : 0;
            if (r != 0)
                return r;
        }
    }
    return 0;
}
