/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The placeholder of a key's id shows that a request is signed with placeholders. The gate then
 * computes the signature with the placeholder of the secret key. If it is the one in the request,
 * the gate reads the request as its client does, and signs it anew, as it goes out. Whatever else
 * carries that id is refused: another kind of signature, or a form that is not understood.
 */

#include "net/resign.h"

#include <string.h>
#include <strings.h>

#include "base/own.h"

static bool has(struct slice s, const struct secret *id)
{
    return s.n && memmem(s.s, s.n, id->fake, id->n) != NULL;
}

static bool in_authorization(const struct http_head *h, const struct secret *id)
{
    static const char name[] = "authorization";
    for (size_t i = 0; i < h->nfields; i++)
        if (h->fields[i].name.n == sizeof(name) - 1 &&
            strncasecmp(h->fields[i].name.s, name, sizeof(name) - 1) == 0 &&
            has(h->fields[i].value, id))
            return true;
    return false;
}

static bool in_query(const struct http_head *h, const struct secret *id)
{
    const char *query = memchr(h->path.s, '?', h->path.n);
    return query && has((struct slice){query, h->path.n - (size_t)(query - h->path.s)}, id);
}

const struct secrets_pair *resign_find(const struct secrets *s, uint32_t which,
                                       const struct http_head *h)
{
    for (size_t i = 0; s && i < s->npairs; i++) {
        const struct secret *id = &s->at[s->pairs[i].id];
        if (which >> s->pairs[i].id & 1 && (in_authorization(h, id) || in_query(h, id)))
            return &s->pairs[i];
    }
    return NULL;
}

static bool names_payload(const struct http_head *h)
{
    static const char name[] = "x-amz-content-sha256";
    for (size_t i = 0; i < h->nfields; i++)
        if (h->fields[i].name.n == sizeof(name) - 1 &&
            strncasecmp(h->fields[i].name.s, name, sizeof(name) - 1) == 0)
            return true;
    return false;
}

bool resign_needs_body(const struct secrets *s, uint32_t which, const struct http_head *h)
{
    return h->framing == HTTP_LENGTH && h->length && h->length <= RESIGN_BODY_MAX &&
           resign_find(s, which, h) && !names_payload(h);
}

/* ---- policies about forms that cannot be signed ---- */

/* What settings let through although its signature will not be valid. */
static bool may_pass(const struct secrets *s, const struct http_head *h, bool query)
{
    if (s->sigv4_passes & SIGV4_PASSES_PRESIGNED && query)
        return true;
    for (size_t i = 0; i < h->nfields; i++) {
        struct slice v = h->fields[i].value;
        if (s->sigv4_passes & SIGV4_PASSES_STREAMS && v.n > 10 &&
            memcmp(v.s, "STREAMING-", 10) == 0)
            return true;
        if (s->sigv4_passes & SIGV4_PASSES_SIGV4A && v.n > 11 &&
            memcmp(v.s, "AWS4-ECDSA-", 11) == 0)
            return true;
    }
    return false;
}

/* ---- signing ---- */

/* What stands for the payload in the text that is signed; at most two possibilities. */
static size_t list_payloads(const struct http_head *h, const struct sigv4 *sig, struct slice body,
                            char hash[SHA256_HEX + 1], struct slice out[2])
{
    static const struct slice none = {"UNSIGNED-PAYLOAD", 16};
    size_t n = 0;
    if (sig->payload.n) {
        out[0] = sig->payload;
        return 1;
    }
    if (sig->query)
        out[n++] = none;
    if (h->framing == HTTP_NO_BODY || body.n == h->length) {
        sha256_hex(body.n ? body.s : "", body.n, hash);
        out[n++] = (struct slice){hash, SHA256_HEX};
    }
    return n;
}

struct reading {
    enum sigv4_path path;
    struct slice payload;
};

/* How the client must have read its request to sign it like this. */
static bool find_reading(const struct http_head *h, const struct sigv4 *sig,
                         const struct slice *payloads, size_t n, const struct secret *key,
                         struct reading *out)
{
    char made[SHA256_HEX + 1];
    for (size_t i = 0; i < n * SIGV4_PATHS; i++) {
        *out = (struct reading){(enum sigv4_path)(i % SIGV4_PATHS), payloads[i / SIGV4_PATHS]};
        if (!sigv4_sign(h, sig, out->path, out->payload, key->fake, key->n, made) &&
            memcmp(made, sig->signature.s, SHA256_HEX) == 0)
            return true;
    }
    return false;
}

/* The token of a temporary key is in the request, or the server would refuse it anyway. */
static const char *sign_outgoing(const struct reading *r, const struct secret *key, bool query,
                                 struct buf *out, struct http_head *room)
{
    struct sigv4 sig;
    char made[SHA256_HEX + 1];
    if (!buf_ok(out) || http_head_read(out->s, out->n, room) != HTTP_FOUND)
        return "the header cannot be written";
    const char *why = sigv4_read(room, query, &sig);
    why = why ? why : sigv4_sign(room, &sig, r->path, r->payload, key->value, key->n, made);
    if (why)
        return why;
    memcpy(out->s + (sig.signature.s - out->s), made, SHA256_HEX);
    return NULL;
}

const char *resign(const struct secrets *s, const struct secrets_pair *pair,
                   const struct http_head *h, struct slice body, struct buf *out,
                   struct http_head *room)
{
    const struct secret *id = &s->at[pair->id], *key = &s->at[pair->key];
    bool query = !in_authorization(h, id);
    struct slice payloads[2];
    struct reading how;
    struct sigv4 sig;
    char hash[SHA256_HEX + 1];
    if (may_pass(s, h, query))
        return NULL;
    if (query && s->sigv4_refuses & SIGV4_PASSES_PRESIGNED)
        return "presigned AWS requests are not allowed";
    const char *why = sigv4_read(h, query, &sig);
    if (why)
        return why;
    if (sig.id.n != id->n || memcmp(sig.id.s, id->fake, id->n) != 0)
        return "the AWS credential has another form";
    size_t n = list_payloads(h, &sig, body, hash, payloads);
    if (n == 0)
        return "the AWS signature is for a body whose length is unknown or more than 4 MiB";
    if (!find_reading(h, &sig, payloads, n, key, &how))
        return "the AWS signature is not the one that its keys give";
    return sign_outgoing(&how, key, query, out, room);
}
