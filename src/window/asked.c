/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "window/asked.h"

#include <stdlib.h>
#include <string.h>

#include "agent/json.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/own.h"

enum { DEAF_MS = 300 };

static void add_safe(struct buf *out, const char *text)
{
    buf_safe(out, text, strlen(text));
}

/* Who wants what, as the page words it. Names come from the sandbox. */
static char *word_question(const json_t *q)
{
    const char *program = json_text(q, "program"), *class = json_text(q, "class");
    const char *where = json_text(q, "where"), *path = json_text(q, "path");
    OWN(buf) struct buf out = {0};
    add_safe(&out, program && *program ? program : "a program");
    buf_str(&out, json_text(q, "rule") ? " wants to run "
                  : class              ? " wants to change "
                                       : " wants to connect to ");
    add_safe(&out, where ? where : path ? path : "");
    if (class && !json_text(q, "rule")) {
        buf_str(&out, " of the class ");
        add_safe(&out, class);
    }
    return buf_ok(&out) ? steal_ptr(&out.s) : NULL;
}

static size_t find(const struct asked *a, pid_t source, uint32_t number)
{
    size_t i = 0;
    while (i < a->n && (a->at[i].source != source || a->at[i].number != number))
        i++;
    return i;
}

void asked_add(struct asked *a, pid_t source, uint32_t number, const json_t *question)
{
    size_t i = find(a, source, number);
    char *text = i < ASKED_MOST ? word_question(question) : NULL;
    if (!text)
        return;
    if (i == 0 && a->n == 0)
        a->since_ms = now_ms();
    free(a->at[i].text);
    a->at[i] = (struct asked_question){source, number, text};
    a->n += i == a->n;
}

void asked_drop(struct asked *a, pid_t source, uint32_t number)
{
    size_t n = 0;
    bool first = false;
    for (size_t i = 0; i < a->n; i++) {
        struct asked_question *q = &a->at[i];
        if (q->source == source && (!number || q->number == number)) {
            first |= i == 0;
            free(q->text);
        } else {
            a->at[n++] = *q;
        }
    }
    for (size_t i = n; i < a->n; i++)
        a->at[i] = (struct asked_question){0};
    a->n = n;
    if (first)
        a->since_ms = now_ms();
}

const struct asked_question *asked_first(const struct asked *a)
{
    return a->n ? &a->at[0] : NULL;
}

bool asked_listens(const struct asked *a)
{
    return a->n && now_ms() - a->since_ms >= DEAF_MS;
}

const char *asked_answer(int key)
{
    static const struct {
        int key;
        const char *word;
    } words[] = {{'o', "once"}, {'r', "run"}, {'w', "always"}, {'n', "deny"}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (words[i].key == key)
            return words[i].word;
    return NULL;
}

void asked_free(struct asked *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->at[i].text);
    *a = (struct asked){0};
}
