/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_TLS_SSH_JUDGE_H
#define BK_TLS_SSH_JUDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The protocol of ssh-agent, judged: a client inside may list the keys that rules name, and have
 * them sign logins to the hosts that rules name. A request to sign has no host in it. So the client
 * must have bound the connection to a session before (session-bind@openssh.com): the host's key
 * signs the session's id, which the login to be signed has to begin with.
 */

enum { SSH_MESSAGE_MAX = 256 << 10, SSH_RULES = 64, SSH_HOST_KEYS = 8, SSH_ID_MAX = 128 };

struct ssh_bytes {
    const uint8_t *s;
    size_t n;
};

/* What a key may sign: logins to one host. */
struct ssh_rule {
    const char *key;  /* its comment, "SHA256:…", base64 of the key, or "*" */
    const char *user; /* or NULL: any */
    struct ssh_bytes hosts[SSH_HOST_KEYS]; /* keys of the host */
    size_t nhosts;
};

struct ssh_rules {
    struct ssh_rule at[SSH_RULES];
    size_t n;
    /* Whether this is the host's signature of these bytes. */
    bool (*verify)(struct ssh_bytes host, struct ssh_bytes signature, struct ssh_bytes text);
};

/* One client. */
struct ssh_client {
    bool bound, spoilt; /* spoilt: nothing is signed any more */
    uint8_t session[SSH_ID_MAX];
    size_t nsession;
    uint8_t *host; /* the key of the bound host */
    size_t nhost;
};

enum ssh_verdict {
    SSH_REFUSE, /* answer with failure */
    SSH_LIST,   /* ask the agent, and leave out other keys from its answer */
    SSH_SIGN,   /* ask the agent */
    SSH_BOUND,  /* tell the agent, too, but answer with success */
};

/* Returns the length of a message at the start of data, with its length in front; 0: incomplete;
 * -1: it is too long. */
long ssh_message(const uint8_t *data, size_t n);

/* Judges a message without its length. keys: the agent's answer to a list, or empty; needed to know
 * a key by its comment. *why is the reason of a refusal. */
enum ssh_verdict ssh_judge(struct ssh_client *c, const struct ssh_rules *r, struct ssh_bytes keys,
                           const uint8_t *message, size_t n, const char **why);

/* Writes the agent's answer to a list, without its length, with the keys that rules name. out has
 * as much room as the answer. Returns its length, or 0 if it is malformed. */
size_t ssh_filter_list(const struct ssh_rules *r, struct ssh_bytes answer, uint8_t *out);

void ssh_client_free(struct ssh_client *c);

/* A string with its length in front; false if it is cut off. */
bool ssh_take_string(struct ssh_bytes *from, struct ssh_bytes *out);

#endif
