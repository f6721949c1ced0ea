/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A run with Seatbelt, macOS's sandbox (src/macos): the policy is flattened for it. If the policy
 * distinguishes hosts, connections leave only through proxies, which evaluate it. On Linux
 * BUCKLE_BACKEND=seatbelt does the same with our own sandbox-exec.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/own.h"
#include "macos/macos-run.h"
#include "macos/sandbox-exec.h"
#include "net/rules.h"
#include "run/run-int.h"

/* ---- the network ---- */

/* Whether the policy has names or addresses of hosts. The system can distinguish ports alone. */
bool run_filters_hosts(const struct graph *g)
{
    for (uint32_t i = 0; i < graph_test_count(g); i++) {
        const struct graph_test *t = graph_test_at(g, i);
        if (t->filter == FILTER_DOMAIN || graph_test_is_of_request(t) ||
            (t->filter == FILTER_REMOTE && t->how == GRAPH_NET && t->net.proto != NET_UNIX &&
             t->net.host == NET_HOST_ADDRESS))
            return true;
    }
    return false;
}

static bool may_reach(struct net_rules *rules, uint16_t port)
{
    static const uint8_t loopback[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
    struct peer here;
    peer_from_address(loopback, &here);
    return rules_ask(rules, &here, port, NET_TCP).allow;
}

enum { PORTS = 64 };

/* Servers on this machine that the policy names are reached without a proxy. */
static void write_own_ports(struct net_rules *rules, struct buf *out)
{
    struct local_port ports[PORTS];
    size_t n = rules_local_ports(rules->graph, ports, PORTS);
    /* two unlikely ports represent all others */
    bool all = may_reach(rules, 47) && may_reach(rules, 61403);
    if (all)
        buf_str(out, "(allow network-outbound (remote ip \"localhost:*\"))\n");
    for (size_t i = 0; i < n; i++) {
        bool may = may_reach(rules, ports[i].port);
        if (may != all)
            buf_fmt(out, "(%s network-outbound (remote ip \"localhost:%u\"))\n",
                    may ? "allow" : "deny", ports[i].port);
    }
}

int run_close_hosts(const struct graph *g, const struct macos_ports *ports, const char *tag,
                    struct buf *out, struct bk_err *err)
{
    struct net_rules rules;
    if (rules_init(&rules, g) < 0)
        return err_nomem(err);
    buf_str(out, "; The proxies filter hosts by name.\n"
                 "(deny network-outbound (remote ip \"*:*\")");
    if (tag) {
        buf_str(out, "\n    (with message ");
        buf_sbpl(out, tag, strlen(tag));
        buf_chr(out, ')');
    }
    buf_str(out, ")\n");
    write_own_ports(&rules, out);
    const uint16_t both[] = {ports->http, ports->socks};
    for (size_t i = 0; i < 2; i++)
        if (both[i])
            buf_fmt(out, "(allow network-outbound (remote ip \"localhost:%u\"))\n", both[i]);
    rules_free(&rules);
    return buf_ok(out) ? 0 : err_nomem(err);
}

/* ---- running ---- */

static int write_profile(void *arg, const struct macos_ports *ports, const char *tag,
                         struct buf *out, struct bk_err *err)
{
    struct run *r = arg;
    struct sbpl_flatten_options o = {.message = tag};
    if (r->policy.around || r->spec->nextensions) /* the text has neither */
        return err_set(err, BK_E_INPUT, "on macOS a run takes no extensions or platform profiles");
    if (sbpl_flatten(&r->policy.unit, &o, out, err) < 0)
        return -1;
    /* Linux checks when a device is opened, macOS with every ioctl */
    if (!r->spec->bare)
        buf_str(out, "; The command may control the terminal that it was given.\n"
                     "(allow file-ioctl (regex #\"^/dev/ttys[0-9]+$\"))\n");
    return run_filters_hosts(r->policy.graph)
               ? run_close_hosts(r->policy.graph, ports, tag, out, err)
               : 0;
}

/* ---- printing ---- */

int run_print_seatbelt(struct run *r, const char *how, bool json, struct buf *out,
                       struct bk_err *err)
{
    OWN(buf) struct buf profile = {0};
    static const struct macos_ports none;
    if (run_policy_compile(&r->policy, err) < 0 || write_profile(r, &none, NULL, &profile, err) < 0)
        return -1;
    if (!buf_ok(&profile))
        return err_nomem(err);
    bool proxied = run_filters_hosts(r->policy.graph);
    if (json) {
        buf_fmt(out, "{\"enforced\": \"%s\", \"proxies\": %s, \"profile\": ", how,
                proxied ? "true" : "false");
        buf_json(out, profile.s, profile.n);
        buf_str(out, "}\n");
        return 0;
    }
    buf_fmt(out, "; Seatbelt enforces this (%s)%s.\n", how,
            proxied ? ", with the ports of the proxies that filter hosts" : "");
    buf_add(out, profile.s, profile.n);
    return 0;
}

/* ---- the command ---- */

static void on_event(void *arg, const struct event *e)
{
    struct run *r = arg;
    run_event(r, e);
}

static void on_input(void *arg)
{
    const struct run *r = arg;
    r->spec->launch.on_input(r->spec->launch.arg);
}

static void debug(void *arg, const char *line)
{
    const struct run *r = arg;
    if (r->spec->debug)
        r->spec->debug(r->spec->launch.arg, line);
}

/* Before sandbox-exec words it differently. */
static int find_command(struct run *r, struct launch_end *end, struct bk_err *err)
{
    const char *name = r->spec->launch.argv[0];
    struct stat st;
    if (shell_find(&r->arena, name, getenv("PATH"), err))
        return 0;
    end->step = STEP_EXEC;
    end->sys = errno = strchr(name, '/') && stat(name, &st) == 0 ? EACCES : ENOENT;
    return err_sys(err, "cannot run %s", name);
}

int run_macos(struct run *r, seatbelt_enter_fn *enter, struct launch_end *end, struct bk_err *err)
{
    const struct run_spec *s = r->spec;
    struct macos_end ended;
    if (find_command(r, end, err) < 0)
        return -1;
    struct seatbelt how = {
        .argv = s->launch.argv,
        .env = r->env.env,
        .cwd = s->launch.cwd,
        .keep_fds = s->launch.keep_fds,
        .nkeep_fds = s->launch.nkeep,
        .profile = write_profile,
        .graph = r->policy.graph,
        .proxied = run_filters_hosts(r->policy.graph),
        .parents = r->has_parents ? &r->parents : NULL,
        .connector = r->connector[0] ? r->connector : NULL,
        .enter = enter,
        .timeout_ms = s->launch.timeout_ms,
        .on_event = on_event,
        .on_input = s->launch.on_input ? on_input : NULL,
        .input_fd = s->launch.input_fd,
        .debug = debug,
        .arg = r,
    };
    end->step = STEP_NONE;
    if (macos_run(&how, &ended, err) < 0)
        return -1;
    end->status = ended.status;
    end->timed_out = ended.timed_out;
    return 0;
}
