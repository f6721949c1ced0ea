/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Calls that act on other processes: signals and scheduling. All their relevant arguments are in
 * registers, so the kernel performs them once they are judged, and the receiver sees the real
 * sender. What can change is which process a pid means: it may have exited and its pid been reused,
 * or a group may have a new member. All of them are in the same sandbox, which the walls ensure.
 *
 * The exception is the command's own process group: it is the group of the process that started
 * Buckle, and kill(0, ...) ignores namespaces. If Landlock does not keep signals inside, the judge
 * sends them.
 *
 * A call that reaches several processes is denied if one of them may not be reached: the kernel
 * would signal the others without an error, and no process can be left out.
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
#include "kernel/shared/signal-name.h"

/* ---- targets ---- */

struct action {
    enum vocab_op op;
    const char *what; /* shown in events: SIGTERM, sched_setaffinity */
    int64_t number;   /* Apple's number of the signal, or -1 */
};

static int ask_related(struct judge *j, const struct request *r, int relation, pid_t pid,
                       const void *arg)
{
    const struct action *action = arg;
    struct graph_fact facts[RELATION_FACTS + 1];
    char shown[128];
    size_t n = relation_facts(relation, pid, facts);
    if (action->number >= 0)
        facts[n++] = (struct graph_fact){.filter = FILTER_SIGNAL_NUMBER, .num = action->number};
    if (would_allow_about(j, action->op, facts, n))
        return 0;
    snprintf(shown, sizeof(shown), "%s to %s %d", action->what,
             relation & RELATION_SELF      ? "itself,"
             : relation & RELATION_CHILD   ? "child"
             : relation & RELATION_GROUP   ? "group member"
             : relation & RELATION_SANDBOX ? "fellow"
                                           : "outsider",
             pid);
    relation_name_program(j, r, pid, shown, sizeof(shown));
    return ask_about(j, r, action->op, facts, n, shown);
}

static int ask_process(struct judge *j, const struct request *r, const struct action *action,
                       pid_t pid)
{
    int relation = relation_of(j, r, pid);
    return relation < 0 ? relation : ask_related(j, r, relation, pid, action);
}

/* ---- signals ---- */

/* Rules have Apple's numbers; the names are the same. Returns -1 for signals that macOS lacks. */
static int64_t apple_signal(int sig, char name[32])
{
    const char *known = signal_name(sig);
    int64_t number;
    if (known)
        snprintf(name, 32, "%s", known);
    else
        snprintf(name, 32, "signal %d", sig);
    if (sig == 0)
        return 0;
    return known && vocab_filter_constant(FILTER_SIGNAL_NUMBER, name, strlen(name), &number)
               ? number
               : -1;
}

/* The argument with the signal's number. */
static int signal_of(const struct request *r)
{
    bool third = r->nr == SYS_tgkill || r->nr == SYS_rt_tgsigqueueinfo;
    return (int)r->args[third ? 2 : 1];
}

static int ask_kill(struct judge *j, const struct request *r, const struct action *action,
                    pid_t pid)
{
    if (pid > 0)
        return ask_process(j, r, action, pid);
    if (pid == -1)
        return relation_each(j, r, EACH_PROCESS, 0, ask_related, action);
    return relation_each(j, r, pid ? EACH_OF_GROUP : EACH_OF_OWN_GROUP, pid ? -pid : 0, ask_related,
                         action);
}

struct answer handle_signal(struct judge *j, const struct request *r)
{
    char name[32];
    int sig = signal_of(r);
    pid_t pid = (pid_t)r->args[0];
    if (sig < 0 || sig > SIGRTMAX || (pid <= 0 && r->nr != SYS_kill) || pid == INT32_MIN)
        return answer_errno(EINVAL);
    struct action action = {.op = OP_SIGNAL, .what = name, .number = apple_signal(sig, name)};
    int err = ask_kill(j, r, &action, pid);
    /* the kernel would also signal processes outside */
    if (err == 0 && pid == 0 && !j->scoped)
        return answer_value(relation_signal_group(j, r, sig));
    return answer_verdict(err);
}

/* fcntl(F_SETOWN): the owner of a descriptor is signalled when something happens to it. If there
 * are rules about signals, the filter leaves only SIGIO and SIGURG. */
struct answer handle_owner(struct judge *j, const struct request *r)
{
    static const int sent[] = {SIGIO, SIGURG};
    pid_t pid = (pid_t)r->args[2];
    int err = 0;
    if (pid == 0)
        return answer_continue(); /* no owner */
    if (pid == INT32_MIN)
        return answer_errno(EINVAL);
    for (size_t i = 0; err == 0 && i < 2; i++) {
        char name[32];
        struct action action = {OP_SIGNAL, name, apple_signal(sent[i], name)};
        err = pid > 0 ? ask_process(j, r, &action, pid)
                      : relation_each(j, r, EACH_OF_GROUP, -pid, ask_related, &action);
    }
    return answer_verdict(err);
}

/* ---- scheduling ---- */

/* setpriority and ioprio_set can mean a group, or all processes of a user. */
static int ask_many(struct judge *j, const struct request *r, const struct action *action)
{
    bool io = r->nr == SYS_ioprio_set;
    int which = (int)r->args[0];
    pid_t who = (pid_t)r->args[1];
    if (which == (io ? (int)IOPRIO_WHO_PROCESS : (int)PRIO_PROCESS))
        return who < 0 ? -ESRCH : ask_process(j, r, action, who);
    if (which == (io ? (int)IOPRIO_WHO_PGRP : (int)PRIO_PGRP))
        return relation_each(j, r, EACH_OF_GROUP, who, ask_related, action);
    if (which != (io ? (int)IOPRIO_WHO_USER : (int)PRIO_USER))
        return -EINVAL;
    int err = ask_process(j, r, action, 0);
    err = err == 0 ? relation_each(j, r, EACH_PROCESS, 0, ask_related, action) : err;
    return err == -ESRCH ? 0 : err;
}

struct answer handle_sched(struct judge *j, const struct request *r)
{
    const char *name = "scheduling";
    for (size_t i = 0; i < judged_call_count; i++)
        if (judged_calls[i].nr[PLAN_NATIVE] == r->nr)
            name = judged_calls[i].name;
    struct action action = {OP_SYSTEM_SCHED, name, -1};
    if (r->nr == SYS_setpriority || r->nr == SYS_ioprio_set)
        return answer_verdict(ask_many(j, r, &action));
    pid_t pid = (pid_t)r->args[0];
    return pid < 0 ? answer_errno(EINVAL) : answer_verdict(ask_process(j, r, &action, pid));
}
