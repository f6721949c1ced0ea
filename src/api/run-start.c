/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The program's side of a run: how it is started, prepared, begun and freed. */

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "api/hold.h"
#include "api/run-int.h"
#include "policy/target.h"
#include "system/condition.h"
#include "system/descriptors.h"
#include "system/fd-group.h"
#include "system/process.h"

static void run_destroy(struct buckle_run *run)
{
    run_drop_notes(run);
    buf_free(&run->in);
    buckle_error_free(run->failure);
    int fds[] = {run->helper.sock, run->helper.watch, run->group, run->ready, run->orders};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    pthread_mutex_destroy(&run->lock);
    pthread_cond_destroy(&run->idle);
    free(run->text);
    free(run);
}

static struct buckle_run *run_new(const struct buckle_command *c)
{
    struct buckle_run *run = calloc(1, sizeof(*run));
    if (!run)
        return NULL;
    condition_init(&run->idle);
    pthread_mutex_init(&run->lock, NULL);
    run->helper = (struct helper){.watch = -1, .sock = -1};
    run->orders = -1;
    run->group = fd_group_open();
    run->ready = fd_flag_open();
    run->by_signal = policy_on_macos();
    run->on_event = c->on_event;
    run->on_question = c->on_question;
    run->event_arg = c->event_arg;
    run->question_arg = c->question_arg;
    run->store = c->store;
    run->manager = c->manager;
    run->id = c->id;
    run->text = c->text ? strdup(c->text) : NULL;
    if (run->group >= 0 && run->ready >= 0 && (run->text || !c->text))
        return run;
    run_destroy(run);
    return NULL;
}

static void open_group(struct buckle_run *run)
{
    int fds[] = {run->helper.sock, run->helper.watch, run->ready};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (fds[i] >= 0)
            fd_group_add(run->group, fds[i], 0);
    }
}

/* Starts the child; `holds`: it waits for an order. */
static int start_child(struct buckle_run *run, const struct buckle_command *c, bool holds,
                       struct bk_err *err)
{
    int ends[2] = {-1, -1};
    if (holds && fd_packet_pair(ends) < 0)
        return err_sys(err, "socketpair");
    struct controller_task task = {c, ends[1]};
    int started = helper_start(&run->helper, controller_main, &task, err);
    if (ends[1] >= 0)
        close(ends[1]);
    run->orders = ends[0];
    if (started == 0)
        open_group(run);
    return started;
}

static struct buckle_run *start_run(const struct buckle_command *command, bool prepares,
                                    struct buckle_error **error)
{
    struct bk_err err;
    struct buckle_run *run = run_new(command);
    bool holds = prepares && !policy_on_macos(); /* no process can wait there */
    if (!run) {
        err_nomem(&err);
    } else if (!command->argv || !command->argv[0]) {
        err_set(&err, BK_E_INPUT, "there is no command to run");
    } else if (run->manager && manager_add_run(run->manager, run) < 0) {
        err_nomem(&err);
    } else if ((holds || !prepares) && start_child(run, command, holds, &err) < 0) {
        if (run->manager)
            manager_drop_run(run->manager, run);
    } else {
        run->command = prepares ? command : NULL;
        return run;
    }
    if (run)
        run_destroy(run);
    api_error(error, &err, NULL);
    return NULL;
}

struct buckle_run *buckle_start(const struct buckle_command *command, struct buckle_error **error)
{
    return start_run(command, false, error);
}

struct buckle_run *buckle_prepare(const struct buckle_command *command, struct buckle_error **error)
{
    return start_run(command, true, error);
}

/* Waits a moment for its process to clean up. */
static void end_at_once(struct buckle_run *run)
{
    enum { PATIENCE_MS = 3000 };
    struct pollfd gone = {run->helper.watch, POLLIN, 0};
    shutdown(run->helper.sock, SHUT_RDWR); /* it then ends the command */
    if (run->helper.watch >= 0 && poll(&gone, 1, PATIENCE_MS) == 0)
        process_watched_kill(run->helper.watch, run->helper.pid, SIGKILL);
    helper_collect(&run->helper);
}

/* The sandbox that waited is not what a launch would make now, or there is none. */
static int start_anew(struct buckle_run *run, const char *const *argv, const int *stdio,
                      struct bk_err *err)
{
    struct buckle_command c = *run->command;
    c.argv = (const char **)argv;
    if (stdio)
        memcpy(c.stdio, stdio, sizeof(c.stdio));
    if (run->helper.sock >= 0) {
        end_at_once(run);
        fd_group_remove(run->group, run->helper.sock);
        close(run->helper.sock);
        if (run->helper.watch >= 0) {
            fd_group_remove(run->group, run->helper.watch);
            close(run->helper.watch);
        }
        run->in.n = 0;
    }
    run->helper = (struct helper){.watch = -1, .sock = -1};
    return start_child(run, &c, false, err);
}

/* The lock is held, so nobody takes the end of a stale child for that of the run. Unless the child
 * said that it starts nothing, none is started in its place: no command runs twice. */
static int begin(struct buckle_run *run, const char *const *argv, const int *stdio,
                 struct bk_err *err)
{
    char answer = run->orders < 0 ? ORDER_STALE : hold_order(run->orders, argv, stdio);
    if (run->orders >= 0)
        close(run->orders);
    run->orders = -1;
    if (answer == ORDER_TAKEN)
        return 0;
    if (answer == ORDER_STALE)
        return start_anew(run, argv, stdio, err);
    end_at_once(run);
    run_pump(run);
    return err_set(err, BK_E_SYSTEM, "the process that held the command died");
}

int buckle_run_begin(struct buckle_run *run, const char *const *argv, const int *stdio,
                     struct buckle_error **error)
{
    struct bk_err err;
    int begun = -1;
    pthread_mutex_lock(&run->lock);
    bool failed = false;
    const char *const *words =
        argv || !run->command ? argv : (const char *const *)run->command->argv;
    if (!run->command || run->cancel_sent)
        err_set(&err, BK_E_INPUT, "the run was not prepared, or has begun or been cancelled");
    else if (!words[0])
        err_set(&err, BK_E_INPUT, "there is no command to run");
    else
        begun = begin(run, words, stdio, &err);
    if (begun < 0 && run->failure) {
        failed = true;
        if (error)
            api_error_copy(error, run->failure);
    }
    run->command = begun == 0 ? NULL : run->command;
    pthread_mutex_unlock(&run->lock);
    if (begun < 0 && !failed)
        api_error(error, &err, NULL);
    return begun;
}

void buckle_run_free(struct buckle_run *run)
{
    if (!run)
        return;
    if (run->manager)
        manager_drop_run(run->manager, run);
    if (!run->over)
        end_at_once(run);
    run_destroy(run);
}
