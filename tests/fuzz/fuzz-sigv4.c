/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: a request's header. What is understood of it has a canonical request of seven parts, with
 * the fields that it names; the same parameters in another order sign alike, and other keys sign
 * otherwise. A signature that was made with placeholders is made anew, and then it is valid.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "net/resign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct http_head head, room;
static struct secrets all;

static const char key_fake[] = "fakefakefakefakefake", key_value[] = "realrealrealrealreal";

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void begin(void)
{
    static const struct secret_place place = {.host = "a"};
    static const struct secret both[] = {
        {"AKIAREALREAL", "AKIAFAKEFAKE", 12, &place, 1, SECRET_IN_HEADER | SECRET_IN_QUERY},
        {key_value, key_fake, sizeof(key_fake) - 1, &place, 1, SECRET_IN_HEADER},
    };
    for (size_t i = 0; i < 2 && all.n < 2; i++)
        require(secrets_add(&all, &both[i]) == 0);
    if (!all.npairs)
        require(secrets_add_pair(&all, 0, 1) == 0);
}

static void check_canonical(const struct sigv4 *sig, struct slice payload)
{
    OWN(buf) struct buf out = {0};
    if (sigv4_canonical(&head, sig, SIGV4_AS_SENT, payload, &out))
        return;
    require(memcmp(out.s, head.method.s, head.method.n) == 0 && out.s[head.method.n] == '\n');
    require(out.n > payload.n && memcmp(out.s + out.n - payload.n, payload.s, payload.n) == 0);
    size_t lines = 0, names = 1;
    for (size_t i = 0; i < out.n; i++)
        lines += out.s[i] == '\n';
    for (size_t i = 0; i < sig->names.n; i++)
        names += sig->names.s[i] == ';';
    require(lines == 5 + names);
}

/* As its client would have signed it with placeholders. */
static void check_anew(char *text, size_t n, const struct sigv4 *sig, struct slice payload)
{
    OWN(buf) struct buf out = {0};
    char made[SHA256_HEX + 1];
    if (sigv4_sign(&head, sig, SIGV4_AS_SENT, payload, key_fake, sizeof(key_fake) - 1, made))
        return;
    memcpy(text + (sig->signature.s - text), made, SHA256_HEX);
    bool query = sig->query;
    require(http_head_read(text, n, &head) == HTTP_FOUND);
    const struct secrets_pair *pair = resign_find(&all, 3, &head);
    if (!pair)
        return;
    secrets_write_head(&all, 3, true, text, n, &out);
    if (resign(&all, pair, &head, (struct slice){0}, &out, &room))
        return;
    struct sigv4 after;
    require(http_head_read(out.s, out.n, &head) == HTTP_FOUND);
    require(!sigv4_read(&head, query, &after));
    require(
        !sigv4_sign(&head, &after, SIGV4_AS_SENT, payload, key_value, sizeof(key_value) - 1, made));
    require(memcmp(made, after.signature.s, SHA256_HEX) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sigv4 sig;
    struct slice payload = {"UNSIGNED-PAYLOAD", 16};
    begin();
    char *text = malloc(size + 1);
    require(text != NULL);
    memcpy(text, data, size);
    for (int query = 0; query < 2; query++) {
        if (http_head_read(text, size, &head) != HTTP_FOUND || sigv4_read(&head, query, &sig))
            continue;
        require(sig.signature.n == SHA256_HEX && sig.id.n && sig.names.n);
        struct slice named = sig.payload.n ? sig.payload : payload;
        check_canonical(&sig, named);
        if (sig.payload.n || query)
            check_anew(text, head.size, &sig, named);
    }
    free(text);
    return 0;
}
