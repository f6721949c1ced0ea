/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/*
 * Input: what a runtime sends to the node agent. What is accepted names a process, a container and
 * a profile that are safe to use in paths, lines and tables; the same bytes with more behind them,
 * or cut off, are never accepted as something else.
 */

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "node/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void require_name(const char *s, size_t cap)
{
    require(memchr(s, '\0', cap) && isalnum((unsigned char)s[0]));
    for (; *s; s++)
        require(isalnum((unsigned char)*s) || strchr("._+-", *s));
}

static void require_sound(const struct state *s)
{
    require(s->pid > 0 && s->pid <= 1 << 22);
    require(s->nfds >= 1 && s->nfds <= STATE_FDS && s->seccomp < s->nfds);
    require_name(s->id, sizeof(s->id));
    require_name(s->profile, sizeof(s->profile));
    require(state_is_profile(s->profile) && !strchr(s->profile, '/'));
    require(strlen(s->section) == 0 || strlen(s->section) == STATE_SECTION - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct state s = {0}, part = {0};
    struct bk_err err = {0};
    if (size > STATE_BYTES)
        return 0;
    int got = state_parse((const char *)data, size, &s, &err);
    require(got >= -1 && got <= 1);
    if (got < 0)
        require(err.msg[0] && memchr(err.msg, '\0', sizeof(err.msg)));
    if (got != 0) {
        require(s.pid == 0 && s.id[0] == '\0'); /* untouched */
        return 0;
    }
    require_sound(&s);
    for (size_t n = 0; n < size && n < 64; n++) {
        int less = state_parse((const char *)data, n, &part, &err);
        require(less != 0 || n >= strlen(s.id));
    }
    return 0;
}
