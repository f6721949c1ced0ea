/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_TLS_HELPER_H
#define BK_NET_TLS_HELPER_H

#include "net/queue.h"
#include "net/tls-end.h"

/* What tls-end.c and tls-helper.c share: calls of buckle-tls, and what ends keep of the replies. */

struct tls_helper {
    int sock;
    bool gone;
    struct tls_areas *areas;
    struct tls_means means;            /* NULL where there is none */
    uint32_t nfreed, freed[TLS_FREED]; /* ends that the next call gives up */

    /* jobs for the next call; the first nin bytes of areas->in are theirs */
    struct tls_job jobs[TLS_JOBS];
    struct tls_end *ends[TLS_JOBS], *to[TLS_JOBS]; /* NULL: given up */
    uint32_t njobs, nin;
    struct tls_end *shown[2 * TLS_JOBS]; /* ends with bytes in the areas, or NULL */
    uint32_t nshown;
};

/* Bytes of the last reply, which stay where they are until the next call. The other process may
 * change them: copy them before reading them. */
struct tls_shown {
    const char *at;
    size_t n;
};

struct tls_end {
    struct tls_helper *helper;
    struct queue in, out;
    struct queue plain;                      /* what calls have read, and nobody has taken */
    struct tls_shown shown_plain, shown_out; /* come after those in the queues */
    size_t passed;                           /* of plain: encrypted for another end */
    uint32_t number;
    enum tls_result after; /* what a read without new bytes returns */
    bool failed, answered, accepted;
    bool settled; /* without new bytes, another step of the handshake gets no further */
    uint8_t asking, offered, others, chosen, alert, protocol;
    char wrong[TLS_WRONG];
};

/* Where the bytes of the next call go, once all jobs were done. */
char *tls_helper_in(struct tls_helper *h);
/* Needs tls_helper_in() before. Returns false if the other process has ended. */
bool tls_helper_call(struct tls_helper *h, const struct tls_call *call, struct tls_reply *r);

/* Jobs of this end have nobody any more. */
void tls_helper_forget(struct tls_helper *h, const struct tls_end *t);

enum tls_result tls_end_fail(struct tls_end *t);
/* Takes over what a reply says about this end. out: its bytes. */
enum tls_result tls_end_note(struct tls_end *t, const struct tls_reply *r, const char *out);
/* Takes over the result of a read. */
enum tls_result tls_end_note_read(struct tls_end *t, const struct tls_reply *r, const char *plain,
                                  uint32_t want);

#endif
