/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Calls that act on other processes: signals and scheduling. Everything that matters about them
 * stands in registers, so the kernel performs them itself once they are judged, and the receiver
 * sees who sent what. What can change is whom a number means: the process may have ended and its
 * number be used again, a group may have a new member. All of them live in the same sandbox, which
 * is what the walls see to.
 *
 * The group of the command itself is the one exception: it is that of whoever started it, and
 * kill(0, …) knows no namespaces. Where Landlock does not keep signals inside, the judge sends
 * them.
 *
 * A call that reaches several processes is denied when one of them may not be reached: the kernel
 * would signal those it can and say nothing, and there is no way to leave one out.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "kernel/judge/ask.h"
#include "kernel/judge/handlers.h"
#include "kernel/judge/judge.h"
#include "kernel/judge/relation.h"
#include "kernel/plan/plan.h"

/* ---- whom ---- */

struct whom {
    enum vocab_op op;
    const char *what; /* for people: SIGTERM, sched_setaffinity */
    int64_t number;   /* Apple's number of the signal; -1: none */
};

static int ask_process_set_member(struct judge *j, const struct request *r, int relation, pid_t pid,
                                  const void *arg)
{
    const struct whom *whom = arg;
    struct graph_fact facts[RELATION_FACTS + 1];
    char shown[64];
    size_t n = relation_facts(relation, pid, facts);
    if (whom->number >= 0)
        facts[n++] = (struct graph_fact){.filter = FILTER_SIGNAL_NUMBER, .num = whom->number};
    snprintf(shown, sizeof(shown), "%s to %s %d", whom->what,
             relation & RELATION_SELF      ? "itself,"
             : relation & RELATION_CHILD   ? "child"
             : relation & RELATION_GROUP   ? "group member"
             : relation & RELATION_SANDBOX ? "fellow"
                                           : "outsider",
             pid);
    return ask_about(j, r, whom->op, facts, n, shown);
}

static int ask_process(struct judge *j, const struct request *r, const struct whom *whom, pid_t pid)
{
    int relation = relation_of(j, r, pid);
    return relation < 0 ? relation : ask_process_set_member(j, r, relation, pid, whom);
}

/* ---- signals ---- */

/* Rules know Apple's numbers; the names are the same. Signals that macOS lacks have none. */
static int64_t apple_signal(int sig, char name[32])
{
    const char *known = sigabbrev_np(sig);
    int64_t number;
    if (sig == SIGPOLL)
        known = "IO";
    if (known)
        snprintf(name, 32, "SIG%s", known);
    else
        snprintf(name, 32, "signal %d", sig);
    if (sig == 0)
        return 0;
    return known && vocab_filter_constant(FILTER_SIGNAL_NUMBER, name, strlen(name), &number)
               ? number
               : -1;
}

/* Where a call has the signal's number. */
static int signal_of(const struct request *r)
{
    bool third = r->nr == SYS_tgkill || r->nr == SYS_rt_tgsigqueueinfo;
    return (int)r->args[third ? 2 : 1];
}

static int ask_kill(struct judge *j, const struct request *r, const struct whom *whom, pid_t pid)
{
    if (pid > 0)
        return ask_process(j, r, whom, pid);
    if (pid == -1)
        return relation_each(j, r, WHO_EVERYBODY, 0, ask_process_set_member, whom);
    return relation_each(j, r, pid ? WHO_GROUP : WHO_OWN_GROUP, pid ? -pid : 0,
                         ask_process_set_member, whom);
}

struct answer handle_signal(struct judge *j, const struct request *r)
{
    char name[32];
    int sig = signal_of(r);
    pid_t pid = (pid_t)r->args[0];
    if (sig < 0 || sig > SIGRTMAX || (pid <= 0 && r->nr != SYS_kill) || pid == INT32_MIN)
        return answer_errno(EINVAL);
    struct whom whom = {.op = OP_SIGNAL, .what = name, .number = apple_signal(sig, name)};
    int err = ask_kill(j, r, &whom, pid);
    /* the kernel would not stop at the sandbox's border */
    if (err == 0 && pid == 0 && !j->scoped)
        return answer_value(relation_signal_group(j, r, sig));
    return answer_verdict(err);
}

/* fcntl(F_SETOWN): whoever owns a descriptor is signalled when something happens to it. With rules
 * about signals in force the filter leaves only SIGIO and SIGURG. */
struct answer handle_owner(struct judge *j, const struct request *r)
{
    static const int sent[] = {SIGIO, SIGURG};
    pid_t pid = (pid_t)r->args[2];
    int err = 0;
    if (pid == 0)
        return answer_continue(); /* nobody */
    if (pid == INT32_MIN)
        return answer_errno(EINVAL);
    for (size_t i = 0; err == 0 && i < 2; i++) {
        char name[32];
        struct whom whom = {OP_SIGNAL, name, apple_signal(sent[i], name)};
        err = pid > 0 ? ask_process(j, r, &whom, pid)
                      : relation_each(j, r, WHO_GROUP, -pid, ask_process_set_member, &whom);
    }
    return answer_verdict(err);
}

/* ---- scheduling ---- */

/* setpriority and ioprio_set can mean a group or everybody of a user. */
static int ask_many(struct judge *j, const struct request *r, const struct whom *whom)
{
    bool io = r->nr == SYS_ioprio_set;
    int which = (int)r->args[0];
    pid_t who = (pid_t)r->args[1];
    if (which == (io ? (int)IOPRIO_WHO_PROCESS : (int)PRIO_PROCESS))
        return who < 0 ? -ESRCH : ask_process(j, r, whom, who);
    if (which == (io ? (int)IOPRIO_WHO_PGRP : (int)PRIO_PGRP))
        return relation_each(j, r, WHO_GROUP, who, ask_process_set_member, whom);
    if (which != (io ? (int)IOPRIO_WHO_USER : (int)PRIO_USER))
        return -EINVAL;
    int err = ask_process(j, r, whom, 0);
    err = err == 0 ? relation_each(j, r, WHO_EVERYBODY, 0, ask_process_set_member, whom) : err;
    return err == -ESRCH ? 0 : err;
}

struct answer handle_sched(struct judge *j, const struct request *r)
{
    const char *name = "scheduling";
    for (size_t i = 0; i < judged_call_count; i++)
        if (judged_calls[i].nr[PLAN_NATIVE] == r->nr)
            name = judged_calls[i].name;
    struct whom whom = {OP_SYSTEM_SCHED, name, -1};
    if (r->nr == SYS_setpriority || r->nr == SYS_ioprio_set)
        return answer_verdict(ask_many(j, r, &whom));
    pid_t pid = (pid_t)r->args[0];
    return pid < 0 ? answer_errno(EINVAL) : answer_verdict(ask_process(j, r, &whom, pid));
}
