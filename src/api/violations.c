/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The library's store, annotations and tags. buckle_store and buckle_violations are the internal
 * structs under public names. */

#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/own.h"
#include "report/annotate.h"
#include "report/tag.h"

static struct store *inner(struct buckle_store *s)
{
    return (struct store *)s;
}

static const struct violations *list_of(const struct buckle_violations *list)
{
    return (const struct violations *)list;
}

/* ---- the store ---- */

struct buckle_store *buckle_store_new(size_t size)
{
    return (struct buckle_store *)store_new(size);
}

void buckle_store_free(struct buckle_store *store)
{
    store_free(inner(store));
}

int buckle_store_add(struct buckle_store *store, uint64_t command_id, const char *command,
                     const char *line, const char *json)
{
    return store_add(inner(store), &(struct violation){.command_id = command_id,
                                                       .command = command ? command : "",
                                                       .line = line,
                                                       .json = json ? json : ""});
}

uint64_t buckle_store_total(struct buckle_store *store)
{
    return store_total(inner(store));
}

size_t buckle_store_count(struct buckle_store *store)
{
    return store_count(inner(store));
}

void buckle_store_clear(struct buckle_store *store)
{
    store_clear(inner(store));
}

int buckle_store_ignore(struct buckle_store *store, const char *const *commands,
                        const char *const *texts, size_t count)
{
    OWN(mem) struct store_ignore *rules = calloc(count + 1, sizeof(*rules));
    if (!rules)
        return -1;
    for (size_t i = 0; i < count; i++)
        rules[i] = (struct store_ignore){commands[i], texts[i]};
    return store_ignore(inner(store), rules, count);
}

int buckle_store_subscribe(struct buckle_store *store, buckle_store_fn *fn, void *arg)
{
    return store_subscribe(inner(store), (store_fn *)fn, arg);
}

void buckle_store_unsubscribe(struct buckle_store *store, int number)
{
    store_unsubscribe(inner(store), number);
}

struct buckle_violations *buckle_store_get(struct buckle_store *store, size_t limit,
                                           uint64_t command_id, const char *command, uint64_t after)
{
    return (struct buckle_violations *)store_get(
        inner(store),
        &(struct store_wanted){
            .limit = limit, .command_id = command_id, .command = command, .after = after});
}

/* ---- violations ---- */

void buckle_violations_free(struct buckle_violations *list)
{
    free(list);
}

size_t buckle_violations_count(const struct buckle_violations *list)
{
    return list ? list_of(list)->n : 0;
}

uint64_t buckle_violation_number(const struct buckle_violations *list, size_t at)
{
    return list_of(list)->at[at].number;
}

uint64_t buckle_violation_time(const struct buckle_violations *list, size_t at)
{
    return list_of(list)->at[at].time_ns;
}

uint64_t buckle_violation_command_id(const struct buckle_violations *list, size_t at)
{
    return list_of(list)->at[at].command_id;
}

const char *buckle_violation_command(const struct buckle_violations *list, size_t at)
{
    return list_of(list)->at[at].command;
}

const char *buckle_violation_line(const struct buckle_violations *list, size_t at)
{
    return list_of(list)->at[at].line;
}

const char *buckle_violation_json(const struct buckle_violations *list, size_t at)
{
    return list_of(list)->at[at].json;
}

/* ---- annotation ---- */

char *buckle_annotate(const char *text, size_t len, const struct buckle_violations *list)
{
    struct buf out = {0};
    const struct violations *v = list_of(list);
    annotate(text, len, v, v ? v->n : 0, &out);
    return api_text(&out);
}

char *buckle_strip(const char *text, size_t len)
{
    struct buf out = {0};
    annotate_strip(text, len, &out);
    return api_text(&out);
}

/* ---- tags ---- */

char *buckle_tag_session(void)
{
    char session[TAG_SESSION];
    struct bk_err err;
    return tag_session(session, &err) < 0 ? NULL : strdup(session);
}

char *buckle_tag_encode(const char *command, const char *session)
{
    struct buf out = {0};
    tag_encode(command, strlen(command), session, &out);
    return api_text(&out);
}

int buckle_tag_decode(const char *text, char **command, char **session)
{
    struct tag tag;
    if (tag_find(text, strlen(text), &tag) < 0)
        return 0;
    if (command)
        *command = strndup(tag.command, tag.command_len);
    if (session)
        *session = strndup(tag.session, tag.session_len);
    return 1;
}
