/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Encodes and finds tags. The log may cut or repeat messages, so tag_find() checks all parts.
 */

#include "report/tag.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/utf8.h"

static const char head[] = "CMD64_", middle[] = "_END_";

int tag_session(char out[TAG_SESSION], struct bk_err *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    uint8_t random[9];
    if (getentropy(random, sizeof(random)) < 0)
        return err_sys(err, "cannot get random numbers");
    char *to = out;
    *to++ = '_';
    for (size_t i = 0; i < sizeof(random); i++)
        *to++ = letters[random[i] % (sizeof(letters) - 1)];
    memcpy(to, "_SBX", 5);
    return 0;
}

/* How much of the command fits in the tag, in whole characters. */
static size_t fitting_length(const char *s, size_t n)
{
    size_t at = 0;
    while (at < n) {
        size_t w = utf8_width(s + at, n - at);
        w = w ? w : 1;
        if (at + w > TAG_COMMAND)
            break;
        at += w;
    }
    return at;
}

void tag_encode(const char *command, size_t n, const char *session, struct buf *out)
{
    char text[BASE64_SIZE(TAG_COMMAND)];
    buf_str(out, head);
    buf_add(out, text, base64_encode(command, fitting_length(command, n), text));
    buf_str(out, middle);
    buf_str(out, session);
}

static size_t session_length(const char *s, size_t n)
{
    size_t at = 0;
    while (at < n && (isalnum((unsigned char)s[at]) || s[at] == '_'))
        at++;
    return at;
}

int tag_find(const char *text, size_t n, struct tag *out)
{
    const char *at = memmem(text, n, head, sizeof(head) - 1);
    if (!at)
        return -1;
    at += sizeof(head) - 1;
    size_t rest = n - (size_t)(at - text);
    const char *stop = memmem(at, rest, middle, sizeof(middle) - 1);
    if (!stop)
        return -1;
    struct tag tag = {.encoded = at, .encoded_len = (size_t)(stop - at)};
    tag.session = stop + sizeof(middle) - 1;
    tag.session_len = session_length(tag.session, n - (size_t)(tag.session - text));
    if (tag.encoded_len <= BASE64_SIZE(TAG_COMMAND)) {
        long len = base64_decode(at, tag.encoded_len, tag.command);
        tag.command_len = len > 0 ? (size_t)len : 0;
    }
    tag.command[tag.command_len] = '\0';
    *out = tag;
    return 0;
}
