/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Everything that is not understood to its last byte is refused: adding and removing keys, locking,
 * other extensions, signatures of anything but a login, logins of another session, user or host.
 */

#include "tls/ssh-judge.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/sha256.h"

enum { REQUEST_IDENTITIES = 11, IDENTITIES_ANSWER = 12, SIGN_REQUEST = 13, EXTENSION = 27 };
enum { USERAUTH_REQUEST = 50, KEYS_MAX = 1024 };

/* ---- reading ---- */

static bool take_number(struct ssh_bytes *from, uint32_t *out)
{
    if (from->n < 4)
        return false;
    const uint8_t *s = from->s;
    *out = (uint32_t)s[0] << 24 | (uint32_t)s[1] << 16 | (uint32_t)s[2] << 8 | s[3];
    from->s += 4;
    from->n -= 4;
    return true;
}

bool ssh_take_string(struct ssh_bytes *from, struct ssh_bytes *out)
{
    uint32_t n;
    struct ssh_bytes rest = *from;
    if (!take_number(&rest, &n) || n > rest.n)
        return false;
    *out = (struct ssh_bytes){rest.s, n};
    *from = (struct ssh_bytes){rest.s + n, rest.n - n};
    return true;
}

static bool take_byte(struct ssh_bytes *from, uint8_t *out)
{
    if (!from->n)
        return false;
    *out = *from->s++;
    from->n--;
    return true;
}

static bool is_equal(struct ssh_bytes a, struct ssh_bytes b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.s, b.s, a.n) == 0);
}

static bool is_word(struct ssh_bytes a, const char *word)
{
    return is_equal(a, (struct ssh_bytes){(const uint8_t *)word, strlen(word)});
}

long ssh_message(const uint8_t *data, size_t n)
{
    struct ssh_bytes from = {data, n};
    uint32_t size;
    if (!take_number(&from, &size))
        return 0;
    if (size == 0 || size > SSH_MESSAGE_MAX)
        return -1;
    return from.n < size ? 0 : (long)size + 4;
}

/* ---- keys ---- */

static bool has_fingerprint(struct ssh_bytes key, const char *wanted)
{
    struct sha256 s;
    uint8_t digest[SHA256_BYTES];
    char text[BASE64_SIZE(SHA256_BYTES)];
    sha256_begin(&s);
    sha256_add(&s, key.s, key.n);
    sha256_end(&s, digest);
    size_t n = base64_encode(digest, sizeof(digest), text);
    while (n && text[n - 1] == '=') /* as ssh-keygen writes it */
        n--;
    return strlen(wanted) == n && memcmp(wanted, text, n) == 0;
}

static bool is_key(const char *rule, struct ssh_bytes key, struct ssh_bytes comment)
{
    static const char digest[] = "SHA256:";
    if (strcmp(rule, "*") == 0)
        return true;
    if (strncmp(rule, digest, sizeof(digest) - 1) == 0)
        return has_fingerprint(key, rule + sizeof(digest) - 1);
    if (strncmp(rule, "AAAA", 4) == 0 && key.n <= 4096) {
        char text[BASE64_SIZE(4096)];
        size_t n = base64_encode(key.s, key.n, text);
        return strlen(rule) == n && memcmp(rule, text, n) == 0;
    }
    return is_word(comment, rule);
}

/* Walks through an agent's answer. Returns false at its end, or where it is malformed. */
static bool next_key(struct ssh_bytes *rest, struct ssh_bytes *key, struct ssh_bytes *comment)
{
    return ssh_take_string(rest, key) && ssh_take_string(rest, comment);
}

static struct ssh_bytes comment_of(struct ssh_bytes answer, struct ssh_bytes wanted)
{
    struct ssh_bytes key, comment;
    uint8_t type;
    uint32_t n;
    if (take_byte(&answer, &type) && type == IDENTITIES_ANSWER && take_number(&answer, &n))
        while (n-- && next_key(&answer, &key, &comment))
            if (is_equal(key, wanted))
                return comment;
    return (struct ssh_bytes){0};
}

static bool is_listed(const struct ssh_rules *r, struct ssh_bytes key, struct ssh_bytes comment)
{
    for (size_t i = 0; i < r->n; i++)
        if (is_key(r->at[i].key, key, comment))
            return true;
    return false;
}

size_t ssh_filter_list(const struct ssh_rules *r, struct ssh_bytes answer, uint8_t *out)
{
    struct ssh_bytes rest = answer, key, comment;
    uint32_t n, kept = 0;
    uint8_t type;
    size_t used = 5;
    if (!take_byte(&rest, &type) || type != IDENTITIES_ANSWER || !take_number(&rest, &n) ||
        n > KEYS_MAX)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *from = rest.s;
        if (!next_key(&rest, &key, &comment))
            return 0;
        if (!is_listed(r, key, comment))
            continue;
        memcpy(out + used, from, (size_t)(rest.s - from));
        used += (size_t)(rest.s - from);
        kept++;
    }
    if (rest.n)
        return 0;
    out[0] = IDENTITIES_ANSWER;
    for (int i = 0; i < 4; i++)
        out[1 + i] = (uint8_t)(kept >> (24 - 8 * i));
    return used;
}

/* ---- sessions ---- */

static enum ssh_verdict refuse(const char **why, const char *reason)
{
    *why = reason;
    return SSH_REFUSE;
}

static bool is_host(const struct ssh_rule *rule, struct ssh_bytes key)
{
    for (size_t i = 0; i < rule->nhosts; i++)
        if (is_equal(rule->hosts[i], key))
            return true;
    return false;
}

static bool is_known_host(const struct ssh_rules *r, struct ssh_bytes key)
{
    for (size_t i = 0; i < r->n; i++)
        if (is_host(&r->at[i], key))
            return true;
    return false;
}

/* One connection to the agent is for one session, as ssh uses it. A forwarded one could be used by
 * the host that it leads to. */
static enum ssh_verdict bind_session(struct ssh_client *c, const struct ssh_rules *r,
                                     struct ssh_bytes rest, const char **why)
{
    struct ssh_bytes host, session, signature;
    uint8_t forwards;
    bool again = c->bound || c->spoilt;
    c->spoilt = true; /* unless all of it is right */
    if (!ssh_take_string(&rest, &host) || !ssh_take_string(&rest, &session) ||
        !ssh_take_string(&rest, &signature) || !take_byte(&rest, &forwards) || rest.n)
        return refuse(why, "a session is bound in a form that is not understood");
    if (again)
        return refuse(why, "the connection is bound to another session");
    if (forwards)
        return refuse(why, "the agent is not forwarded");
    if (!session.n || session.n > SSH_ID_MAX || !is_known_host(r, host))
        return refuse(why, "the host's key is not one that known_hosts has for a host named");
    if (!r->verify(host, signature, session))
        return refuse(why, "the host has not signed the session");
    c->host = malloc(host.n);
    if (!c->host)
        return refuse(why, "out of memory");
    memcpy(c->host, host.s, host.n);
    c->nhost = host.n;
    memcpy(c->session, session.s, session.n);
    c->nsession = session.n;
    c->spoilt = false;
    c->bound = true;
    return SSH_BOUND;
}

struct login {
    struct ssh_bytes session, user, key, host; /* host: only of a login that names its key */
};

/* RFC 4252, section 7, and OpenSSH's publickey-hostbound-v00@openssh.com. */
static bool read_login(struct ssh_bytes rest, struct login *out)
{
    struct ssh_bytes service, method, algorithm;
    uint8_t type, signs;
    if (!ssh_take_string(&rest, &out->session) || !take_byte(&rest, &type) ||
        type != USERAUTH_REQUEST || !ssh_take_string(&rest, &out->user) ||
        !ssh_take_string(&rest, &service) || !is_word(service, "ssh-connection") ||
        !ssh_take_string(&rest, &method) || !take_byte(&rest, &signs) || signs != 1 ||
        !ssh_take_string(&rest, &algorithm) || !ssh_take_string(&rest, &out->key))
        return false;
    bool bound = is_word(method, "publickey-hostbound-v00@openssh.com");
    if (bound ? !ssh_take_string(&rest, &out->host) : !is_word(method, "publickey"))
        return false;
    return rest.n == 0;
}

static bool may_sign(const struct ssh_client *c, const struct ssh_rules *r, const struct login *l,
                     struct ssh_bytes comment)
{
    const struct ssh_bytes host = {c->host, c->nhost};
    for (size_t i = 0; i < r->n; i++) {
        const struct ssh_rule *one = &r->at[i];
        if (is_key(one->key, l->key, comment) && (!one->user || is_word(l->user, one->user)) &&
            is_host(one, host))
            return true;
    }
    return false;
}

static enum ssh_verdict judge_sign(struct ssh_client *c, const struct ssh_rules *r,
                                   struct ssh_bytes keys, struct ssh_bytes rest, const char **why)
{
    struct ssh_bytes key, data;
    struct login l = {0};
    uint32_t flags;
    if (!ssh_take_string(&rest, &key) || !ssh_take_string(&rest, &data) ||
        !take_number(&rest, &flags) || rest.n)
        return refuse(why, "a request to sign has another form");
    if (!c->bound || c->spoilt)
        return refuse(why, "the connection is not bound to a session, so the host is unknown");
    if (!read_login(data, &l) || !is_equal(l.key, key))
        return refuse(why, "only logins are signed");
    if (!is_equal(l.session, (struct ssh_bytes){c->session, c->nsession}) ||
        (l.host.n && !is_equal(l.host, (struct ssh_bytes){c->host, c->nhost})))
        return refuse(why, "the login is for another session");
    if (!may_sign(c, r, &l, comment_of(keys, key)))
        return refuse(why, "no rule has this key, user and host");
    return SSH_SIGN;
}

enum ssh_verdict ssh_judge(struct ssh_client *c, const struct ssh_rules *r, struct ssh_bytes keys,
                           const uint8_t *message, size_t n, const char **why)
{
    struct ssh_bytes rest = {message, n}, name;
    uint8_t type;
    *why = NULL;
    if (!take_byte(&rest, &type))
        return refuse(why, "a message is empty");
    if (c->spoilt)
        return refuse(why, "the connection was bound in vain");
    if (type == REQUEST_IDENTITIES && rest.n == 0)
        return SSH_LIST;
    if (type == SIGN_REQUEST)
        return judge_sign(c, r, keys, rest, why);
    if (type == EXTENSION && ssh_take_string(&rest, &name) &&
        is_word(name, "session-bind@openssh.com"))
        return bind_session(c, r, rest, why);
    return refuse(why, "only listing keys and signing logins is allowed");
}

void ssh_client_free(struct ssh_client *c)
{
    free(c->host);
    *c = (struct ssh_client){0};
}
