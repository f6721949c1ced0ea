/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_NET_TLS_CALL_H
#define BK_NET_TLS_CALL_H

#include <stdatomic.h>
#include <stdint.h>

/*
 * What the gate and the program buckle-tls say to each other: a call and its reply, one at a time,
 * over a socket of packets. Bytes are in memory that both share. The gate checks every length: the
 * other process reads what strangers send.
 *
 * Calls that follow each other quickly take a shorter way: for a moment after each reply,
 * buckle-tls watches a word of that memory, and the next call and its reply are there as well.
 */

enum tls_result {
    TLS_MORE,   /* needs more bytes, or an answer to the client's hello */
    TLS_DONE,   /* the handshake is complete; bytes were read; the call worked */
    TLS_CLOSED, /* the peer has ended its direction */
    TLS_FAILED, /* there is a reason */
};

/* Application protocols: a bit set. */
enum { TLS_HTTP1 = 1, TLS_H2 = 2 };

enum tls_op {
    TLS_BEGIN,   /* in: the authority's names, "" for all; or, with want, its certificate and key as
                    PEM. plain: its certificate */
    TLS_ACCEPT,  /* in: the host, host bytes long, and then encrypted bytes. Makes an end, whose
                    number the reply has if one was made, and is TLS_SHAKE for it */
    TLS_CONNECT, /* the same; protocols: what to offer */
    TLS_SHAKE,   /* in: encrypted bytes; protocols: the answer, if answered. Once it is complete, as
                    TLS_READ, too */
    TLS_READ,    /* in: encrypted bytes. plain: at most want bytes */
    TLS_WRITE,   /* in: decrypted bytes */
    TLS_PASS,    /* as TLS_READ. What was read is also encrypted for the end `to`; out: its bytes */
    TLS_END,     /* announces the end of our direction */
    TLS_BATCH,   /* in: the bytes of njobs jobs, one after the other. plain and out have those of
                    their replies in the same order, and result is TLS_DONE */
    TLS_FREE,    /* nothing but what each call does; a packet of it has no reply */
};

enum { TLS_AREA = 128 << 10, TLS_WRONG = 160, TLS_FREED = 8, TLS_JOBS = 32 };
/* A batch can fill both in and plain with what has to be encrypted, and that adds to each record.
 */
enum { TLS_OUT = 2 * TLS_AREA + (64 << 10) };

/* One of several calls at once: TLS_READ, TLS_PASS or TLS_WRITE. */
struct tls_job {
    uint32_t op, number, to, n, want;
};

struct tls_call {
    uint32_t op, number, to, n, want, host;
    uint32_t processor;                /* that the gate runs on, from 1; 0: unknown */
    uint32_t nfreed, freed[TLS_FREED]; /* ends that are not used any more */
    uint8_t protocols, answered, address;
    uint32_t njobs;
};

struct tls_reply {
    uint32_t result; /* enum tls_result */
    uint32_t after; /* TLS_READ, TLS_SHAKE: what a read would return; TLS_DONE: there may be more */
    uint32_t number, nplain, nout;
    uint8_t created, asking, offered, others, chosen, alert;
    char wrong[TLS_WRONG];
};

/* Whose turn it is. */
enum tls_turn {
    TLS_PACKETS, /* buckle-tls waits for a packet */
    TLS_WATCHED, /* it watches; the reply of the last call is there, if that was not a packet */
    TLS_CALLED,  /* there is a call */
};

/* The memory that both share. */
struct tls_areas {
    char in[TLS_AREA];    /* of the call */
    char plain[TLS_AREA]; /* of the reply, decrypted */
    char out[TLS_OUT];    /* of the reply, to be sent to the peer */
    struct tls_call call;
    struct tls_reply reply;
    struct tls_job jobs[TLS_JOBS];
    struct tls_reply replies[TLS_JOBS]; /* to the jobs */
    _Atomic uint32_t turn;              /* enum tls_turn */
    _Atomic uint32_t quick;             /* the gate can wake a watcher */
    _Atomic uint32_t sleeps;            /* the gate, until the turn changes */
};

/* The descriptors that buckle-tls starts with. */
enum { TLS_SOCKET_FD = 3, TLS_MEMORY_FD = 4 };

#endif
