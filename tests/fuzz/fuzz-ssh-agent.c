/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: messages to the agent, each with its length. Nothing is signed on a connection that was
 * not bound by a verified signature of a host named, nor for another session; and what is left of
 * an agent's list is a list of keys that rules name.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tls/ssh-judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool verified;

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool verify(struct ssh_bytes host, struct ssh_bytes signature, struct ssh_bytes text)
{
    (void)host;
    verified = verified || (signature.n == 4 && memcmp(signature.s, "good", 4) == 0 && text.n);
    return signature.n == 4 && memcmp(signature.s, "good", 4) == 0;
}

static bool holds(const uint8_t *data, size_t n, const void *text, size_t size)
{
    return memmem(data, n, text, size) != NULL;
}

static void check_list(const struct ssh_rules *r, const uint8_t *data, size_t n)
{
    uint8_t *out = malloc(n + 8), *again = malloc(n + 8);
    require(out && again);
    size_t kept = ssh_filter_list(r, (struct ssh_bytes){data, n}, out);
    require(kept <= n);
    if (kept)
        require(ssh_filter_list(r, (struct ssh_bytes){out, kept}, again) == kept &&
                memcmp(out, again, kept) == 0);
    free(out);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ssh_rules rules = {
        .at = {{.key = "named", .user = "me", .hosts = {{(const uint8_t *)"HOST", 4}}, .nhosts = 1},
               {.key = "*", .user = "you", .hosts = {{(const uint8_t *)"OTHER", 5}}, .nhosts = 1}},
        .n = 2,
        .verify = verify};
    static const uint8_t keys[] = "\x0c\0\0\0\1\0\0\0\3KEY\0\0\0\5named";
    const struct ssh_bytes known = {keys, sizeof(keys) - 1};
    struct ssh_client c = {0};
    const char *why;
    verified = false;
    check_list(&rules, data, size);
    for (long whole; (whole = ssh_message(data, size)) > 0; data += whole, size -= (size_t)whole) {
        enum ssh_verdict v = ssh_judge(&c, &rules, known, data + 4, (size_t)whole - 4, &why);
        require((v == SSH_REFUSE) == (why != NULL));
        require(!c.bound || (verified && c.nsession && c.nsession <= SSH_ID_MAX));
        if (v == SSH_SIGN)
            require(c.bound && !c.spoilt && data[4] == 13 &&
                    holds(data, (size_t)whole, c.session, c.nsession) &&
                    (holds(data, (size_t)whole, "me", 2) || holds(data, (size_t)whole, "you", 3)));
    }
    ssh_client_free(&c);
    return 0;
}
