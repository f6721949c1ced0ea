/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Building from nodes. A compiled profile has no rules, only the decision graph they became, and
 * turning that back into rules would multiply it. So its nodes are interned as they are, with one
 * rule per decision that records its position in the file.
 */

#include <stdlib.h>
#include <string.h>

#include "graph/build-int.h"
#include "graph/graph-int.h"

int graph_build_decision(struct graph_build *b, const struct graph_rule *rule, uint32_t *node,
                         struct bk_err *err)
{
    static const uint16_t any = OP_DEFAULT;
    struct graph *g = b->g;
    struct graph_rule r = *rule;
    r.ops = &any;
    r.nops = 1;
    r.when = NULL;
    if (graph_build_rule(b, &r, err) < 0 ||
        build_room(b, &g->nodes, &b->cap_nodes, g->nnodes, sizeof(*g->nodes), err) < 0)
        return -1;
    uint32_t last = g->nrules - 1;
    struct rule_body *body = &g->bodies[last];
    g->rules[last].nops = 0;
    g->rules[last].compiled = true;
    g->nodes[g->nnodes] = (struct graph_node){.kind = GRAPH_NODE_DECISION,
                                              .allow = r.allow,
                                              .flags = body->flags,
                                              .mods = body->mod,
                                              .nmods = body->nmods,
                                              .rule = last};
    body->decision = *node = g->nnodes++;
    return 0;
}

int graph_build_filter(struct graph_build *b, const struct graph_test *test, uint32_t match,
                       uint32_t unmatch, uint32_t *node, struct bk_err *err)
{
    uint32_t t;
    if (match >= b->g->nnodes || unmatch >= b->g->nnodes)
        return err_set(err, BK_E_BUG, "an edge leads to a node that does not exist yet");
    if (intern_test(b, test, &t, err) < 0)
        return -1;
    return intern_node(b, t, match, unmatch, GRAPH_NO_RULE, node, err);
}

const struct graph_test *graph_build_test(const struct graph_build *b, uint32_t node,
                                          uint32_t *unmatch)
{
    const struct graph_node *n = &b->g->nodes[node];
    *unmatch = n->unmatch;
    return n->kind == GRAPH_NODE_FILTER ? &b->g->tests[n->test] : NULL;
}

int graph_build_entries(struct graph_build *b, uint32_t policy, const uint32_t *entries,
                        struct bk_err *err)
{
    if (policy > b->g->npolicies || policy != b->ngiven)
        return err_set(err, BK_E_BUG, "entries of policy %u are out of order", policy);
    if (build_room(b, &b->given, &b->cap_given, b->ngiven, OP_COUNT * sizeof(*b->given), err) < 0)
        return -1;
    for (uint32_t op = 0; op < OP_COUNT; op++)
        if (entries[op] >= b->g->nnodes)
            return err_set(err, BK_E_BUG, "an entry leads to a node that does not exist");
    memcpy(b->given + (size_t)policy * OP_COUNT, entries, OP_COUNT * sizeof(*entries));
    b->ngiven++;
    return 0;
}

int nodes_enter(struct graph_build *b, struct bk_err *err)
{
    if (b->ngiven != b->g->npolicies + 1)
        return err_set(err, BK_E_BUG, "a policy has no entries");
    memcpy(b->g->entry_nodes, b->given, (size_t)b->ngiven * OP_COUNT * sizeof(*b->given));
    return 0;
}

/* The message is stored with the rule's decision. */
/* Whether rules name hosts, by name or by address. */
static bool names_hosts(const struct graph *g)
{
    for (uint32_t i = 0; i < graph_test_count(g); i++) {
        const struct graph_test *t = graph_test_at(g, i);
        if (t->filter == FILTER_DOMAIN || (t->filter == FILTER_REMOTE && t->net.proto & NET_IP))
            return true;
    }
    return false;
}

/* The shipped profiles deny the network in one rule, and flags and settings allow hosts later. So
 * its message would be wrong once there is one. */
static const char *message_of(const struct graph *g, const char *text)
{
    bool shipped = strcmp(text, "no network in this profile") == 0;
    return shipped && names_hosts(g) ? "not among the allowed hosts and sockets" : text;
}

const char *graph_rule_message(const struct graph *g, uint32_t rule)
{
    uint32_t n = rule < graph_rule_count(g) ? graph_node_count(g) : 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct graph_node *node = graph_node_at(g, i);
        if (node->kind != GRAPH_NODE_DECISION || node->rule != rule)
            continue;
        for (uint32_t k = 0; k < node->nmods; k++) {
            const struct graph_mod *mod = graph_mod_at(g, node->mods + k);
            if (mod->id == MOD_MESSAGE && mod->str)
                return message_of(g, mod->str);
        }
    }
    return NULL;
}

bool graph_denies_protected(const struct graph *g, const struct graph_node *decision)
{
    static const char own[] = "<buckle>/", word[] = "protected: ";
    if (decision->allow || decision->rule >= graph_rule_count(g))
        return false;
    const char *file = graph_rule_at(g, decision->rule)->origin.file;
    if (!file || strncmp(file, own, sizeof(own) - 1) != 0)
        return false;
    for (uint32_t i = 0; i < decision->nmods; i++) {
        const struct graph_mod *mod = graph_mod_at(g, decision->mods + i);
        if (mod->id == MOD_MESSAGE && mod->str)
            return strncmp(mod->str, word, sizeof(word) - 1) == 0;
    }
    return false;
}
