/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

#include "net/consent.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

bool consent_question_read(const void *bytes, size_t n, struct consent_question *out)
{
    struct consent_question q;
    struct peer host;
    if (n != sizeof(q))
        return false;
    memcpy(&q, bytes, n);
    /* as bytes: whatever else they are, they are no booleans */
    if (((const uint8_t *)bytes)[offsetof(struct consent_question, udp)] > 1 ||
        ((const uint8_t *)bytes)[offsetof(struct consent_question, withdrawn)] > 1)
        return false;
    if (q.id == 0 || !memchr(q.host, '\0', sizeof(q.host)) ||
        !memchr(q.program, '\0', sizeof(q.program)))
        return false;
    /* what a person is shown is a host in the one form that it has */
    if (!q.withdrawn && (!peer_parse(q.host, strlen(q.host), &host) || strcmp(host.name, q.host)))
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

int consent_answer(int channel, uint32_t id, enum consent answer)
{
    struct consent_reply r = {id, answer};
    ssize_t n;
    while ((n = send(channel, &r, sizeof(r), MSG_NOSIGNAL)) < 0 && errno == EINTR)
        ;
    return n == sizeof(r) ? 0 : -errno;
}

const char *consent_words(enum consent answer)
{
    switch (answer) {
    case CONSENT_DENY:
    case CONSENT_DENY_ALL:
        return "denied when asked";
    case CONSENT_TIMEOUT:
        return "nobody answered in time";
    case CONSENT_NOBODY:
        return "there is no terminal to ask on";
    default:
        return NULL;
    }
}
