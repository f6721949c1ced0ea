/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * (http-request (method "GET") (path "/v1/…")): a request over a connection, as the gate reads it.
 * The form becomes (require-all …) of the plain filters http-method, http-path and http-query. It
 * holds for every request if it has no parts.
 */

#include "sbpl/prim.h"
#include "sbpl/syntax.h"

static const char usage[] = "(http-request (method \"GET\" …) (path \"/v1/**\" …) (query \"…\") "
                            "(grpc \"package.Service/*\") "
                            "(read-only))";

static struct val *maker(struct machine *m, enum vocab_filter filter, enum vocab_form form)
{
    struct val *v = arena_new(m->arena, struct val);
    if (!v)
        return machine_no_memory(m);
    v->type = V_MAKER;
    v->id = (uint16_t)filter;
    v->form = (uint8_t)form;
    return v;
}

static struct val *text(struct machine *m, const char *s)
{
    struct val *v = arena_new(m->arena, struct val);
    if (!v)
        return machine_no_memory(m);
    v->type = V_STRING;
    v->s = s;
    v->n = strlen(s);
    return v;
}

/* Makes a list, or NULL without memory. */
static struct val *list_of(struct machine *m, struct val *const *items, size_t n, struct val *tail)
{
    struct val *l = tail;
    for (size_t i = n; i > 0 && l; i--)
        l = items[i - 1] ? machine_cons(m, items[i - 1], l, m->pos) : NULL;
    return l;
}

static int add(struct machine *m, struct listing *l, struct val *v, src_pos pos)
{
    return v ? listing_add(m, l, v, pos) : -1;
}

static struct val *literal_methods(struct machine *m, const char *const *methods, size_t n)
{
    struct val *items[4] = {maker(m, FILTER_HTTP_METHOD, FORM_PLAIN)};
    for (size_t i = 0; i < n; i++)
        items[i + 1] = text(m, methods[i]);
    return list_of(m, items, n + 1, &val_nil);
}

static struct val *both(struct machine *m, const char *prim, struct val *a, struct val *b)
{
    return list_of(m, (struct val *[]){prim_value(m, prim), a, b}, 3, &val_nil);
}

/* Reading, which includes fetching with git: that is a POST. */
static struct val *read_only(struct machine *m)
{
    static const char *const reads[] = {"GET", "HEAD", "OPTIONS"}, *const posts[] = {"POST"};
    struct val *path[] = {maker(m, FILTER_HTTP_PATH, FORM_GLOB), text(m, "/**/git-upload-pack")};
    struct val *fetch =
        both(m, "require-all", literal_methods(m, posts, 1), list_of(m, path, 2, &val_nil));
    return both(m, "require-any", literal_methods(m, reads, 3), fetch);
}

/* gRPC calls package.Service/Method by POST to that path. */
static struct val *grpc(struct machine *m, struct val *names)
{
    static const char *const posts[] = {"POST"};
    struct listing paths = {0};
    if (add(m, &paths, maker(m, FILTER_HTTP_PATH, FORM_GLOB), m->pos) < 0)
        return NULL;
    for (; names->type == V_PAIR; names = names->cdr) {
        struct val *path = both(m, "string-append", text(m, "/"), names->car);
        if (!path || add(m, &paths, path, names->pos) < 0)
            return NULL;
    }
    return both(m, "require-all", literal_methods(m, posts, 1), listing_end(&paths, &val_nil));
}

static const struct {
    const char *word;
    enum vocab_filter filter;
    enum vocab_form form;
} parts[] = {
    {"method", FILTER_HTTP_METHOD, FORM_PLAIN},     {"path", FILTER_HTTP_PATH, FORM_GLOB},
    {"path-prefix", FILTER_HTTP_PATH, FORM_PREFIX}, {"path-regex", FILTER_HTTP_PATH, FORM_REGEX},
    {"query", FILTER_HTTP_QUERY, FORM_GLOB},        {"query-regex", FILTER_HTTP_QUERY, FORM_REGEX},
};

/* One part as a form that makes a filter; NULL: an error was reported. */
static struct val *part_form(struct machine *m, struct val *part)
{
    int64_t n = val_length(part);
    if (n >= 1 && syntax_is_word(part->car, "read-only") && n == 1)
        return read_only(m);
    if (n >= 2 && syntax_is_word(part->car, "grpc"))
        return grpc(m, part->cdr);
    for (size_t i = 0; n >= 2 && i < sizeof(parts) / sizeof(parts[0]); i++)
        if (syntax_is_word(part->car, parts[i].word)) {
            struct val *head = maker(m, parts[i].filter, parts[i].form);
            return head ? machine_cons(m, head, part->cdr, part->pos) : NULL;
        }
    syntax_malformed(m, usage);
    return NULL;
}

int syn_http_request(struct machine *m, struct val *form)
{
    struct val *args = syntax_arguments(m, form, 0, -1, usage);
    struct listing all = {0};
    if (!args || add(m, &all, prim_value(m, "require-all"), m->pos) < 0)
        return -1;
    /* holds once there is a request */
    struct val *any[] = {maker(m, FILTER_HTTP_PATH, FORM_PREFIX), text(m, "")};
    struct val *each = args->type == V_PAIR ? NULL : list_of(m, any, 2, &val_nil);
    if (args->type != V_PAIR && (!each || add(m, &all, each, m->pos) < 0))
        return -1;
    for (; args->type == V_PAIR; args = args->cdr) {
        struct val *one = part_form(m, args->car);
        if (!one || add(m, &all, one, args->pos) < 0)
            return -1;
    }
    machine_eval(m, listing_end(&all, &val_nil), m->pos, m->env);
    return 0;
}
