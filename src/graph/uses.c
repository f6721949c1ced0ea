/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A policy whose uses are recorded: (trace GRAPH_TRACE_USES). Operations that files, programs and
 * hosts are used by get entries of their own, whose permissions are reported. The same arguments
 * are allowed and denied as before: only the flag differs.
 */

#include <stdlib.h>
#include <string.h>

#include "graph/build-int.h"
#include "graph/graph-int.h"

/* Looking at names and attributes is not among them: it would make every stat() wait. */
static const uint16_t traced[] = {
    OP_FILE_READ_DATA,           OP_FILE_WRITE_ACL,   OP_FILE_WRITE_CREATE, OP_FILE_WRITE_DATA,
    OP_FILE_WRITE_FLAGS,         OP_FILE_WRITE_MODE,  OP_FILE_WRITE_OWNER,  OP_FILE_WRITE_TIMES,
    OP_FILE_WRITE_UNLINK,        OP_FILE_WRITE_XATTR, OP_FILE_MKNOD,        OP_PROCESS_EXEC,
    OP_PROCESS_EXEC_INTERPRETER, OP_NETWORK_OUTBOUND, OP_NETWORK_BIND,      OP_NETWORK_INBOUND,
};
enum { TRACED = sizeof(traced) / sizeof(traced[0]) };

/* Marks what is below the traced entries: edges lead down. */
static void mark_reached(const struct graph *g, uint32_t *map, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        map[i] = GRAPH_NONE;
    for (size_t i = 0; i < TRACED; i++)
        map[g->entry_nodes[traced[i]]] = 0;
    for (uint32_t i = n; i-- > 0;)
        if (map[i] == 0 && g->nodes[i].kind == GRAPH_NODE_FILTER)
            map[g->nodes[i].match] = map[g->nodes[i].unmatch] = 0;
}

static int reported_copy(struct graph_build *b, uint32_t node, uint32_t *out, struct bk_err *err)
{
    struct graph *g = b->g;
    if (build_room(b, &g->nodes, &b->cap_nodes, g->nnodes, sizeof(*g->nodes), err) < 0)
        return -1;
    g->nodes[g->nnodes] = g->nodes[node];
    g->nodes[g->nnodes].flags |= VOCAB_FLAG_REPORT;
    *out = g->nnodes++;
    return 0;
}

static int copy_node(struct graph_build *b, uint32_t *map, uint32_t i, struct bk_err *err)
{
    const struct graph_node n = b->g->nodes[i];
    map[i] = i;
    if (n.kind == GRAPH_NODE_DECISION)
        return n.allow ? reported_copy(b, i, &map[i], err) : 0;
    if (map[n.match] == n.match && map[n.unmatch] == n.unmatch)
        return 0;
    return intern_node(b, n.test, map[n.match], map[n.unmatch], n.rule, &map[i], err);
}

int graph_report_uses(struct graph_build *b, struct bk_err *err)
{
    struct graph *g = b->g;
    const char *trace = graph_note(g, "trace");
    if (!trace || strcmp(trace, GRAPH_TRACE_USES) != 0)
        return 0;
    uint32_t n = g->nnodes;
    uint32_t *map = malloc(sizeof(*map) * (n ? n : 1));
    int r = map ? 0 : err_nomem(err);
    if (map)
        mark_reached(g, map, n);
    for (uint32_t i = 0; r == 0 && i < n; i++)
        if (map[i] == 0)
            r = copy_node(b, map, i, err);
    for (size_t i = 0; r == 0 && i < TRACED; i++)
        g->entry_nodes[traced[i]] = map[g->entry_nodes[traced[i]]];
    free(map);
    return r;
}
