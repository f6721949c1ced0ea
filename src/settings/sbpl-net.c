/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The network. On macOS a profile can only distinguish ports of this machine, so proxies filter
 * names. On Linux the policy itself has the names; denials come last.
 */

#include <stdio.h>
#include <string.h>

#include "graph/net.h"
#include "settings/credential-rule.h"
#include "settings/masks.h"
#include "settings/request-rule.h"
#include "settings/sbpl-int.h"

/* ---- names ---- */

/* A host name is a domain; addresses, ranges, "*" and localhost are for (remote …). */
static int host_rule(struct writer *w, const char *action, const char *host, const char *origin,
                     const char *reason)
{
    struct net_endpoint end;
    bool remote = net_endpoint_parse(host, strlen(host), &end, NULL, NULL) == 0;
    if (!remote && net_domain_check(host, strlen(host), NULL) < 0) {
        err_set(w->err, BK_E_INPUT, "%.120s is not a host name or address", host);
        err_hint(w->err, "write a name, *.name, or an address; :port limits it to one port");
        return -1;
    }
    buf_fmt(w->out, "(%s network-outbound", action);
    if (origin) {
        buf_str(w->out, "\n    ; ");
        buf_safe(w->out, origin, strlen(origin));
    }
    bool only = w->p->requests_only && strcmp(action, "allow") == 0;
    buf_fmt(w->out, "%s%s(%s ", origin ? "\n    " : " ", only ? "(require-all " : "",
            remote ? "remote ip" : "domain");
    buf_sbpl(w->out, host, strlen(host));
    buf_str(w->out, only ? ") (http-request))" : ")");
    if (reason)
        write_close(w, reason);
    else
        buf_str(w->out, ")\n");
    return 0;
}

static int request_rule(struct writer *w, const char *action, const char *request,
                        const char *reason)
{
    buf_fmt(w->out, "(%s network-outbound\n    ", action);
    if (request_rule_filter(request, w->out, w->err) < 0)
        return -1;
    if (reason)
        write_close(w, reason);
    else
        buf_str(w->out, ")\n");
    return 0;
}

int write_denied_hosts(struct writer *w)
{
    const struct words *requests = &w->p->denied_requests;
    for (size_t i = 0; i < requests->n; i++)
        if (request_rule(w, "deny", requests->at[i], "denied by a rule about requests") < 0)
            return -1;
    const struct words *denied = &w->p->denied_domains, *reasons = &w->p->denied_reasons;
    const struct words *origins = &w->p->denied_origins;
    for (size_t i = 0; i < denied->n; i++)
        if (host_rule(w, "deny", denied->at[i], i < origins->n ? origins->at[i] : NULL,
                      i < reasons->n && reasons->at[i] ? reasons->at[i] : "denied by name") < 0)
            return -1;
    return 0;
}

/* Hosts that get credentials are read, whatever allows them. */
static int write_credentials(struct writer *w)
{
    struct arena arena;
    struct credential_rule c;
    int result = 0;
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < w->p->credentials.n && result == 0; i++) {
        result = credential_rule_read(w->p->credentials.at[i], &arena, &c, w->err);
        if (result == 0)
            credential_rule_sbpl(&c, w->out);
    }
    arena_free(&arena);
    if (w->p->masks)
        masks_sbpl(w->p->masks, w->out);
    return result;
}

static int write_hosts(struct writer *w)
{
    const struct words *allowed = &w->p->allowed_domains, *addresses = &w->p->denied_addresses;
    /* before permissions: an address that is named there is wanted */
    for (size_t i = 0; i < addresses->n; i++)
        if (host_rule(w, "deny", addresses->at[i], NULL, "names must not resolve to this address") <
            0)
            return -1;
    for (size_t i = 0; i < allowed->n; i++)
        if (host_rule(w, "allow", allowed->at[i], NULL, NULL) < 0)
            return -1;
    for (size_t i = 0; i < w->p->allowed_requests.n; i++)
        if (request_rule(w, "allow", w->p->allowed_requests.at[i], NULL) < 0)
            return -1;
    return write_credentials(w) < 0 ? -1 : write_denied_hosts(w);
}

/* ---- this machine ---- */

static void write_loopback(struct writer *w, const char *port)
{
    buf_fmt(w->out,
            "(allow network-bind network-inbound (local ip \"localhost:%s\"))\n"
            "(allow network-outbound (remote ip \"localhost:%s\"))\n",
            port, port);
    if (w->t->macos) /* an unconnected socket has no peer yet */
        buf_fmt(w->out, "(allow network-outbound (local ip \"localhost:%s\"))\n", port);
}

static void write_local(struct writer *w)
{
    const struct access *p = w->p;
    if (!p->local_binding && !p->nlocal_ports)
        return;
    buf_str(w->out, "; Local servers, both to reach and to run.\n");
    if (p->local_binding)
        write_loopback(w, "*");
    for (size_t i = 0; !p->local_binding && i < p->nlocal_ports; i++) {
        char port[8];
        snprintf(port, sizeof(port), "%u", p->local_ports[i]);
        write_loopback(w, port);
    }
}

/* Outbound only: the command needs no server there. */
static void write_others_proxies(struct writer *w)
{
    for (size_t i = 0; i < 2; i++)
        if (w->p->proxy_ports[i])
            buf_fmt(w->out,
                    "; An external proxy.\n"
                    "(allow network-outbound (remote ip \"localhost:%u\"))\n",
                    w->p->proxy_ports[i]);
}

static void write_proxies(struct writer *w)
{
    const uint16_t ports[] = {w->t->http_port, w->t->socks_port};
    if (!ports[0] && !ports[1])
        return;
    buf_str(w->out, "; The proxies, which filter by host name.\n");
    for (size_t i = 0; i < 2; i++)
        if (ports[i] && (i == 0 || ports[1] != ports[0]))
            buf_fmt(w->out,
                    "(allow network-bind network-inbound (local ip \"localhost:%u\"))\n"
                    "(allow network-outbound (remote ip \"localhost:%u\"))\n",
                    ports[i], ports[i]);
}

/* ---- Unix sockets ---- */

/* Servers that the command starts listen where it may write: gpg's agent, tmux, a test's database.
 * Other sockets belong to processes outside; on Linux the judge grants the extension for the
 * command's own. */
static int write_own_sockets(struct writer *w)
{
    struct buf all = {0};
    int result = 0;
    for (size_t i = 0; result == 0 && i < w->writable.n; i++) {
        buf_str(&all, "\n        ");
        result = place_filter(w, &w->writable.at[i], &all);
    }
    if (result == 0 && all.n) {
        buf_str(w->out, "; Sockets that the command creates.\n"
                        "(allow network-bind network-inbound");
        buf_add(w->out, all.s, all.n);
        buf_str(w->out, ")\n(allow network-outbound\n    (require-all\n"
                        "        (extension \"buckle.created-socket\")\n        (require-any");
        buf_add(w->out, all.s, all.n);
        buf_str(w->out, ")))\n");
    }
    w->out->failed |= !buf_ok(&all);
    buf_free(&all);
    return result;
}

static int write_unix(struct writer *w)
{
    const struct access *p = w->p;
    if (p->all_unix_sockets) {
        buf_str(w->out, "; Every Unix socket.\n(allow network* (subpath \"/\"))\n");
        return 0;
    }
    if (!w->t->macos && write_own_sockets(w) < 0)
        return -1;
    if (!w->t->macos && p->as_shipped && !p->shared_tmp)
        buf_str(w->out, "; The same in the private layer over /tmp.\n"
                        "(allow network-bind network-inbound\n"
                        "    (require-all (subpath \"/tmp\") (extension "
                        "\"buckle.private-layer\")))\n"
                        "(allow network-outbound\n"
                        "    (require-all (subpath \"/tmp\") (extension \"buckle.private-layer\")\n"
                        "        (extension \"buckle.created-socket\")))\n");
    if (!w->t->macos)
        buf_str(w->out,
                "; Abstract names in the sandbox's own network.\n"
                "(allow network-bind network-inbound network-outbound\n"
                "    (require-all (prefix \"@\") (extension "
                "\"buckle.created-socket\")))\n"
                "; Programs continue without the system's log, so denials are not reported.\n"
                "(deny network-outbound\n"
                "    (literal \"/dev/log\")\n"
                "    (literal \"/run/systemd/journal/dev-log\")\n"
                "    (literal \"/run/systemd/journal/socket\")\n"
                "    (literal \"/run/systemd/journal/stdout\")\n"
                "    (with no-report))\n");
    if (!p->unix_sockets.n)
        return 0;
    write_open(w, "allow", "network*");
    if (write_places(w, &p->unix_sockets) < 0)
        return -1;
    buf_str(w->out, ")\n");
    return 0;
}

/* Whether every host is allowed, so that nothing has to look at names. */
static bool allows_all_hosts(const struct access *p)
{
    bool all = false;
    for (size_t i = 0; i < p->allowed_domains.n; i++)
        all |= strcmp(p->allowed_domains.at[i], "*") == 0;
    return all && !p->requests_only && !p->denied_domains.n && !p->denied_requests.n &&
           !p->denied_addresses.n;
}

/* On macOS a service looks up names. */
static void write_lookups(struct writer *w)
{
    buf_str(w->out, "(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))\n"
                    "(allow mach-lookup\n"
                    "    (global-name \"com.apple.SystemConfiguration.configd\")\n"
                    "    (global-name \"com.apple.dnssd.service\")\n"
                    "    (global-name \"com.apple.networkd\"))\n");
}

/* Names are for the proxies. Without names every host can be called directly. */
static void write_hosts_on_macos(struct writer *w)
{
    const struct access *p = w->p;
    write_proxies(w);
    if (allows_all_hosts(p)) {
        buf_str(w->out, "; Every host.\n"
                        "(allow network-outbound (remote ip \"*:*\"))\n"
                        "(allow system-socket)\n");
        write_lookups(w);
    } else if (p->allowed_domains.n && !w->t->http_port && !w->t->socks_port) {
        buf_str(w->out, "; Hosts are allowed by name, which only proxies can do: name their "
                        "ports.\n");
    }
}

int write_network(struct writer *w)
{
    const struct access *p = w->p;
    write_section(w, "network");
    if (p->network_open) {
        buf_str(w->out, "(allow network*)\n");
        buf_str(w->out, "(allow system-socket)\n");
        if (!w->t->macos)
            return write_hosts(w);
        write_lookups(w);
        return 0;
    }
    write_open(w, "deny", "network*");
    write_close(w, "this host is not allowed");
    write_local(w);
    write_others_proxies(w);
    if (write_unix(w) < 0)
        return -1;
    if (w->t->macos && !w->t->flattened) {
        write_hosts_on_macos(w);
        return 0;
    }
    if (w->t->macos && allows_all_hosts(p))
        write_lookups(w);
    if (p->allowed_domains.n || p->allowed_requests.n)
        buf_str(w->out, "(allow system-socket (socket-domain AF_ROUTE))\n");
    return write_hosts(w);
}
