/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* MCP resources: the current policy as SBPL, and the events of the session. */

#include <stdlib.h>
#include <string.h>

#include "agent/mcp-int.h"
#include "base/own.h"

enum { NO_RESOURCE = -32002 };

static int show_policy(struct mcp *m, struct buf *out, struct bk_err *err)
{
    OWN(agent_view) struct agent_view v;
    const struct access_target target = {0};
    if (mcp_view(m, &v, err) < 0)
        return -1;
    v.result.policy.as_shipped = true; /* the same as in `buckle run` */
    return access_sbpl(&v.result.policy, &target, out, err);
}

static int show_events(struct mcp *m, struct buf *out, struct bk_err *err)
{
    struct violations *v = store_get(m->session.store, NULL);
    if (!v)
        return err_nomem(err);
    buf_fmt(out, "{\"total\": %llu, \"events\": [",
            (unsigned long long)store_total(m->session.store));
    for (size_t i = 0; i < v->n; i++)
        buf_fmt(out, "%s%s", i ? ", " : "", v->at[i].json);
    buf_str(out, "]}");
    free(v);
    return 0;
}

static const struct {
    const char *uri, *name, *description, *type;
    int (*show)(struct mcp *m, struct buf *out, struct bk_err *err);
} resources[] = {
    {"buckle://policy", "policy", "The sandbox's current policy, in SBPL", "text/plain",
     show_policy},
    {"buckle://events", "events", "Denials of this session, newest last", "application/json",
     show_events},
};

enum { RESOURCES = sizeof(resources) / sizeof(resources[0]) };

json_t *mcp_resources(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < RESOURCES; i++)
        json_array_append_new(list,
                              json_pack("{s:s, s:s, s:s, s:s}", "uri", resources[i].uri, "name",
                                        resources[i].name, "description", resources[i].description,
                                        "mimeType", resources[i].type));
    return list;
}

void mcp_read_resource(struct mcp *m, const json_t *id, const char *uri)
{
    OWN(buf) struct buf out = {0};
    struct bk_err err;
    size_t i = 0;
    while (uri && i < RESOURCES && strcmp(resources[i].uri, uri) != 0)
        i++;
    if (!uri || i == RESOURCES) {
        rpc_error(&m->rpc, id, NO_RESOURCE, "there is no such resource");
        return;
    }
    if (resources[i].show(m, &out, &err) < 0) {
        rpc_error(&m->rpc, id, RPC_INVALID, "%s", err.msg);
        return;
    }
    json_t *text = json_stringn(out.s ? out.s : "", out.n);
    rpc_result(&m->rpc, id,
               json_pack("{s:[{s:s, s:s, s:o}]}", "contents", "uri", uri, "mimeType",
                         resources[i].type, "text", text ? text : json_string("")));
}
