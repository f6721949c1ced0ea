/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Parses and sends the messages between the gate and the process that asks the user. The receiver
 * treats each message as untrusted bytes: every field is checked before use.
 */

#include "net/consent.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "vocab/protected-classes.h"

bool consent_question_read(const void *bytes, size_t n, struct consent_question *out)
{
    struct consent_question q;
    struct peer host;
    if (n != sizeof(q))
        return false;
    memcpy(&q, bytes, n);
    /* compare as bytes: reading any other value as a bool is undefined */
    if (((const uint8_t *)bytes)[offsetof(struct consent_question, udp)] > 1 ||
        ((const uint8_t *)bytes)[offsetof(struct consent_question, withdrawn)] > 1)
        return false;
    if (q.id == 0 || !memchr(q.host, '\0', sizeof(q.host)) ||
        !memchr(q.program, '\0', sizeof(q.program)))
        return false;
    if ((q.class > PROTECTED_CLASSES && q.class != CONSENT_COMMAND) ||
        !memchr(q.path, '\0', sizeof(q.path)))
        return false;
    if (!q.withdrawn && q.class && q.path[0] != '/')
        return false;
    /* the user sees the host in its canonical form only */
    if (!q.withdrawn && !q.class &&
        (!peer_parse(q.host, strlen(q.host), &host) || strcmp(host.name, q.host)))
        return false;
    *out = q;
    return true;
}

bool consent_reply_read(const void *bytes, size_t n, struct consent_reply *out)
{
    struct consent_reply r;
    if (n != sizeof(r))
        return false;
    memcpy(&r, bytes, n);
    if (r.id == 0 || r.answer == 0 || r.answer >= CONSENT_COUNT)
        return false;
    *out = r;
    return true;
}

static void (*watcher)(uint32_t id, enum consent answer);

void consent_watch(void (*fn)(uint32_t id, enum consent answer))
{
    watcher = fn;
}

int consent_answer(int channel, uint32_t id, enum consent answer)
{
    struct consent_reply r = {id, answer};
    ssize_t n;
    if (watcher)
        watcher(id, answer);
    while ((n = send(channel, &r, sizeof(r), MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    return n == sizeof(r) ? 0 : -errno;
}

static const char *const words[CONSENT_COUNT] = {
    [CONSENT_ONCE] = "once", [CONSENT_RUN] = "run",           [CONSENT_ALWAYS] = "always",
    [CONSENT_DENY] = "deny", [CONSENT_DENY_ALL] = "deny-all", [CONSENT_TIMEOUT] = "timeout",
};

const char *consent_word(enum consent answer)
{
    return words[answer] ? words[answer] : "nobody";
}

enum consent consent_of_word(const char *word)
{
    for (int i = 1; word && i < CONSENT_COUNT; i++)
        if (words[i] && strcmp(words[i], word) == 0)
            return (enum consent)i;
    return CONSENT_NOBODY;
}

const char *consent_class_name(const struct consent_question *q)
{
    return q->class == CONSENT_COMMAND ? "command" : protected_classes[q->class - 1].name;
}

const char *consent_reason(enum consent answer)
{
    switch (answer) {
    case CONSENT_DENY:
    case CONSENT_DENY_ALL:
        return "the user denied it";
    case CONSENT_TIMEOUT:
        return "no answer in time";
    case CONSENT_NOBODY:
        return "nobody to ask";
    default:
        return NULL;
    }
}
