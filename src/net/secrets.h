/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_SECRETS_H
#define BK_NET_SECRETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "graph/peer.h"
#include "net/http.h"
#include "net/request.h"

/*
 * Credentials that the command uses and never has. Inside there is a placeholder of the same length
 * and shape. The gate replaces it in requests to the hosts and paths named, and replaces the secret
 * and its usual encodings by the placeholder's in answers.
 */
enum { SECRETS_MAX = 32, SECRET_BYTES = 4096, SECRET_LEAST = 8 };

/* Where a request may carry one: a bit set. Basic authentication is a header field. */
enum secret_part { SECRET_IN_HEADER = 1, SECRET_IN_QUERY = 2, SECRET_IN_BODY = 4 };

/* Secrets become placeholders, or the other way round. */
enum secrets_way { SECRETS_HIDE, SECRETS_INSERT, SECRETS_WAYS };

struct secret_place {
    const char *host; /* a name or *.name */
    uint16_t port;    /* 0: any */
    const char *path; /* NULL: all */
    bool below;
};

struct secret {
    const char *value, *fake; /* n bytes each */
    size_t n;
    const struct secret_place *places;
    size_t nplaces;
    unsigned parts; /* enum secret_part */
};

/* An encoding of a secret, and the same one of its placeholder. */
struct secret_form {
    char *value, *fake;
    size_t n;
    unsigned which;
    bool inserted; /* also where clients write the placeholder so */
};

/* Keys for AWS that belong together, as indices of secrets. */
struct secrets_pair {
    uint8_t id, key;
};
enum { SECRETS_PAIRS = 8 };

/* Signatures that cannot be made anew: streams of signed chunks, presigned requests of clients
 * that don't want them signed, and signatures by asymmetric keys. A bit set. */
enum sigv4_form {
    SIGV4_PASSES_STREAMS = 1,
    SIGV4_PASSES_PRESIGNED = 2,
    SIGV4_PASSES_SIGV4A = 4,
};

struct secrets {
    struct secret at[SECRETS_MAX];
    size_t n;
    struct secret_form *forms;
    size_t nforms, longest;
    struct secrets_pair pairs[SECRETS_PAIRS];
    size_t npairs;
    bool unencrypted;                      /* plain HTTP gets them, too */
    unsigned sigv4_passes, sigv4_refuses;  /* enum sigv4_form; unchanged, or not at all */
    uint8_t starts[SECRETS_WAYS][1 << 13]; /* which two bytes a form starts with, a bit each */
};

/* "HOST[:PORT]". Returns false without memory. */
bool secret_place_read(const char *text, struct arena *a, struct secret_place *out);

/* Writes a placeholder for n bytes. Digits stay digits, letters letters, and a prefix such as ghp_
 * stays. Returns false if too little is left to be unlike anything else. */
bool secret_fake(const char *value, size_t n, char *out);

/* Adds a secret, whose texts the caller keeps. Returns -1 without memory or room. */
int secrets_add(struct secrets *s, const struct secret *one);
/* Both must have been added. Returns -1 if there are too many. */
int secrets_add_pair(struct secrets *s, size_t id, size_t key);
void secrets_free(struct secrets *s);
/* For a process that was forked and does not need them: overwrites secrets, their forms, and
 * wherever the environment has one. The set must not be used afterwards. */
void secrets_forget(struct secrets *s);

/* Sets of secrets, a bit each. s may be NULL. */
uint32_t secrets_for_host(const struct secrets *s, const struct peer *host, uint16_t port);
uint32_t secrets_for_request(const struct secrets *s, const struct peer *host, uint16_t port,
                             const struct request *r);

/* Those of them that may be in this part of a request. */
uint32_t secrets_in(const struct secrets *s, uint32_t which, unsigned part);

/* Appends a request's header with the secrets in its fields and its query. Fields that would let
 * the answer hide them are left out: encodings and, unless it is said so, ranges. */
void secrets_write_head(const struct secrets *s, uint32_t which, bool ranges, const char *head,
                        size_t n, struct buf *out);
/* In place: both have the same length. */
void secrets_replace(const struct secrets *s, uint32_t which, enum secrets_way way, char *text,
                     size_t n);
unsigned secrets_two_bytes(const char *s); /* an index into starts */

/* An answer on its way to the client, or a request's body to the server. */
struct secrets_flow {
    enum secrets_way way;
    struct buf raw, marks; /* bytes, and whether each belongs to a body */
};
void secrets_flow_add(struct secrets_flow *f, const char *data, size_t n, bool body);
/* Replaces secrets, and returns how many of the bytes in f->raw can be sent now: all if it is the
 * end. Only SECRETS_HIDE looks at bytes that belong to no body. Returns -1 without memory. The
 * caller sends them and calls secrets_flow_sent(). */
ssize_t secrets_flow_ready(const struct secrets *s, uint32_t which, struct secrets_flow *f,
                           bool end);
void secrets_flow_sent(struct secrets_flow *f, size_t n);
void secrets_flow_free(struct secrets_flow *f);
/* Whether an answer's header announces an encoding that secrets could hide in. */
bool secrets_answer_is_encoded(const char *head, size_t n);

#endif
