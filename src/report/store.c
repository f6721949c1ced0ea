/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * A ring of slots that keep their buffers, so that a flood of violations soon stops allocating. One
 * lock protects the contents. Another is held while subscribers are called; they may read the store
 * meanwhile.
 */

#include "report/store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"

/* text holds command, line and json, each NUL-terminated */
struct slot {
    uint64_t number, time_ns, command_id;
    struct buf text;
    size_t line, json; /* offsets in text */
};

struct subscriber {
    store_fn *fn;
    void *arg;
    int number;
};

struct store {
    pthread_mutex_t lock, notifying;
    size_t size, first, n;
    struct slot *slots;
    uint64_t total;
    struct store_ignore *ignored; /* strings are in words */
    size_t nignored;
    char *words;
    struct subscriber *subscribers; /* protected by the lock notifying */
    size_t nsubscribers;
    int last_number;
};

struct store *store_new(size_t size)
{
    struct store *s = size <= STORE_MOST ? calloc(1, sizeof(*s)) : NULL;
    if (!s)
        return NULL;
    s->size = size ? size : STORE_USUAL;
    s->slots = calloc(s->size, sizeof(*s->slots));
    if (!s->slots)
        return free(s), NULL;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->notifying, NULL);
    return s;
}

void store_free(struct store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->size; i++)
        buf_free(&s->slots[i].text);
    pthread_mutex_destroy(&s->lock);
    pthread_mutex_destroy(&s->notifying);
    free(s->slots);
    free(s->ignored);
    free(s->words);
    free(s->subscribers);
    free(s);
}

/* ---- subscribers ---- */

static void notify(struct store *s)
{
    pthread_mutex_lock(&s->notifying);
    for (size_t i = 0; i < s->nsubscribers; i++)
        s->subscribers[i].fn(s->subscribers[i].arg, s);
    pthread_mutex_unlock(&s->notifying);
}

int store_subscribe(struct store *s, store_fn *fn, void *arg)
{
    int number = -1;
    pthread_mutex_lock(&s->notifying);
    struct subscriber *grown = realloc(s->subscribers, (s->nsubscribers + 1) * sizeof(*grown));
    if (grown) {
        s->subscribers = grown;
        number = ++s->last_number;
        grown[s->nsubscribers++] = (struct subscriber){fn, arg, number};
        fn(arg, s);
    }
    pthread_mutex_unlock(&s->notifying);
    return number;
}

void store_unsubscribe(struct store *s, int number)
{
    pthread_mutex_lock(&s->notifying);
    for (size_t i = 0; i < s->nsubscribers; i++)
        if (s->subscribers[i].number == number) {
            s->subscribers[i] = s->subscribers[--s->nsubscribers];
            break;
        }
    pthread_mutex_unlock(&s->notifying);
}

/* ---- ignored violations ---- */

int store_ignore(struct store *s, const struct store_ignore *rules, size_t n)
{
    size_t bytes = 1;
    for (size_t i = 0; i < n; i++)
        bytes += strlen(rules[i].command) + strlen(rules[i].text) + 2;
    struct store_ignore *copies = calloc(n + 1, sizeof(*copies));
    char *words = malloc(bytes), *at = words;
    if (!copies || !words)
        return free(copies), free(words), -1;
    for (size_t i = 0; i < n; i++) {
        copies[i].command = at;
        at = stpcpy(at, rules[i].command) + 1;
        copies[i].text = at;
        at = stpcpy(at, rules[i].text) + 1;
    }
    pthread_mutex_lock(&s->lock);
    free(s->ignored);
    free(s->words);
    s->ignored = copies;
    s->words = words;
    s->nignored = n;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

static bool is_ignored(const struct store *s, const struct violation *v)
{
    for (size_t i = 0; i < s->nignored; i++) {
        const struct store_ignore *r = &s->ignored[i];
        bool concerns = strcmp(r->command, "*") == 0 || strstr(v->command, r->command);
        if (concerns && strstr(v->line, r->text))
            return true;
    }
    return false;
}

/* ---- adding ---- */

static bool fill_slot(struct slot *to, const struct violation *v, uint64_t number)
{
    struct buf *text = &to->text;
    if (text->failed)
        buf_free(text);
    *text = (struct buf){.s = text->s, .cap = text->cap};
    to->number = number;
    to->time_ns = v->time_ns ? v->time_ns : date_ns();
    to->command_id = v->command_id;
    buf_add(text, v->command, strlen(v->command) + 1);
    to->line = text->n;
    buf_add(text, v->line, strlen(v->line) + 1);
    to->json = text->n;
    buf_add(text, v->json, strlen(v->json) + 1);
    return buf_ok(text);
}

/* The slot after the newest; if all are in use, that is the oldest. */
static struct slot *next_slot(struct store *s)
{
    struct slot *slot = &s->slots[(s->first + s->n) % s->size];
    if (s->n < s->size)
        s->n++;
    else
        s->first = (s->first + 1) % s->size;
    return slot;
}

static void drop_newest(struct store *s)
{
    s->n--;
}

bool store_add(struct store *s, const struct violation *v)
{
    pthread_mutex_lock(&s->lock);
    bool stored = !is_ignored(s, v);
    if (stored) {
        s->total++;
        stored = fill_slot(next_slot(s), v, s->total);
        if (!stored)
            drop_newest(s);
    }
    pthread_mutex_unlock(&s->lock);
    if (stored)
        notify(s);
    return stored;
}

bool store_add_event(struct store *s, const struct event *e, const struct graph *g,
                     uint64_t command_id, const char *command)
{
    OWN(buf) struct buf line = {0};
    OWN(buf) struct buf json = {0};
    if (e->allow)
        return false;
    event_line(e, &line);
    event_json(e, g, NULL, &json);
    return store_add(s, &(struct violation){.time_ns = e->time_ns,
                                            .command_id = command_id,
                                            .command = command ? command : "",
                                            .line = line.s ? line.s : "",
                                            .json = json.s ? json.s : ""});
}

void store_missed(struct store *s, uint64_t n)
{
    pthread_mutex_lock(&s->lock);
    s->total += n;
    pthread_mutex_unlock(&s->lock);
    notify(s);
}

/* ---- queries ---- */

uint64_t store_total(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    uint64_t total = s->total;
    pthread_mutex_unlock(&s->lock);
    return total;
}

size_t store_count(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    size_t n = s->n;
    pthread_mutex_unlock(&s->lock);
    return n;
}

void store_clear(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    s->n = s->first = 0;
    pthread_mutex_unlock(&s->lock);
    notify(s);
}

static bool is_wanted(const struct slot *slot, const struct store_wanted *w)
{
    return slot->number > w->after && (!w->command_id || slot->command_id == w->command_id) &&
           (!w->command || strcmp(slot->text.s, w->command) == 0);
}

/* The first slot, counted from the oldest, of the newest that match within the limit. */
static size_t first_wanted(const struct store *s, const struct store_wanted *w, size_t *n,
                           size_t *bytes)
{
    size_t at = s->n;
    for (*n = *bytes = 0; at > 0 && (!w->limit || *n < w->limit); at--) {
        const struct slot *slot = &s->slots[(s->first + at - 1) % s->size];
        if (is_wanted(slot, w)) {
            *n += 1;
            *bytes += slot->text.n;
        }
    }
    return at;
}

struct violations *store_get(struct store *s, const struct store_wanted *wanted)
{
    static const struct store_wanted everything;
    const struct store_wanted *w = wanted ? wanted : &everything;
    size_t n, bytes;
    pthread_mutex_lock(&s->lock);
    size_t at = first_wanted(s, w, &n, &bytes);
    struct violations *out = malloc(sizeof(*out) + n * sizeof(out->at[0]) + bytes);
    char *text = out ? (char *)&out->at[n] : NULL;
    for (size_t i = 0; out && i < n; at++) {
        const struct slot *slot = &s->slots[(s->first + at) % s->size];
        if (!is_wanted(slot, w))
            continue;
        memcpy(text, slot->text.s, slot->text.n);
        out->at[i++] = (struct violation){.number = slot->number,
                                          .time_ns = slot->time_ns,
                                          .command_id = slot->command_id,
                                          .command = text,
                                          .line = text + slot->line,
                                          .json = text + slot->json};
        text += slot->text.n;
    }
    if (out)
        out->n = n;
    pthread_mutex_unlock(&s->lock);
    return out;
}
