/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * It should: accept, check, dial, relay, report. It must not: touch files, start processes, or know
 * more of the command than what arrives on its sockets.
 */

#include "kernel/gate/gate-main.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "kernel/gate/netns-sockets.h"
#include "kernel/gate/tls-start.h"
#include "kernel/shared/event-send.h"
#include "kernel/shared/forget-environ.h"
#include "kernel/shared/policy-update.h"
#include "kernel/shared/roles.h"
#include "kernel/shared/socket-table.h"
#include "net/consent.h"
#include "net/gate.h"
#include "net/handling.h"
#include "net/rules.h"
#include "net/secrets.h"
#include "net/terminate.h"

/* ---- finding the process ---- */

/* Parses one line of /proc/PID/net/tcp: the socket's own end and its inode. The gate's own ends of
 * connections are in the same tables, at the hosts' ports. */
static bool is_line_of(const char *line, const struct gate_client *c, unsigned long *inode)
{
    unsigned local, state;
    char address[40];
    return sscanf(line, " %*d: %39[0-9A-F]:%x %*[0-9A-F]:%*x %x %*s %*s %*s %*u %*u %lu", address,
                  &local, &state, inode) == 4 &&
           local == c->port && *inode != 0 && socket_table_is_address(address, c->addr);
}

/* The inode of the socket with this own end, in the network of the sandbox's init; 0: none. */
static unsigned long socket_at(pid_t init, const char *table, const struct gate_client *c)
{
    char path[64], line[512];
    unsigned long inode;
    snprintf(path, sizeof(path), "/proc/%d/net/%s", init, table);
    OWN(file) FILE *f = fopen(path, "re");
    while (f && fgets(line, sizeof(line), f))
        if (is_line_of(line, c, &inode))
            return inode;
    return 0;
}

static bool has_socket(const char *pid, const char *wanted)
{
    char path[64], link[64];
    snprintf(path, sizeof(path), "/proc/%.10s/fd", pid);
    OWN(dir) DIR *d = opendir(path);
    struct dirent *e;
    while (d && (e = readdir(d))) {
        ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
        if (n > 0 && (size_t)n == strlen(wanted) && memcmp(link, wanted, (size_t)n) == 0)
            return true;
    }
    return false;
}

/* Called only for a denial or a question, so scanning every process is acceptable. */
static pid_t process_with(unsigned long inode, pid_t judge)
{
    char wanted[64];
    snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
    OWN(dir) DIR *d = opendir("/proc");
    struct dirent *e;
    while (d && (e = readdir(d)))
        /* the judge may still have a copy of the socket that it has just connected */
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && atoi(e->d_name) != judge &&
            has_socket(e->d_name, wanted))
            return (pid_t)atoi(e->d_name);
    return 0;
}

struct reporter {
    const struct setup *s;
    int from; /* socket to the judge */
    int proc;
    pid_t judge;
    struct graph *updated,
        *replaced; /* the current policy, if it is not the first, and the previous one */
    struct event event;
};

static pid_t process_of(const struct reporter *t, bool udp, const struct gate_client *c)
{
    const char *const tables[] = {udp ? "udp" : "tcp", udp ? "udp6" : "tcp6"};
    bool apart = t->s->plan->net_ns;
    if (apart && !t->s->init)
        return 0;
    for (size_t i = 0; i < 2 && c->port; i++) {
        unsigned long inode = socket_at(apart ? t->s->init->pid : getpid(), tables[i], c);
        if (inode)
            return process_with(inode, t->judge);
    }
    return 0;
}

/* ---- reporting ---- */

void gate_process_describe(const struct gate_denial *d, char what[GATE_WHAT])
{
    char name[PEER_TEXT];
    if (d->port)
        peer_text(d->host, d->port, name);
    snprintf(what, GATE_WHAT, d->why ? "%s (%s)" : "%s", d->port ? name : d->host->name, d->why);
}

static void on_denial(void *arg, const struct gate_denial *d)
{
    struct reporter *t = arg;
    char what[GATE_WHAT];
    gate_process_describe(d, what);
    struct graph_verdict v = d->verdict;
    v.flags |= VOCAB_FLAG_REPORT;
    pid_t pid = process_of(t, d->udp, &d->client);
    struct event_facts facts = {.pid = pid,
                                .tid = pid,
                                .op = OP_NETWORK_OUTBOUND,
                                .verdict = &v,
                                .err = v.allow ? 0 : EPERM,
                                .detail = d->reached ? EVENT_REACHED : d->request,
                                .path = what,
                                .len = strlen(what)};
    event_send(&(struct event_sender){t->proc, t->s->events, &t->event}, &facts);
}

/* Reports what the command has to do without. */
static void report_lack(struct reporter *t, enum vocab_op op, uint32_t rule, const char *what,
                        int err)
{
    struct graph_verdict v = {.flags = VOCAB_FLAG_REPORT, .rule = rule};
    struct event_facts facts = {
        .op = op, .verdict = &v, .err = err, .path = what, .len = strlen(what)};
    event_send(&(struct event_sender){t->proc, t->s->events, &t->event}, &facts);
}

static void report_taken(struct reporter *t, uint16_t port, int err)
{
    char what[200];
    snprintf(what, sizeof(what), "localhost:%u (%s; servers inside still work)", port,
             err == EADDRINUSE ? "in use on this machine, which cannot call the command there"
                               : strerror(err));
    report_lack(t, OP_NETWORK_INBOUND, rules_publishing(t->s->graph, port), what, err);
}

static void on_taken(void *arg, uint16_t port, int err)
{
    report_taken(arg, port, err);
}

/* Whether a process inside listens at this port. */
static bool serves(void *arg, uint16_t port)
{
    static const char *const tables[] = {"tcp", "tcp6"};
    static const uint8_t loopback[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
    const struct reporter *t = arg;
    bool found = false;
    for (size_t i = 0; i < 2 && !found && t->s->init; i++) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/%d/net/%s", t->s->init->pid, tables[i]);
        OWN(file) FILE *f = fopen(path, "re");
        found = socket_table_listens(f, loopback, port);
    }
    return found || !t->s->init;
}

static void report_start(struct reporter *t, const struct gate_process *n)
{
    const struct parent_proxies *parents = t->s->launch->parents;
    char what[100];
    for (size_t i = 0; i < n->ntaken; i++)
        report_taken(t, n->taken[i].port, n->taken[i].err);
    if (!parents || !parents->unusable[0] || !rules_lead_out(t->s->graph))
        return;
    snprintf(what, sizeof(what), "%s (its value cannot be used; connections leave without it)",
             parents->unusable);
    report_lack(t, OP_NETWORK_OUTBOUND, GRAPH_NO_RULE, what, EINVAL);
}

/* ---- messages ---- */

/* The judge sends nothing but policy updates. A replaced policy is freed when the next one arrives,
 * because connections that it decided may still be in progress. */
static bool on_word(void *arg, const struct graph **policy)
{
    struct reporter *t = arg;
    struct graph *g;
    struct policy_update what;
    int got = policy_update_receive(t->from, t->s->launch, &g, &what, NULL);
    if (got != UPDATE_POLICY)
        return got >= 0;
    graph_free(t->replaced);
    t->replaced = t->updated;
    *policy = t->updated = g;
    event_policy(what.number);
    return true;
}

static void on_question(void *arg, const struct gate_question *q)
{
    const struct reporter *t = arg;
    struct consent_question out;
    memset(&out, 0, sizeof(out));
    out.id = q->id;
    out.withdrawn = q->withdrawn;
    if (!q->withdrawn) {
        char name[32];
        memcpy(out.host, q->host->name, q->host->len);
        out.port = q->port;
        out.udp = q->udp;
        out.wait_ms = q->wait_ms;
        out.pid = process_of(t, q->udp, &q->client);
        snprintf(name, sizeof(name), "%d/exe", out.pid);
        if (out.pid && readlinkat(t->proc, name, out.program, sizeof(out.program) - 1) < 0)
            out.program[0] = '\0';
    }
    /* a question that does not fit now times out */
    send(t->s->asks, &out, sizeof(out), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* ---- the process ---- */

static bool listens_on_ports(const struct netns_sockets *net)
{
    for (size_t i = 0; i < NETNS_PORTS; i++)
        if (net->ports[i] >= 0)
            return true;
    return false;
}

/* The certificate goes to the judge, which waits for it; the key stays in buckle-tls. */
static struct tls_helper *make_authority(const struct graph *g, const struct handling *with, int to,
                                         const char **why)
{
    OWN(buf) struct buf pem = {0};
    struct tls_helper *e = tls_start(g, with, &pem, why);
    send(to, e ? pem.s : "-", e ? pem.n : 1, MSG_NOSIGNAL);
    return e;
}

/* What c-ares reads. */
static const char *const resolver_variables[] = {"LOCALDOMAIN", "RES_OPTIONS", "CARES_HOSTS",
                                                 "HOSTALIASES", NULL};

static void __attribute__((noreturn))
gate_main(const struct gate_process *n, const struct setup *s, int from, int announcements)
{
    static struct reporter reporter;
    struct gate_options o = {.graph = s->graph,
                             .announced = s->plan->dials,
                             .local = announcements >= 0 && !s->plan->dials,
                             .announcements = announcements,
                             .token = n->token,
                             .packets = &gate_packets,
                             .parents = s->launch->parents,
                             .secrets = s->launch->secrets,
                             .handling = s->launch->handling,
                             .late_names = s->launch->late_names,
                             .on_denial = on_denial,
                             .tells_hosts = s->launch->tells_hosts,
                             .on_question = on_question,
                             .answers = s->asks,
                             .ask_ms = s->launch->ask_ms ? s->launch->ask_ms : CONSENT_MS,
                             .arg = &reporter,
                             .on_word = on_word,
                             .linked = s->plan->session,
                             .link = s->launch->link,
                             .link_ports = n->link_ports,
                             .publishes = s->plan->publish_all,
                             .on_taken = on_taken,
                             .serves = serves,
                             .until = from};
    role_take(ROLE_GATE);
    if (s->questions >= 0) /* the judge's */
        close(s->questions);
    reporter.s = s;
    reporter.from = from;
    reporter.judge = getppid();
    reporter.proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd <= 2 && null >= 0; fd++) /* the command's readers wait for end of file */
        dup2(null, fd);
    memcpy(o.published, n->published, sizeof(o.published));
    report_start(&reporter, n);
    if (terminate_may(s->graph, o.handling))
        o.tls = make_authority(s->graph, o.handling, from, &o.no_tls);
    forget_environ(resolver_variables);
    if (netns_sockets_receive(from, &o.sockets) < 0)
        _exit(1);
    bool listens = listens_on_ports(&o.sockets) || s->plan->publish_all;
    _exit(gate_process_confine(s->plan->caps, listens) < 0 || gate_run(&o) < 0);
}

static int make_token(char token[33])
{
    uint8_t bytes[16];
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
        return -EAGAIN;
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(token + i * 2, 3, "%02x", bytes[i]);
    return 0;
}

/* ---- ports of this machine ---- */

static void close_published(struct gate_process *n)
{
    for (size_t i = 0; i < n->npublished; i++)
        for (size_t k = 0; k < GATE_FAMILIES; k++)
            if (n->published[i].fds[k] >= 0)
                close(steal_fd(&n->published[i].fds[k]));
}

static bool is_local(const struct plan *p, uint16_t port)
{
    for (size_t i = 0; i < p->nlocal; i++)
        if (p->local[i].port == port && p->local[i].tcp)
            return true;
    return false;
}

static bool is_published(const struct gate_process *n, uint16_t port)
{
    for (size_t i = 0; i < n->npublished; i++)
        if (n->published[i].port == port)
            return true;
    return false;
}

void gate_process_publish(struct gate_process *n, const struct plan *p)
{
    n->npublished = n->ntaken = 0;
    n->publishes = p->publish_all;
    for (size_t i = 0; i < p->npublished; i++) {
        int fd = netns_listen(AF_INET, SOCK_STREAM, p->published[i]);
        /* a server listens there already, which the command may call */
        if (fd == -EADDRINUSE && is_local(p, p->published[i]))
            continue;
        if (fd < 0) {
            n->taken[n->ntaken].port = p->published[i];
            n->taken[n->ntaken++].err = -fd;
            continue;
        }
        int six = netns_listen(AF_INET6, SOCK_STREAM, p->published[i]);
        n->published[n->npublished++] =
            (struct gate_port){p->published[i], {fd, six < 0 ? -1 : six}};
    }
}

/* The gate ends when its socket does. Nothing inside waits for it any more. */
void gate_process_end(struct gate_process *n)
{
    bool matters = n->npublished || n->publishes || n->reports_late;
    if (!matters || n->pid <= 0)
        return;
    shutdown(n->to, SHUT_RDWR);
    while (waitpid(n->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    n->pid = 0;
}

/* ---- the judge's side ---- */

/* Whether the judge tells the gate about single connections or servers. */
static bool announces(const struct plan *p)
{
    return p->dials || p->local_all || p->publish_all || p->session;
}

/* What the session has sent so far, so that the command finds servers that are there already. */
static void read_link(int link, struct link_ports *ports)
{
    struct link_message m;
    int passed;
    while (link_receive(link, &m, &passed) == 1)
        if (passed >= 0)
            close(passed); /* nobody can call a command that has not started */
        else
            link_ports_set(ports, m.port, m.kind == LINK_LISTENS);
}

int gate_process_start(struct gate_process *n, const struct setup *s)
{
    int ends[2], words[2] = {-1, -1}, err = make_token(n->token);
    if (err < 0)
        return err;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ||
        (announces(s->plan) && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, words) < 0))
        return -errno;
    n->link_ports = s->plan->session ? mmap(NULL, sizeof(*n->link_ports), PROT_READ | PROT_WRITE,
                                            MAP_SHARED | MAP_ANONYMOUS, -1, 0)
                                     : NULL;
    if (n->link_ports == MAP_FAILED)
        return -errno;
    if (n->link_ports)
        read_link(s->launch->link, n->link_ports);
    pid_t judge = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (getppid() != judge)
            _exit(1);
        close(ends[0]);
        if (words[0] >= 0)
            close(words[0]);
        gate_main(n, s, ends[1], words[1]);
    }
    int failed = pid < 0 ? -errno : 0;
    if (s->launch->secrets)
        secrets_forget(s->launch->secrets);
    close(ends[1]);
    if (words[1] >= 0)
        close(words[1]);
    n->announces = words[0];
    if (s->asks >= 0)
        close(s->asks);
    if (s->launch->linked)
        close(s->launch->link);
    close_published(n);
    n->to = ends[0];
    n->pid = pid;
    n->reports_late = terminate_may(s->graph, s->launch->handling);
    return failed;
}

_Static_assert((int)PLAN_GATE_PORTS <= (int)NETNS_PORTS, "every planned port is set up");

struct netns_wishes gate_process_wishes(struct gate_process *n, const struct plan *p)
{
    n->nlocal = 0;
    for (size_t i = 0; i < p->nlocal && n->nlocal < NETNS_LOCAL; i++) {
        struct local_port port = p->local[i];
        port.tcp = port.tcp && !is_published(n, port.port);
        n->local[n->nlocal++] = port;
    }
    return (struct netns_wishes){.local = n->local,
                                 .nlocal = n->nlocal,
                                 .inside = n->npublished > 0 || p->publish_all || p->session,
                                 .loop = p->local_all || p->session,
                                 .ports = p->ports,
                                 .nports = p->nports,
                                 .no_rules = !p->host.nftables,
                                 .no_hand_over = !p->host.nft_tproxy};
}

int gate_process_hand_over(const struct gate_process *n, struct netns_sockets *net)
{
    int err = netns_sockets_send(n->to, net);
    netns_close(net);
    return err;
}

int gate_process_authority(const struct gate_process *n, const struct graph *g,
                           const struct handling *with, struct buf *pem)
{
    char text[16384];
    if (!terminate_may(g, with))
        return 0;
    ssize_t got = recv(n->to, text, sizeof(text), 0);
    if (got <= 0)
        return got < 0 ? -errno : -EPIPE;
    if (got > 1) /* else there is no library for it */
        buf_add(pem, text, (size_t)got);
    if (got > 1 && with && with->more_cas)
        buf_str(pem, with->more_cas);
    return buf_ok(pem) ? 0 : -ENOMEM;
}

int gate_process_listen(struct gate_process *n)
{
    struct netns_sockets net;
    n->nlocal = 0;
    int err = netns_loopback(&net, &n->ports);
    return err < 0 ? err : gate_process_hand_over(n, &net);
}

void gate_process_announce_server(const struct gate_process *n, uint16_t port)
{
    struct gate_announcement a = {.port = port};
    send(n->announces, &a, sizeof(a), MSG_NOSIGNAL | MSG_DONTWAIT);
}

int gate_process_announce(const struct gate_process *n, uint16_t client, const uint8_t addr[16],
                          uint16_t port, bool peer)
{
    struct gate_announcement a = {.client = client, .port = port, .peer = peer};
    memcpy(a.addr, addr, sizeof(a.addr));
    return send(n->announces, &a, sizeof(a), MSG_NOSIGNAL) == sizeof(a) ? 0 : -errno;
}
