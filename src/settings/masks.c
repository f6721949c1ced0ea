/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Reads the object. It is strict: an unknown member could be one that hides something. */

#include "settings/masks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/net.h"
#include "settings/extract.h"
#include "settings/paths.h"

struct reader {
    const struct masks_base *base;
    struct masks *out;
    const struct json **where;
    struct bk_err *err;
};

static int fail(struct reader *r, const struct json *j, const char *what)
{
    *r->where = j;
    return err_set(r->err, BK_E_INPUT, "%s", what);
}

static bool is_text(const struct json *j)
{
    return j->kind == JT_STRING && j->n && strlen(j->s) == j->n;
}

static bool is_variable(const struct json *j)
{
    if (!is_text(j) || (j->s[0] >= '0' && j->s[0] <= '9'))
        return false;
    return strspn(j->s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == j->n;
}

/* ---- members of an entry ---- */

static int read_mode(struct reader *r, const struct json *j, struct mask *m)
{
    m->denied = is_text(j) && strcmp(j->s, "deny") == 0;
    return m->denied || (is_text(j) && strcmp(j->s, "mask") == 0)
               ? 0
               : fail(r, j, "the mode is deny or mask");
}

static int read_extract(struct reader *r, const struct json *j, struct mask *m)
{
    struct extract *x = malloc(sizeof(*x));
    int result = x && is_text(j) ? extract_compile(j->s, x, r->err)
                                 : fail(r, j, "extract is a regular expression");
    free(x);
    *r->where = j;
    m->extract = j->s;
    return result;
}

static int read_decode(struct reader *r, const struct json *j, struct mask *m)
{
    m->jwt = is_text(j) && strcmp(j->s, "jwt") == 0;
    return m->jwt ? 0 : fail(r, j, "decode is jwt");
}

static int read_claims(struct reader *r, const struct json *j, struct mask *m)
{
    if (j->kind != JT_ARRAY || !j->count)
        return fail(r, j, "maskClaims lists names of claims, at least one");
    for (const struct json *one = j->first; one; one = one->next) {
        if (!is_text(one))
            return fail(r, one, "the name of a claim is a text");
        if (words_push(r->base->arena, &m->claims, one->s) < 0)
            return err_nomem(r->err);
    }
    return 0;
}

static int read_duplicates(struct reader *r, const struct json *j, struct mask *m)
{
    m->duplicates = j->kind == JT_BOOL && j->truth;
    return j->kind == JT_BOOL ? 0 : fail(r, j, "maskDuplicates is true or false");
}

static int read_miss(struct reader *r, const struct json *j, struct mask *m)
{
    static const char *const words[] = {"warn", "deny", "error"};
    for (unsigned i = 0; i < 3; i++)
        if (is_text(j) && strcmp(j->s, words[i]) == 0) {
            m->miss = (enum mask_miss)i;
            return 0;
        }
    return fail(r, j, "onExtractNoMatch is warn, deny or error");
}

static int add_place(struct reader *r, struct credential_place *places, size_t *n, const char *host)
{
    char *copy = arena_strndup(r->base->arena, host, strlen(host));
    if (!copy)
        return err_nomem(r->err);
    places[(*n)++] = (struct credential_place){.host = copy};
    return 0;
}

static int read_hosts(struct reader *r, const struct json *j, struct mask *m)
{
    if (j->kind != JT_ARRAY || !j->count)
        return fail(r, j, "injectHosts lists hosts, at least one; without it, all allowed ones");
    struct credential_place *places = arena_array(r->base->arena, j->count, sizeof(*places));
    if (!places)
        return err_nomem(r->err);
    for (const struct json *one = j->first; one; one = one->next) {
        if (!is_text(one) || !credential_host(one->s, one->n))
            return fail(r, one, "injectHosts lists names of hosts");
        if (add_place(r, places, &m->nplaces, one->s) < 0)
            return -1;
    }
    m->places = places;
    return 0;
}

static int read_name(struct reader *r, const struct json *j, struct mask *m)
{
    m->variable = j->s;
    return is_variable(j) ? 0 : fail(r, j, "this is not the name of a variable");
}

static int read_path(struct reader *r, const struct json *j, struct mask *m)
{
    char path[4096];
    const char *home = r->base->home, *cwd = r->base->cwd;
    if (!is_text(j))
        return fail(r, j, "the path is a text");
    bool at_home = j->s[0] == '~' && (j->s[1] == '/' || !j->s[1]) && home;
    int n = snprintf(path, sizeof(path), "%s%s%s",
                     at_home          ? home
                     : j->s[0] == '/' ? ""
                                      : cwd,
                     at_home || j->s[0] == '/' ? "" : "/", j->s + at_home);
    if (n < 0 || (size_t)n >= sizeof(path))
        return fail(r, j, "the path is too long");
    m->file = arena_strndup(r->base->arena, path, (size_t)n);
    return m->file ? 0 : err_nomem(r->err);
}

/* ---- entries ---- */

static int use_allowed_hosts(struct reader *r, struct mask *m)
{
    const struct words *hosts = r->base->hosts;
    struct credential_place *places =
        arena_array(r->base->arena, hosts ? hosts->n + 1 : 1, sizeof(*places));
    if (!places)
        return err_nomem(r->err);
    for (size_t i = 0; hosts && i < hosts->n; i++)
        if (credential_host(hosts->at[i], strlen(hosts->at[i])) &&
            add_place(r, places, &m->nplaces, hosts->at[i]) < 0)
            return -1;
    m->places = places;
    return 0;
}

static int check_entry(struct reader *r, const struct json *j, struct mask *m, bool file)
{
    if (!(file ? m->file : m->variable) || !jt_get(j, "mode"))
        return fail(r, j, file ? "an entry has path and mode" : "an entry has name and mode");
    if (m->claims.n && !m->jwt)
        return fail(r, jt_get(j, "maskClaims"), "maskClaims needs decode");
    if (file && !m->denied && m->file[strlen(m->file) - 1] == '/')
        return fail(r, jt_get(j, "path"), "only files can be masked; deny the folder");
    return m->places ? 0 : use_allowed_hosts(r, m);
}

static int read_entry(struct reader *r, const struct json *j, bool file)
{
    static const struct {
        const char *name;
        int (*read)(struct reader *, const struct json *, struct mask *);
        bool files, variables;
    } members[] = {
        {"name", read_name, false, true},
        {"path", read_path, true, false},
        {"mode", read_mode, true, true},
        {"extract", read_extract, true, true},
        {"decode", read_decode, true, true},
        {"maskClaims", read_claims, true, true},
        {"maskDuplicates", read_duplicates, true, true},
        {"onExtractNoMatch", read_miss, true, true},
        {"injectHosts", read_hosts, true, true},
    };
    enum { MEMBERS = sizeof(members) / sizeof(members[0]) };
    if (j->kind != JT_OBJECT)
        return fail(r, j, "an entry is an object");
    if (r->out->n == MASKS_MAX)
        return fail(r, j, "there are too many entries");
    struct mask *m = &r->out->at[r->out->n++];
    *m = (struct mask){0};
    for (const struct json *one = j->first; one; one = one->next) {
        size_t i = 0;
        while (i < MEMBERS && (strcmp(one->key, members[i].name) != 0 ||
                               !(file ? members[i].files : members[i].variables)))
            i++;
        if (i == MEMBERS)
            return fail(r, one, "an entry has no such member");
        if (members[i].read(r, one, m) < 0)
            return -1;
    }
    return check_entry(r, j, m, file);
}

static int read_entries(struct reader *r, const struct json *j, bool file)
{
    if (j->kind != JT_ARRAY)
        return fail(r, j, file ? "files is a list" : "envVars is a list");
    for (const struct json *one = j->first; one; one = one->next)
        if (read_entry(r, one, file) < 0)
            return -1;
    return 0;
}

static int read_files(struct reader *r, const struct json *j)
{
    return read_entries(r, j, true);
}

static int read_variables(struct reader *r, const struct json *j)
{
    return read_entries(r, j, false);
}

/* ---- the rest ---- */

static int read_plain(struct reader *r, const struct json *j)
{
    r->out->unencrypted = j->kind == JT_BOOL && j->truth;
    return j->kind == JT_BOOL ? 0 : fail(r, j, "allowPlaintextInject is true or false");
}

static int read_pairs(struct reader *r, const struct json *j)
{
    if (j->kind != JT_ARRAY)
        return fail(r, j, "awsPairs is a list");
    for (const struct json *one = j->first; one; one = one->next) {
        const struct json *id = one->kind == JT_OBJECT ? jt_get(one, "accessKeyIdVar") : NULL;
        const struct json *key = id ? jt_get(one, "secretAccessKeyVar") : NULL;
        const struct json *token = key ? jt_get(one, "sessionTokenVar") : NULL;
        if (!key || !is_variable(id) || !is_variable(key) || (token && !is_variable(token)) ||
            one->count != 2 + (token != NULL))
            return fail(r, one, "a pair has accessKeyIdVar, secretAccessKeyVar, sessionTokenVar");
        if (r->out->npairs == MASK_PAIRS)
            return fail(r, one, "there are too many pairs");
        r->out->pairs[r->out->npairs++] = (struct mask_pair){id->s, key->s};
    }
    return 0;
}

static int read_sigv4(struct reader *r, const struct json *j)
{
    static const char *const names[] = {"streaming", "presigned", "sigv4a"};
    if (j->kind != JT_OBJECT)
        return fail(r, j, "sigv4 is an object");
    for (const struct json *one = j->first; one; one = one->next) {
        unsigned i = 0;
        while (i < 3 && strcmp(one->key, names[i]) != 0)
            i++;
        bool passes = is_text(one) && strcmp(one->s, "passthrough") == 0;
        if (i == 3 || (!passes && (!is_text(one) || strcmp(one->s, "deny") != 0)))
            return fail(r, one, "streaming, presigned and sigv4a are deny or passthrough");
        *(passes ? &r->out->passed : &r->out->refused) |= 1u << i;
    }
    return 0;
}

/* Pairs are of variables that are hidden whole. */
static int check_pairs(struct reader *r, const struct json *j)
{
    for (size_t i = 0; i < 2 * r->out->npairs; i++) {
        const char *name = i % 2 ? r->out->pairs[i / 2].key : r->out->pairs[i / 2].id;
        bool found = false;
        for (size_t k = 0; k < r->out->n; k++) {
            const struct mask *m = &r->out->at[k];
            found = found || (m->variable && strcmp(m->variable, name) == 0 && !m->denied &&
                              !m->extract && !m->jwt);
        }
        if (!found)
            return fail(r, jt_get(j, "awsPairs"),
                        "awsPairs names variables that envVars masks as a whole");
    }
    return 0;
}

int masks_read(const struct json *j, const struct masks_base *base, struct masks *out,
               const struct json **where, struct bk_err *err)
{
    static const struct {
        const char *name;
        int (*read)(struct reader *, const struct json *);
    } members[] = {
        {"files", read_files},    {"envVars", read_variables}, {"allowPlaintextInject", read_plain},
        {"awsPairs", read_pairs}, {"sigv4", read_sigv4},
    };
    enum { MEMBERS = sizeof(members) / sizeof(members[0]) };
    struct reader r = {base, out, where, err};
    *out = (struct masks){0};
    *where = j;
    if (j->kind != JT_OBJECT)
        return fail(&r, j, "credentials is an object");
    for (const struct json *one = j->first; one; one = one->next) {
        size_t i = 0;
        while (i < MEMBERS && strcmp(one->key, members[i].name) != 0)
            i++;
        if (i == MEMBERS)
            return fail(&r, one, "credentials has no such member");
        if (members[i].read(&r, one) < 0)
            return -1;
    }
    return check_pairs(&r, j);
}

void masks_sbpl(const struct masks *m, struct buf *out)
{
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 0; k < m->at[i].nplaces && !m->at[i].denied; k++)
            credential_host_sbpl(m->at[i].places[k].host, out);
}
