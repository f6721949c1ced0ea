/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * containerd and CRI-O write these annotations themselves. An annotation of the pod's author with
 * the same key does not replace theirs. The names go into URLs of the API server later, so they
 * must be what Kubernetes allows: lower-case letters, digits, - and, in a pod's name, dots.
 */

#include "node/state-pod.h"

#include <string.h>

static const struct {
    const char *name, *namespace, *uid, *container;
} keys[] = {
    {"io.kubernetes.cri.sandbox-name", "io.kubernetes.cri.sandbox-namespace",
     "io.kubernetes.cri.sandbox-uid", "io.kubernetes.cri.container-name"},
    {"io.kubernetes.pod.name", "io.kubernetes.pod.namespace", "io.kubernetes.pod.uid",
     "io.kubernetes.container.name"},
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool take(const json_t *from, const char *key, bool dots, char *out, size_t size)
{
    const json_t *v = json_object_get(from, key);
    const char *s = json_string_value(v);
    size_t n = s ? json_string_length(v) : 0;
    if (n == 0 || n >= size || !is_word(s[0]) || !is_word(s[n - 1]))
        return false;
    for (size_t i = 0; i < n; i++) {
        bool dot = dots && s[i] == '.' && s[i - 1] != '.';
        if (!is_word(s[i]) && s[i] != '-' && !dot)
            return false;
    }
    memcpy(out, s, n + 1);
    return true;
}

void state_take_pod(const json_t *annotations, struct state_pod *out)
{
    struct state_pod p;
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        memset(&p, 0, sizeof(p));
        if (!take(annotations, keys[i].name, true, p.name, sizeof(p.name)) ||
            !take(annotations, keys[i].namespace, false, p.namespace, sizeof(p.namespace)))
            continue;
        (void)take(annotations, keys[i].uid, false, p.uid, sizeof(p.uid));
        (void)take(annotations, keys[i].container, false, p.container, sizeof(p.container));
        *out = p;
        return;
    }
}

void state_pod_json(const struct state_pod *p, struct buf *out)
{
    if (!p->name[0])
        return;
    buf_fmt(out, ",\"pod\":{\"namespace\":\"%s\",\"name\":\"%s\"", p->namespace, p->name);
    if (p->uid[0])
        buf_fmt(out, ",\"uid\":\"%s\"", p->uid);
    if (p->container[0])
        buf_fmt(out, ",\"container\":\"%s\"", p->container);
    buf_chr(out, '}');
}
