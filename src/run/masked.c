/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Files and variables are read here, outside. The command sees the text with placeholders: in its
 * environment, or in a file that is mounted over the real one. Placeholders have the length of what
 * they stand for, so that the rest of the text stays where it is.
 */

#include "run/masked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/own.h"
#include "net/secrets.h"
#include "run/jwt-fake.h"
#include "run/run.h"
#include "settings/extract.h"
#include "settings/paths.h"

enum { FILE_MAX = 1 << 20 };

static const char any_jwt[] = "(eyJ[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+)";

struct masking {
    struct run *r;
    const struct mask *m;
    struct buf text; /* with placeholders, from here on */
    const char *was; /* the text as it is outside */
    struct bk_err *err;
    size_t hidden; /* how many places */
};

static const char *name_of(const struct mask *m)
{
    return m->variable ? m->variable : m->file;
}

static int refuse(const struct masking *k, const char *what)
{
    return err_set(k->err, BK_E_INPUT, "credentials: %.200s: %s", name_of(k->m), what);
}

/* ---- secrets ---- */

static const struct secret_place *places_of(const struct mask *m, struct arena *a)
{
    struct secret_place *out = arena_array(a, m->nplaces + 1, sizeof(*out));
    for (size_t i = 0; out && i < m->nplaces; i++)
        if (!secret_place_read(m->places[i].host, a, &out[i]))
            return NULL;
    return out;
}

static int add_secret(struct masking *k, const char *value, const char *fake, size_t n)
{
    struct arena *a = &k->r->arena;
    struct secrets *s = &k->r->secrets;
    struct secret one = {.value = arena_strndup(a, value, n),
                         .fake = arena_strndup(a, fake, n),
                         .n = n,
                         .places = places_of(k->m, a),
                         .nplaces = k->m->nplaces,
                         .parts = SECRET_IN_HEADER | SECRET_IN_BODY};
    if (!one.value || !one.fake || !one.places)
        return err_nomem(k->err);
    return secrets_add(s, &one) < 0 ? refuse(k, "there are more than 32 secrets") : 0;
}

/* The placeholder of a text that was hidden before, or NULL. */
static const char *fake_of(const struct secrets *s, size_t from, const char *value, size_t n)
{
    for (size_t i = from; i < s->n; i++)
        if (s->at[i].n == n && memcmp(s->at[i].value, value, n) == 0)
            return s->at[i].fake;
    return NULL;
}

/* ---- one text ---- */

static int hide_token(struct masking *k, const char *value, size_t n, char *fake)
{
    struct jwt_fake *jwt = calloc(1, sizeof(*jwt));
    int result = jwt ? jwt_fake(value, n, &k->m->claims, jwt) : -1;
    if (result > 0) {
        memcpy(fake, jwt->token, n);
        for (size_t i = 0; i < jwt->nclaims && result > 0; i++)
            if (add_secret(k, jwt->claims[i].value, jwt->claims[i].fake, jwt->claims[i].n) < 0)
                result = -2;
        if (result > 0 && add_secret(k, value, fake, n) < 0)
            result = -2;
    }
    if (jwt)
        bytes_wipe(jwt, sizeof(*jwt));
    free(jwt);
    if (result == -1)
        return refuse(k, "a token is longer than 4096 bytes");
    return result == -2 ? -1 : result;
}

/* Hides these bytes of the text. */
static int hide(struct masking *k, size_t first, size_t from, size_t n)
{
    const char *value = k->was + from, *known = fake_of(&k->r->secrets, first, value, n);
    char fake[SECRET_BYTES + 1] = {0};
    if (n > SECRET_BYTES)
        return refuse(k, "it is longer than 4096 bytes; use the mode deny");
    if (!known && k->m->jwt) {
        if (!jwt_is(value, n))
            return 0;
        int done = hide_token(k, value, n, fake);
        if (done <= 0)
            return done;
    } else if (!known) {
        if (!secret_fake(value, n, fake))
            return refuse(k, "a placeholder needs 8 letters and digits; use the mode deny");
        if (add_secret(k, value, fake, n) < 0)
            return -1;
    }
    memcpy(k->text.s + from, known ? known : fake, n);
    k->hidden++;
    return 0;
}

static int hide_duplicates(struct masking *k, size_t first)
{
    const struct secrets *s = &k->r->secrets;
    for (size_t i = first; i < s->n; i++) {
        const struct secret *one = &s->at[i];
        for (char *at = k->text.s;
             (at = memmem(at, k->text.n - (size_t)(at - k->text.s), one->value, one->n));)
            memcpy(at, one->fake, one->n);
    }
    return 0;
}

static int hide_matches(struct masking *k, const struct extract *x)
{
    struct extract_match found;
    size_t first = k->r->secrets.n;
    int more;
    for (size_t at = 0; at <= k->text.n; at = found.end + (found.end == found.start)) {
        if ((more = extract_next(x, k->was, k->text.n, at, &found)) < 0)
            return err_nomem(k->err);
        if (!more)
            break;
        if (found.group == SIZE_MAX)
            return refuse(k, "its pattern matches without its first group");
        if (found.group_end > found.group &&
            hide(k, first, found.group, found.group_end - found.group) < 0)
            return -1;
    }
    return k->m->duplicates ? hide_duplicates(k, first) : 0;
}

static int hide_all(struct masking *k)
{
    size_t n = k->text.n;
    while (n && (k->was[n - 1] == '\n' || k->was[n - 1] == '\r'))
        n--;
    return n ? hide(k, k->r->secrets.n, 0, n) : 0;
}

static int hide_parts(struct masking *k)
{
    if (!k->m->extract && !k->m->jwt)
        return hide_all(k);
    struct extract *x = malloc(sizeof(*x));
    int result = !x ? err_nomem(k->err)
                    : extract_compile(k->m->extract ? k->m->extract : any_jwt, x, k->err);
    if (result == 0)
        result = hide_matches(k, x);
    free(x);
    return result;
}

/* ---- variables and files ---- */

/* Reads a file. Returns 0 for what is missing, no file, or no text. */
static int read_file(struct masking *k, struct buf *out)
{
    struct stat st;
    OWN(file) FILE *f = fopen(k->m->file, "re");
    if (!f || fstat(fileno(f), &st) < 0 || !S_ISREG(st.st_mode))
        return 0;
    OWN(mem) char *whole = malloc(FILE_MAX + 1);
    setvbuf(f, NULL, _IONBF, 0); /* no copy stays behind */
    size_t n = whole ? fread(whole, 1, FILE_MAX + 1, f) : 0;
    if (whole) {
        buf_add(out, whole, n);
        bytes_wipe(whole, n);
    }
    if (!whole || !buf_ok(out))
        return err_nomem(k->err);
    if (out->n > FILE_MAX || memchr(out->s ? out->s : "", '\0', out->n))
        return refuse(k, "only texts of at most 1 MiB can be masked; use the mode deny");
    return 1;
}

static int add_cover(struct masking *k, const char *text, size_t n)
{
    struct run *r = k->r;
    char *copy = arena_strndup(&r->arena, text, n);
    if (!copy)
        return err_nomem(k->err);
    r->covers[r->ncovers++] = (struct launch_cover){k->m->file, copy, n};
    return 0;
}

/* Nothing in it looks like a secret. Returns 1 if the text is to be shown as it is. */
static int miss(struct masking *k)
{
    if (k->m->miss == MISS_FAILS)
        return refuse(k, "there is nothing in it to mask");
    if (k->m->miss == MISS_DENIES)
        return 0;
    return words_push(&k->r->arena, &k->r->unmasked, name_of(k->m)) < 0 ? err_nomem(k->err) : 1;
}

static int apply_file(struct masking *k)
{
    OWN(buf) struct buf was = {0};
    int there = read_file(k, &was);
    if (there <= 0)
        return there;
    size_t n = was.n;
    buf_add(&k->text, was.s, n);
    k->was = was.s ? was.s : "";
    int hidden = buf_ok(&k->text) ? hide_parts(k) : err_nomem(k->err);
    if (n)
        bytes_wipe(was.s, n);
    if (hidden < 0)
        return -1;
    int shown = k->hidden || !n ? 0 : miss(k);
    if (shown)
        return shown < 0 ? -1 : 0;
    return add_cover(k, k->hidden ? k->text.s : "", k->hidden ? k->text.n : 0);
}

/* Returns 1 if *set was written. */
static int apply_variable(struct masking *k, const char **set)
{
    const char *value = getenv(k->m->variable);
    size_t name = strlen(k->m->variable);
    if (!value || !*value)
        return 0;
    buf_add(&k->text, value, strlen(value));
    k->was = value;
    if (!buf_ok(&k->text))
        return err_nomem(k->err);
    if (hide_parts(k) < 0)
        return -1;
    int shown = k->hidden ? 1 : miss(k);
    if (shown <= 0)
        return shown; /* masked_environ() leaves it out */
    char *entry = arena_alloc(&k->r->arena, name + k->text.n + 2);
    if (!entry)
        return err_nomem(k->err);
    snprintf(entry, name + k->text.n + 2, "%s=%s", k->m->variable, k->text.s);
    *set = entry;
    return 1;
}

/* ---- keys for AWS ---- */

static int secret_of(const struct run *r, const char *name)
{
    const char *value = getenv(name);
    for (size_t i = 0; value && i < r->secrets.n; i++)
        if (strlen(value) == r->secrets.at[i].n &&
            memcmp(value, r->secrets.at[i].value, r->secrets.at[i].n) == 0)
            return (int)i;
    return -1;
}

static bool is_masked_whole(const struct masks *m, const char *name)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->at[i].variable && strcmp(m->at[i].variable, name) == 0)
            return !m->at[i].denied && !m->at[i].extract && !m->at[i].jwt;
    return false;
}

static int pair_keys(struct run *r, const struct masks *m, struct bk_err *err)
{
    static const struct mask_pair usual = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"};
    for (size_t i = 0; i <= m->npairs; i++) {
        const struct mask_pair *p = i < m->npairs ? &m->pairs[i] : &usual;
        int id = is_masked_whole(m, p->id) ? secret_of(r, p->id) : -1;
        int key = is_masked_whole(m, p->key) ? secret_of(r, p->key) : -1;
        bool known = false;
        for (size_t k = 0; k < r->secrets.npairs; k++)
            known = known || r->secrets.pairs[k].id == id;
        if (id >= 0 && key >= 0 && !known &&
            secrets_add_pair(&r->secrets, (size_t)id, (size_t)key) < 0)
            return err_set(err, BK_E_INPUT, "credentials: there are too many keys for AWS");
    }
    return 0;
}

/* ---- all ---- */

int masked_apply(struct run *r, const struct masks *m, const char **set, struct bk_err *err)
{
    int n = 0;
    r->covers = arena_array(&r->arena, m->n + 1, sizeof(*r->covers));
    if (!r->covers)
        return err_nomem(err);
    for (size_t i = 0; i < m->n; i++) {
        struct masking k = {.r = r, .m = &m->at[i], .err = err};
        int result = 0;
        if (!m->at[i].denied)
            result = m->at[i].variable ? apply_variable(&k, &set[n]) : apply_file(&k);
        buf_free(&k.text);
        if (result < 0)
            return -1;
        n += m->at[i].variable && result;
    }
    r->secrets.unencrypted = m->unencrypted;
    r->secrets.sigv4_passes = m->passed;
    r->secrets.sigv4_refuses = m->refused;
    return pair_keys(r, m, err) < 0 ? -1 : n;
}

char *const *masked_environ(struct run *r, const struct masks *m, char *const *caller)
{
    size_t n = 0, kept = 0;
    while (caller[n])
        n++;
    char **out = arena_array(&r->arena, n + 1, sizeof(*out));
    for (size_t i = 0; i < n && out; i++) {
        size_t name = strcspn(caller[i], "=");
        bool hides = false;
        for (size_t k = 0; k < m->n; k++)
            hides = hides || (m->at[k].variable && strlen(m->at[k].variable) == name &&
                              memcmp(m->at[k].variable, caller[i], name) == 0);
        if (!hides)
            out[kept++] = caller[i];
    }
    return out;
}
