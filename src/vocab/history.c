/* SPDX-License-Identifier: Apache-2.0 */
/* Copyright The Buckle Authors */

/* The vocabulary by OS version: ids, and an operation's history, derived from its row. */

#include <stdio.h>
#include <string.h>

#include "vocab/os.h"
#include "vocab/vocab.h"

static void add_event(char *out, size_t size, const char *what, enum vocab_os os)
{
    size_t n = strlen(out);
    snprintf(out + n, size - n, "%s%s %s", n ? ", " : "", what, vocab_os_name(os));
}

static void ios_only(const struct vocab_op_info *info, char *out, size_t size)
{
    for (int os = 0; os < VOCAB_MACOS_10_12; os++)
        if (info->ids[os] >= 0)
            add_event(out, size, *out ? "and" : "only", os);
}

void vocab_op_history(enum vocab_op op, char *out, size_t size)
{
    const struct vocab_op_info *info = &vocab_ops[op];
    out[0] = '\0';
    if (info->extension) {
        snprintf(out, size, "not Apple's");
        return;
    }
    bool there = info->ids[VOCAB_MACOS_10_12] >= 0, ever = there;
    for (int os = VOCAB_MACOS_10_13; os < VOCAB_OS_COUNT; os++) {
        bool now = info->ids[os] >= 0;
        if (now != there)
            add_event(out, size, now ? "since" : "gone in", os);
        there = now;
        ever |= now;
    }
    if (!ever)
        ios_only(info, out, size);
}

enum vocab_change vocab_op_change(enum vocab_op op, enum vocab_os from, enum vocab_os to)
{
    int was = vocab_ops[op].ids[from], is = vocab_ops[op].ids[to];
    if (was < 0 && is < 0)
        return VOCAB_SAME;
    if (was < 0)
        return VOCAB_ADDED;
    if (is < 0)
        return VOCAB_GONE;
    if (strcmp(vocab_op_name_in(op, from), vocab_op_name_in(op, to)))
        return VOCAB_RENAMED;
    return was != is ? VOCAB_RENUMBERED : VOCAB_SAME;
}

int vocab_filter_id_in(enum vocab_filter filter, enum vocab_os os)
{
    if (os == VOCAB_MACOS_13_0)
        return vocab_filters[filter].id_13_0;
    return os >= VOCAB_MACOS_14_4_1 ? vocab_filters[filter].id_14_4_1 : -1;
}

/* 14.4.1 keeps 13.0's numbers as far as its compiled profiles show. */
int vocab_modifier_id_in(enum vocab_modifier mod, enum vocab_os os)
{
    return os >= VOCAB_MACOS_13_0 ? vocab_modifiers[mod].id_13_0 : -1;
}
