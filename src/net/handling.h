/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_HANDLING_H
#define BK_NET_HANDLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "graph/peer.h"
#include "net/http.h"

/*
 * What the gate does with connections and requests that the policy allows: which TLS it decrypts
 * although no rule asks for it, which proxy a connection leaves through, which program is asked
 * about each request, which header fields of answers are removed. All functions take NULL for
 * nothing of that.
 */

struct text_list {
    const char *const *at;
    size_t n;
};

/* What becomes of a target that names another path once its dot segments are resolved. */
enum target_mode { TARGET_REFUSE, TARGET_SPELLED, TARGET_NORMALIZED };

struct handling {
    bool ends_tls;              /* TLS to every allowed host ends in the gate, */
    struct text_list keep_tls;  /* except to these */
    const char *authority;      /* certificate and key as PEM, or NULL: one is made */
    const char *more_cas;       /* certificates as PEM that the command trusts as well, or NULL */
    uint32_t tunnels;           /* how many connections are decrypted at once; 0: any number */
    uint32_t handshake_ms;      /* 0: the usual time */
    struct text_list strip;     /* header fields of answers */
    const char *via;            /* a proxy's Unix socket, or NULL, */
    struct text_list via_hosts; /* for these */
    /* A program that decides about requests: its Unix socket, or descriptors that lead to it and
     * carry frames instead of lines (decider.h). */
    const char *decider;
    bool framed;
    int decider_in, decider_out;
    uint32_t decide_ms; /* 0: the usual time */
    bool plain_headers; /* it may set fields of requests that are not encrypted */
    uint8_t targets;    /* enum target_mode */
    bool only_requests; /* refuses what the program could not decide about */
    const char *user;   /* whose policy this is, for the program; or NULL */
};

/* Whether a host is in the list: names, *.names, addresses; :port limits one to that port. */
bool handling_lists(const struct text_list *l, const struct peer *host, uint16_t port);
bool handling_keeps_tls(const struct handling *h, const struct peer *host, uint16_t port);
bool handling_ends_tls(const struct handling *h, const struct peer *host, uint16_t port);
/* The Unix socket of the proxy for this host, or NULL. */
const char *handling_via(const struct handling *h, const struct peer *host, uint16_t port);
bool handling_decides(const struct handling *h); /* a program decides about requests */
/* Whether heads of answers are changed, which works in HTTP/1 alone. */
bool handling_needs_http1(const struct handling *h);

/* ---- heads ---- */

/* Whether two names of fields are the same one to some server: case, and "-", "_" and "." do not
 * distinguish them. */
bool handling_same_field(const char *a, size_t n, const char *b, size_t m);

struct head_edit {
    struct slice target;     /* s NULL: as it is */
    struct text_list remove; /* names of fields */
    const char *add;         /* whole lines, or NULL */
    size_t nadd;
};
/* Appends a request's or an answer's header with these changes. It has been read and found well
 * formed. */
void handling_edit_head(const char *head, size_t n, const struct head_edit *e, struct buf *out);

/* ---- targets ---- */

/* Appends the target with dot segments resolved, backslashes as slashes, and one slash in front.
 * Returns whether it differs from the original. */
bool handling_normalize(struct slice target, struct buf *out);

#endif
