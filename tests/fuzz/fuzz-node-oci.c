/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: a bundle's config.json. Whatever it says, the result is JSON with our listener, a default
 * that refuses, no call that our section refuses or judges and that passes now, and no member that
 * a runtime could read as a second "linux" or "seccomp".
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "node/oci-config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char spec[] =
    "{\"linux\": {\"seccomp\": {\"defaultAction\": \"SCMP_ACT_ERRNO\", \"defaultErrnoRet\": 38,"
    "\"architectures\": [\"SCMP_ARCH_X86_64\"], \"listenerPath\": \"/run/s\","
    "\"listenerMetadata\": \"web@0123456789abcdef\", \"syscalls\": ["
    "{\"names\": [\"read\", \"write\"], \"action\": \"SCMP_ACT_ALLOW\"},"
    "{\"names\": [\"execve\", \"unlink\"], \"action\": \"SCMP_ACT_NOTIFY\"},"
    "{\"names\": [\"mount\"], \"action\": \"SCMP_ACT_ERRNO\", \"errnoRet\": 1},"
    "{\"names\": [\"openat\"], \"action\": \"SCMP_ACT_ALLOW\", \"args\": "
    "[{\"index\": 2, \"value\": 3, \"valueTwo\": 0, \"op\": \"SCMP_CMP_MASKED_EQ\"}]},"
    "{\"names\": [\"openat\"], \"action\": \"SCMP_ACT_NOTIFY\", \"args\": "
    "[{\"index\": 2, \"value\": 1, \"valueTwo\": 1, \"op\": \"SCMP_CMP_MASKED_EQ\"}]}]},"
    "\"maskedPaths\": [\"/secret\"], \"readonlyPaths\": []}}";

static void require(bool holds)
{
    if (!holds)
        abort();
}

static bool is(const struct json *j, const char *text)
{
    return j && j->kind == JT_STRING && j->n == strlen(text) && memcmp(j->s, text, j->n) == 0;
}

static void require_single(const struct json *object, const char *name)
{
    size_t n = 0;
    for (const struct json *m = object->first; m; m = m->next)
        n += strcasecmp(m->key, name) == 0;
    require(n == 1);
}

static void require_rules(const struct json *rules)
{
    for (const struct json *r = rules->first; r; r = r->next) {
        const struct json *names = jt_get(r, "names"), *action = jt_get(r, "action");
        require(names && action);
        for (const struct json *n = names->first; n; n = n->next) {
            bool judged = is(n, "execve") || is(n, "unlink"), refused = is(n, "mount");
            bool passes = is(action, "SCMP_ACT_ALLOW");
            require(!(passes && (judged || refused)));
            require(!(refused && is(action, "SCMP_ACT_NOTIFY")));
        }
    }
}

static void require_sound(const struct buf *out)
{
    struct arena arena;
    struct bk_err err;
    const struct json_text text = {.name = "out", .s = out->s, .n = out->n};
    arena_init(&arena, 64 << 20);
    const struct json *root = jt_read(&arena, &text, &err);
    require(root && root->kind == JT_OBJECT);
    const struct json *system = jt_get(root, "linux");
    require(system && system->kind == JT_OBJECT);
    const struct json *seccomp = jt_get(system, "seccomp");
    require_single(root, "linux");
    require_single(system, "seccomp");
    require(is(jt_get(seccomp, "listenerPath"), "/run/s"));
    require(is(jt_get(seccomp, "defaultAction"), "SCMP_ACT_ERRNO"));
    require(jt_get(system, "maskedPaths")->kind == JT_ARRAY);
    require_rules(jt_get(seccomp, "syscalls"));
    arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct oci_config c;
    struct buf out = {0};
    struct bk_err err;
    if (size > JSON_MAX)
        return 0;
    char *text = strndup((const char *)data, size);
    if (!text)
        return 0;
    if (oci_config_read(&c, text, strlen(text), size % 2 ? "default" : NULL, &err) == 0 &&
        oci_config_change(&c, spec, sizeof(spec) - 1, &out, &err) == 0)
        require_sound(&out);
    oci_config_free(&c);
    buf_free(&out);
    free(text);
    return 0;
}
