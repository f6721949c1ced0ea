/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* Capabilities by name. */

#include "command/capabilities.h"

#include <string.h>
#include <strings.h>

const struct cap caps_table[] = {
#define CAP(name, number, kind, words) {#name, words, number, CAPABILITY_IS_##kind},
#define LIFTS(cap, call)
#include "command/capabilities.def"
};
const size_t caps_count = sizeof(caps_table) / sizeof(caps_table[0]);

enum {
#define CAP(name, number, kind, words) NUMBER_##name = number,
#define LIFTS(cap, call)
#include "command/capabilities.def"
};

static const struct {
    uint8_t cap;
    const char *call;
} lifts[] = {
#define CAP(name, number, kind, words)
#define LIFTS(cap, call) {NUMBER_##cap, #call},
#include "command/capabilities.def"
};

const struct cap *cap_find(const char *name)
{
    if (strncasecmp(name, "cap_", 4) == 0)
        name += 4;
    for (size_t i = 0; i < caps_count; i++)
        if (strcasecmp(caps_table[i].name, name) == 0)
            return &caps_table[i];
    return NULL;
}

uint64_t caps_kept(void)
{
    uint64_t set = 0;
    for (size_t i = 0; i < caps_count; i++)
        if (caps_table[i].kind == CAPABILITY_IS_KEPT)
            set |= cap_bit(&caps_table[i]);
    return set;
}

bool caps_lift(uint64_t set, const char *call)
{
    for (size_t i = 0; i < sizeof(lifts) / sizeof(lifts[0]); i++)
        if ((set >> lifts[i].cap & 1) && strcmp(lifts[i].call, call) == 0)
            return true;
    return false;
}
