/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The tables are small and fixed: a command can ask as often as it likes. A watcher that does not
 * read what it gets is dropped, so a stopped one cannot make commands wait for others.
 */

#include "agent/session-ask.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "agent/session.h"
#include "base/own.h"
#include "net/consent.h"
#include "system/descriptors.h"

static struct session_question *find_number(struct session_ask *a, uint32_t number)
{
    for (size_t i = 0; i < SESSION_QUESTIONS; i++)
        if (a->questions[i].number == number)
            return &a->questions[i];
    return NULL;
}

static bool is_watcher(const struct session_ask *a, int client)
{
    for (size_t i = 0; i < a->nwatchers; i++)
        if (a->watchers[i] == client)
            return true;
    return false;
}

static void forget(struct session_question *q)
{
    json_decref(q->message);
    *q = (struct session_question){0};
}

static void refuse_all(struct session *k)
{
    for (size_t i = 0; i < SESSION_QUESTIONS; i++) {
        struct session_question *q = &k->ask.questions[i];
        if (q->number)
            session_answer(k, q->run, q->id, consent_word(CONSENT_NOBODY));
        forget(q);
    }
}

static void drop_watcher(struct session *k, int client)
{
    struct session_ask *a = &k->ask;
    size_t n = 0;
    for (size_t i = 0; i < a->nwatchers; i++)
        if (a->watchers[i] != client)
            a->watchers[n++] = a->watchers[i];
    a->nwatchers = n;
    if (n == 0)
        refuse_all(k);
}

bool session_ask_watch(struct session *k, int client, bool on)
{
    struct session_ask *a = &k->ask;
    if (!on)
        drop_watcher(k, client);
    else if (!is_watcher(a, client) && a->nwatchers == SESSION_WATCHERS)
        return false;
    else if (!is_watcher(a, client))
        a->watchers[a->nwatchers++] = client;
    return true;
}

/* To all watchers; takes over the message. */
static void send_all(struct session *k, json_t *message)
{
    OWN(json) json_t *m = message;
    OWN(mem) char *text = m ? json_dumps(m, JSON_COMPACT) : NULL;
    size_t n = text ? strlen(text) : 0;
    for (size_t i = k->ask.nwatchers; i-- > 0;) {
        int client = k->ask.watchers[i];
        if (n == 0 || n > CONTROL_MESSAGE ||
            fd_packet_send(client, text, n, -1, true) != (ssize_t)n)
            drop_watcher(k, client);
    }
}

void session_ask_question(struct session *k, uint64_t run, const char *command,
                          const json_t *question)
{
    struct session_ask *a = &k->ask;
    uint32_t id = (uint32_t)json_integer_value(json_object_get(question, "id"));
    struct session_question *q = a->nwatchers ? find_number(a, 0) : NULL;
    if (!q || id == 0) {
        session_answer(k, run, id, consent_word(CONSENT_NOBODY));
        return;
    }
    a->last += a->last == UINT32_MAX ? 2 : 1; /* never 0 */
    *q = (struct session_question){a->last, id, run, NULL};
    q->message = json_pack("{s:O, s:I, s:s}", "question", question, "number", (json_int_t)q->number,
                           "command", command);
    send_all(k, json_incref(q->message));
}

void session_ask_withdraw(struct session *k, uint64_t run, uint32_t id)
{
    for (size_t i = 0; i < SESSION_QUESTIONS; i++) {
        struct session_question *q = &k->ask.questions[i];
        if (!q->number || q->run != run || (id && q->id != id))
            continue;
        json_int_t number = q->number;
        forget(q);
        send_all(k, json_pack("{s:I}", "withdrawn", number));
    }
}

void session_ask_answer(struct session *k, int client, const json_t *answer)
{
    uint32_t number = (uint32_t)json_integer_value(json_object_get(answer, "answer"));
    struct session_question *q = number ? find_number(&k->ask, number) : NULL;
    if (!q || !is_watcher(&k->ask, client))
        return;
    enum consent word = consent_of_word(json_text(answer, "consent"));
    session_answer(k, q->run, q->id, consent_word(word));
    session_ask_withdraw(k, q->run, q->id);
}

void session_ask_list(const struct session *k, struct buf *out)
{
    json_t *list = json_array();
    for (size_t i = 0; i < SESSION_QUESTIONS; i++)
        if (k->ask.questions[i].message)
            json_array_append(list, k->ask.questions[i].message);
    control_server_answer(out, json_pack("{s:b, s:o}", "ok", 1, "questions", list));
}

void session_ask_end(struct session *k)
{
    for (size_t i = 0; i < SESSION_QUESTIONS; i++)
        forget(&k->ask.questions[i]);
}
