/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The planner: which tier each operation gets, which calls follow from that, where the walls are,
 * and what happens on hosts that lack something.
 */

#include <linux/capability.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "command/capabilities.h"
#include "kernel-maker.h"
#include "kernel/plan/judged-calls.h"
#include "kernel/host/kabi.h"

static const struct plan_options plain = {.arch = PLAN_X86_64};

#define HEAD "(version 1)(deny default)"
/* (allow default) still denies setting the set-user-id bit. */
#define OPEN "(version 1)(allow default)(allow file-write-setugid)"
#define TYPICAL HEAD "(allow file-read*)(allow process*)(allow file-write* (subpath \"/w\"))"

/* ---- tiers ---- */

struct tier_row {
    const char *profile;
    const char *read, *write, *unlink, *mode, *exec, *net;
};

static void check_tiers(void)
{
    static const struct tier_row rows[] = {
        {"(version 1)(allow default)", "free", "free", "free", "free", "free", "free"},
        {HEAD, "judged", "judged", "judged", "judged", "judged", "denied"},
        {TYPICAL, "free", "judged", "judged", "judged", "free", "denied"},
        {TYPICAL "(allow network*)", "free", "judged", "judged", "judged", "free", "free"},
        {TYPICAL "(allow network-outbound (remote ip \"localhost:80\"))", "free", "judged",
         "judged", "judged", "free", "judged"},
        {"(version 1)(allow default)(deny file-write-unlink (subpath \"/a\"))", "free", "free",
         "judged", "free", "free", "free"},
        {"(version 1)(allow default)(deny file-read* (subpath \"/a\"))", "sentry", "judged",
         "judged", "judged", "free", "free"},
        {"(version 1)(allow default)(deny file-read* (regex #\"/a$\"))", "judged", "free", "free",
         "free", "free", "free"},
        /* allowed everywhere, but reported */
        {"(version 1)(allow default)(allow file-write-mode (with report))", "free", "free", "free",
         "judged", "free", "free"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OWN(planned) struct planned p;
        const struct tier_row *r = &rows[i];
        if (!ok(planned_make(&p, r->profile, &plain, ""), "planned: %s", r->profile))
            continue;
        is_str(tier_of(&p.plan, OP_FILE_READ_DATA), r->read, "reading");
        is_str(tier_of(&p.plan, OP_FILE_WRITE_DATA), r->write, "writing");
        is_str(tier_of(&p.plan, OP_FILE_WRITE_UNLINK), r->unlink, "removing");
        is_str(tier_of(&p.plan, OP_FILE_WRITE_MODE), r->mode, "changing modes");
        is_str(tier_of(&p.plan, OP_PROCESS_EXEC), r->exec, "executing");
        is_str(tier_of(&p.plan, OP_NETWORK_OUTBOUND), r->net, "connecting");
    }
}

static void check_reason(void)
{
    OWN(planned) struct planned p;
    const char text[] = "(version 1)\n(allow default)\n(deny file-write* (subpath \"/a\"))\n";
    if (!ok(planned_make(&p, text, &plain, ""), "planned"))
        return;
    uint32_t rule = p.plan.ops[OP_FILE_WRITE_DATA].rule;
    if (ok(rule < graph_rule_count(p.program.graph), "a rule is named"))
        is_int(graph_rule_at(p.program.graph, rule)->origin.line, 3, "it is the one that denies");
    is_int(p.plan.ops[OP_FILE_READ_DATA].rule, GRAPH_NO_RULE, "what is free has no reason");
}

/* ---- calls ---- */

static uint32_t verdict(const struct plan *p, const char *name, unsigned arg, uint32_t value)
{
    const struct sys_rule *r = find_call(p, name);
    if (!r)
        return SYS_ALLOW;
    for (size_t i = 0; i < (size_t)r->ntests + r->nmore; i++) {
        const struct sys_test *t = sys_test_at(r, i);
        uint32_t low = (t->arg == arg ? value : 0) & t->mask;
        struct sys_action then = i < r->ntests || p->judge ? t->then : plan_without_judge(t->then);
        if (t->how == SYS_EQUAL ? low == t->value : t->how == SYS_ANY ? low : low != t->value)
            return then.verdict;
    }
    return r->otherwise.verdict;
}

/* What a call can do besides the operations of its set. */
static bool asks_besides(const struct plan *p, const struct judged_call *c)
{
    bool makes = c->handler == HANDLE_OPEN || c->handler == HANDLE_MKNOD;
    bool leaves = strcmp(c->name, "renameat2") == 0;
    return (makes && p->ops[OP_FILE_WRITE_SETUGID].tier != TIER_FREE) ||
           (leaves && p->ops[OP_FILE_MKNOD].tier != TIER_FREE);
}

/* Every judged call is there exactly when one of its operations is not free. */
static void check_presence(const char *profile, const struct plan_options *opt)
{
    OWN(planned) struct planned p;
    if (!ok(planned_make(&p, profile, opt, ""), "planned: %s", profile))
        return;
    size_t wrong = 0, present = 0;
    for (size_t i = 0; i < judged_call_count; i++) {
        bool want = false;
        const uint16_t *ops = judged_sets[judged_calls[i].set];
        for (size_t k = 0; k < SET_OPS && ops[k] != OP_NONE; k++)
            want |= p.plan.ops[ops[k]].tier != TIER_FREE && p.plan.ops[ops[k]].tier != TIER_SENTRY;
        want |= asks_besides(&p.plan, &judged_calls[i]);
        want = want && judged_calls[i].nr[opt->arch] >= 0;
        bool got = find_call(&p.plan, judged_calls[i].name) != NULL;
        present += got;
        if (got != want && wrong++ < 5)
            printf("# %s should%s be there\n", judged_calls[i].name, want ? "" : " not");
    }
    is_int((intmax_t)wrong, 0, "%zu judged calls, as the tiers say", present);
    bool sorted = true, notifies = false;
    for (size_t i = 0; i < p.plan.ncalls; i++) {
        const struct sys_rule *r = &p.plan.calls[i];
        sorted = sorted && (i == 0 || r[-1].nr < r->nr);
        notifies |= r->otherwise.verdict == SYS_NOTIFY;
        for (size_t t = 0; t < r->ntests; t++)
            notifies |= r->tests[t].then.verdict == SYS_NOTIFY;
        for (size_t t = 0; t < r->nmore; t++)
            notifies |= r->more[t].then.verdict == SYS_NOTIFY;
    }
    ok(sorted, "calls are sorted and stand once");
    is_int(notifies, p.plan.judge, "a judge is planned exactly when something asks it");
}

/* With user namespaces allowed: neither mount namespaces, nor a call whose flags cannot be seen. */
static void check_spaces(void)
{
    const struct plan_options spaces = {.arch = PLAN_X86_64, .keep_userns = true};
    const struct plan_options weaker = {
        .arch = PLAN_X86_64, .keep_userns = true, .accept_weaker = true};
    OWN(planned) struct planned kept;
    OWN(planned) struct planned blind;
    if (!ok(planned_make(&kept, TYPICAL, &spaces, "") &&
                planned_make(&blind, TYPICAL, &weaker, "seccomp_notify=0"),
            "planned"))
        return;
    is_int(verdict(&kept.plan, "clone", 0, 0x10000000), SYS_ALLOW, "CLONE_NEWUSER is allowed");
    is_int(verdict(&kept.plan, "clone", 0, 0x30000000), SYS_ALLOW, "with CLONE_NEWPID");
    is_int(verdict(&kept.plan, "unshare", 0, 0x10020000), SYS_NOTIFY, "CLONE_NEWNS is not");
    is_int(verdict(&blind.plan, "unshare", 0, 0x10020000), SYS_ERRNO, "nor without a judge");
    is_int(verdict(&kept.plan, "clone3", 0, 0), SYS_ERRNO, "clone3 shows nothing to a filter");
    is_int(verdict(&kept.plan, "mount", 0, 0), SYS_ERRNO, "mount is refused");
    is_int(verdict(&kept.plan, "chroot", 0, 0), SYS_ALLOW, "chroot is not");
}

static void check_calls(void)
{
    const struct plan_options arm = {.arch = PLAN_ARM64},
                              later = {.arch = PLAN_X86_64, .updatable = true};
    static const char *const profiles[] = {
        "(version 1)(allow default)",
        OPEN,
        HEAD,
        TYPICAL,
        "(version 1)(allow default)(deny file-write-times)",
        "(version 1)(allow default)(deny file-write-flags)",
        "(version 1)(allow default)(deny network-outbound)",
        "(version 1)(allow default)(deny file-write-setugid (subpath \"/a\"))",
    };
    for (size_t i = 0; i < sizeof(profiles) / sizeof(profiles[0]); i++) {
        check_presence(profiles[i], &plain);
        check_presence(profiles[i], &arm);
        check_presence(profiles[i], &later);
    }
    OWN(planned) struct planned open;
    OWN(planned) struct planned typical;
    OWN(planned) struct planned usual;
    if (!ok(planned_make(&open, OPEN, &plain, "") && planned_make(&typical, TYPICAL, &plain, "") &&
                planned_make(&usual, profiles[0], &plain, ""),
            "planned"))
        return;
    is_int(verdict(&usual.plan, "fchmodat", 2, 04755), SYS_NOTIFY,
           "allow default: a mode that lends rights is judged");
    is_int(verdict(&usual.plan, "fchmodat", 2, 0755), SYS_ALLOW, "allow default: others are not");
    is_int(verdict(&usual.plan, "unlink", 0, 0), SYS_ALLOW, "allow default: removing is not");
    ok(!open.plan.judge && typical.plan.judge, "a judge only where something is asked");
    is_int(verdict(&open.plan, "openat2", 0, 0), SYS_ALLOW, "openat2 passes while opens are free");
    is_int(verdict(&typical.plan, "openat2", 0, 0), SYS_ERRNO, "and is refused otherwise");
    is_int(verdict(&open.plan, "mount", 0, 0), SYS_ERRNO, "mount is refused whatever the policy");
    is_int(verdict(&open.plan, "prctl", 0, 4), SYS_ALLOW, "PR_SET_DUMPABLE without a judge");
    is_int(verdict(&typical.plan, "prctl", 0, 4), SYS_ERRNO, "PR_SET_DUMPABLE with a judge");
    is_int(verdict(&typical.plan, "openat", 2, 0), SYS_ALLOW, "plain reading passes");
    is_int(verdict(&typical.plan, "openat", 2, 1), SYS_NOTIFY, "O_WRONLY is judged");
    is_int(verdict(&typical.plan, "openat", 2, 2), SYS_NOTIFY, "O_RDWR is judged");
    is_int(verdict(&typical.plan, "openat", 2, 0100), SYS_NOTIFY, "O_CREAT is judged");
    is_int(verdict(&typical.plan, "openat", 2, 01000), SYS_NOTIFY, "O_TRUNC is judged");
    is_int(verdict(&typical.plan, "openat", 2, 020200000), SYS_NOTIFY, "O_TMPFILE is judged");
    is_int(verdict(&typical.plan, "openat", 2, 0200000), SYS_ALLOW, "O_DIRECTORY passes");
    is_int(verdict(&typical.plan, "openat", 2, 010000001), SYS_ALLOW, "O_PATH passes");
    is_int(verdict(&typical.plan, "clone", 0, 0x10000000), SYS_NOTIFY, "CLONE_NEWUSER is judged");
    is_int(verdict(&open.plan, "clone", 0, 0x10000000), SYS_ERRNO, "and refused without a judge");
    is_int(verdict(&typical.plan, "clone", 0, 0x20000), SYS_NOTIFY, "CLONE_NEWNS, too");
    check_spaces();
    is_int(verdict(&typical.plan, "unshare", 0, 0x80), SYS_ERRNO, "CLONE_NEWTIME");
    is_int(verdict(&typical.plan, "clone", 0, 0x80), SYS_ALLOW, "a signal number to clone()");
}

static uint32_t socket_verdict(const struct plan *p, const char *name, uint32_t family,
                               uint32_t type)
{
    const struct sys_rule *r = find_call(p, name);
    for (size_t i = 0; r && i < r->ntests; i++) {
        const struct sys_test *t = &r->tests[i];
        uint32_t low = (t->arg == 0 ? family : type) & t->mask;
        if (t->how == SYS_EQUAL ? low == t->value : low != t->value)
            return t->then.verdict;
    }
    return r ? r->otherwise.verdict : (uint32_t)SYS_ALLOW;
}

static void check_sockets(void)
{
    OWN(planned) struct planned p;
    if (!ok(planned_make(&p, TYPICAL, &plain, ""), "planned"))
        return;
    static const char *const names[] = {"socket", "socketpair"};
    for (size_t i = 0; i < 2; i++) {
        const char *n = names[i];
        is_int(socket_verdict(&p.plan, n, AF_UNIX, SOCK_STREAM), SYS_ALLOW, "%s: stream", n);
        is_int(socket_verdict(&p.plan, n, AF_UNIX, SOCK_SEQPACKET), SYS_ALLOW, "%s: packets", n);
        is_int(socket_verdict(&p.plan, n, AF_UNIX, SOCK_DGRAM), SYS_NOTIFY, "%s: datagrams", n);
        is_int(socket_verdict(&p.plan, n, AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK),
               SYS_NOTIFY, "%s: datagrams with flags", n);
        is_int(socket_verdict(&p.plan, n, AF_UNIX, SOCK_RAW), SYS_NOTIFY,
               "%s: raw, which is datagrams to a Unix socket", n);
    }
    is_int(socket_verdict(&p.plan, "socket", AF_INET, SOCK_DGRAM), SYS_ALLOW, "UDP in a namespace");
    is_int(socket_verdict(&p.plan, "socket", AF_VSOCK, SOCK_STREAM), SYS_ERRNO, "virtual machines");
    is_int(socket_verdict(&p.plan, "socket", AF_PACKET, SOCK_RAW), SYS_ERRNO, "raw packets");
}

/* Without a network namespace: none, or those that the judge connects. */
static void check_dialled(void)
{
    static const char hosts[] = HEAD "(allow network-outbound (domain \"example.com\"))";
    OWN(planned) struct planned none;
    OWN(planned) struct planned some;
    OWN(planned) struct planned taken;
    OWN(planned) struct planned alone;
    if (!ok(planned_make(&none, HEAD, &plain, "net_ns=0") &&
                planned_make(&some, hosts, &plain, "net_ns=0") &&
                planned_make(&taken, hosts, &plain, "net_ns=0,pidfd_getfd=0") &&
                planned_make(&alone, hosts, &(struct plan_options){.accept_weaker = true},
                             "net_ns=0,listener_taken=1"),
            "planned"))
        return;
    ok(none.plan.no_ip && !none.plan.gate && !none.plan.dials, "no host: no socket");
    ok(some.plan.dials && some.plan.gate && !some.plan.no_ip, "hosts: the judge connects");
    ok(some.plan.handled_net && !none.plan.handled_net, "and the command cannot");
    ok(alone.plan.no_ip && !alone.plan.dials, "without a judge nobody connects");
    ok(taken.plan.dials && taken.plan.makes_sockets && !some.plan.makes_sockets,
       "sockets that cannot be taken are made");
    is_int(socket_verdict(&some.plan, "socket", AF_INET, SOCK_DGRAM), SYS_NOTIFY,
           "datagrams are looked at, and refused");
    is_int(socket_verdict(&some.plan, "socket", AF_INET6, SOCK_SEQPACKET), SYS_ERRNO, "packets");
    is_int(socket_verdict(&some.plan, "socket", AF_VSOCK, SOCK_STREAM), SYS_ERRNO, "machines");
    is_int(socket_verdict(&some.plan, "socket", AF_UNIX, SOCK_STREAM), SYS_ALLOW, "Unix");
    is_int(socket_verdict(&taken.plan, "socket", AF_UNIX, SOCK_STREAM), SYS_NOTIFY,
           "Unix, where none can be taken");
}

/* ---- walls ---- */

static const struct wall_path *find_wall(const struct plan *p, const char *path)
{
    for (size_t i = 0; i < p->nwalls; i++)
        if (strcmp(p->walls[i].path, path) == 0)
            return &p->walls[i];
    return NULL;
}

static void check_walls(void)
{
    OWN(planned) struct planned p;
    OWN(planned) struct planned open;
    OWN(planned) struct planned old;
    OWN(planned) struct planned unjudged;
    OWN(planned) struct planned reads;
    if (!ok(planned_make(&p, TYPICAL, &plain, "") &&
                planned_make(&open, "(version 1)(allow default)", &plain, "") &&
                planned_make(&old, TYPICAL, &plain, "landlock=1") &&
                planned_make(&unjudged, TYPICAL, &(struct plan_options){.accept_weaker = true},
                             "listener_taken=1") &&
                planned_make(&reads,
                             HEAD "(allow file-write*)(allow process*)"
                                  "(allow file-read* (subpath \"/usr\"))",
                             &plain, ""),
            "planned"))
        return;
    const uint64_t writes = KABI_LL_WRITE_FILE | KABI_LL_MAKE_REG | KABI_LL_MAKE_DIR |
                            KABI_LL_REMOVE_FILE | KABI_LL_REMOVE_DIR | KABI_LL_MAKE_SYM |
                            KABI_LL_REFER;
    const struct wall_path *w = find_wall(&p.plan, "/w");
    ok(p.plan.nwalls == 1 && w && (w->rights & writes) == writes, "writing below /w only");
    ok((p.plan.handled_fs & writes) == writes, "writing is withheld elsewhere");
    ok(!(p.plan.handled_fs & KABI_LL_TRUNCATE), "truncating is the judge's, who opens for writing");
    ok(unjudged.plan.handled_fs & KABI_LL_TRUNCATE, "without a judge it is withheld");
    ok(!(p.plan.handled_fs & (KABI_LL_READ_FILE | KABI_LL_READ_DIR | KABI_LL_EXECUTE)),
       "reading and executing are not");
    is_int((intmax_t)p.plan.scoped, KABI_LL_SCOPE_ABSTRACT_UNIX | KABI_LL_SCOPE_SIGNAL,
           "signals and abstract sockets stay inside");
    is_int((intmax_t)open.plan.handled_fs, 0, "nothing is withheld where everything is allowed");
    ok(!(old.plan.handled_fs & (KABI_LL_REFER | KABI_LL_TRUNCATE)) && !old.plan.scoped,
       "ABI 1 is asked for nothing that it does not know");
    bool noted = false;
    for (size_t i = 0; i < old.plan.nnotes; i++)
        noted |= strstr(old.plan.notes[i], "between folders") != NULL;
    ok(noted, "and the plan says that moving between folders fails there");
    /* under any wall Landlock refuses renames that no rule grants */
    w = find_wall(&reads.plan, "/");
    ok(w && (w->rights & KABI_LL_REFER) && (reads.plan.handled_fs & KABI_LL_REFER),
       "a wall for reading leaves moving between folders alone");
    ok((find_wall(&reads.plan, "/usr")->rights & KABI_LL_READ_FILE) != 0, "reading below /usr");
}

static void check_updatable(void)
{
    OWN(planned) struct planned p;
    const struct plan_options later = {.arch = PLAN_X86_64, .updatable = true};
    if (!ok(planned_make(&p, "(version 1)(allow default)", &later, ""), "planned"))
        return;
    is_str(tier_of(&p.plan, OP_FILE_READ_DATA), "judged", "updatable: reading stays judged");
    is_str(tier_of(&p.plan, OP_FILE_WRITE_DATA), "judged", "updatable: writing stays judged");
    is_int((intmax_t)p.plan.handled_fs, 0, "updatable: no wall that could not be moved");
    ok(p.plan.judge, "updatable: a judge");
}

/* ---- hosts that lack something ---- */

static void check_hosts(void)
{
    static const struct {
        const char *host, *profile;
        bool fails;
    } rows[] = {
        {"", TYPICAL, false},
        {"landlock=0", TYPICAL, true},
        {"user_ns=0", TYPICAL, false}, /* the filter refuses IP, Landlock keeps signals in */
        {"user_ns=0,landlock=5", TYPICAL, false}, /* the judge keeps them in */
        {"net_ns=0", TYPICAL, false},
        {"net_ns=0", TYPICAL "(allow network*)", false},
        {"user_ns=0,root=1", TYPICAL, false},
        {"mount_ns=0", TYPICAL, false},
        {"mount_proc=0", TYPICAL, false},
        {"pid_ns=0,landlock=6", TYPICAL, false},
        {"pid_ns=0,landlock=5", TYPICAL, false},
        {"pid_ns=0,landlock=5,read_memory=0", TYPICAL, true}, /* nothing keeps signals in */
        {"pid_ns=0,landlock=5", OPEN, false},
        {"seccomp_notify=0", TYPICAL, true},
        {"notify_addfd=0", TYPICAL, true},
        {"listener_taken=1", TYPICAL, true},
        {"pidfd_getfd=0", TYPICAL, false},
        {"read_memory=0", TYPICAL, true},
        {"notify_killable=0", TYPICAL, false},
        {"fuse=0,nftables=0,cgroup=0,notify_sync=0", TYPICAL, false},
        {"landlock=0,user_ns=0,seccomp_notify=0,listener_taken=1", OPEN, false},
    };
    const struct plan_options weaker = {.arch = PLAN_X86_64, .accept_weaker = true};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OWN(planned) struct planned strict;
        OWN(planned) struct planned weak;
        planned_make(&strict, rows[i].profile, &plain, rows[i].host);
        is_int(!strict.made, rows[i].fails, "host with %s: %s",
               rows[i].host[0] ? rows[i].host : "everything", rows[i].fails ? "fails" : "plans");
        if (!strict.made)
            ok(strict.err.remedy == REMEDY_ACCEPT_WEAKER && strict.err.msg[0],
               "the error has the remedy: %s", strict.err.msg);
        planned_make(&weak, rows[i].profile, &weaker, rows[i].host);
        ok(weak.made, "--accept-weaker plans");
        bool noted = false;
        for (size_t k = 0; weak.made && k < weak.plan.nnotes; k++)
            noted |= strstr(weak.plan.notes[k], "weaker") != NULL;
        is_int(noted, rows[i].fails, "and says so in a note when something is lost");
    }
}

/* The treatment of a call with this first argument. */
static int first_test(const struct sys_rule *r, uint32_t value)
{
    for (size_t i = 0; i < r->ntests; i++) {
        const struct sys_test *t = &r->tests[i];
        bool same = t->arg == 0 && (value & t->mask) == t->value;
        if (t->arg == 0 && (t->how == SYS_EQUAL ? same : t->how == SYS_DIFFERS && !same))
            return t->then.verdict;
    }
    return r->otherwise.verdict;
}

static void check_namespaces(void)
{
    OWN(planned) struct planned user;
    OWN(planned) struct planned root;
    OWN(planned) struct planned masked;
    const struct plan_options weaker = {.arch = PLAN_X86_64, .accept_weaker = true};
    OWN(planned) struct planned without;
    if (!ok(planned_make(&user, TYPICAL, &plain, "") &&
                planned_make(&root, TYPICAL, &plain, "root=1") &&
                planned_make(&masked, TYPICAL, &plain, "mount_proc=0") &&
                planned_make(&without, TYPICAL, &weaker, "user_ns=0"),
            "planned"))
        return;
    ok(user.plan.user_ns && user.plan.pid_ns && user.plan.net_ns && user.plan.mount_ns,
       "an ordinary user gets all namespaces");
    ok(!root.plan.user_ns && root.plan.pid_ns && root.plan.net_ns, "root needs no user namespace");
    ok(masked.plan.net_ns && !masked.plan.pid_ns, "no pid namespace without a fresh /proc");
    ok(!without.plan.user_ns && !without.plan.net_ns && !without.plan.mount_ns &&
           !without.plan.pid_ns,
       "without user namespaces there are none");
    is_str(tier_of(&without.plan, OP_NETWORK_OUTBOUND), "denied", "the network is denied still");
    is_str(without.plan.ops[OP_NETWORK_OUTBOUND].wall, "system call filter", "by the filter");
    const struct sys_rule *made = find_call(&without.plan, "socket"),
                          *usual = find_call(&user.plan, "socket");
    for (uint32_t family = AF_INET; made && usual && family <= AF_INET6; family += 8) {
        is_int(first_test(made, family), SYS_ERRNO, "which lets no IP socket be made");
        is_int(first_test(usual, family), SYS_ALLOW, "as a namespace does");
    }
}

/* ---- printing ---- */

/* The kernel's own header has the numbers. */
static void check_caps(void)
{
    static const struct {
        const char *name;
        int number;
    } known[] = {
#define KNOWN(name) {#name, name}
        KNOWN(CAP_CHOWN),
        KNOWN(CAP_DAC_OVERRIDE),
        KNOWN(CAP_DAC_READ_SEARCH),
        KNOWN(CAP_FOWNER),
        KNOWN(CAP_FSETID),
        KNOWN(CAP_KILL),
        KNOWN(CAP_SETGID),
        KNOWN(CAP_SETUID),
        KNOWN(CAP_SETPCAP),
        KNOWN(CAP_NET_ADMIN),
        KNOWN(CAP_NET_RAW),
        KNOWN(CAP_NET_BIND_SERVICE),
        KNOWN(CAP_SYS_MODULE),
        KNOWN(CAP_SYS_RAWIO),
        KNOWN(CAP_SYS_CHROOT),
        KNOWN(CAP_SYS_PTRACE),
        KNOWN(CAP_SYS_ADMIN),
        KNOWN(CAP_SYS_BOOT),
        KNOWN(CAP_SYS_NICE),
        KNOWN(CAP_SYS_RESOURCE),
        KNOWN(CAP_SYS_TIME),
        KNOWN(CAP_MKNOD),
        KNOWN(CAP_SETFCAP),
        KNOWN(CAP_MAC_ADMIN),
        KNOWN(CAP_SYSLOG),
        KNOWN(CAP_PERFMON),
        KNOWN(CAP_BPF),
        KNOWN(CAP_CHECKPOINT_RESTORE),
#undef KNOWN
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const struct cap *c = cap_find(known[i].name);
        ok(c && c->number == known[i].number && cap_find(known[i].name + 4) == c, "%s",
           known[i].name);
    }
    for (size_t i = 0; i < caps_count; i++)
        ok(caps_table[i].number == i &&
               (caps_table[i].kind == CAPABILITY_IS_WEAKENS) == (caps_table[i].words[0] != '\0'),
           "%s stands in its place", caps_table[i].name);
    is_int(caps_count, CAP_LAST_CAP + 1, "all of them");
    ok(!cap_find("nonesuch") && !cap_find(""), "no others");

    const uint64_t time = cap_bit(cap_find("sys_time")), admin = cap_bit(cap_find("sys_admin"));
    const struct plan_options clock = {.arch = PLAN_X86_64, .caps = time},
                              risky = {.arch = PLAN_X86_64, .caps = admin},
                              taken = {.arch = PLAN_X86_64, .caps = admin, .accept_weaker = true};
    OWN(planned) struct planned root, user, more, refused, accepted, person;
    ok(planned_make(&root, TYPICAL, &plain, "root=1") && root.plan.caps == 0xfb,
       "root keeps what work on files needs");
    ok(planned_make(&user, TYPICAL, &plain, "") && user.plan.caps == 0, "nobody else anything");
    ok(planned_make(&more, TYPICAL, &clock, "root=1") && more.plan.caps == (0xfb | time),
       "and what it asks for");
    ok(find_call(&root.plan, "clock_settime") && !find_call(&more.plan, "clock_settime"),
       "whose calls are not refused then");
    ok(!planned_make(&person, TYPICAL, &clock, ""), "only root may ask");
    ok(!planned_make(&refused, TYPICAL, &risky, "root=1") &&
           refused.err.remedy == REMEDY_ACCEPT_CAPABILITY,
       "what weakens a wall is refused");
    ok(planned_make(&accepted, TYPICAL, &taken, "root=1") && (accepted.plan.caps & admin) &&
           find_call(&accepted.plan, "mount"),
       "or accepted, and mounting is refused all the same");
    bool reported = false;
    for (size_t i = 0; i < accepted.plan.nnotes; i++)
        reported |= strstr(accepted.plan.notes[i], "weaker: capability sys_admin") != NULL;
    ok(reported, "and the plan says so");
}

static void check_print(void)
{
    OWN(planned) struct planned p;
    struct buf text = {0}, again = {0}, json = {0};
    if (!ok(planned_make(&p, TYPICAL, &plain, ""), "planned"))
        return;
    plan_print_text(&p.plan, p.program.graph, &text);
    plan_print_text(&p.plan, p.program.graph, &again);
    plan_print_json(&p.plan, p.program.graph, &json);
    is_str(text.s, again.s, "the same plan prints alike");
    static const char *const parts[] = {"user, mount, pid, network, ipc, uts",
                                        "t.sb:1: (deny default)",
                                        "/w\n",
                                        "openat",
                                        "wall: network namespace alone",
                                        "Landlock (ABI 7)",
                                        "wall: filter alone"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        ok(text.s && strstr(text.s, parts[i]), "the text has “%s”", parts[i]);
    bool narrow = true;
    for (const char *s = text.s; s && *s; s += strcspn(s, "\n") + (s[strcspn(s, "\n")] == '\n'))
        narrow = narrow && (strcspn(s, "\n") <= 100 || memmem(s, strcspn(s, "\n"), "(allow", 6));
    ok(narrow, "lines are at most 100 columns wide, rules excepted");
    ok(json.s && strstr(json.s, "{\"operation\": \"file-write-data\", \"tier\": \"judged\", "
                                "\"wall\": \"Landlock\""),
       "the JSON has operations");
    buf_free(&text);
    buf_free(&again);
    buf_free(&json);
}

/* ---- worlds ---- */

#define WORLD                                                                                      \
    HEAD "(allow file-read*)(allow process*)(allow ipc-posix* pseudo-tty sysctl-read "             \
         "process-info*)"                                                                          \
         "(allow file-write* (subpath \"/p\") (subpath \"/t\"))"                                   \
         "(deny file-write* (require-not (require-any (extension \"buckle.try-layer\")"            \
         "                                             (subpath \"/t\"))))"

/* Whether the walls decide what is written to a world. */
static void check_world(void)
{
    const struct plan_options asked = {.arch = PLAN_X86_64, .unjudged = true, .tmpdir = "/t"},
                              judged = {.arch = PLAN_X86_64, .tmpdir = "/t"},
                              other = {.arch = PLAN_X86_64, .unjudged = true, .tmpdir = "/u"};
    const struct {
        const char *profile, *host;
        const struct plan_options *opt;
        bool unjudged;
    } rows[] = {
        {WORLD, "", &asked, true},
        {WORLD, "", &judged, false},
        {WORLD, "", &other, false},
        {TYPICAL, "", &asked, false},
        {WORLD "(deny file-write-unlink (literal \"/p\"))", "", &asked, true},
        {WORLD "(deny file-write-unlink (literal \"/p/x\"))", "", &asked, false},
        {WORLD "(deny file-write* (subpath \"/p/x\"))", "", &asked, false},
        {WORLD "(deny file-write* (subpath \"/q\"))", "", &asked, true},
        {WORLD "(deny file-write-data (regex #\"key$\"))", "", &asked, false},
        {WORLD "(deny file-write* (process-path \"/bin/x\"))", "", &asked, false},
        {WORLD "(deny file-write* (subpath \"/p/x\") (with message \"protected: x\"))", "", &asked,
         false},
        {WORLD "(allow file-write* (subpath \"/p\") (with report))", "", &asked, false},
        {WORLD "(allow file-write-data (subpath \"/q\"))", "", &asked, false},
        {WORLD "(allow file-write-data (subpath \"/dev\"))", "", &asked, true},
        {WORLD, "landlock=1", &asked, false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        OWN(planned) struct planned p;
        if (ok(planned_make(&p, rows[i].profile, rows[i].opt, rows[i].host), "row %zu: planned", i))
            is_int(p.plan.unjudged, rows[i].unjudged, "row %zu: %s", i, rows[i].profile);
    }
}

static void check_world_calls(void)
{
    const struct plan_options asked = {.arch = PLAN_X86_64, .unjudged = true, .tmpdir = "/t"};
    enum { WRONLY = 01, CREAT = 0100, TRUNC = 01000, SETUID = 04000 };
    static const char *const seen[] = {"rename", "renameat2", "link",     "linkat",
                                       "mknod",  "chmod",     "fchmod",   "chown",
                                       "utime",  "setxattr",  "truncate", "umask"};
    static const char *const unseen[] = {"mkdir",    "mkdirat", "symlink", "unlink",
                                         "unlinkat", "rmdir",   "creat"};
    OWN(planned) struct planned p;
    if (!ok(planned_make(&p, WORLD, &asked, ""), "planned"))
        return;
    for (size_t i = 0; i < sizeof(seen) / sizeof(seen[0]); i++)
        is_int(verdict(&p.plan, seen[i], 5, 0), SYS_NOTIFY, "%s is judged", seen[i]);
    for (size_t i = 0; i < sizeof(unseen) / sizeof(unseen[0]); i++)
        is_int(verdict(&p.plan, unseen[i], 5, 0), SYS_ALLOW, "%s is not", unseen[i]);
    is_int(verdict(&p.plan, "openat", 2, WRONLY | CREAT | TRUNC), SYS_ALLOW, "nor is opening");
    is_int(verdict(&p.plan, "openat", 2, TRUNC), SYS_NOTIFY, "truncating without writing is");
    is_int(verdict(&p.plan, "openat", 2, 3), SYS_NOTIFY, "so is opening for neither");
    is_int(verdict(&p.plan, "creat", 1, SETUID), SYS_NOTIFY, "and so is a set-id program");
    is_int(verdict(&p.plan, "openat2", 5, 0), SYS_ERRNO, "flags in memory are refused");
    ok(!find_wall(&p.plan, "/p") && find_wall(&p.plan, "/t"), "only a layer opens the place");
    ok(p.plan.layer_rights & KABI_LL_WRITE_FILE & p.plan.handled_fs, "for writing");
}

int main(void)
{
    check_tiers();
    check_reason();
    check_calls();
    check_sockets();
    check_dialled();
    check_walls();
    check_updatable();
    check_hosts();
    check_namespaces();
    check_caps();
    check_print();
    check_world();
    check_world_calls();
    return done_testing();
}
