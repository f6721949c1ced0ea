/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Runs a command, tells of each denial as it happens, and asks about hosts: run COMMAND…
 *
 * A question is answered on standard input (y or n), by a thread of its own: meanwhile the command
 * runs on, and its events are told. Who is asked about waits.
 */

#include <buckle/buckle.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct asked {
    struct buckle_run *run;
    uint32_t id;
};

static void on_event(void *arg, struct buckle_run *run, const struct buckle_event *event)
{
    (void)arg, (void)run;
    fprintf(stderr, "run: %s\n", buckle_event_line(event));
}

static void *answer(void *arg)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    struct asked *asked = arg;
    char line[16] = "";
    pthread_mutex_lock(&one_at_a_time);
    int yes = fgets(line, sizeof(line), stdin) && line[0] == 'y';
    pthread_mutex_unlock(&one_at_a_time);
    buckle_run_answer(asked->run, asked->id, yes ? BUCKLE_ANSWER_RUN : BUCKLE_ANSWER_DENY);
    free(asked);
    return NULL;
}

static void on_question(void *arg, struct buckle_run *run, const struct buckle_question *question)
{
    pthread_t thread;
    struct asked *asked = buckle_question_withdrawn(question) ? NULL : malloc(sizeof(*asked));
    (void)arg;
    if (!asked) /* nobody waits any more; or the answer is no, in a minute */
        return;
    fprintf(stderr, "run: %s wants to reach %s:%u. Allow it [y/n]?\n",
            buckle_question_program(question), buckle_question_host(question),
            buckle_question_port(question));
    *asked = (struct asked){run, buckle_question_id(question)};
    if (pthread_create(&thread, NULL, answer, asked) == 0)
        pthread_detach(thread);
    else
        free(asked);
}

int main(int argc, char **argv)
{
    struct buckle_error *error = NULL;
    if (argc < 2) {
        fprintf(stderr, "usage: %s COMMAND [ARGUMENT…]\n", argv[0]);
        return 2;
    }
    struct buckle_command *command = buckle_command_new((const char *const *)argv + 1);
    if (!command)
        return 2;
    buckle_command_stdio(command, -1, 1, 2); /* standard input is for answers */
    buckle_command_on_event(command, on_event, NULL);
    buckle_command_on_question(command, on_question, NULL, 0);
    struct buckle_run *run = buckle_start(command, &error);
    buckle_command_free(command);
    if (!run || buckle_run_wait(run, &error) < 0) {
        fputs(buckle_error_report(error), stderr);
        buckle_error_free(error);
        buckle_run_free(run);
        return 125;
    }
    /* a thread may still wait for an answer that nobody needs: it keeps the run */
    return buckle_run_status(run);
}
