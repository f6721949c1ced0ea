/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */
#ifndef BK_COMMAND_CAPABILITIES_H
#define BK_COMMAND_CAPABILITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Capabilities by name (capabilities.def), as sets of bits. */

enum cap_kind {
    CAPABILITY_IS_KEPT,
    CAPABILITY_IS_PLAIN,
    CAPABILITY_IS_WEAKENS,
    CAPABILITY_IS_IDLE
};

struct cap {
    const char *name, *words;
    uint8_t number, kind; /* enum cap_kind */
};

extern const struct cap caps_table[];
extern const size_t caps_count;

/* Finds one by name, with or without cap_ in front, in any case. Returns NULL if there is none. */
const struct cap *cap_find(const char *name);
/* What root keeps by default. */
uint64_t caps_kept(void);
/* Whether one of the set lifts the refusal of a call. */
bool caps_lift(uint64_t set, const char *call);

static inline uint64_t cap_bit(const struct cap *c)
{
    return UINT64_C(1) << c->number;
}

#endif
