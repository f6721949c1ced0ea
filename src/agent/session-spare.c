/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The spare that a session keeps. Its command must find everything as if the client had started it.
 * A client says which words and variables it has. What else programs inherit from it the session
 * reads while the client makes sure of the session, so that none waits for the other.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/session-int.h"
#include "base/clock.h"
#include "base/own.h"
#include "command/order.h"
#include "system/descriptors.h"
#include "system/inherited.h"

static bool has_spare(const struct session *k)
{
    for (size_t i = 0; i < k->nruns; i++)
        if (k->runs[i].spare && !k->runs[i].dropped)
            return true; /* one that waits, or is being prepared */
    return false;
}

bool session_wants_spare(const struct session *k)
{
    return !k->spare.refused && !has_spare(k);
}

static bool take_text(char *to, size_t cap, const char *text)
{
    size_t n = text ? strlen(text) : cap;
    if (n >= cap)
        return false;
    memcpy(to, text, n + 1);
    return true;
}

/* Only of runs, which have joined. */
void session_keep_spare(struct session *k, int client, const json_t *m, struct buf *out)
{
    const struct session_run *run = session_find_run(k, client);
    struct session_spare s = {.client = client, .since_ms = now_ms()};
    bool fits = run && run->spare && !k->spare.refused &&
                take_text(s.key, sizeof(s.key), json_text(m, "spare")) &&
                take_text(s.inherited, sizeof(s.inherited), json_text(m, "inherited")) &&
                run->grants == json_array_size(k->grants);
    s.sock = fits ? steal_fd(&k->server.passed) : -1;
    if (s.sock < 0)
        return control_server_refuse(out, "not a spare of this session");
    session_drop_spare(k, false);
    k->spare = s;
    control_server_answer(out, json_pack("{s:b}", "ok", 1));
}

/* It may want the spare, which looks whether it can be used while we look who that is. */
void session_announce(void *arg)
{
    const struct session *k = arg;
    const char soon = ORDER_SOON;
    if (k->spare.sock)
        (void)!fd_packet_send(k->spare.sock, &soon, 1, -1, true);
}

/* Nothing of this changes until the client gets its answer. */
void session_note_caller(void *arg, int client, pid_t pid)
{
    struct session *k = arg;
    struct session_caller *c = &k->caller;
    if (!k->spare.sock)
        return;
    c->client = process_inherited(pid, c->inherited) ? client : 0;
}

static bool fits(const struct session *k, int client, const char *key)
{
    return strcmp(key, k->spare.key) == 0 && k->caller.client == client &&
           strcmp(k->caller.inherited, k->spare.inherited) == 0;
}

static void pass_on(struct session *k, struct session_run *run, const json_t *m, int channel)
{
    char words[PATH_MAX + 1];
    folder_user_move(&run->moves, json_text(m, "cwd"));
    const char *folder = session_folder(k->folders, &run->moves);
    int n = snprintf(words, sizeof(words), "%c%s", session_can_ask(k) ? 'a' : '-',
                     folder ? folder : "");
    if (n < (int)sizeof(words))
        (void)!fd_packet_send(k->spare.sock, words, (size_t)n, channel, true);
}

/* The client at the other end has a command, and runs it as usual if this end is closed. */
void session_take_spare(struct session *k, int client, const json_t *m)
{
    enum { MISSES = 2 };
    OWN(fd) int channel = steal_fd(&k->server.passed);
    const char *key = json_text(m, "take"), *command = json_text(m, "command");
    struct session_spare *s = &k->spare;
    session_drop_spare(k, true);
    struct session_run *run = s->sock ? session_find_run(k, s->client) : NULL;
    if (channel < 0 || !run || !key || !command)
        return;
    if (!fits(k, client, key)) {
        if (++s->misses >= MISSES) /* commands are run in another way now */
            session_drop_spare(k, false);
        return;
    }
    pass_on(k, run, m, channel);
    session_use_spare(k, command, &run->number);
    s->client = 0; /* it lives on */
    session_drop_spare(k, false);
}

void session_use_spare(struct session *k, const char *command, uint64_t *number)
{
    struct session_run *run = session_find_number(k, *number);
    char *text = run ? strdup(command) : NULL;
    if (!text)
        return;
    free(run->command);
    run->command = text;
    run->spare = false;
    *number = run->number = ++k->last;
}

void session_drop_spare(struct session *k, bool if_old)
{
    enum { OLD_MS = 10 * 60 * 1000 };
    struct session_spare *s = &k->spare;
    if (!s->sock || (if_old && now_ms() - s->since_ms < OLD_MS))
        return;
    struct session_run *run = session_find_run(k, s->client);
    if (run)
        run->dropped = true;
    close(s->sock);
    *s = (struct session_spare){.refused = s->refused};
}

void session_spare_left(struct session *k, int client)
{
    if (k->spare.client == client)
        session_drop_spare(k, false);
    if (k->caller.client == client)
        k->caller.client = 0; /* its number is another's soon */
}
