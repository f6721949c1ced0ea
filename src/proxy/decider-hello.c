/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * The first two messages between `srt proxy` and its decider. The decider's names the hosts that
 * the proxy may reach at all: they become settings, which are checked as a user's are.
 */

#include "proxy/decider-hello.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"

enum { HELLO_MAX = 1 << 20, HELLO_MS = 30000 };

static void free_json(json_t **j)
{
    json_decref(*j);
}
#define OWN_hello free_json

static bool read_whole(int fd, void *to, size_t n)
{
    char *at = to;
    while (n) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        ssize_t got = poll(&p, 1, HELLO_MS) == 1 ? read(fd, at, n) : -1;
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        n -= (size_t)got;
    }
    return true;
}

static json_t *read_hello(int in)
{
    uint8_t length[4];
    if (!read_whole(in, length, 4))
        return NULL;
    size_t n =
        (size_t)length[0] << 24 | (size_t)length[1] << 16 | (size_t)length[2] << 8 | length[3];
    OWN(mem) char *text = n <= HELLO_MAX ? malloc(n + 1) : NULL;
    if (!text || !read_whole(in, text, n))
        return NULL;
    return json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
}

static bool is_hello(const json_t *o)
{
    const char *t = json_string_value(json_object_get(o, "t"));
    return json_is_object(o) && json_object_size(o) == 4 && t && strcmp(t, "hello") == 0 &&
           json_integer_value(json_object_get(o, "proto")) == 1 &&
           json_is_array(json_object_get(o, "allowedDomains")) &&
           json_is_array(json_object_get(o, "deniedDomains"));
}

int decider_hello(int in, int out, struct buf *settings, struct bk_err *err)
{
    static const char text[] = "{\"t\":\"hello\",\"proto\":1}";
    char frame[4 + sizeof(text) - 1] = {0, 0, 0, sizeof(text) - 1};
    memcpy(frame + 4, text, sizeof(text) - 1);
    if (write(out, frame, sizeof(frame)) != sizeof(frame))
        return err_sys(err, "cannot greet the decider");
    OWN(hello) json_t *o = read_hello(in);
    if (!is_hello(o))
        return err_set(err, BK_E_INPUT, "the decider sent no hello");
    OWN(mem) char *allowed = json_dumps(json_object_get(o, "allowedDomains"), JSON_COMPACT);
    OWN(mem) char *denied = json_dumps(json_object_get(o, "deniedDomains"), JSON_COMPACT);
    if (!allowed || !denied)
        return err_nomem(err);
    buf_fmt(settings,
            "{\"network\": {\"allowedDomains\": %s, \"deniedDomains\": %s, "
            "\"deniedResolvedAddresses\": [\"10.0.0.0/8\", \"172.16.0.0/12\", \"192.168.0.0/16\", "
            "\"100.64.0.0/10\", \"fc00::/7\"]}}",
            allowed, denied);
    return buf_ok(settings) ? 0 : err_nomem(err);
}
